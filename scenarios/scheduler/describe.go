package scheduler

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/worker"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

// Record is what a job's hash holds.
type Record struct {
	state, attempts, worker, reason string
}

// Records are the job records in Redis, by job ID, as the changes in a trace show them.
type Records map[string]Record

// Apply applies a step's changes to the records they concern; a failover changes many. It returns the record
// of the step's job after the step, and whether the step changed it.
func (rs Records) Apply(e *sim.Event) (now Record, changed bool) {
	about := JobOf(e)
	if len(e.Changes) > 0 {
		for _, f := range history.Facts(e, nil) {
			if f.What != history.Record || f.Again {
				continue
			}
			r := rs[f.Job]
			changed = r.apply(&f) && f.Job == about || changed
			rs[f.Job] = r
		}
	}
	return rs[about], changed
}

// JobOf is the job that a step concerns. A step of no single job may read a job's record.
func JobOf(e *sim.Event) string { return cmp.Or(e.Job, history.RecordOf(e.Target)) }

func (r *Record) apply(f *history.Fact) (changed bool) {
	if f.Vanished() {
		*r, changed = Record{}, true
	}
	for i := range f.Changes {
		c := &f.Changes[i]
		if c.Key != f.Change.Key {
			continue
		}
		switch c.Field { // the value of a field that is gone is empty
		case "state":
			r.state, changed = c.Value, true
		case "attempts":
			r.attempts, changed = c.Value, true
		case "worker":
			r.worker, changed = c.Value, true
		case "reason":
			r.reason = c.Value
		}
	}
	return changed
}

// Reads says whether a step reads the record of its job, and gets an answer.
func Reads(e *sim.Event) bool {
	if e.Kind != sim.KindRedis || JobOf(e) == "" || history.AnswerOf(e) > history.Waits {
		return false
	}
	switch phase.Phase(e.Phase) {
	case phase.StateRead, phase.ReplayRead, phase.TimeoutRead, phase.ScanRead, phase.QuarantineRead, phase.ReconcileRead:
		return true
	}
	return false
}

func (r Record) String() string {
	switch {
	case r.state == "":
		return "no record"
	case r.attempts == "" || r.attempts == "0":
		return r.state
	}
	return r.state + ", attempts " + r.attempts
}

// because is the reason for a terminal state.
func (r Record) because() string {
	if r.reason == "" || !job.State(r.state).Terminal() {
		return ""
	}
	return ": " + r.reason
}

// writes maps the phases that write one state to that state.
var writes = map[phase.Phase]string{
	phase.SubmitWrite:     "PENDING",
	phase.PendingWrite:    "PENDING",
	phase.ScheduledWrite:  "SCHEDULED",
	phase.DispatchedWrite: "DISPATCHED",
	phase.RollbackWrite:   "SCHEDULED",
	phase.RunningWrite:    "RUNNING",
	phase.FailedWrite:     "FAILED",
	phase.ResultWrite:     "terminal state",
	phase.ApprovalWrite:   "APPROVAL_REQUIRED",
	phase.ApprovedWrite:   "PENDING",
	phase.DeniedWrite:     "DENIED",
	phase.OutputWrite:     "OUTPUT_QUARANTINED",
	phase.TimeoutWrite:    "TIMEOUT",
	phase.CancelWrite:     "CANCELLED",
	phase.CommitWrite:     "SUCCEEDED",
}

// doings says what phases do that write no state.
var doings = map[phase.Phase]string{
	phase.ProcessedRead:  "looks whether the message is handled already",
	phase.ReplicaRead:    "asks which server is Redis's master",
	phase.ReplicaWait:    "waits until a replica has what was written",
	phase.ProcessedWrite: "marks the message as handled",
	phase.TenantRead:     "counts what its tenant has in flight",
	phase.TenantHeal:     "gives its tenant back what is over",
	phase.BreakerRead:    "looks at the circuit",
	phase.BreakerProbe:   "counts a probe of the circuit",
	phase.BreakerWrite:   "counts for the circuit how the call ended",
	phase.ApproveRead:    "looks whether there is something to approve",
	phase.ApprovalAge:    "looks how old the approval is",
	phase.AskAgainWrite:  "asks for another approval",
	phase.OutputRead:     "reads the output",
	phase.OutputRecord:   "notes what the policy says of the output",
	phase.SagaRecord:     "records its compensation",
	phase.OutboxClaim:    "takes up the outbox entry",
	phase.OutboxRemove:   "takes the entry out of the outbox",
	phase.DLQEntryRead:   "reads the DLQ entry",
	phase.DLQUpdate:      "updates the DLQ entry",
	phase.CommittedRead:  "looks whether it was done after all",
	worker.PhaseOutput:   "stores the output",
}

