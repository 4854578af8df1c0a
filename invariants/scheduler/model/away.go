package model

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// Away is for how long the step's handling, which ends, is to send its request back at least, if it does, by what kept the
// job from a worker; 0 if events do not say. A replayer has no request in hand.
func (f *Facts) Away(s *Step) time.Duration {
	c, h, j := &f.Config, s.Handling, s.About
	if !h.Scheduled || h.Replays || h.Overdue || h.Renewals != 0 || h.ReadFailed != 0 || h.StoreFailed || j.Attempts >= c.MaxSchedulingRetries || !j.Wish.pooled(&c.Routing) {
		return 0
	}
	switch {
	case h.PublishFailed != 0:
		if h.Stored || h.Refused || c.DispatchOrder == "outbox" {
			return 0
		}
		return c.Backoff(h.Prior)
	case !h.FoundNobody():
		return 0
	case h.Full, h.Lacks == history.ReasonBusy:
		return c.Backoff(h.Prior)
	case h.Lacks == history.ReasonNoWorkers:
		return c.BackoffForWorkers(h.Prior)
	}
	return min(c.Backoff(h.Prior), c.BackoffForWorkers(h.Prior))
}
