package model

import (
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// trail is what the last step with audit events has put into the audit trail.
type trail struct {
	step   int
	events []*history.AuditEvent
}

// Audited notes a change of the audit trail.
func (f *Facts) Audited(s *Step, c *sim.Change) {
	e, err := history.Read[history.AuditEvent](c.Value)
	if c.Gone || err != nil {
		return
	}
	if f.trail.step != f.Step {
		f.trail = trail{step: f.Step}
	}
	f.trail.events = append(f.trail.events, e)
	switch e.Kind {
	case history.SagaDenied:
		f.compensationDenied(e)
	case history.AuditRefused:
		f.letterRefused(s, e)
	}
}

// TrailWritten calls the Noted hooks for the events that the step has added to the audit trail. All changes of the step are known.
func (f *Facts) TrailWritten(s *Step) {
	if f.trail.step != s.Step || s.Rewinds() {
		return
	}
	for _, e := range f.trail.events {
		for _, check := range f.Hooks.Noted {
			check(s, e)
		}
	}
}

// Trail lists the events about a job, or about a dead letter, that the step has put into the audit trail.
func (f *Facts) Trail(s *Step, id string) (events []*history.AuditEvent) {
	if f.trail.step != s.Step {
		return nil
	}
	for _, e := range f.trail.events {
		if e.JobID == id {
			events = append(events, e)
		}
	}
	return events
}