// controls says what the harness does to a node, from the node's point of view.
var controls = map[string]string{
	"crash": "crashes", "restart": "restarts", "partition": "is cut off", "heal": "is whole again",
	"partition redis": "is cut off from Redis", "heal redis": "reaches Redis again", "partition nats": "is cut off from NATS", "heal nats": "reaches NATS again",
	"pause": "stands still", "resume": "goes on", "stop": "stops", "start": "starts again", "reconnect": "connects to NATS again",
	"skew": "has its clock go wrong", "set clock": "has its clock set right",
	actors.PolicyChange: "goes over to another policy",
	"failover":          "fails over, and loses its last writes",
	"kill":              "is killed",
	"refusal":           "refuses commands", "accept": "refuses nothing any more",
	"power-loss": "stops, and loses what was not on its disk",
}

// messages are the kinds of message with which deliver, ack, nak and term phases begin.
var messages = map[string]string{"submit": "submission", "result": "result", "job": "dispatch"}

// Describe describes e. now is the record of e's job after e; changed says whether e changed it.
func Describe(e sim.Event, now Record, changed bool) string {
	switch e.Kind {
	case sim.KindRedis:
		return describeRedis(e, now, changed)
	case sim.KindPublish:
		return "publishes " + e.Target + stored(e)
	case sim.KindDeliver, sim.KindAck, sim.KindNak, sim.KindTerm, sim.KindProgress:
		return describeMessage(e)
	case sim.KindCall:
		return describeCall(e)
	case sim.KindSend:
		return "sends " + e.Target
	case sim.KindReceive:
		return "receives " + e.Target
	case sim.KindFetch:
		return "asks for messages of " + e.Target
	case sim.KindFetchEnd:
		return "stops waiting for messages of " + e.Target
	case sim.KindStart:
		if e.Incarnation > 1 {
			return "starts again, incarnation " + strconv.Itoa(e.Incarnation)
		}
		return "starts"
	case sim.KindTimer:
		return "wakes from " + e.Name
	case sim.KindReturn:
		if history.AnswerOf(&e) == history.Done {
			return "learns what came of it"
		}
		return "learns that the call hung until its deadline"
	case sim.KindLate:
		return describeLate(e, now, changed)
	case sim.KindControl:
		if done, ok := controls[e.Name]; ok {
			return done
		}
		return e.Name
	case actors.KindEffect:
		switch e.Name {
		case actors.EffectBegin:
			return "begins the work"
		case actors.EffectDone:
			return "finishes the work"
		}
	}
	return strings.TrimSpace(string(e.Kind) + " " + e.Name + " " + e.Target)
}

// describeCall describes a call of the safety kernel or the output policy, and the answer.
func describeCall(e sim.Event) string {
	if e.Target == actors.LedgerName {
		switch history.AnswerOf(&e) {
		case history.Done:
			if e.Outcome == sim.OutcomeNil {
				return "asks the ledger, which has its effect not"
			}
			return "asks the ledger, which has its effect"
		}
		return "asks the ledger, and gets no answer"
	}
	words, decision := "asks the "+e.Target, (*history.Verdict).Input
	switch phase.Phase(e.Phase) {
	case phase.OutputCheck:
		words, decision = "asks the output policy about the result", (*history.Verdict).Output
	case phase.OutputScan:
		words, decision = "asks the output policy about the output", (*history.Verdict).Output
	}
	answer, err := history.Read[history.Verdict](e.Data)
	if e.Outcome != sim.OutcomeOK || err != nil {
		return words + ", and gets no answer"
	}
	words += ": " + decision(answer)
	if answer.Reason != "" {
		words += ", " + answer.Reason
	}
	return words
}

// describeLate describes an operation that arrives late.
func describeLate(e sim.Event, now Record, changed bool) string {
	words := "publishes " + e.Target + stored(e)
	if e.Name != string(sim.KindPublish) {
		words = describeRedis(e, now, changed)
	}
	return "late: " + words
}

