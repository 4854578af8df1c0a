package invariants

import (
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
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
	attempts int // before, as the rest
	epoch    int64
	version  int64
	updated  int64
	since    time.Duration // when updated was written
	deadline int64
	due      time.Duration // when the job's time was up, if it was bounded
	bounded  bool
	intent   intent
}

// lockChange is a change of a lock's key; the job's lock is what it is now.
type lockChange struct {
	was      lock
	taken    bool // a new token
	extended bool
	gone     bool
}

// Observe judges one event. It must see every event of the run, in order, and keeps none.
func (j *observer) Observe(e *sim.Event) {
	f := j.facts
	f.step, f.at = e.Step, e.At
	f.struck(e)
	switch e.Kind {
	case sim.KindRedis, sim.KindPublish, sim.KindReturn, sim.KindSend, sim.KindLate:
		if e.Phase != "" || len(e.Changes) > 0 {
			j.operation(e)
		}
	case sim.KindCall:
		f.asked(e)
		j.operation(e)
	case sim.KindAPI:
		if e.Phase == "publish_read" {
			j.operation(e)
		}
	case sim.KindDeliver, sim.KindAck, sim.KindNak, sim.KindTerm:
		if e.Job != "" {
			j.message(e)
		}
	case kindEffect:
		if e.Job != "" && !AnswerOf(e).Failed() {
			j.execution(e)
		}
	case sim.KindFetch, sim.KindFetchEnd:
		f.node(e.Node).pull(e)
	case sim.KindReceive:
		f.heartbeat(e)
	case sim.KindControl:
		f.control(e)
		switch {
		case len(e.Changes) == 0:
		case e.Changes[0].Stream != "":
			f.cutTails(e)
		default:
			j.rewound(e)
		}
	case sim.KindStart:
		f.start(e)
	}
}

// operation takes in a store command or a publish, or its late error, or its late effect.
func (j *observer) operation(e *sim.Event) {
	f := j.facts
	s := &j.step
	*s = step{Event: e, failed: AnswerOf(e).Failed()}
	if e.Target != subjectBeat {
		if s.job = f.job(e.Job); s.job != nil {
			s.h = s.job.handling(e)
		}
	}
	if s.Phase == "lock_release" && !beginsRelease(s) {
		s.h = nil // its own is over
	}
	if e.Kind == sim.KindLate {
		j.late(s)
		return
	}
	if s.h != nil {
		j.fence(s)
		j.onTime(s)
		s.job.delayed(s)
	}
	if s.Phase == "publish" && s.Kind == sim.KindPublish && f.resumes(s) {
		f.reach(intentResumed)
	}
	applied, locked := j.changes(s)
	f.breakerAsked(s)
	f.outputOperation(s)
	f.workflow.answered(f, s)
	if s.Phase == "dlq_growth_read" || s.Phase == "dlq_growth_write" {
		f.growthSeen(s)
	}
	if s.job == nil {
		f.ticked(s)
		return
	}
	if e.Outcome == sim.OutcomePending && e.Phase != "publish" && e.Phase != "lock_release" {
		return
	}
	j.concluded(s, applied, locked)
}

// concluded takes in what came of an operation on the step's own job, by its phase.
func (j *observer) concluded(s *step, applied, locked bool) {
	f := j.facts
	switch s.Phase {
	case "lock_acquire", "lock_renew":
		j.lockAnswered(s, locked)
	case "lock_release":
		j.lockReleased(s)
	case "state_read", "outbox_claim", "timeout_read", "quarantine_read":
		j.stateRead(s)
	case "replay_read":
		f.taken(s)
	case "publish":
		j.publishAnswered(s, applied)
	case "publish_read":
		f.readBack(s)
	case "output_check", "output_scan":
		f.outputCalled(s)
	case "tenant_read":
		f.tenantCounted(s)
	case "void_publish":
		if applied && !s.failed {
			f.count.voids++
		}
	case "result_publish":
		if s.failed && !applied {
			f.come(s.job, resultUnsent)
		}
	case "processed_read", "inflight_write", "processed_write":
		j.guardAsked(s)
	case "dlq_write":
		if s.failed {
			f.count.dlqsFailed++ // of a job, or of a message that makes no sense
		}
	case "pending_write", "scheduled_write", "dispatched_write", "rollback_write", "running_write", "outbox_remove", "result_write", "failed_write",
		"timeout_write", "cancel_write", "approval_write", "denied_write", "approved_write", "output_write":
		j.writeAnswered(s, applied)
	}
}

// late takes in what an operation does whose caller gave it up long ago: whatever is under way there by
// now is not about it.
func (j *observer) late(s *step) {
	f := j.facts
	s.h, s.failed = nil, true
	if applied, _ := j.changes(s); applied && s.job != nil {
		f.ambiguous(s)
	}
}

