package observe

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

// Observe updates the facts with one event. It returns what the event says of the servers; the slice is valid
// until the next call. It must be called with every event of the run, in order, and keeps none.
func (o *Observer) Observe(e *sim.Event) []history.Fact {
	o.said = history.Facts(e, o.said[:0])
	f := o.Facts
	f.Step, f.At = e.Step, e.At
	f.Struck(e)
	f.Hangs(e)
	f.Confirm(e)
	if e.Kind == sim.KindSend && e.Target == history.SubjectBeat {
		f.Beat(e)
		for _, check := range o.hooks.Beat {
			check(e)
		}
	}
	switch e.Kind {
	case sim.KindRedis, sim.KindPublish, sim.KindReturn, sim.KindSend, sim.KindLate:
		if e.Phase != "" || len(e.Changes) > 0 {
			o.operation(e)
		}
	case sim.KindCall:
		f.Called(e)
		o.operation(e)
	case sim.KindAPI:
		if e.Phase == "publish_read" {
			o.operation(e)
		}
	case sim.KindDeliver, sim.KindAck, sim.KindNak, sim.KindTerm:
		if e.Job != "" {
			o.message(e)
		}
	case history.KindEffect:
		if e.Job != "" && !history.AnswerOf(e).Failed() {
			o.execution(e)
		}
	case sim.KindProgress:
		f.Node(e.Node).Worked = e.At
	case sim.KindFetch, sim.KindFetchEnd:
		f.Node(e.Node).Pull(e)
	case sim.KindReceive:
		if f.Heartbeat(e) {
			for _, check := range o.hooks.Heard {
				check(e)
			}
		}
	case sim.KindControl:
		f.Control(e)
		switch {
		case len(e.Changes) == 0:
		case e.Changes[0].Stream != "":
			f.CutTails(e)
		default:
			o.rewound(e)
		}
	case sim.KindStart:
		f.Start(e)
	}
	return o.said
}

// operation notes a store command or a publish, or its late error, or its late effect.
func (o *Observer) operation(e *sim.Event) {
	f := o.Facts
	s := &o.step
	*s = model.Step{Event: e, Failed: history.AnswerOf(e).Failed()}
	if e.Target != history.SubjectBeat {
		if s.About = f.Job(e.Job); s.About != nil {
			s.Handling = s.About.Handling(e)
		}
	}
	if s.Phase == "lock_release" && !model.BeginsRelease(s) {
		s.Handling = nil // its own handling is over
	}
	if e.Kind == sim.KindLate {
		o.late(s)
		return
	}
	if s.Handling != nil {
		o.fence(s)
		o.onTime(s)
	}
	if s.Handling != nil && s.Phase == "lock_renew" && s.Kind == sim.KindRedis && s.Name == "evalsha" { // an eval repeats it, with the script
		o.renewalSetsOut(s)
	}
	if s.About != nil {
		s.About.Delayed(s)
	}
	if s.Phase == "publish" && s.Kind == sim.KindPublish && f.Resumes(s) {
		f.Reach(model.IntentResumed)
	}
	f.OperatorActs(s)
	f.ApproverActs(s)
	applied, locked := o.changes(s)
	if s.About != nil && history.IsClient(s.Node) {
		s.About.Sends(s)
	}
	if s.About != nil && model.Confirms(s) {
		times := s.About.Again(s)
		for _, check := range o.hooks.Confirmed {
			check(s, times)
		}
	}
	f.BreakerAsked(s)
	if s.Kind == sim.KindCall && s.Name == history.MethodCheck {
		f.ReplayerAsked(s)
	}
	f.OutputOperation(s)
	model.WorkerOperation(s)
	f.SagaOperation(s)
	f.VisitGoesOn(s)
	f.Workflow.Answered(f, s)
	switch s.Phase {
	case "dlq_lock":
		f.VisitEnds(s)
	case "dlq_read":
		f.LettersListed(s)
	case "dlq_growth_read", "dlq_growth_write":
		f.GrowthSeen(s)
	}
	if s.About != nil && s.Phase == "committed_read" {
		f.CommitAsked(s)
	}
	f.RedisAnswered(s)
	if s.About == nil {
		f.Ticked(s)
		if t := f.Lists(s); t != nil {
			for _, check := range o.hooks.Listed {
				check(s, t)
			}
		}
		return
	}
	if e.Outcome == sim.OutcomePending && e.Phase != "publish" && e.Phase != "lock_release" {
		return
	}
	o.concluded(s, applied, locked)
}

