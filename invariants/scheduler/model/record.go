package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Take updates the record's fields, and says whether the change is part of a state write.
func (j *Job) Take(c *sim.Change) bool {
	switch c.Field {
	case "state":
		if j.State = ParseState(c.Value); c.Gone {
			j.State = Absent // a cancellation may be kept in its place
		}
	case "attempts":
		j.Attempts, _ = strconv.Atoi(c.Value)
	case "worker":
		j.Worker = c.Value
		return false
	case "epoch":
		j.Epoch, _ = strconv.ParseInt(c.Value, 10, 64)
	case "version":
		j.Version, _ = strconv.ParseInt(c.Value, 10, 64)
	case "created_at":
		j.Created, _ = strconv.ParseInt(c.Value, 10, 64)
		return false
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
	case "reason_code":
		j.ReasonCode = c.Value
		return false
	case "reason":
		j.Reason = c.Value
		return false
	case "cancel":
		if !c.Gone {
			j.Why(c.Value)
		}
		return false
	case "tenant":
		j.tenant = c.Value
		return false
	case "decision":
		j.Decision = c.Value
		return false
	case "policy_snapshot":
		j.Snapshot = c.Value
		return false
	case "constraints":
		j.Wish.constrain(c.Value)
		return false
	case "":
		if !c.Gone {
			return false
		}
		j.State, j.Attempts, j.Worker, j.Epoch, j.Version = Absent, 0, "", 0, 0
		j.ReasonCode, j.Reason, j.Out.Ptr, j.Deadline = "", "", "", 0
		j.Created = 0
	default:
		return false
	}
	return true
}

// Why notes the reason of a cancellation.
func (j *Job) Why(reason string) {
	if !slices.Contains(j.Whys, reason) {
		j.Whys = append(j.Whys, reason)
	}
}

// ask notes the request in the record; an unreadable one changes nothing.
func (j *Job) ask(packet string) {
	r, err := history.Read[history.Request](packet)
	if err != nil {
		return
	}
	if j.Request != nil {
		j.wanted(j.Request, r)
	}
	j.Request = r
	j.Wish.Labels, j.Wish.Requires, j.Wish.Topic = r.Labels, r.Requires, r.Topic
	j.Replay.Key = r.IdempotencyKey
	j.replayLabels(r.Labels)
	j.Approved = r.Granted()
	if j.Saga.Workflow = r.WorkflowID; r.WorkflowID != "" {
		j.Saga.ID = history.SagaOf(r.Tenant, r.WorkflowID)
	}
	j.Saga.Undoable = j.Saga.Undoable || r.Undoable()
}

// Decide notes a write of the record. The request that comes with a decision, or was there, is the one
// decided on.
func (j *Job) Decide(s *Step) {
	if j.DecidedAt == s.Step || s.Rewinds() && j.Decision != "" {
		j.Decided = j.Request
	}
}

// Wanted notes a request of the job that a stream has stored.
func (j *Job) Wanted(r *history.Request) { j.wanted(r, j.Request) }

// wanted keeps a request that differs from the one in the record and from those kept already.
func (j *Job) wanted(r, kept *history.Request) {
	like := func(o *history.Request) bool { return o.Unlike(r) == "" }
	if (kept == nil || !like(kept)) && !slices.ContainsFunc(j.Earlier, like) {
		j.Earlier = append(j.Earlier, r)
	}
}

// Looks says whether the operation is the part of a fenced write that only reads.
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
