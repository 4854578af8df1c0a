package routing

import (
	"errors"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// Why no worker was picked (Scheduler internals, section 5). Only ErrNoPoolMapping is for good: no heartbeat
// can change it.
var (
	ErrNoPoolMapping = errors.New("no pool for the topic")
	ErrNoWorkers     = errors.New("no workers available")
	ErrOverloaded    = errors.New("every worker is overloaded")
)

// ReasonCode is the documented code for an error of this package, or dispatch_failed.
func ReasonCode(err error) string {
	switch {
	case errors.Is(err, ErrNoPoolMapping):
		return job.ReasonNoPoolMapping
	case errors.Is(err, ErrNoWorkers):
		return job.ReasonNoWorkers
	case errors.Is(err, ErrOverloaded):
		return job.ReasonPoolOverloaded
	}
	return job.ReasonDispatchFailed
}
