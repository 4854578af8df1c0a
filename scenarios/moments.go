package scenarios

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/scenarios/world"
	"github.com/wavetank-sim/wavetank/sim"
)

// moment is one thing that a story may tell.
type moment struct {
	at   time.Duration
	step int
	node string // who did it
	says saying
	a, b string
	n    int
}

// saying is the sentence of a moment.
type saying int

const (
	submitted saying = iota
	derivedSubmitted
	wrote
	rolledBack
	lateWrote
	dispatched
	dispatchedAgain
	resumed
	dropped
	failed
	gaveUp
	lateApplied
	lateRefused
	fenced
	declined
	redelivered
	askedKernel
	throttled
	putOff
	undecided
	refusedApproval
	redacted
	early
	cancelAsked
	voided
	notified
	recorded
	popped
	replayed
	rewound
	recordLost
	messageLost
	began
	overtaken
	finished
	finishedOvertaken
	metStale
	onRecord
	runStarted
	runEnded
)

// sentences are those of the sayings: {node} did it, {job} is whose moment it is.
var sentences = map[saying]string{
	submitted:         "{node} submitted {job}{b}",
	derivedSubmitted:  "{node} submitted {job}, {a}",
	wrote:             "{node} wrote {a} for {job}{b}",
	rolledBack:        "{node} rolled {job} back to {a}, attempts {n}",
	lateWrote:         "the late {b} of {job} by {node} arrived, and wrote {a}",
	dispatched:        "the stream stored the dispatch of {job} by {node}, to {a}",
	dispatchedAgain:   "the stream stored dispatch number {n} of {job}, by {node}, to {a}",
	resumed:           "{node} took up what an earlier handling of {job} had begun, and the stream stored its dispatch to {a}",
	dropped:           "the stream confirmed the publish of {job} by {node}, to {a}, and stored nothing, as it remembers the message id",
	failed:            "the {a} of {job} by {node} {b}",
	gaveUp:            "{node} gave up the {a} of {job} at its deadline",
	lateApplied:       "the late {a} of {job} by {node} arrived, and was applied",
	lateRefused:       "the late {a} of {job} by {node} arrived, and was refused",
	fenced:            "the fence stopped the {a} of {job} by {node}: {b}",
	declined:          "the stream refused the {a} of {job} by {node}, as it holds a message of this epoch",
	redelivered:       "the {a} of {job} was delivered again, to {node}",
	askedKernel:       "{node} asked the safety kernel about {job}",
	throttled:         "the safety kernel throttled {job}",
	putOff:            "{node} put {job} off, as {a}",
	undecided:         "{job} went on without a decision of the safety kernel",
	refusedApproval:   "the approval of {job} was refused: {a}",
	redacted:          "the output of {job} was redacted{a}",
	early:             "{node} handed the result of {job} back, as the job was {a}",
	cancelAsked:       "{node} asked to cancel {job}",
	voided:            "{node} declared the dispatch of {job} void",
	notified:          "{node} told {a} that {job} is cancelled",
	recorded:          "{node} recorded the compensation of {job}",
	popped:            "{node} took the compensation of {job} from the stack",
	replayed:          "a replayer, {node}, found {job} waiting",
	rewound:           "{job} was {b} again, after {a}",
	recordLost:        "the record of {job} was gone, which had said {a}",
	messageLost:       "{a} of {job} was lost",
	began:             "{node} began to execute {job}",
	overtaken:         "{node} began to execute {job}, although it was {a}",
	finished:          "{node} finished its execution of {job}",
	finishedOvertaken: "{node} finished its execution of {job}, although the job was {a}",
	metStale:          "{n} picks of {node} for {job} met a stale worker",
	onRecord:          "the audit trail recorded {a}{b}",
	runStarted:        "{node} started {job}",
	runEnded:          "{job} {a}{b}",
}

// words is the moment's sentence, without its time.
func (m *moment) words(job string) string {
	text := sentences[m.says]
	if m.says == metStale && m.n == 1 {
		text = strings.Replace(text, "{n} picks", "1 pick", 1)
	}
	return strings.NewReplacer("{node}", who(m.node), "{job}", job, "{a}", m.a, "{b}", m.b, "{n}", fmt.Sprint(m.n)).Replace(text)
}

// alike says whether two moments differ in nothing but who and when.
func (m *moment) alike(o *moment) bool { return m.says == o.says && m.a == o.a && m.b == o.b }

// routine moments make no story by themselves.
func (m *moment) routine() bool {
	return m.says == askedKernel || m.says == wrote && (m.a == "PENDING" || m.a == "SCHEDULED" || m.a == "RUNNING")
}

// who names a node in a sentence.
func who(node string) string {
	switch node {
	case world.SubmitterName, world.CancellerName, world.ChangerName, world.StarterName:
		return "a client"
	case world.ApproverName:
		return "the approver"
	case world.OperatorName:
		return "the operator"
	case world.KernelName:
		return "the safety kernel"
	case sim.NATS:
		return "nats-server"
	case sim.Redis:
		return "Redis"
	}
	return node
}

