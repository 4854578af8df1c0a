package scenarios

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// The keys that the documents name, and how long each lives from when it is set, as the server has it.
func TestKeysHaveTheirTTLs(t *testing.T) {
	lives := map[string]time.Duration{} // the longest
	patterns := map[string]struct {
		prefix, suffix string
		ttl            time.Duration
	}{
		"a job's lock":                     {"cordum:scheduler:job:", "", time.Minute},
		"the reconciler's tick":            {"cordum:reconciler:default", "", time.Minute},
		"the replayer's tick":              {"cordum:replayer:pending", "", time.Minute},
		"the run reconciler's tick":        {"cordum:workflow-engine:reconciler:default", "", time.Minute},
		"a run's lock":                     {"cordum:wf:run:lock:", "", 30 * time.Second},
		"the lock of a rollback":           {"saga:", ":lock", 2 * time.Minute},
		"the snapshot's writer":            {"cordum:scheduler:snapshot:writer", "", 10 * time.Second},
		"the delay poller":                 {"cordum:wf:delay:poller", "", 10 * time.Second},
		"a processed message":              {"cordum:bus:processed:CORDUM_SYS:", "", 10 * time.Minute},
		"a message in flight":              {"cordum:bus:inflight:CORDUM_SYS:", "", 2 * time.Minute},
		"a dead letter":                    {"dlq:entry:", "", 30 * 24 * time.Hour},
		"the circuit to the kernel":        {"cordum:cb:safety:failures", "", 30*24*time.Hour + 30*time.Second},
		"the circuit to the output policy": {"cordum:cb:safety:output:failures", "", 30*24*time.Hour + 30*time.Second},
	}
	for _, name := range []string{"calm", "workflow", "saga-rollback", "policy-denied", "policy-outage", "output-outage"} {
		p, err := plans.Load(name)
		require.NoError(t, err)
		r, err := newRun(context.Background(), p, RunOptions{Source: p.Name})
		require.NoError(t, err)
		cfg := r.config()
		observe := cfg.Observe
		cfg.Observe = func(e *sim.Event) {
			for i := range e.Changes {
				c := &e.Changes[i]
				for what, k := range patterns {
					if !c.Gone && c.Value != "" && strings.HasPrefix(c.Key, k.prefix) && strings.HasSuffix(c.Key, k.suffix) {
						lives[what] = max(lives[what], c.Expires-e.At)
					}
				}
			}
			observe(e)
		}
		_, err = sim.Run(cfg, r.play)
		require.NoError(t, err)
	}
	for what, k := range patterns {
		assert.Equal(t, k.ttl, lives[what], what)
	}
}
