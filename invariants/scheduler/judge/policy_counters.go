package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
)

// sharedCounter is <prefix>:failures as Redis holds it.
type sharedCounter struct {
	value   int
	expires time.Duration
	window  int   // counts its values: a half-open window is of one
	probes  []int // steps at which calls went out in the window, by leave of the shared counter

	successes int // of those, so far
}

func (c *sharedCounter) state(at time.Duration, cfg *config.PolicyConfig) (state string, clearly bool) {
	left := c.expires - at
	switch {
	case c.value < cfg.FailBudget || left <= 0:
		return history.Closed, c.value < cfg.FailBudget || left < -slack
	case left > cfg.OpenFor:
		return history.Open, left > cfg.OpenFor+slack
	}
	return history.HalfOpen, left > slack && left < cfg.OpenFor-slack
}

// ownCounter is a circuit by the failures that one has met oneself.
type ownCounter struct {
	failures  int
	failed    time.Duration // the last of them
	openSince time.Duration
	openUntil time.Duration
	probes    int
	successes int
}

func (o *ownCounter) state(at time.Duration, cfg *config.PolicyConfig) string {
	switch {
	case o.failures < cfg.FailBudget:
		return history.Closed
	case at < o.openUntil:
		return history.Open
	}
	return history.HalfOpen
}

func (o *ownCounter) fail(at time.Duration, cfg *config.PolicyConfig) {
	o.failed = at
	if o.failures++; o.failures == cfg.FailBudget || at >= o.openUntil {
		o.openSince = at
	}
	if o.failures >= cfg.FailBudget {
		o.openUntil, o.probes, o.successes = at+cfg.OpenFor, 0, 0
	}
}

func (o *ownCounter) succeed(l *leave, cfg *config.PolicyConfig) {
	if l.alone && o.failures >= cfg.FailBudget {
		if l.state == history.HalfOpen {
			o.successes++
		}
		if o.successes < cfg.CloseAfter {
			return
		}
	}
	*o = ownCounter{}
}
