package invariants

import (
	"strconv"
	"strings"

	"github.com/faultline-sim/faultline/sim"
)

// step is one event as it concerns one job.
type step struct {
	*sim.Event
	job    *job
	h      *handling // what the event's process has under way for the job, or nil
	failed bool      // the caller was told of an error
}

// write is a change of a job's record; the job's own fields hold what it is now.
type write struct {
	from     state
	attempts int // before
}

// lockChange is a change of a lock's key; the job's lock is what it is now.
type lockChange struct {
	was      lock
	taken    bool // a new token
	extended bool
	gone     bool
}

// Observe judges one event. It must see every event of the run, in order, and keeps none.
func (j *Judge) Observe(e *sim.Event) {
	f := j.facts
	f.step, f.at = e.Step, e.At
	switch e.Kind {
	case sim.KindRedis, sim.KindPublish, sim.KindReturn, sim.KindSend:
		if e.Target == subjectBeat && e.Fault != "" {
			f.meet(nil, lostHeartbeats)
		}
		if e.Phase != "" || len(e.Changes) > 0 {
			j.operation(e)
		}
	case sim.KindDeliver, sim.KindAck, sim.KindNak, sim.KindTerm:
		if e.Job != "" {
			j.message(e)
		}
	case kindEffect:
		if e.Job != "" && !callerFailed(e) {
			j.execution(e)
		}
	case sim.KindFetch, sim.KindFetchEnd:
		f.node(e.Node).pull(e)
	case sim.KindReceive:
		f.heartbeat(e)
	case sim.KindControl:
		f.control(e)
	case sim.KindStart:
		f.node(e.Node).down = false
	}
}

// operation takes in a store command or a publish, or its late error.
func (j *Judge) operation(e *sim.Event) {
	s := &j.step
	*s = step{Event: e, failed: callerFailed(e)}
	if e.Target != subjectBeat {
		if s.job = j.facts.job(e.Job); s.job != nil {
			s.h = s.job.handling(e)
		}
	}
	applied, locked := j.changes(s)
	if s.job == nil || e.Outcome == sim.OutcomePending && e.Phase != "publish" {
		return
	}
	switch e.Phase {
	case "lock_acquire", "lock_renew":
		j.lockAnswered(s, locked)
	case "lock_release":
		j.lockReleased(s)
	case "state_read", "outbox_claim":
		j.stateRead(s)
	case "publish":
		j.publishAnswered(s, applied)
	case "result_publish":
		if s.failed && !applied {
			j.facts.meet(s.job, resultUnsent)
		}
	case "dlq_write":
		if s.failed {
			j.facts.meet(s.job, dlqWriteFailed)
			if s.h != nil { // a message that makes no sense has an entry too, outside any handling
				j.facts.count.dlqsFailed++
			}
		}
	case "pending_write", "scheduled_write", "dispatched_write", "rollback_write", "running_write", "outbox_remove", "result_write", "failed_write":
		j.writeAnswered(s, applied)
	}
}

// changes takes in what a step changed. It says whether the step changed anything that its own job's
// phase is for, and whether it took or extended the job's lock.
func (j *Judge) changes(s *step) (applied, locked bool) {
	var record *job
	stateful := false
	for i := range s.Changes {
		c := &s.Changes[i]
		switch {
		case c.Stream == streamJobs:
			applied = j.dispatchStored(s, c) || applied
		case c.Stream == streamSys:
			applied = j.sysStored(s, c) || applied
		case strings.HasPrefix(c.Key, lockPrefix):
			locked = j.lockChanged(s, c) || locked
		case c.Key == outboxKey:
			applied = j.outboxChanged(s, c) || applied
		case strings.HasPrefix(c.Key, dlqPrefix):
			j.facts.job(c.Key[len(dlqPrefix):]).dlqExpires = c.Expires
			if s.h != nil {
				s.h.entered = true
			}
		default:
			id := recordOf(c.Key)
			if id == "" {
				continue
			}
			if record == nil || record.id != id {
				if stateful {
					j.recordWritten(s, record)
				}
				record, stateful = j.facts.job(id), false
				j.write = write{from: record.state, attempts: record.attempts}
			}
			stateful = record.take(c) || stateful
			applied = applied || record == s.job
		}
	}
	if stateful {
		j.recordWritten(s, record)
	}
	return applied, locked
}