// changes takes in what a step changed. It says whether the step changed anything that its own job's
// phase is for, and whether it took or extended the job's lock.
func (j *observer) changes(s *step) (applied, locked bool) {
	if s.Outcome == transactionFailed || s.Kind == sim.KindLate && s.Outcome == sim.OutcomeNil {
		return false, false // a MULTI that the server refused: what it names is as it was
	}
	var record *job
	stateful := false
	written := func() {
		// Each write counts up the version: where it stays, the server refused a MULTI, and the answer was lost.
		if record == nil || stateful && record.version != 0 && record.version == j.write.version {
			return
		}
		applied = applied || record == s.job
		if stateful {
			j.recordWritten(s, record)
		}
	}
	for i := range s.Changes {
		c := &s.Changes[i]
		id := recordOf(c.Key)
		if id == "" {
			own, lock := j.changed(s, c)
			applied, locked = applied || own, locked || lock
			continue
		}
		if record == nil || record.id != id {
			written()
			record, stateful = j.facts.job(id), false
			j.remember(record)
		}
		stateful = record.take(c) || stateful
		if c.Field == "updated_at" {
			record.touched = s.At
		}
		if c.Field == "decision" {
			record.decidedAt = s.Step
		}
		j.facts.consented(s, record, c)
	}
	written()
	j.facts.recordChanges(s)
	return applied, locked
}

// remember keeps what a record is before the step writes it.
func (j *observer) remember(record *job) {
	j.write = write{
		from: record.state, attempts: record.attempts, epoch: record.epoch, version: record.version,
		updated: record.updated, since: record.touched, deadline: record.deadline, intent: record.intent,
	}
	j.write.due, j.write.bounded = j.facts.due(record)
}

// changed takes in a change of anything but a job's record. It says of it what changes says of all.
func (j *observer) changed(s *step, c *sim.Change) (applied, locked bool) {
	switch {
	case c.Stream == streamJobs:
		return j.jobsStored(s, c), false
	case c.Stream == streamSys:
		return j.sysStored(s, c), false
	case strings.HasPrefix(c.Key, lockPrefix):
		return false, j.lockChanged(s, c)
	case strings.HasPrefix(c.Key, runLockPrefix):
		j.runLockChanged(s, c)
	case strings.HasPrefix(c.Key, runPrefix):
		j.runWritten(s, c)
	case c.Key == timersKey:
		j.timerChanged(s, c)
	case c.Key == outboxKey:
		return j.outboxChanged(s, c), false
	case c.Key == reconcilerKey || c.Key == replayerKey || c.Key == writerKey:
		j.tickLockChanged(s, c)
	case strings.HasPrefix(c.Key, breakerPrefix):
		j.facts.breakerChanged(s, c)
	case c.Key == snapshotKey:
		j.snapshotChanged(s, c)
	case strings.HasPrefix(c.Key, processedPrefix) || strings.HasPrefix(c.Key, inflightPrefix):
		j.guardChanged(s, c)
	case strings.HasPrefix(c.Key, sagaPrefix):
		j.sagaChanged(s, c)
	case strings.HasPrefix(c.Key, sagaDLQPrefix):
		j.facts.sagaBuried(c)
	case c.Key == auditKey:
		j.facts.sagaAudited(c)
		j.facts.outputAudited(c)
	case c.Key == dlqIndex:
		j.facts.lettersIndexed(c)
	case c.Key == growthKey:
		j.facts.growthChanged(s, c)
	case strings.HasPrefix(c.Key, committedPrefix):
		j.facts.committedChanged(c)
	case strings.HasPrefix(c.Key, outputPrefix):
		j.facts.outputStored(c)
	case c.Key == scansKey:
		j.facts.scanKept(c)
	case strings.HasPrefix(c.Key, dlqPrefix):
		id := c.Key[len(dlqPrefix):]
		j.facts.letterChanged(s, id, c)
		if j.facts.file(id, !c.Gone) {
			return false, false
		}
		about := j.facts.job(id)
		about.entered, about.dlqExpires = !c.Gone, c.Expires
		if s.h != nil {
			s.h.entered = true
		}
	}
	return false, false
}

// rewound takes in what a failover of Redis has changed back. It is nobody's doing, and nothing is judged by it.
func (j *observer) rewound(e *sim.Event) {
	unjudged := &observer{facts: j.facts}
	unjudged.changes(&step{Event: e})
	for i := range e.Changes {
		if about := j.facts.jobs[recordOf(e.Changes[i].Key)]; about != nil {
			about.scheduled = about.attempts
		}
	}
}

// concerning copies s, to be turned to the job that one of its changes is about.
func (j *observer) concerning(s *step) *step {
	j.about = *s
	return &j.about
}
