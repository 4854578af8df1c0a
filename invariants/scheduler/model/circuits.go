package model

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// sharedCounter is <prefix>:failures as Redis holds it, and the calls by its leave.
type sharedCounter struct {
	value   int
	expires time.Duration
	inARow  []int         // the steps at which it rose, since the last call that succeeded began
	Window  int           // counts its values: a half-open window is of one
	Probes  []int         // steps at which calls went out in the window, by leave of the shared counter
	batch   int           // counts the probes that were forgotten, as nobody heard of them in time
	claimed time.Duration // when one was last counted
	tried   bool          // one was counted in the window, or went out

	Successes int           // of the probes, so far
	told      map[ownOf]int // those of which a replica could tell the others, by replica
}

// CountKept is how long the shared counter is kept beyond the time open (Scheduler internals, section 6).
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

// begin is of a new value, by nobody's doing if that is so.
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

// Filled says whether the counter has come to fill the budget by rising from that value, and by how many failures in a row.
func (c *sharedCounter) Filled(was int, cfg *config.PolicyConfig) (inARow int, filled bool) {
	return len(c.inARow), was < cfg.FailBudget && c.value >= cfg.FailBudget
}

// Untried says whether nobody has made or counted a call in a half-open window.
func (c *sharedCounter) Untried(window int) bool { return c.Window == window && !c.tried }

// Enough says whether as many probes have succeeded as close the circuit: of all replicas, or of one.
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

// probeClaimed counts a probe. Those before it are forgotten if none came for the time open.
func (c *sharedCounter) probeClaimed(at time.Duration, cfg *config.PolicyConfig) {
	if at-c.claimed > cfg.OpenFor-Slack {
		c.Probes = nil
		c.batch++
	}
	c.claimed, c.tried = at, true
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

// succeed ends a row of failures. One that has opened the circuit takes as many probes as close it, unless others have
// the say.
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