// concerning copies s, to be turned to the job that one of its changes is about.
func (j *Judge) concerning(s *step) *step {
	j.about = *s
	return &j.about
}

// take brings the record's fields up to date, and says whether the change is part of a state write.
func (j *job) take(c *sim.Change) bool {
	switch c.Field {
	case "state":
		j.state = parseState(c.Value)
	case "attempts":
		j.attempts, _ = strconv.Atoi(c.Value)
	case "worker":
		j.worker = c.Value
		return false
	case "":
		if !c.Gone {
			return false
		}
		j.state, j.attempts, j.worker = absent, 0, ""
	default:
		return false
	}
	return true
}

func (j *Judge) recordWritten(s *step, record *job) {
	f := j.facts
	own, w := j.concerning(s), &j.write
	if record != s.job {
		own.job, own.h = record, record.handling(s.Event)
	}
	record.stateAt = s.Step
	switch record.state {
	case scheduled:
		record.scheduled++
		record.intent = intent{}
	case dispatched:
		record.intent = intent{worker: record.worker, step: s.Step, node: s.Node, incarnation: s.Incarnation, pickedAt: s.At}
		if own.h != nil && own.h.scheduled {
			record.intent.pickedAt = own.h.scheduledAt
		}
	case running:
	default:
		record.intent = intent{}
	}
	if h := own.h; h != nil {
		f.overstay(own)
		h.wrote = true
		switch record.state {
		case scheduled:
			h.scheduled, h.scheduledAt = true, s.At
		case dispatched:
			h.intended = true
		case failed:
			h.failed = true
		}
	}
	if record.attempts >= f.cfg.MaxSchedulingRetries && w.attempts < f.cfg.MaxSchedulingRetries {
		f.meet(record, ceilingReached)
	}
	for _, check := range j.wrote {
		check(own, w)
	}
}

// outboxChanged takes in a change of a job's entry in the outbox, and says whether the job is the step's own.
func (j *Judge) outboxChanged(s *step, c *sim.Change) bool {
	about := j.facts.job(c.Field)
	if about == nil {
		return false
	}
	about.queued = queued{}
	if !c.Gone {
		about.queued.step = s.Step
	}
	return about == s.job
}

// overstay notes that a handler went on after its lock had expired.
func (f *facts) overstay(s *step) {
	if h := s.h; h.expires != 0 && s.At >= h.expires && s.job.classes&lockOverstayed == 0 {
		f.meet(s.job, lockOverstayed)
	}
}

func (j *Judge) writeAnswered(s *step, applied bool) {
	f := j.facts
	switch s.Phase {
	case "rollback_write":
		f.count.rollbacks++
		if s.failed {
			f.count.rollbacksFailed++
		}
	case "running_write":
		if s.failed {
			f.count.runningWritesFailed++
		}
	case "outbox_remove":
		if !s.failed && s.job.stateAt != s.Step { // without RUNNING: the entry was not published
			f.count.voided++
		}
	case "result_write", "failed_write":
		if !s.failed {
			f.count.completed++
		}
	}
	if !s.failed {
		return
	}
	if s.h != nil {
		s.h.storeFailed = true
		s.h.mayKeep = s.h.mayKeep || s.h.stored && s.Phase == "outbox_remove"
	}
	if !applied {
		f.meet(s.job, failedWrite)
		// At the ceiling FAILED is written instead of the rollback; that too leaves the job DISPATCHED to nobody.
		if s.Phase == "rollback_write" || s.Phase == "failed_write" && s.job.state == dispatched {
			f.meet(s.job, rollbackFailed)
		}
		return
	}
	f.meet(s.job, ambiguousWrite)
	if s.job.state == dispatched && s.job.queued.step == 0 {
		f.meet(s.job, ambiguousIntent)
	}
	if s.job.state.terminal() && s.Phase != "outbox_remove" {
		f.meet(s.job, ambiguousTerminal)
	}
}

