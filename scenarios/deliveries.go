package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

// messageNames maps the beginnings of phases to the kinds of message whose deliveries are followed.
var messageNames = map[string]string{"submit": request, "result": result, "cancel": "cancellation", "job": "dispatch"}

// handles follows the handling of a job's messages: redeliveries, messages that are given up, and
// acknowledgements by nodes that have done nothing for the job.
func (r *record) handles(j *jobRecord, e *sim.Event) {
	switch e.Kind {
	case sim.KindDeliver, sim.KindAck, sim.KindNak, sim.KindTerm:
	default:
		switch i := j.idleAt(e.Node); {
		case i < 0:
		case acts(e):
			j.idle = slices.Delete(j.idle, i, i+1)
		case e.Phase == "processed_read" && history.AnswerOf(e) == history.Done && e.Outcome == sim.OutcomeOK:
			j.idle[i].processed = e.Target
		case e.Phase == "inflight_write": // Redis does not know the message, or knows another one by its sequence
			j.idle[i].processed = ""
		}
		return
	}
	kind, _, _ := strings.Cut(e.Phase, "_")
	what := messageNames[kind]
	if what == "" || e.Outcome != sim.OutcomeOK || e.Fault != "" && e.Kind != sim.KindDeliver {
		return
	}
	what = j.called(what, e.Seq)
	switch e.Kind {
	case sim.KindDeliver:
		why := ""
		if kind == "job" {
			why = j.whyAgain(e)
			h := j.handedTo(e)
			h.times, h.seq = h.times+1, e.Seq
		}
		if e.Delivered > 1 {
			tell(&j.moments, e, redelivered, what, why, 0)
		}
		if j.idleAt(e.Node) < 0 {
			j.idle = append(j.idle, idle{node: e.Node})
		}
	case sim.KindAck:
		i := j.idleAt(e.Node)
		switch {
		case i < 0, j.State == "APPROVAL_REQUIRED":
		case kind == "job":
			tell(&j.moments, e, notExecuted, "", "", 0)
			j.handedTo(e).times--
		case strings.HasSuffix(j.idle[i].processed, fmt.Sprintf(":%d", e.Seq)):
			tell(&j.moments, e, changedNothing, what, "the message was marked as processed", 0)
		case j.State == "":
			tell(&j.moments, e, changedNothing, what, "the job had no record", 0)
		case scheduler.Terminal(j.State):
			tell(&j.moments, e, changedNothing, what, "the job was already "+j.State, 0)
		case kind == "result" && j.result(e.Seq).epoch < r.known(j).Epoch:
			tell(&j.moments, e, changedNothing, what, fmt.Sprintf("it answers the dispatch of epoch %d, and the job is at epoch %d", j.result(e.Seq).epoch, r.known(j).Epoch), 0)
		default:
			tell(&j.moments, e, changedNothing, what, "the job was "+j.State, 0)
		}
	case sim.KindNak:
		if kind != "job" && int(e.Delivered) >= r.deliveries {
			tell(&j.moments, e, givenUp, what, "", int(e.Delivered))
		}
	case sim.KindTerm:
		why := "nobody can read it"
		if m := j.result(e.Seq); m.what != "" && !m.reply.Legal() {
			why = fmt.Sprintf("no result may have the status %s", m.reply.Status)
		}
		tell(&j.moments, e, terminated, what, why, 0)
	}
}

// idle is a node that was delivered a message of a job, and has done nothing for it since.
type idle struct {
	node      string
	processed string // the node that had processed the message, as it found
}

func (j *jobRecord) idleAt(node string) int {
	return slices.IndexFunc(j.idle, func(i idle) bool { return i.node == node })
}

// handed counts how often one incarnation of a worker was delivered a dispatch of the job, and how often it
// began to execute it.
type handed struct {
	to         string
	inc        int
	seq        uint64 // the dispatch's
	times      int
	executions int
	began      time.Duration // when it last began
	crashed    bool
}

func (j *jobRecord) handedTo(e *sim.Event) *handed {
	i := slices.IndexFunc(j.handed, func(h handed) bool { return h.to == e.Node && h.inc == e.Incarnation })
	if i < 0 {
		i, j.handed = len(j.handed), append(j.handed, handed{to: e.Node, inc: e.Incarnation})
	}
	return &j.handed[i]
}

// whyAgain gives the crash of a worker as the reason why a dispatch is redelivered. Other reasons are told
// with a strike.
func (j *jobRecord) whyAgain(e *sim.Event) string {
	for _, h := range slices.Backward(j.handed) {
		if h.seq != e.Seq || !h.crashed {
			continue
		}
		worker, begun := either(h.to == e.Node, ", which", ", as "+h.to), ""
		if h.executions > 0 {
			begun = " had begun to execute it at " + at(h.began) + ", and"
		}
		return worker + begun + " crashed before it acknowledged it"
	}
	return ""
}

// beganAgain marks the redelivery that made a worker begin a job, so that it is told wherever the beginning
// is told.
func (j *jobRecord) beganAgain(e *sim.Event) {
	for i := len(j.moments) - 1; i >= 0; i-- {
		if m := &j.moments[i]; m.node == e.Node {
			if m.says == redelivered {
				m.shownAt = e.Step
			}
			return
		}
	}
}

// shared tells of a dispatch that was delivered to a worker several times and executed once: the other
// deliveries had no effect.
func (j *jobRecord) shared() {
	for _, h := range j.handed {
		for i := len(j.moments) - 1; i >= 0 && h.executions == 1 && h.times > 1; i-- {
			if m := &j.moments[i]; m.node == h.to && m.says == redelivered && m.b == "" && strings.HasSuffix(m.a, messageNames["job"]) {
				m.b = fmt.Sprintf(", which began to execute it once for %d deliveries", h.times)
				break
			}
		}
	}
}

// The names of a job's messages in its story.
const request, result = "request", "result"

// numbered is a message of a job that a stream has stored.
type numbered struct {
	what  string
	seq   uint64
	reply history.Reply // of a result
	epoch int64         // the epoch of the dispatch that a result answers
}

// called names a message of the job. If there are several of its kind, it says which.
func (j *jobRecord) called(what string, seq uint64) string {
	n, place := 0, 0
	for i := range j.numbers {
		if m := &j.numbers[i]; m.what == what {
			if n++; m.seq == seq && place == 0 {
				place = n
			}
		}
	}
	if n < 2 || place == 0 {
		return what
	}
	return invariants.Ordinal(place) + " " + what
}

// replied notes a result that the stream has stored.
func (j *jobRecord) replied(c *sim.Change) {
	said, _ := history.Read[history.Reply](c.Value) // a result that nobody can read has no status
	j.numbers = append(j.numbers, numbered{result, c.Seq, *said, history.EpochOf(c)})
}

// result returns the job's result with that sequence: the last, if nats-server has used the sequence twice.
func (j *jobRecord) result(seq uint64) (m numbered) {
	for i := range j.numbers {
		if j.numbers[i].what == result && j.numbers[i].seq == seq {
			m = j.numbers[i]
		}
	}
	return m
}

// acts says whether the operation does something for its job, more than look at it or guard its handling.
func acts(e *sim.Event) bool {
	if e.Kind == sim.KindPublish || e.Kind == actors.KindEffect {
		return true
	}
	for i := range e.Changes {
		switch what, _ := history.Classify(&e.Changes[i]); what {
		case history.Unknown, history.Lock, history.Processed, history.Inflight, history.Breaker, history.Probes:
		default:
			return true
		}
	}
	return false
}
