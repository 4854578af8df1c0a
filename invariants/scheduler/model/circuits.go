package model

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// sharedCounter is <prefix>:failures as Redis holds it.
type sharedCounter struct {
	value   int
	expires time.Duration
	Window  int   // counts its values: a half-open window is of one
	Probes  []int // steps at which calls went out in the window, by leave of the shared counter

	Successes int // of those, so far
}

func (c *sharedCounter) State(at time.Duration, cfg *config.PolicyConfig) (state string, clearly bool) {
	left := c.expires - at
	switch {
	case c.value < cfg.FailBudget || left <= 0:
		return history.Closed, c.value < cfg.FailBudget || left < -Slack
	case left > cfg.OpenFor:
		return history.Open, left > cfg.OpenFor+Slack
	}
	return history.HalfOpen, left > Slack && left < cfg.OpenFor-Slack
}

// ownCounter is a circuit by the failures that one has met oneself.
type ownCounter struct {
	Failures  int
	Failed    time.Duration // the last of them
	OpenSince time.Duration
	OpenUntil time.Duration
	probes    int
	successes int
	closed    int // the step at which it was closed again
}

func (o *ownCounter) state(at time.Duration, cfg *config.PolicyConfig) string {
	switch {
	case o.Failures < cfg.FailBudget:
		return history.Closed
	case at < o.OpenUntil:
		return history.Open
	}
	return history.HalfOpen
}

func (o *ownCounter) fail(at time.Duration, cfg *config.PolicyConfig) {
	o.Failed = at
	if o.Failures++; o.Failures == cfg.FailBudget || at >= o.OpenUntil {
		o.OpenSince = at
	}
	if o.Failures >= cfg.FailBudget {
		o.OpenUntil, o.probes, o.successes = at+cfg.OpenFor, 0, 0
	}
}

func (o *ownCounter) succeed(l *Leave, step int, cfg *config.PolicyConfig) {
	if l.Alone && o.Failures >= cfg.FailBudget {
		if l.State == history.HalfOpen {
			o.successes++
		}
		if o.successes < cfg.CloseAfter {
			return
		}
	}
	closed := o.closed
	if o.Failures >= cfg.FailBudget {
		closed = step
	}
	*o = ownCounter{closed: closed}
}
