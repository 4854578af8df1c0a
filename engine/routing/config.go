package routing

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// Config maps topics to pools. The zero Config maps job.default to the pool default.
type Config struct {
	Topics map[string][]string // topic to the pools that serve it
	Pools  map[string]Pool     // what is said of a pool; one that only Topics names offers nothing special
}

// Pool is a group of workers.
type Pool struct {
	Capabilities []string // what jobs can require of it
}

// DefaultTopic and DefaultPool are the mapping of the zero Config.
const (
	DefaultTopic = "job.default"
	DefaultPool  = "default"
)

// taken begin subjects that are no topics': the schedulers' own, and NATS's.
var taken = []string{"sys", "worker", "_INBOX"}

// Validate says what is wrong with c, or nil.
func (c Config) Validate() error {
	var errs []error
	named := map[string]bool{}
	for _, topic := range slices.Sorted(maps.Keys(c.Topics)) {
		probe := job.Request{JobID: "probe", Topic: topic}
		if err := probe.Validate(); err != nil {
			errs = append(errs, err)
		}
		if first, _, _ := strings.Cut(topic, "."); slices.Contains(taken, first) || strings.HasPrefix(first, "$") {
			errs = append(errs, fmt.Errorf("topic %q is a subject with another meaning; call it otherwise, as in job.%s", topic, first))
		}
		if len(c.Topics[topic]) == 0 {
			errs = append(errs, fmt.Errorf("topic %q has no pool; name one, or leave the topic out", topic))
		}
		for _, pool := range c.Topics[topic] {
			if pool == "" {
				errs = append(errs, fmt.Errorf("topic %q has a pool without a name", topic))
			}
			named[pool] = true
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(c.Pools)) {
		if !named[pool] {
			errs = append(errs, fmt.Errorf("pool %q serves no topic; name it in a topic, or leave it out", pool))
		}
	}
	return errors.Join(errs...)
}
