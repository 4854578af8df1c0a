package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

// moment is one thing that a story may tell.
type moment struct {
	at   time.Duration
	step int
	node string // who did it
	says saying
	a, b string
	of   string // another job that it names
	n    int32
	// shownAt is a later step that shows the moment; it is 0 if the moment's own step does.
	shownAt int
	// quiet moments are told only if a violation depends on them.
	quiet bool
	// timed: the timeout that ended the job counts from this moment.
	timed bool
}

// saying is the sentence of a moment. {node} is who did it, and {job} the job that the moment belongs to.
type saying string

const (
	submitted         saying = "{node} submitted {job}{b}"
	derivedSubmitted  saying = "{node} submitted {job}{b}, {a}"
	wrote             saying = "{node} wrote {a} for {job}{b}"
	rolledBack        saying = "{node} rolled {job} back to {a}, attempts {n}"
	lateWrote         saying = "the late {b} of {job} by {node} arrived, and wrote {a}"
	dispatched        saying = "the stream stored the dispatch of {job} by {node}, to {a}"
	dispatchedAgain   saying = "the stream stored dispatch number {n} of {job}, by {node}, to {a}{b}"
	resumed           saying = "{node} took up what an earlier handling of {job} had begun, and the stream stored its dispatch to {a}"
	dropped           saying = "the stream confirmed the publish of {job} by {node}, to {a}, and stored nothing, as it remembers the message id"
	failed            saying = "the {a} of {job} by {node} {b}"
	gaveUp            saying = "{node} gave up the {a} of {job} at its deadline"
	lateApplied       saying = "the late {a} of {job} by {node} arrived, and was applied"
	lateRefused       saying = "the late {a} of {job} by {node} arrived, and was refused"
	fenced            saying = "the fence stopped the {a} of {job} by {node}: {b}"
	declined          saying = "the stream refused the {a} of {job} by {node}, as it holds a message of this epoch"
	redelivered       saying = "the {a} of {job} was delivered again, to {node}{b}"
	changedNothing    saying = "{node} acknowledged the {a} of {job}, and changed nothing: {b}"
	notExecuted       saying = "{node} acknowledged the dispatch of {job}, and did not execute it"
	givenUp           saying = "the {a} of {job} was given up after {n} deliveries"
	terminated        saying = "{node} terminated the {a} of {job}, as {b}: it does not come again"
	buried            saying = "{node} wrote the DLQ entry of {job}"
	noRecord          saying = "{node} found no record of {job}"
	keptCancellation  saying = "{node} kept the cancellation of {job}, which has no record yet"
	busy              saying = "{node} found {a} held by {b}"
	ranOut            saying = "{a} ran out; {node} had taken it at {b}"
	took              saying = "{node} took {a}{b}"
	rollsBack         saying = "{node} began to roll back {a}{b}, as {of} had failed for good"
	otherPolicy       saying = "the policy of the safety kernel changed: {a}"
	askedKernel       saying = "{node} asked the safety kernel about {job}"
	throttled         saying = "the safety kernel throttled {job}"
	counted           saying = "{node} counted {a} in flight, for {job}"
	putOff            saying = "{node} put {job} off, as {a}"
	undecided         saying = "{job} went on without a decision of the safety kernel"
	refusedApproval   saying = "the approval of {job} was refused: {a}"
	redacted          saying = "the output policy asked to redact the output of {job}{a}"
	early             saying = "{node} handed the {b} of {job} back, as the job was {a}"
	cancelAsked       saying = "{node} asked to cancel {job}"
	voided            saying = "{node} declared the dispatch of {job} void"
	notified          saying = "{node} told {a} that {job} is cancelled"
	recorded          saying = "{node} recorded the compensation of {job}"
	unusable          saying = "{node} took an entry that {b} from the stack of the saga {a}, and wrote its DLQ entry, {of}"
	popped            saying = "{node} took the compensation of {job} from the stack"
	timePassed        saying = "{a} of {job} passed{b}"
	foundOver         saying = "the reconciler of {node} came for {job}, and found it {a}"
	circuit           saying = "for {node} the {a} circuit was {b}"
	leftOver          saying = "{node} released {a}, with {b} left on its stack"
	replayed          saying = "a replayer, {node}, found {job} waiting"
	waited            saying = "{job} had been {a} for {b}: from then on a replayer may take it up"
	rescued           saying = "the {a} of {node} took up {job}"
	rewound           saying = "{job} was {b} again, after {a}"
	recordLost        saying = "the record of {job} was gone, which had {a}"
	messageLost       saying = "{a} of {job} was lost"
	began             saying = "{node} began to execute {job}{b}"
	overtaken         saying = "{node} began to execute {job}{b}, although it was {a}"
	finished          saying = "{node} finished its execution of {job}{b}"
	finishedOvertaken saying = "{node} finished its execution of {job}{b}, although the job was {a}"
	effectRefused     saying = "{node} finished its execution of {job}; " + history.EffectHad + ", and is refused"
	metStale          saying = "{a} of {node} for {job} met a stale worker"
	onRecord          saying = "the audit trail recorded {a}{b}"
	reconnected       saying = "{a} connected to NATS again{b}"
	runStarted        saying = "{node} started {job}"
	runWrote          saying = "{node} wrote {job}: {a}"
	runEnded          saying = "{job} {a}{b}"
)

// kept lists the sayings that a long story keeps.
var kept = []saying{submitted, derivedSubmitted, rolledBack, lateWrote, dispatched, dispatchedAgain, resumed, dropped, circuit, rollsBack, otherPolicy}

// wrong lists the sayings of things that went wrong: an operation that failed, was late or did nothing; a
// lock that was taken, or lost; a circuit that opens.
var wrong = []saying{failed, dropped, busy, ranOut, gaveUp, lateWrote, lateApplied, lateRefused, fenced, circuit}

