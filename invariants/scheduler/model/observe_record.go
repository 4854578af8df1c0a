package model

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

// take brings the record's fields up to date, and says whether the change is part of a state write.
func (j *Job) Take(c *sim.Change) bool {
	switch c.Field {
	case "state":
		j.State = ParseState(c.Value)
	case "attempts":
		j.Attempts, _ = strconv.Atoi(c.Value)
	case "worker":
		j.Worker = c.Value
		return false
	case "epoch":
		j.Epoch, _ = strconv.ParseInt(c.Value, 10, 64)
	case "version":
		j.Version, _ = strconv.ParseInt(c.Value, 10, 64)
	case "updated_at":
		j.Updated, _ = strconv.ParseInt(c.Value, 10, 64)
		return false
	case "deadline_at":
		j.Deadline, _ = strconv.ParseInt(c.Value, 10, 64)
		return false
	case "topic":
		j.Topic = c.Value
		return false
	case "request":
		j.request(c.Value)
		return false
	case "result_ptr":
		j.Out.Ptr = c.Value
		return false
	case "tenant":
		j.tenant = c.Value
		return false
	case "decision":
		j.Decision = c.Value
		return false
	case "constraints":
		j.Wish.constrain(c.Value)
		return false
	case "":
		if !c.Gone {
			return false
		}
		j.State, j.Attempts, j.Worker, j.Epoch, j.Version = Absent, 0, "", 0, 0
	default:
		return false
	}
	return true
}

// request notes what of a job's request matters to judging.
func (j *Job) request(packet string) {
	var r struct {
		Topic    string            `json:"topic"`
		Key      string            `json:"idempotency_key"`
		Labels   map[string]string `json:"labels"`
		Requires []string          `json:"requires"`
		Workflow string            `json:"workflow_id"`
	}
	if json.Unmarshal([]byte(packet), &r) != nil {
		return
	}
	j.Wish.Labels, j.Wish.Requires, j.Wish.Topic = r.Labels, r.Requires, r.Topic
	j.Replay.Key = r.Key
	j.replayLabels(r.Labels)
	j.Approved = r.Labels["approval_granted"] == "true"
	j.Saga.Workflow = r.Workflow
}

func (j *Observer) recordWritten(s *Step, record *Job) {
	f := j.Facts
	own, w := j.concerning(s), &j.write
	if record != s.About {
		own.About, own.Handling = record, nil
		if s.Kind != sim.KindLate {
			own.Handling = record.handling(s.Event)
		}
	}
	record.StateAt, record.Accepted = s.Step, true
	if record.Deadline != w.deadline {
		record.deadlineAt = s.At + time.Duration(record.Deadline-record.Updated)*time.Millisecond
	}
	switch record.State {
	case Scheduled:
		record.Scheduled++
		record.Intent = Intent{}
	case Dispatched:
		record.Intent = Intent{Worker: record.Worker, Epoch: record.Epoch, Step: s.Step, Pick: record.picked(own)}
		record.Intent.Stored = record.Holds(record.Epoch)
	case Running:
		if record.Worker != "" {
			record.Intent.Worker = record.Worker // the stream's word may have corrected it
		}
	case Succeeded:
		record.Intent = Intent{}
		f.done(record)
	default:
		record.Intent = Intent{}
	}
	if h := own.Handling; h != nil {
		f.overstay(own)
		j.brought(own, w)
		f.replayed(own, w)
		h.wrote = true
		switch record.State {
		case Scheduled:
			h.Scheduled, h.Pick = true, Pick{s.Node, s.Incarnation, s.At} // it follows at once
			h.Choice = f.candidates(own)
		case Dispatched:
			h.intended = true
		case Failed, Denied, Quarantined:
			h.failed = true
		}
	}
	if record.Attempts >= f.Config.MaxSchedulingRetries && w.Attempts < f.Config.MaxSchedulingRetries {
		f.Reach(CeilingReached)
	}
	f.sagaWrote(own)
	f.outputWrote(own, w)
	j.stepWritten(own)
	for _, check := range j.wrote {
		check(own, w)
	}
}

// delayed notes whose choice a DISPATCHED write is that sets out and is given up by its caller.
func (j *Job) delayed(s *Step) {
	if s.Phase == "dispatched_write" && s.Fault == history.FaultLate && s.Handling.Scheduled {
		j.late = append(j.late, lateIntent{s.Name, s.Occurrence, s.Handling.Pick})
	}
}

// picked says whose choice, and when, the worker is that the step writes down.
func (j *Job) picked(s *Step) Pick {
	if s.Kind == sim.KindLate {
		for i, l := range j.late {
			if l.name == s.Name && l.occurrence == s.Occurrence {
				j.late = slices.Delete(j.late, i, i+1)
				return l.pick
			}
		}
	}
	if s.Handling != nil && s.Handling.Scheduled {
		return s.Handling.Pick
	}
	return Pick{s.Node, s.Incarnation, s.At}
}

// holds says whether the stream holds a dispatch of an epoch, if there are epochs at all.
func (j *Job) Holds(epoch int64) bool {
	for i := range j.Dispatches {
		if d := &j.Dispatches[i]; epoch != 0 && d.Epoch == epoch && (d.handed || !d.Lost) {
			return true
		}
	}
	return false
}

// replayed notes what a replayer has brought on.
func (f *Facts) replayed(s *Step, w *Write) {
	if s.About.State != Scheduled || s.About.Replayer != invariants.Process(s.Node, s.Incarnation) || s.Handling.Scheduled {
		return
	}
	s.Handling.orphan = s.Phase == "scheduled_write"
	switch {
	case s.Phase != "scheduled_write":
	case w.From == Pending:
		f.Reach(OrphanReplayed)
	case w.From == Scheduled:
		f.Reach(ScheduledSwept)
	}
	s.About.Replayer = ""
}

