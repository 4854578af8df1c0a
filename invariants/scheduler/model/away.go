package model

import (
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// away is the delay with which the step's handling, which ends, is to send its request back, if it does. It
// depends on what kept the job from a worker. It is zero if events do not show it. A replayer has no request
// in hand.
func (f *Facts) away(s *Step, nth uint64) config.Span {
	c, h, j := &f.Config, s.Handling, s.About
	if h.Replays || h.Overdue || h.Renewals != 0 || h.ReadFailed != 0 || h.StoreFailed {
		return config.Span{}
	}
	if !h.Scheduled {
		return f.undecided(s, nth)
	}
	if j.Attempts >= c.MaxSchedulingRetries || !j.Wish.pooled(&c.Routing) {
		return config.Span{}
	}
	retry, want := c.Backoff(h.Prior, j.Attempts), c.BackoffForWorkers(h.Prior, j.Attempts)
	switch {
	case h.PublishFailed != 0:
		if h.Stored || h.Refused || c.DispatchOrder == "outbox" {
			return config.Span{}
		}
		return retry
	case !h.FoundNobody():
		return config.Span{}
	case h.Full, h.Lacks == history.ReasonBusy:
		return retry
	case h.Lacks == history.ReasonNoWorkers:
		return want
	}
	return config.Span{Least: min(retry.Least, want.Least), Most: max(retry.Most, want.Most)}
}

// undecided is the delay if the safety kernel did not let the job go on.
func (f *Facts) undecided(s *Step, nth uint64) config.Span {
	h, c := s.Handling, &f.Config
	if h.Wrote || h.Published || s.About.State != Pending {
		return config.Span{}
	}
	switch told, asked := f.Told(s); {
	case told.Decision == history.DecisionThrottle:
		return c.Infrastructure(c.Policy.ThrottleDelay, nth)
	case asked && told.Failed:
		return c.KernelBackoff(nth)
	case !asked && f.foundOpen(s):
		return c.Infrastructure(c.Policy.OpenDelay, nth)
	}
	return config.Span{}
}

// Meets notes the outcome of an operation for the step's job, and whether the job's messages that its process
// has in hand are to be sent back for it. That cannot be told if the process has two of them, or also asks
// for the job's lock for another reason.
func (f *Facts) Meets(s *Step, locked bool) {
	if s.About == nil || s.Outcome == sim.OutcomePending {
		return
	}
	me := invariants.Process(s.Node, s.Incarnation)
	var own *delivery
	for i := range s.About.Messages {
		m := &s.About.Messages[i]
		for k := range m.deliveries {
			switch d := &m.deliveries[k]; {
			case d.end != "" || d.process != me:
			case m.Garbled:
				f.meetsGarbled(s, m, d)
			case own != nil:
				own.asked, d.asked = 2, 2
			default:
				own = d
			}
		}
	}
	if own == nil {
		return
	}
	if s.Phase == "lock_acquire" {
		own.asked++
	}
	base, says := f.metBy(s, locked)
	if says && (s.Handling == nil || s.Handling.Lock > own.step) {
		if own.away = (config.Span{}); base != 0 {
			own.away = f.Config.Infrastructure(base, own.nth)
		}
	}
}

// meetsGarbled does the same for a message that can never be handled: it is sent back if its DLQ entry cannot
// be written.
func (f *Facts) meetsGarbled(s *Step, m *Message, d *delivery) {
	switch {
	case s.Phase == "dlq_write" && strings.TrimPrefix(s.Target, history.DlqPrefix) == Place(m.Seq), s.Phase == "replica_wait":
		if d.away = (config.Span{}); s.Failed {
			d.away = f.Config.Infrastructure(config.UnfiledDelay, d.nth)
		}
	}
}

// metBy is the documented delay of a message whose handling cannot go on after the step's operation. says is
// false if the handling goes on, or events do not show it. What is done besides is not considered.
func (f *Facts) metBy(s *Step, locked bool) (base time.Duration, says bool) {
	c := &f.Config
	switch s.Phase {
	case "lock_release", "lock_renew", "processed_read", "processed_write", "inflight_write", "breaker_read", "breaker_probe", "breaker_write":
		return 0, false
	case "lock_acquire":
		switch {
		case s.Failed:
			return c.RetryDelayStore, true
		case !locked && s.Kind == sim.KindRedis:
			return c.RetryDelayBusy, true
		}
		return 0, true
	case "replica_wait":
		if s.Failed && s.Handling == nil {
			return c.RetryDelayStore, true
		}
		return 0, true
	}
	switch {
	case s.Handling == nil: // it does not belong to a message
		return 0, false
	case !s.Failed:
		return 0, true
	}
	switch s.Phase {
	case "state_read":
		if c.ReadError != "fail-closed" {
			return 0, true
		}
		return c.RetryDelayStore, true
	case "pending_write", "scheduled_write", "dispatched_write", "running_write", "result_write", "failed_write", "timeout_write", "cancel_write",
		"approval_write", "denied_write", "approved_write", "ask_again_write", "commit_write", "saga_record", "approval_age", "dlq_write":
		return c.RetryDelayStore, true
	case "void_publish", "cancel_notice":
		return c.RetryDelayPublish, true
	}
	return 0, true
}

// SendsBack notes that the step's handling, which ends, may send its message back.
func (f *Facts) SendsBack(s *Step) {
	if s.About.HandlesTwice(s.Event) {
		return
	}
	for i := range s.About.Messages {
		m := &s.About.Messages[i]
		for k := range m.deliveries {
			d := &m.deliveries[k]
			if m.asks() && !m.Garbled && s.About.Requests == 1 && d.end == "" && d.process == invariants.Process(s.Node, s.Incarnation) && s.Handling.Lock > d.step && d.away == (config.Span{}) {
				d.away = f.away(s, d.nth)
			}
		}
	}
}