// concluded notes the outcome of an operation on the step's own job, by its phase.
func (o *Observer) concluded(s *model.Step, applied, locked bool) {
	f := o.Facts
	f.Meets(s, locked)
	switch s.Phase {
	case "lock_acquire", "lock_renew":
		o.lockAnswered(s, locked)
	case "lock_release":
		o.lockReleased(s)
	case "state_read", "outbox_claim", "timeout_read", "quarantine_read":
		o.stateRead(s)
	case "dlq_entry_read":
		f.LetterRead(s)
	case "dlq_update":
		f.LetterWritten(s)
	case "replay_read":
		f.ReplayerRead(s)
	case "publish":
		o.publishAnswered(s, applied)
	case "publish_read":
		f.ReadBack(s)
	case "output_check", "output_scan":
		f.OutputCalled(s)
	case "approve_read":
		f.ApproverReads(s, true)
	case "approve_write":
		if s.Name == "pipeline" {
			f.ApproverReads(s, false)
		}
	case "ask_again_write":
		if s.Name == sim.NameMulti && applied && !s.Failed {
			f.Count.Sure(history.CounterApprovalsRequired, s.About.TopicOf())
		}
	case "approval_age":
		f.ApprovalAged(s)
	case "tenant_read":
		f.TenantCounted(s)
	case "void_publish":
		if applied && !s.Failed {
			f.Count.Sure(history.CounterVoids, s.About.TopicOf())
		}
	case "result_publish":
		if s.Failed && !applied {
			f.Come(s.About, model.ResultUnsent)
		}
	case "processed_read", "inflight_write", "processed_write":
		o.guardAsked(s)
	case "replica_read", "replica_wait":
		f.ReplicaAsked(s)
	case "dlq_write":
		switch {
		case s.Failed:
			f.Count.Sure(history.CounterLetterWriteFailed) // of a job, or of a message that makes no sense
			f.Unfiled(s)
		case s.Name == "zadd" && s.Target == history.DlqIndex, // the last of the entry's writes, which follow one another
			s.Name == sim.NameMulti && model.OfMessage(strings.TrimPrefix(s.Target, history.DlqPrefix)) && writes(s, s.Target):
			f.Count.Sure(history.CounterLetters, o.filing(s).Says.ReasonCode)
		}
	case "pending_write", "scheduled_write", "dispatched_write", "rollback_write", "running_write", "outbox_remove", "result_write", "failed_write",
		"timeout_write", "cancel_write", "approval_write", "denied_write", "approved_write", "output_write":
		o.writeAnswered(s, applied)
	}
}

// filing is the DLQ entry that the step writes or indexes: its job's, or a message's.
func (o *Observer) filing(s *model.Step) *model.Filing {
	id := strings.TrimPrefix(s.Target, history.DlqPrefix)
	for i := range s.Changes {
		if c := &s.Changes[i]; c.Key == history.DlqIndex && !c.Gone {
			id = c.Field
		}
	}
	if model.OfMessage(id) {
		return o.Facts.Letter(id)
	}
	return &s.About.Filing
}

// writes says whether the step wrote a key.
func writes(s *model.Step, key string) bool {
	return slices.ContainsFunc(s.Changes, func(c sim.Change) bool { return c.Key == key && !c.Gone })
}

// keepsSnapshot says whether the step writes the snapshot unchanged, which no change shows.
func keepsSnapshot(s *model.Step) bool {
	return s.Phase == "snapshot_write" && (s.Name == "set" || s.Name == sim.NameMulti) && !s.Failed && !writes(s, history.SnapshotKey)
}

// late notes the effect of an operation that its caller gave up long ago. It has nothing to do with what is
// under way there by now.
func (o *Observer) late(s *model.Step) {
	f := o.Facts
	s.Handling, s.Failed = nil, true
	if applied, _ := o.changes(s); applied && s.About != nil {
		f.Ambiguous(s)
	}
}

// changes notes what a step changed. It says whether the step changed anything that the phase of its own job
// is for, and whether it took or extended the job's lock.
func (o *Observer) changes(s *model.Step) (applied, locked bool) {
	if s.Outcome == history.TransactionFailed || s.Kind == sim.KindLate && s.Outcome == sim.OutcomeNil {
		return false, false // the server refused the MULTI, so nothing has changed
	}
	var record *model.Job
	stateful := false
	written := func() {
		// If nothing has changed, not even the version, the server refused the MULTI, and its answer was
		// lost.
		if record == nil || stateful && record.Version != 0 && o.write.Leaves(record) {
			return
		}
		applied = applied || record == s.About
		if stateful {
			o.recordWritten(s, record)
		} else {
			o.recordAmended(s, record)
		}
	}
	if keepsSnapshot(s) {
		o.snapshotWritten(s) // before the lock, which is in the same MULTI
	}
	for i := range o.said {
		c, id := o.said[i].Change, o.said[i].Job
		if what := o.said[i].What; what != history.Record {
			own, lock := o.changed(s, c, what, id)
			applied, locked = applied || own, locked || lock
			continue
		}
		if record == nil || record.ID != id {
			written()
			record, stateful = o.Facts.Job(id), false
			o.remember(record)
		}
		stateful = record.Take(c) || stateful
		switch {
		case c.Field != "updated_at":
		case s.Rewinds(): // it says itself when it was written
			record.Touched = o.Facts.Workflow.Since(record.Updated)
		default:
			record.Touched = s.At
		}
		switch c.Field {
		case "decision":
			record.DecidedAt = s.Step
		case "request":
			if !c.Gone {
				o.requested(s, record, history.ReadRequest(c.Value))
			}
		case "cancel": // a scheduler keeps only what a stream has stored
			record.Asked = record.Asked || !c.Gone && history.IsClient(s.Node)
			if !c.Gone {
				o.cancelRequested(s, record, c.Value)
			}
		}
		o.Facts.Consented(s, record, c)
	}
	written()
	o.Facts.RecordChanges(s)
	o.Facts.LettersWritten(s)
	o.Facts.TrailWritten(s)
	for i := range o.said {
		for _, check := range o.hooks.Changed {
			check(s, &o.said[i])
		}
	}
	return applied, locked
}