// tell notes a moment of the job, or of the run as a whole in r.world.
func tell(to *[]moment, e *sim.Event, says saying, a, b string, n int) {
	*to = append(*to, moment{e.At, e.Step, e.Node, says, a, b, n})
}

// tellOnce notes a moment of which only the first is worth telling.
func (j *jobRecord) tellOnce(e *sim.Event, says saying, a string) {
	for i := range j.moments {
		if j.moments[i].says == says {
			return
		}
	}
	tell(&j.moments, e, says, a, "", 0)
}

// operated tells of an operation on the job that went wrong. What a fault did to it the strike tells.
func (j *jobRecord) operated(e *sim.Event) {
	cut := e.Fault == string(faults.Partition)
	switch answer := invariants.AnswerOf(e); {
	case e.Kind == sim.KindLate && e.Outcome != sim.OutcomeOK:
		tell(&j.moments, e, lateRefused, e.Phase, "", 0)
	case e.Kind == sim.KindLate:
		if n := len(j.moments); n == 0 || j.moments[n-1].step != e.Step { // else what it wrote is told
			tell(&j.moments, e, lateApplied, e.Phase, "", 0)
		}
	case invariants.Stored(e):
		tell(&j.moments, e, declined, e.Phase, "", 0)
	case answer != invariants.Failed:
	case cut:
		from := "NATS"
		if e.Kind == sim.KindRedis {
			from = "Redis"
		} else if e.Target == world.KernelName {
			from = "the safety kernel"
		}
		tell(&j.moments, e, failed, e.Phase, "was cut off from "+from, 0)
	case e.Kind == sim.KindReturn:
		tell(&j.moments, e, gaveUp, e.Phase, "", 0)
	case e.Fault == "":
		tell(&j.moments, e, failed, e.Phase, "failed", 0)
	}
}

// stateWords is what else a state write says.
func (j *JobResult) stateWords(f *invariants.Fact) string {
	worker, _ := f.Field("worker")
	switch {
	case j.State == "DISPATCHED" && worker != "":
		return ", to " + worker
	case terminal(j.State):
		return j.because()
	}
	return ""
}

// operation names a struck operation.
func operation(f faults.Fired) string {
	text := "the " + f.Phase
	if f.Job != "" && f.Job != f.Node {
		text += " of " + f.Job
	}
	return text + " by " + who(cmp.Or(f.Node, "a client"))
}

// strikeWords name a strike in the fault's own word, and what it hit.
func (r *run) strikeWords(f faults.Fired) string {
	node, lasts := who(f.Node), " until the heal"
	if f.Fault.For > 0 {
		lasts = " for " + strictyaml.DurationText(f.Fault.For)
	}
	after := ""
	if f.Phase != "" {
		after = fmt.Sprintf(", right after the %s of %s", f.Phase, cmp.Or(f.Job, "no job"))
	}
	switch f.Fault.Do {
	case faults.FailBefore:
		return operation(f) + " failed, and nothing was applied (fail-before)"
	case faults.FailAfter:
		return operation(f) + " was applied, and its caller was told of an error (fail-after)"
	case faults.Hang:
		return operation(f) + " hung until its caller's deadline, and was not applied (hang)"
	case faults.Lose:
		return operation(f) + " was lost on its way, and nobody was told (lose)"
	case faults.Late:
		return operation(f) + " was held up" + lasts + ", and its caller was told of a timeout (late)"
	case faults.Crash:
		return node + " crashed" + after
	case faults.Pause:
		return node + " was paused" + lasts + after
	case faults.Partition:
		return "a partition cut " + node + " off from " + who(f.Fault.From) + lasts
	case faults.Skew:
		way := "ahead"
		if f.Fault.By < 0 {
			way = "behind"
		}
		return fmt.Sprintf("a skew put the clock of %s %s %s%s%s", node, strictyaml.DurationText(f.Fault.By.Abs()), way, lasts, after)
	case faults.Restart:
		return "a restart took nats-server away" + strings.TrimSuffix(lasts, " until the heal") + after
	case faults.Failover:
		if after != "" {
			after += ","
		}
		return "a failover of Redis" + after + r.record.lossOf(f).keysWords()
	case faults.PowerLoss:
		return "a power loss took nats-server down" + after + r.record.lossOf(f).messagesWords()
	}
	return f.Fault.String()
}

// overWords say that a strike which lasted is over; "" for one that did not.
func overWords(f faults.Fired) string {
	node := who(f.Node)
	switch f.Fault.Do {
	case faults.Crash:
		return node + " restarted"
	case faults.Pause:
		return node + " went on after its pause"
	case faults.Partition:
		return "the partition of " + node + " from " + who(f.Fault.From) + " was over"
	case faults.Skew:
		return "the clock of " + node + " was right again"
	case faults.Restart, faults.PowerLoss:
		return node + " was back"
	}
	return ""
}