// anew lists the sayings with which a handling begins that is not the job's first.
var anew = []saying{redelivered, rescued, replayed}

// words is the moment's sentence, without its time.
func (m *moment) words(job string) string {
	return strings.NewReplacer("{node}", who(m.node), "{job}", job, "{a}", m.a, "{b}", m.b, "{n}", fmt.Sprint(m.n), "{of}", m.of).Replace(string(m.says))
}

// line is the moment as a line of a story.
func (m *moment) line(job string, keep bool) line {
	return line{at: m.at, step: m.step, rank: rankMoment, text: m.words(job), keep: keep, jobs: []string{job, m.of}, wrong: slices.Contains(wrong, m.says), turn: slices.Contains(anew, m.says)}
}

// alike says whether two moments differ only in node and time.
func (m *moment) alike(o *moment) bool {
	return m.says == o.says && m.a == o.a && m.b == o.b && m.quiet == o.quiet
}

// routine says whether the moment makes no story by itself.
func (m *moment) routine() bool {
	return m.says == askedKernel || m.says == wrote && !m.timed && (m.a == "PENDING" || m.a == "SCHEDULED" || m.a == "RUNNING")
}

// who is a node's name in a sentence.
func who(node string) string {
	switch {
	case node == actors.ApproverName, node == actors.OperatorName: // people
		return "the " + node
	case actors.IsClient(node):
		return "a client"
	case node == actors.KernelName:
		return "the safety kernel"
	case node == sim.NATS:
		return "nats-server"
	case node == sim.Redis:
		return "Redis"
	}
	return node
}

// add appends to a list that every job has. Most are short, so it does not double the capacity: that would
// dominate the memory of a run with many jobs.
func add[T any](list []T, x T) []T {
	if n := len(list); n == cap(list) {
		list = append(make([]T, 0, n+n/16+3), list...)
	}
	return append(list, x)
}

// tell adds a moment to a list.
func tell(to *[]moment, e *sim.Event, says saying, a, b string, n int) {
	*to = add(*to, moment{at: e.At, step: e.Step, node: e.Node, says: says, a: a, b: b, n: int32(n)})
}

// tellOnce adds a moment, unless the job has one with the same saying.
func (j *jobRecord) tellOnce(e *sim.Event, says saying, a string) {
	for i := range j.moments {
		if j.moments[i].says == says {
			return
		}
	}
	tell(&j.moments, e, says, a, "", 0)
}

// operated tells of a failed operation on the job. What a fault did to it is told with the strike.
func (j *jobRecord) operated(e *sim.Event) {
	cut := e.Fault == string(faults.Partition)
	switch answer := history.AnswerOf(e); {
	case e.Kind == sim.KindLate && e.Outcome != sim.OutcomeOK:
		tell(&j.moments, e, lateRefused, e.Phase, "", 0)
	case e.Kind == sim.KindLate:
		if n := len(j.moments); n == 0 || j.moments[n-1].step != e.Step { // otherwise what it wrote is told
			tell(&j.moments, e, lateApplied, e.Phase, "", 0)
		}
	case history.AlreadyStored(e):
		tell(&j.moments, e, declined, e.Phase, "", 0)
	case answer != history.Failed:
	case cut:
		from := "NATS"
		if e.Kind == sim.KindRedis {
			from = "Redis"
		} else if e.Target == actors.KernelName {
			from = "the safety kernel"
		}
		tell(&j.moments, e, failed, e.Phase, "was cut off from "+from, 0)
	case e.Kind == sim.KindReturn:
		tell(&j.moments, e, gaveUp, e.Phase, "", 0)
	case e.Fault == "":
		tell(&j.moments, e, failed, e.Phase, "failed: "+whyFailed(e), 0)
	}
}

// whyFailed says why an operation failed that no fault struck.
func whyFailed(e *sim.Event) string {
	for _, deadline := range []string{context.DeadlineExceeded.Error(), "code = DeadlineExceeded"} {
		if strings.Contains(e.Outcome, deadline) {
			return "its deadline had passed"
		}
	}
	_, said, _ := strings.Cut(e.Outcome, "desc = ") // of gRPC
	return strings.TrimSuffix(cmp.Or(said, e.Outcome), ".")
}

// over tells that a state overwrites a terminal state, except by a verdict on the output.
func over(from, to string) string {
	if scheduler.Terminal(from) && (from != "SUCCEEDED" || to != "OUTPUT_QUARANTINED") {
		return ", over " + from
	}
	return ""
}

// stateWords is the rest of the sentence of a state write.
func (j *JobResult) stateWords(f *history.Fact) string {
	worker, _ := f.Field("worker")
	attempts := ""
	if j.Attempts > 1 {
		attempts = fmt.Sprintf(", attempts %d", j.Attempts)
	}
	switch {
	case j.State == "DISPATCHED" && worker != "":
		return ", to " + worker + attempts
	case j.State == "SCHEDULED" || j.State == "DISPATCHED":
		return attempts
	case j.State == "FAILED":
		return attempts + j.because()
	case scheduler.Terminal(j.State):
		return j.because()
	}
	return ""
}

// because is the reason for the job's state, in the policy's words if a policy set it.
func (j *JobResult) because() string {
	switch {
	case j.Reason == "" || strings.EqualFold(j.Reason, j.State):
		return ""
	case j.Why != "" && (j.State == "DENIED" || j.State == "OUTPUT_QUARANTINED"):
		return " (" + j.Reason + ": " + j.Why + ")"
	}
	return " (" + j.Reason + ")"
}

// holderTo names the holder of a lock, for the node that finds it taken.
func holderTo(node, holder string) string {
	if node == holder {
		return "itself"
	}
	return holder
}
