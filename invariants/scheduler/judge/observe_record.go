package judge

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
func (j *job) take(c *sim.Change) bool {
	switch c.Field {
	case "state":
		j.state = parseState(c.Value)
	case "attempts":
		j.attempts, _ = strconv.Atoi(c.Value)
	case "worker":
		j.worker = c.Value
		return false
	case "epoch":
		j.epoch, _ = strconv.ParseInt(c.Value, 10, 64)
	case "version":
		j.version, _ = strconv.ParseInt(c.Value, 10, 64)
	case "updated_at":
		j.updated, _ = strconv.ParseInt(c.Value, 10, 64)
		return false
	case "deadline_at":
		j.deadline, _ = strconv.ParseInt(c.Value, 10, 64)
		return false
	case "topic":
		j.topic = c.Value
		return false
	case "request":
		j.request(c.Value)
		return false
	case "result_ptr":
		j.out.ptr = c.Value
		return false
	case "tenant":
		j.tenant = c.Value
		return false
	case "decision":
		j.decision = c.Value
		return false
	case "constraints":
		j.wish.constrain(c.Value)
		return false
	case "":
		if !c.Gone {
			return false
		}
		j.state, j.attempts, j.worker, j.epoch, j.version = absent, 0, "", 0, 0
	default:
		return false
	}
	return true
}

// request notes what of a job's request matters to judging.
func (j *job) request(packet string) {
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
	j.wish.labels, j.wish.requires, j.wish.topic = r.Labels, r.Requires, r.Topic
	j.replay.key = r.Key
	j.replayLabels(r.Labels)
	j.approved = r.Labels["approval_granted"] == "true"
	j.saga.workflow = r.Workflow
}

func (j *observer) recordWritten(s *step, record *job) {
	f := j.facts
	own, w := j.concerning(s), &j.write
	if record != s.about {
		own.about, own.handling = record, nil
		if s.Kind != sim.KindLate {
			own.handling = record.handling(s.Event)
		}
	}
	record.stateAt, record.accepted = s.Step, true
	if record.deadline != w.deadline {
		record.deadlineAt = s.At + time.Duration(record.deadline-record.updated)*time.Millisecond
	}
	switch record.state {
	case scheduled:
		record.scheduled++
		record.intent = intent{}
	case dispatched:
		record.intent = intent{worker: record.worker, epoch: record.epoch, step: s.Step, pick: record.picked(own)}
		record.intent.stored = record.holds(record.epoch)
	case running:
		if record.worker != "" {
			record.intent.worker = record.worker // the stream's word may have corrected it
		}
	case succeeded:
		record.intent = intent{}
		f.done(record)
	default:
		record.intent = intent{}
	}
	if h := own.handling; h != nil {
		f.overstay(own)
		j.brought(own, w)
		f.replayed(own, w)
		h.wrote = true
		switch record.state {
		case scheduled:
			h.scheduled, h.pick = true, pick{s.Node, s.Incarnation, s.At} // it follows at once
			h.choice = f.candidates(own)
		case dispatched:
			h.intended = true
		case failed, denied, quarantined:
			h.failed = true
		}
	}
	if record.attempts >= f.config.MaxSchedulingRetries && w.attempts < f.config.MaxSchedulingRetries {
		f.reach(ceilingReached)
	}
	f.sagaWrote(own)
	f.outputWrote(own, w)
	j.stepWritten(own)
	for _, check := range j.wrote {
		check(own, w)
	}
}

// delayed notes whose choice a DISPATCHED write is that sets out and is given up by its caller.
func (j *job) delayed(s *step) {
	if s.Phase == "dispatched_write" && s.Fault == history.FaultLate && s.handling.scheduled {
		j.late = append(j.late, lateIntent{s.Name, s.Occurrence, s.handling.pick})
	}
}

// picked says whose choice, and when, the worker is that the step writes down.
func (j *job) picked(s *step) pick {
	if s.Kind == sim.KindLate {
		for i, l := range j.late {
			if l.name == s.Name && l.occurrence == s.Occurrence {
				j.late = slices.Delete(j.late, i, i+1)
				return l.pick
			}
		}
	}
	if s.handling != nil && s.handling.scheduled {
		return s.handling.pick
	}
	return pick{s.Node, s.Incarnation, s.At}
}

// holds says whether the stream holds a dispatch of an epoch, if there are epochs at all.
func (j *job) holds(epoch int64) bool {
	for i := range j.dispatches {
		if d := &j.dispatches[i]; epoch != 0 && d.epoch == epoch && (d.handed || !d.lost) {
			return true
		}
	}
	return false
}

// replayed notes what a replayer has brought on.
func (f *facts) replayed(s *step, w *write) {
	if s.about.state != scheduled || s.about.replayer != invariants.Process(s.Node, s.Incarnation) || s.handling.scheduled {
		return
	}
	s.handling.orphan = s.Phase == "scheduled_write"
	switch {
	case s.Phase != "scheduled_write":
	case w.from == pending:
		f.reach(orphanReplayed)
	case w.from == scheduled:
		f.reach(scheduledSwept)
	}
	s.about.replayer = ""
}

