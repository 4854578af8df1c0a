package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Take brings the record's fields up to date, and says whether the change is part of a state write.
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
		j.ask(c.Value)
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

// ask notes the request that the record keeps; one that nobody can read changes nothing.
func (j *Job) ask(packet string) {
	r, err := history.Read[history.Request](packet)
	if err != nil {
		return
	}
	j.Request = r
	j.Wish.Labels, j.Wish.Requires, j.Wish.Topic = r.Labels, r.Requires, r.Topic
	j.Replay.Key = r.IdempotencyKey
	j.replayLabels(r.Labels)
	j.Approved = r.Granted()
	j.Saga.Workflow = r.WorkflowID
}

// Delayed notes whose choice a DISPATCHED write is that sets out and is given up by its caller.
func (j *Job) Delayed(s *Step) {
	if s.Phase == "dispatched_write" && s.Fault == history.FaultLate && s.Handling.Scheduled {
		j.late = append(j.late, lateIntent{s.Name, s.Occurrence, s.Handling.Pick})
	}
}

// Picked says whose choice, and when, the worker is that the step writes down.
func (j *Job) Picked(s *Step) Pick {
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

// Holds says whether the stream holds a dispatch of an epoch, if there are epochs at all.
func (j *Job) Holds(epoch int64) bool {
	for i := range j.Dispatches {
		if d := &j.Dispatches[i]; epoch != 0 && d.Epoch == epoch && (d.handed || !d.Lost) {
			return true
		}
	}
	return false
}

// Replayed notes what a replayer has brought on.
func (f *Facts) Replayed(s *Step, w *Write) {
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

// OrphanReplayed counts a SCHEDULED write that was confirmed, if it is a replayer's. Of two handlings of one process
// events do not say which is the replayer's, while a request is in hand there too.
func (f *Facts) OrphanReplayed(s *Step) {
	switch {
	case s.Handling == nil || !s.Handling.orphan:
		return
	case slices.Contains(s.About.InHand, invariants.Process(s.Node, s.Incarnation)):
		f.Count.OrphansMaybe++
	default:
		f.Count.Orphans++
	}
	s.Handling.orphan = false
}

// Taken takes in that a replayer has read a job that it is to take up.
func (f *Facts) Taken(s *Step) {
	me := invariants.Process(s.Node, s.Incarnation)
	if was := s.About.Replayer; was != "" && was != me {
		f.Count.OrphansMaybe++ // that one may be at it still
	}
	s.About.Replayer = me
	if !s.Failed && (s.About.State == Pending || s.About.State == Scheduled || s.About.State == ApprovalRequired) {
		f.Count.Taken++
	}
}

// Overstay notes that a handler went on after its lock had expired.
func (f *Facts) Overstay(s *Step) {
	if h := s.Handling; h.Expires != 0 && s.At >= h.Expires && !s.About.Had(LockOverstayed) {
		f.Come(s.About, LockOverstayed)
	}
}

// Looks says whether the operation is the part of a fenced write that only looks.
func Looks(s *Step) bool { return s.Name == "watch" || s.Name == "pipeline" }

// Ambiguous notes that a state write was applied although its caller saw an error.
func (f *Facts) Ambiguous(s *Step) {
	if s.About.StateAt != s.Step && !strings.HasSuffix(s.Phase, "_write") && s.Phase != "outbox_remove" {
		return
	}
	f.Reach(AmbiguousWrite)
	if s.About.State == Dispatched && s.About.Queued.Step == 0 {
		f.Come(s.About, AmbiguousIntent)
	}
}

// Resumes says whether the step's handling publishes what another has intended.
func (f *Facts) Resumes(s *Step) bool {
	return f.Config.ResumeIntents && f.Config.DispatchOrder != "outbox" && s.Handling != nil && s.About.Intent.Step != 0 && !s.Handling.Intended
}

// ReadBack takes in that a replica has looked up what the stream holds in the place of its dispatch.
func (f *Facts) ReadBack(s *Step) {
	if h := s.Handling; h != nil && h.Refused && !s.Failed {
		h.Refused = false
		if s.About.Holds(h.Resumed) { // whatever has become of the job by now
			f.Count.Resumed++
		}
	}
}