func (j *Judge) stateRead(s *step) {
	if s.failed {
		j.facts.meet(s.job, stateReadError)
	}
	if s.h != nil {
		s.h.readFailed = 0
		if s.failed {
			s.h.readFailed = s.Step
		}
	}
	for _, check := range j.read {
		check(s)
	}
}

// dispatchStored takes in a dispatch, and says whether it is the one that the step is about.
func (j *Judge) dispatchStored(s *step, c *sim.Change) bool {
	f := j.facts
	own := j.concerning(s)
	id := c.Header[headerJob]
	if id == "" {
		id = s.Job
	}
	if own.job = f.job(id); own.job == nil {
		return false
	}
	if own.job != s.job {
		own.h = nil
	}
	d := &j.dispatch
	*d = dispatch{worker: workerOf(c.Subject), subject: c.Subject, seq: c.Seq, step: s.Step}
	if own.h != nil {
		f.overstay(own)
		own.h.stored = true
	}
	if n := f.nodes[d.worker]; n != nil && d.worker != "" {
		if n.down {
			f.meet(own.job, deadWorker)
			f.meet(own.job, toDeadWorker)
		}
		if n.silent {
			f.meet(own.job, toSilentWorker)
		}
	}
	for _, check := range j.stored {
		check(own, d)
	}
	own.job.dispatches = append(own.job.dispatches, *d)
	own.job.queued.stored = own.job.queued.step != 0
	return own.job == s.job
}

// sysStored takes in a submission or a result, and says whether it is of the step's own job.
func (j *Judge) sysStored(s *step, c *sim.Change) bool {
	id := c.Header[headerJob]
	if id == "" {
		id = s.Job
	}
	about := j.facts.job(id)
	if about == nil {
		return false
	}
	about.messages = append(about.messages, message{seq: c.Seq, consumer: consumerOf(c.Subject), since: s.Step})
	switch c.Subject {
	case subjectSubmit:
		about.accepted = true
	case subjectResult:
		about.classes &^= resultUnsent
	}
	return about == s.job
}

func (j *Judge) publishAnswered(s *step, stored bool) {
	f := j.facts
	if s.Kind == sim.KindPublish {
		if s.h != nil {
			s.h.published = true
		}
		for _, check := range j.sent {
			check(s)
		}
	}
	switch {
	case s.Outcome == sim.OutcomePending:
	case !s.failed:
		f.count.published++
	case stored:
		f.meet(s.job, ambiguousPublish)
	default:
		f.meet(s.job, failedPublish)
	}
	if s.failed && s.h != nil {
		s.h.publishFailed = s.Step
		s.h.mayKeep = s.h.mayKeep || s.h.stored
	}
}

// message takes in a delivery, an ack or a nak of a message that concerns a job.
func (j *Judge) message(e *sim.Event) {
	f := j.facts
	about := f.job(e.Job)
	lost := e.Fault == faultLose
	last := e.Delivered >= uint64(f.cfg.MaxDeliver)
	if !strings.HasPrefix(e.Phase, "job_") { // those are the other stream's
		f.follow(about, e)
	}
	switch e.Phase {
	case "submit_deliver":
		if e.Delivered > 1 && about.state.inFlight() {
			f.meet(about, redeliveredInFlight)
		}
	case "result_deliver":
		switch {
		case about.state.terminal():
			f.meet(about, resultAfterEnd)
		case !about.state.inFlight():
			f.meet(about, resultAhead)
		}
	case "job_deliver":
		if e.Delivered > 1 {
			f.meet(about, dispatchRedelivered)
		}
	case "submit_nak", "result_nak", "job_nak":
		if last {
			f.meet(about, deliveriesExhausted)
		}
	case "submit_ack", "result_ack", "job_ack":
		if lost {
			f.meet(about, lostAck)
		}
		if e.Phase == "job_ack" {
			return
		}
		j.step = step{Event: e, job: about, failed: callerFailed(e)}
		for _, check := range j.acked {
			check(&j.step)
		}
	}
}

// execution takes in what a worker did.
func (j *Judge) execution(e *sim.Event) {
	s := &j.step
	*s = step{Event: e, job: j.facts.job(e.Job)}
	switch e.Name {
	case "begin":
		s.job.begun++
	case "finish":
		s.job.finished++
	}
	for _, check := range j.effect {
		check(s)
	}
}