// remember keeps the content of a record before the step writes it.
func (o *Observer) remember(record *model.Job) {
	o.write = model.Write{
		From: record.State, Attempts: record.Attempts, Epoch: record.Epoch, Version: record.Version,
		Created: record.Created, Updated: record.Updated, Since: record.Touched, Step: record.StateAt, Deadline: record.Deadline, Intent: record.Intent,
		Ptr: record.Out.Ptr, Code: record.ReasonCode, Request: record.Request,
	}
	o.write.Due, o.write.Bounded = o.Facts.Due(record)
}

// changed notes a change of anything except a job's record. Its results are those of changes.
func (o *Observer) changed(s *model.Step, c *sim.Change, what history.What, of string) (applied, locked bool) {
	f := o.Facts
	switch what {
	case history.Dispatch, history.Void, history.Notice:
		return o.jobsStored(s, c, what), false
	case history.Submission, history.Result, history.Cancellation:
		return o.sysStored(s, c, what), false
	case history.Lock:
		return false, o.lockChanged(s, c, f.Job(of))
	case history.RunLock:
		o.runLockChanged(s, c, f.Workflow.Runs[of])
	case history.Run:
		o.runWritten(s, c, of)
	case history.LiveRuns:
		o.liveRunChanged(c)
	case history.Timers:
		o.timerChanged(s, c)
	case history.Outbox:
		return o.outboxChanged(s, c, f.Job(of)), false
	case history.TickLock, history.LoopLock:
		o.tickLockChanged(s, c)
	case history.Breaker:
		f.BreakerChanged(s, c)
	case history.Probes:
		f.ProbesChanged(s, c)
	case history.Snapshot:
		o.snapshotChanged(s, c)
	case history.Processed, history.Inflight:
		o.guardChanged(s, c, what, model.GuardedMessage(s, of))
	case history.SagaStack:
		o.sagaStacked(s, c, f.Sagas.Of(of))
	case history.SagaLock:
		o.sagaLocked(s, f.Sagas.Of(of), c)
	case history.Rollbacks:
		f.RollbackNoted(s, c)
	case history.SagaLetter:
		f.SagaBuried(s, history.SagaLetters+of, c)
		f.SagaLetterWritten(s, c)
	case history.Slots:
		f.SlotChanged(c, of)
	case history.Audited:
		f.Audited(s, c)
	case history.LetterIndex:
		f.LettersIndexed(c, of)
	case history.LettersDue:
		f.LetterDue(s, c, of)
	case history.Growth:
		f.GrowthChanged(s, c)
	case history.Committed:
		f.CommittedChanged(s, c, of)
	case history.Output:
		f.OutputStored(c)
	case history.Finding:
		if about := f.Jobs[of]; about != nil {
			f.FindingStored(s, c, about)
		}
	case history.Scans:
		f.ScanKept(s, c, of)
	case history.MessageLetter:
		f.LetterChanged(s, of, c)
		f.FileLetter(s, of, f.Letter(of), c)
	case history.Letter:
		f.LetterChanged(s, of, c)
		about := f.Job(of)
		first := !about.Entered
		f.FileLetter(s, of, &about.Filing, c)
		if s.Handling != nil {
			s.Handling.Entered = true
			if entry, err := history.Read[history.DeadLetter](c.Value); first && !c.Gone && about == s.About && err == nil {
				for _, check := range o.hooks.Buried {
					check(s, entry)
				}
			}
		}
	}
	return false, false
}

// rewound notes what a failover of Redis has changed back. It is nobody's write, and nothing is judged by it.
func (o *Observer) rewound(e *sim.Event) {
	unjudged := &Observer{Facts: o.Facts, said: o.said, hooks: &model.Hooks{}}
	unjudged.changes(&model.Step{Event: e})
	for i := range o.said {
		if about := o.Facts.Jobs[o.said[i].Job]; about != nil && o.said[i].What == history.Record {
			about.Scheduled = about.Attempts
			if about.State != model.Cancelled { // nobody knows any more that it was
				about.Cancelled = model.Cancellation{}
			}
			about.Accepted = about.State != model.Absent || about.Requests > 0
		}
	}
}
