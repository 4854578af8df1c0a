package observe

import (
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

func (o *Observer) recordWritten(s *model.Step, record *model.Job) {
	f := o.Facts
	own, w := o.concerning(s), &o.write
	if record != s.About {
		own.About, own.Handling = record, nil
		if s.Kind != sim.KindLate {
			own.Handling = record.Handling(s.Event)
		}
	}
	record.StateAt, record.Accepted = s.Step, true
	if record.MadeBy == "" {
		record.MadeBy = s.Node
	}
	if w.From == model.Absent {
		record.MadeAt = s.Step
	}
	if record.Deadline != w.Deadline {
		record.Expect(s)
	}
	if w.Intent.Step != 0 {
		record.Intended = w.Intent
	}
	record.Decide(s)
	switch record.State {
	case model.Scheduled:
		record.Scheduled++
		record.Intent = model.Intent{}
	case model.Dispatched:
		if s.Rewinds() && record.Intended.Updated == record.Updated {
			record.Intent = record.Intended
			break
		}
		record.Intent = model.Intent{Worker: record.Worker, Epoch: record.Epoch, Step: s.Step, Pick: record.Picked(own), Updated: record.Updated}
		record.Intent.Stored = record.Holds(record.Epoch)
	case model.Running:
		if record.Worker != "" {
			record.Intent.Worker = record.Worker // the dispatch in the stream may have corrected it
		}
	case model.Succeeded:
		record.Intent = model.Intent{}
		f.Commit(record)
	default:
		record.Intent = model.Intent{}
	}
	if h := own.Handling; h != nil {
		f.Overstay(own)
		o.brought(own, w)
		f.Replayed(own, w)
		h.Wrote = true
		switch record.State {
		case model.Scheduled:
			h.Cost++
			if s.Phase == "rollback_write" { // no pick follows
				h.Attempt = 0
				break
			}
			h.Attempt = record.Attempts
			h.Scheduled, h.Pick = true, model.Pick{Node: s.Node, Incarnation: s.Incarnation, At: s.At} // it follows at once
			f.Picks(own)
		case model.Dispatched:
			h.Intended = true
		case model.Failed, model.Denied, model.Quarantined:
			h.Failed = true
		}
	}
	if record.Attempts >= f.Config.MaxSchedulingRetries && w.Attempts < f.Config.MaxSchedulingRetries {
		f.Reach(model.CeilingReached)
	}
	f.SagaWrote(own)
	f.OutputWrote(own, w)
	f.FailureWritten(own)
	o.stepWritten(own)
	for _, check := range o.hooks.Wrote {
		check(own, w)
	}
}

// recordAmended notes a change of a record that is no state write.
func (o *Observer) recordAmended(s *model.Step, record *model.Job) {
	own := o.concerning(s)
	own.About = record
	for _, check := range o.hooks.Amended {
		check(own, &o.write)
	}
}

// outboxChanged notes a change of a job's entry in the outbox, and says whether the job is the step's own.
func (o *Observer) outboxChanged(s *model.Step, c *sim.Change, about *model.Job) bool {
	if about == nil {
		return false
	}
	about.Queued = model.Queued{}
	if !c.Gone {
		about.Queued.Step = s.Step
	}
	return about == s.About
}

// fence follows a state write of several operations: a read of the record, and the MULTI. A handling that
// releases its lock after the read was stopped by what it read.
func (o *Observer) fence(s *model.Step) {
	phase := s.Handling.Fencing
	switch {
	case phase == "":
	case s.Phase == phase && (s.Name == "multi" || s.Failed): // it continues, or ends by another error
		s.Handling.Fencing = ""
	case model.BeginsRelease(s):
		s.Handling.Fencing = ""
		o.refused(s, phase)
	}
}

// refused notes that the fence stopped a state write of that phase.
func (o *Observer) refused(s *model.Step, phase string) {
	f := o.Facts
	topic := s.About.TopicOf()
	f.Reach(model.WriteFenced)
	f.Count.Sure(history.CounterFenced, phase, topic)
	f.Fenced = model.Fenced{Step: s.Step, Job: s.Job, Phase: phase}
	if s.Handling != nil {
		s.Handling.StoreFailed = true
	}
	switch phase {
	case "rollback_write":
		f.Count.Sure(history.CounterRollbacksFailed, topic)
	case "running_write":
		f.Count.Sure(history.CounterRunningsFailed, topic)
	}
}

func (o *Observer) writeAnswered(s *model.Step, applied bool) {
	f, topic := o.Facts, s.About.TopicOf()
	if s.Phase == "rollback_write" && s.Name != "pipeline" && (s.Name == "watch" || !f.Config.Fence) {
		f.Count.Sure(history.CounterRollbacks, topic)
	}
	switch {
	case s.Outcome == history.TransactionFailed:
		o.transactionRefused(s)
		return
	case model.Looks(s) && !s.Failed:
		o.looked(s)
		return
	}
	if s.Phase == "dispatched_write" && applied && !s.Failed {
		f.Give(s)
	}
	switch s.Phase {
	case "scheduled_write":
		if !s.Failed {
			f.OrphanReplayed(s)
		}
	case "rollback_write":
		if s.Failed {
			f.Count.Sure(history.CounterRollbacksFailed, topic)
		}
	case "running_write":
		if s.Failed {
			f.Count.Sure(history.CounterRunningsFailed, topic)
		}
	case "approval_write":
		if !s.Failed {
			f.Count.Sure(history.CounterApprovalsRequired, topic)
		}
	case "approved_write":
		if !s.Failed {
			f.Count.Sure(history.CounterApprovalsGranted, topic)
		}
	case "outbox_remove":
		if !s.Failed && s.About.StateAt != s.Step { // without RUNNING the entry was not published
			f.Count.Sure(history.CounterOutboxVoided, topic)
		}
	case "result_write", "failed_write", "timeout_write", "cancel_write", "denied_write", "output_write":
		if s.Failed {
			break
		}
		f.Count.Sure(history.CounterCompleted, s.About.State.String(), topic)
		if s.Phase == "denied_write" {
			f.Count.Sure(history.CounterDenied, topic)
		}
		if s.About.State.Buried() && f.Config.DLQOrder != "state-then-dlq" {
			f.Count.Sure(history.CounterLetters, s.About.ReasonCode)
		}
	}
	if !s.Failed {
		return
	}
	if s.Handling != nil {
		s.Handling.StoreFailed = true
	}
	if applied {
		f.Ambiguous(s)
		return
	}
	f.Reach(model.FailedWrite)
	// At the ceiling FAILED is written instead of the rollback. That, too, leaves the job DISPATCHED to
	// nobody.
	if s.Phase == "rollback_write" || s.Phase == "failed_write" && s.About.State == model.Dispatched {
		f.Come(s.About, model.RollbackFailed)
	}
}

func (o *Observer) stateRead(s *model.Step) {
	if s.Handling != nil {
		s.Handling.OverdueRead = s.Handling.OverdueRead || s.Phase == "timeout_read"
		s.Handling.ReadFailed = 0
		if s.Failed {
			s.Handling.ReadFailed = s.Step
		} else {
			s.Handling.Prior, s.Handling.ReadAt = s.About.Attempts, s.At
			s.Handling.Silent = o.Facts.Silence(s.Event, s.About.Worker)
		}
	}
	if s.Handling != nil && !s.Failed && s.About.Intent.Step != 0 {
		s.Handling.Pick = s.About.Intent.Pick
	}
	if s.Phase == "state_read" {
		o.Facts.RequestRead(s)
		if !s.Failed {
			o.Facts.StaleResult(s)
		}
	}
	for _, check := range o.hooks.Read {
		check(s)
	}
}

// transactionRefused notes that the server refused the MULTI of a state write.
func (o *Observer) transactionRefused(s *model.Step) {
	if o.Facts.Contended(s) {
		s.Handling.Fencing = s.Phase // the next operation shows whether it tries again
		return
	}
	o.refused(s, s.Phase)
}

// looked notes that a state write has read what it is to change.
func (o *Observer) looked(s *model.Step) {
	switch {
	case s.Handling == nil || s.Name != "pipeline":
	case o.Facts.Contended(s) && o.Facts.TenantFull(s.About) && !o.Facts.HasSlot(s.About):
		s.Handling.Fencing, s.Handling.Full = "", true
		o.Facts.Reach(model.TenantAtLimit)
	default:
		s.Handling.Fencing = s.Phase
	}
}
