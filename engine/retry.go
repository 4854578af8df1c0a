package engine

import (
	"fmt"
	"time"

	"github.com/faultline-sim/faultline/engine/phase"
)

// RetryableError says that a message could not be handled now and when it should come back: the
// retry event of seeds 000 and 003.
type RetryableError struct {
	Err        error
	Delay      time.Duration
	Phase      phase.Phase // what failed (seed 000, next step 2)
	ReasonCode string      // why no worker could be had, or dispatch_failed; empty for a failure of the store
}

// RetryAfter wraps err to come back after delay.
func RetryAfter(err error, delay time.Duration, p phase.Phase, reasonCode string) *RetryableError {
	return &RetryableError{Err: err, Delay: delay, Phase: p, ReasonCode: reasonCode}
}

// Error is the phase and the cause.
func (e *RetryableError) Error() string {
	return fmt.Sprintf("%s: %v (retry after %v)", e.Phase, e.Err, e.Delay)
}

// Unwrap returns the cause.
func (e *RetryableError) Unwrap() error { return e.Err }

// RetryDelay is how long the message is to stay away; package bus asks for it.
func (e *RetryableError) RetryDelay() time.Duration { return e.Delay }