func describeRedis(e sim.Event, now Record, changed bool) string {
	failed := history.AnswerOf(&e) > history.Waits
	p := phase.Phase(e.Phase)
	if state, ok := writes[p]; ok {
		switch {
		case looks(e) && failed:
			return "cannot look before it writes " + state
		case looks(e):
			return "looks before it writes " + state
		case changed && p == phase.RollbackWrite:
			return "rolls back to " + now.String()
		case changed && p == phase.DispatchedWrite && now.worker != "":
			return "DISPATCHED to " + now.worker
		case changed && (p == phase.RunningWrite || p == phase.ResultWrite):
			return now.state + now.because()
		case changed:
			return now.String() + now.because()
		case failed:
			return state + " is not written"
		}
		return "writes " + state + ", which changes nothing"
	}
	switch {
	case p == phase.StateRead && failed:
		return "cannot read the state"
	case Reads(&e) && e.Outcome == sim.OutcomeNil:
		return "reads no record"
	case Reads(&e):
		return "reads " + now.String()
	case p == phase.LockAcquire && failed:
		return "asks for the lock"
	case p == phase.LockAcquire && len(e.Changes) == 0:
		return "finds the lock busy"
	case p == phase.LockAcquire:
		return "takes the lock"
	case p == phase.LockRenew:
		return "renews the lock"
	case p == phase.LockRelease && e.Name == "multi":
		return "releases the lock"
	case p == phase.LockRelease && failed:
		return "cannot check who owns the lock"
	case p == phase.LockRelease:
		return "checks who owns the lock"
	case p == phase.DLQWrite && len(e.Changes) > 0:
		return "writes the DLQ entry"
	case p == phase.DLQWrite && e.Name == "zremrangebyscore" && !failed:
		return "trims the index of dead letters"
	case p == phase.DLQWrite && looks(e):
		return "looks before it writes the DLQ entry"
	case p == phase.DLQWrite:
		return "the DLQ entry is not written"
	case p == phase.InflightWrite && e.Name == "del":
		return "hands the message back"
	case p == phase.InflightWrite:
		return "marks the message as in hand"
	case p == phase.ApproveWrite && len(e.Changes) > 0:
		return "approves it"
	case p == phase.ApproveWrite:
		return "looks before it approves it"
	case p == phase.DLQUpdate && looks(e):
		return "looks before it updates the DLQ entry"
	case p == phase.RunCreate, p == phase.RunWrite:
		return describeRun(e)
	case doings[p] != "":
		return doings[p]
	}
	return strings.ToUpper(e.Name) + " " + e.Target
}

// looks says whether the operation changes nothing.
func looks(e sim.Event) bool {
	if e.Name == "pipeline" && len(e.Changes) == 0 { // it compares, under a WATCH
		return true
	}
	return slices.Contains([]string{"watch", "unwatch", "get", "exists", "hexists", "hget", "hgetall", "ttl", "pttl"}, strings.ToLower(e.Name))
}

func describeMessage(e sim.Event) string {
	verb := map[sim.Kind]string{
		sim.KindDeliver: "receives", sim.KindAck: "acks", sim.KindNak: "naks", sim.KindTerm: "terminates",
		sim.KindProgress: "asks for more time for",
	}[e.Kind]
	kind, _, _ := strings.Cut(e.Phase, "_")
	what := "the " + messages[kind]
	if messages[kind] == "" {
		what = "message " + strconv.FormatUint(e.Seq, 10) + " of " + e.Target
	}
	if strings.Contains(e.Name, "/") { // a consumer that did not ask for the subject
		what += ", which " + e.Name + " has handed out"
	}
	if e.Kind == sim.KindDeliver && e.Delivered > 1 {
		what += ", delivery " + strconv.FormatUint(e.Delivered, 10)
	}
	return verb + " " + what
}

// stored says where a publish was stored, by what the streams hold.
func stored(e sim.Event) string {
	in := slices.ContainsFunc(e.Changes, func(c sim.Change) bool { return c.Stream != "" })
	switch answer := history.AnswerOf(&e); {
	case in && answer == history.Done, answer == history.Waits:
		return ""
	case in:
		return ", which is stored all the same"
	}
	return ", which is not stored"
}

// Minor says whether a reader may skim the step: it reads before something else happens.
func Minor(e sim.Event) bool {
	if e.Fault != "" || history.AnswerOf(&e) != history.Done {
		return false
	}
	switch phase.Phase(e.Phase) {
	case phase.LockRelease, phase.LockRenew, phase.InflightWrite, phase.ProcessedWrite, phase.ReplicaWait:
		return true
	case phase.LockAcquire:
		return len(e.Changes) > 0
	case phase.StateRead:
		return false
	}
	return e.Kind == sim.KindRedis && looks(e) || history.Idles(&e)
}

// describeRun says how a write changed a run and its steps.
func describeRun(e sim.Event) string {
	for i := range e.Changes {
		c := &e.Changes[i]
		run, err := history.Read[history.RunRecord](c.Value)
		if what, _ := history.Classify(c); what != history.Run || err != nil {
			continue
		}
		var steps []string
		for _, s := range run.Steps {
			steps = append(steps, s.ID+" "+s.State)
		}
		return run.RunID + " " + run.State + ": " + strings.Join(steps, ", ")
	}
	if looks(e) {
		return "looks before it writes the run"
	}
	return "the run is not written"
}