// orphanReplayed counts a SCHEDULED write that was confirmed, if it is a replayer's. Of two handlings of one process
// events do not say which is the replayer's, while a request is in hand there too.
func (f *facts) orphanReplayed(s *step) {
	switch {
	case s.handling == nil || !s.handling.orphan:
		return
	case slices.Contains(s.about.inHand, invariants.Process(s.Node, s.Incarnation)):
		f.count.orphansMaybe++
	default:
		f.count.orphans++
	}
	s.handling.orphan = false
}

// taken takes in that a replayer has read a job that it is to take up.
func (f *facts) taken(s *step) {
	me := invariants.Process(s.Node, s.Incarnation)
	if was := s.about.replayer; was != "" && was != me {
		f.count.orphansMaybe++ // that one may be at it still
	}
	s.about.replayer = me
	if !s.failed && (s.about.state == pending || s.about.state == scheduled || s.about.state == approvalRequired) {
		f.count.taken++
	}
}

// outboxChanged takes in a change of a job's entry in the outbox, and says whether the job is the step's own.
func (j *observer) outboxChanged(s *step, c *sim.Change) bool {
	about := j.facts.job(c.Field)
	if about == nil {
		return false
	}
	about.queued = queued{}
	if !c.Gone {
		about.queued.step = s.Step
	}
	return about == s.about
}

// overstay notes that a handler went on after its lock had expired.
func (f *facts) overstay(s *step) {
	if h := s.handling; h.expires != 0 && s.At >= h.expires && !s.about.had(lockOverstayed) {
		f.come(s.about, lockOverstayed)
	}
}

// fence follows a state write of several operations: a look at the record, and the MULTI. A handling
// that gives its lock back after the look was refused by what it saw.
func (j *observer) fence(s *step) {
	phase := s.handling.fencing
	switch {
	case phase == "":
	case s.Phase == phase && s.Name == "multi":
		s.handling.fencing = ""
	case beginsRelease(s):
		s.handling.fencing = ""
		j.refused(s, phase)
	}
}

// refused notes that the fence stopped a state write of that phase.
func (j *observer) refused(s *step, phase string) {
	f := j.facts
	f.reach(writeFenced)
	f.count.fenced++
	f.fenced = Fenced{s.Step, s.Job, phase}
	if s.handling != nil {
		s.handling.storeFailed = true
	}
	switch phase {
	case "rollback_write":
		f.count.rollbacksFailed++
	case "running_write":
		f.count.runningWritesFailed++
	}
}

// looks says whether the operation is the part of a fenced write that only looks.
func looks(s *step) bool { return s.Name == "watch" || s.Name == "pipeline" }

func (j *observer) writeAnswered(s *step, applied bool) {
	f := j.facts
	if s.Phase == "rollback_write" && s.Name != "pipeline" && (s.Name == "watch" || !f.config.Fence) {
		f.count.rollbacks++
	}
	switch {
	case s.Outcome == history.TransactionFailed:
		j.transactionRefused(s)
		return
	case looks(s) && !s.failed:
		j.looked(s)
		return
	}
	if s.Phase == "dispatched_write" && applied && !s.failed {
		f.give(s)
	}
	switch s.Phase {
	case "scheduled_write":
		if !s.failed {
			f.orphanReplayed(s)
		}
	case "rollback_write":
		if s.failed {
			f.count.rollbacksFailed++
		}
	case "running_write":
		if s.failed {
			f.count.runningWritesFailed++
		}
	case "outbox_remove":
		if !s.failed && s.about.stateAt != s.Step { // without RUNNING: the entry was not published
			f.count.voided++
		}
	case "result_write", "failed_write", "timeout_write", "cancel_write", "denied_write", "output_write":
		if !s.failed {
			f.count.completed++
		}
		if !s.failed && s.Phase == "denied_write" {
			f.count.denied++
		}
	}
	if !s.failed {
		return
	}
	if s.handling != nil {
		s.handling.storeFailed = true
	}
	if applied {
		f.ambiguous(s)
		return
	}
	f.reach(failedWrite)
	// At the ceiling FAILED is written instead of the rollback; that too leaves the job DISPATCHED to nobody.
	if s.Phase == "rollback_write" || s.Phase == "failed_write" && s.about.state == dispatched {
		f.come(s.about, rollbackFailed)
	}
}

// ambiguous notes that a state write was applied although its caller saw an error.
func (f *facts) ambiguous(s *step) {
	if s.about.stateAt != s.Step && !strings.HasSuffix(s.Phase, "_write") && s.Phase != "outbox_remove" {
		return
	}
	f.reach(ambiguousWrite)
	if s.about.state == dispatched && s.about.queued.step == 0 {
		f.come(s.about, ambiguousIntent)
	}
}

func (j *observer) stateRead(s *step) {
	if s.handling != nil {
		s.handling.overdueRead = s.handling.overdueRead || s.Phase == "timeout_read"
		s.handling.readFailed = 0
		if s.failed {
			s.handling.readFailed = s.Step
		} else {
			s.handling.silent = j.facts.silence(s.Event, s.about.worker)
		}
	}
	if s.handling != nil && !s.failed && s.about.intent.step != 0 {
		s.handling.pick = s.about.intent.pick
	}
	for _, check := range j.read {
		check(s)
	}
}