// orphanReplayed counts a SCHEDULED write that was confirmed, if it is a replayer's. Of two handlings of one process
// events do not say which is the replayer's, while a request is in hand there too.
func (f *Facts) orphanReplayed(s *Step) {
	switch {
	case s.Handling == nil || !s.Handling.orphan:
		return
	case slices.Contains(s.About.inHand, invariants.Process(s.Node, s.Incarnation)):
		f.Count.OrphansMaybe++
	default:
		f.Count.Orphans++
	}
	s.Handling.orphan = false
}

// taken takes in that a replayer has read a job that it is to take up.
func (f *Facts) taken(s *Step) {
	me := invariants.Process(s.Node, s.Incarnation)
	if was := s.About.Replayer; was != "" && was != me {
		f.Count.OrphansMaybe++ // that one may be at it still
	}
	s.About.Replayer = me
	if !s.Failed && (s.About.State == Pending || s.About.State == Scheduled || s.About.State == ApprovalRequired) {
		f.Count.Taken++
	}
}

// outboxChanged takes in a change of a job's entry in the outbox, and says whether the job is the step's own.
func (j *Observer) outboxChanged(s *Step, c *sim.Change) bool {
	about := j.Facts.Job(c.Field)
	if about == nil {
		return false
	}
	about.Queued = queued{}
	if !c.Gone {
		about.Queued.Step = s.Step
	}
	return about == s.About
}

// overstay notes that a handler went on after its lock had expired.
func (f *Facts) overstay(s *Step) {
	if h := s.Handling; h.Expires != 0 && s.At >= h.Expires && !s.About.Had(LockOverstayed) {
		f.come(s.About, LockOverstayed)
	}
}

// fence follows a state write of several operations: a look at the record, and the MULTI. A handling
// that gives its lock back after the look was refused by what it saw.
func (j *Observer) fence(s *Step) {
	phase := s.Handling.fencing
	switch {
	case phase == "":
	case s.Phase == phase && s.Name == "multi":
		s.Handling.fencing = ""
	case beginsRelease(s):
		s.Handling.fencing = ""
		j.refused(s, phase)
	}
}

// refused notes that the fence stopped a state write of that phase.
func (j *Observer) refused(s *Step, phase string) {
	f := j.Facts
	f.Reach(WriteFenced)
	f.Count.Fenced++
	f.fenced = Fenced{s.Step, s.Job, phase}
	if s.Handling != nil {
		s.Handling.StoreFailed = true
	}
	switch phase {
	case "rollback_write":
		f.Count.RollbacksFailed++
	case "running_write":
		f.Count.RunningWritesFailed++
	}
}

// looks says whether the operation is the part of a fenced write that only looks.
func looks(s *Step) bool { return s.Name == "watch" || s.Name == "pipeline" }

func (j *Observer) writeAnswered(s *Step, applied bool) {
	f := j.Facts
	if s.Phase == "rollback_write" && s.Name != "pipeline" && (s.Name == "watch" || !f.Config.Fence) {
		f.Count.Rollbacks++
	}
	switch {
	case s.Outcome == history.TransactionFailed:
		j.transactionRefused(s)
		return
	case looks(s) && !s.Failed:
		j.looked(s)
		return
	}
	if s.Phase == "dispatched_write" && applied && !s.Failed {
		f.give(s)
	}
	switch s.Phase {
	case "scheduled_write":
		if !s.Failed {
			f.orphanReplayed(s)
		}
	case "rollback_write":
		if s.Failed {
			f.Count.RollbacksFailed++
		}
	case "running_write":
		if s.Failed {
			f.Count.RunningWritesFailed++
		}
	case "outbox_remove":
		if !s.Failed && s.About.StateAt != s.Step { // without RUNNING: the entry was not published
			f.Count.Voided++
		}
	case "result_write", "failed_write", "timeout_write", "cancel_write", "denied_write", "output_write":
		if !s.Failed {
			f.Count.Completed++
		}
		if !s.Failed && s.Phase == "denied_write" {
			f.Count.Denied++
		}
	}
	if !s.Failed {
		return
	}
	if s.Handling != nil {
		s.Handling.StoreFailed = true
	}
	if applied {
		f.ambiguous(s)
		return
	}
	f.Reach(FailedWrite)
	// At the ceiling FAILED is written instead of the rollback; that too leaves the job DISPATCHED to nobody.
	if s.Phase == "rollback_write" || s.Phase == "failed_write" && s.About.State == Dispatched {
		f.come(s.About, RollbackFailed)
	}
}

// ambiguous notes that a state write was applied although its caller saw an error.
func (f *Facts) ambiguous(s *Step) {
	if s.About.StateAt != s.Step && !strings.HasSuffix(s.Phase, "_write") && s.Phase != "outbox_remove" {
		return
	}
	f.Reach(AmbiguousWrite)
	if s.About.State == Dispatched && s.About.Queued.Step == 0 {
		f.come(s.About, AmbiguousIntent)
	}
}

func (j *Observer) stateRead(s *Step) {
	if s.Handling != nil {
		s.Handling.overdueRead = s.Handling.overdueRead || s.Phase == "timeout_read"
		s.Handling.ReadFailed = 0
		if s.Failed {
			s.Handling.ReadFailed = s.Step
		} else {
			s.Handling.Silent = j.Facts.Silence(s.Event, s.About.Worker)
		}
	}
	if s.Handling != nil && !s.Failed && s.About.Intent.Step != 0 {
		s.Handling.Pick = s.About.Intent.Pick
	}
	for _, check := range j.read {
		check(s)
	}
}
