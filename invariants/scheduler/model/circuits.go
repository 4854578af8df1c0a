package model

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// sharedCounter is <prefix>:failures in Redis, and the calls that it has allowed.
type sharedCounter struct {
	value   int
	expires time.Duration
	inARow  []int         // the steps at which it rose, since the last successful call began
	Window  int           // counts its values; a half-open window belongs to one value
	Probes  []int         // the steps of calls in the window that the shared counter allowed
	batch   int           // counts the times at which probes were forgotten, because nobody heard of them in time
	claimed time.Duration // when a probe was last counted
	tried   bool          // a probe was counted in the window, or was sent

	Successes int           // successful probes so far
	told      map[ownOf]int // by replica: the successes that it could have reported
}

// CountKept is how long the shared counter is kept beyond the time for which the circuit is open (Scheduler
// internals, section 6).
const CountKept = 30 * 24 * time.Hour

func (c *sharedCounter) State(at time.Duration, cfg *config.PolicyConfig) (state string, clearly bool) {
	left := c.expires - at
	switch {
	case c.value < cfg.FailBudget || left <= 0:
		return history.Closed, c.value < cfg.FailBudget || left < -Slack
	case left > CountKept:
		return history.Open, left > CountKept+Slack
	}
	return history.HalfOpen, left > Slack && left < CountKept-Slack
}

// begin begins a new value. was is the former one.
func (c *sharedCounter) begin(s *Step, was int) {
	c.Window++
	c.Probes, c.Successes, c.told, c.tried = nil, 0, nil, false
	switch {
	case s.Rewinds():
		c.inARow = slices.Repeat([]int{s.Step}, c.value)
	case c.value > was:
		c.inARow = append(c.inARow, s.Step)
	}
}

// Filled says whether the counter has reached the failure budget by rising from was, and after how many
// failures in a row.
func (c *sharedCounter) Filled(was int, cfg *config.PolicyConfig) (inARow int, filled bool) {
	return len(c.inARow), was < cfg.FailBudget && c.value >= cfg.FailBudget
}

// Untried says whether no call was made or counted in a half-open window.
func (c *sharedCounter) Untried(window int) bool { return c.Window == window && !c.tried }

// Enough says whether enough probes have succeeded to close the circuit: of all replicas, or of one.
func (c *sharedCounter) Enough(cfg *config.PolicyConfig) (succeeded int, enough bool) {
	for _, n := range c.told {
		if cfg.SharedProbes {
			succeeded += n
		} else {
			succeeded = max(succeeded, n)
		}
	}
	return succeeded, succeeded >= cfg.CloseAfter
}

// probeClaimed counts a probe. Earlier probes are forgotten if none was counted for the time for which the
// circuit is open.
func (c *sharedCounter) probeClaimed(at time.Duration, cfg *config.PolicyConfig) {
	if at-c.claimed > cfg.OpenFor-Slack {
		c.Probes = nil
		c.batch++
	}
	c.claimed, c.tried = at, true
}

// ownCounter is a process's own count of failures for a circuit.
type ownCounter struct {
	Failures  int
	Failed    time.Duration // when the last of them was
	OpenSince time.Duration
	OpenUntil time.Duration
	probes    int
	successes int
	closed    int // the step at which the circuit was last closed
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

// succeed ends a row of failures. A row that has opened the circuit ends only after enough probes, unless the
// shared counter decides.
func (o *ownCounter) succeed(alone, probe bool, step int, cfg *config.PolicyConfig) {
	if alone && o.Failures >= cfg.FailBudget {
		if probe {
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
