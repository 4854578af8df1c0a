package model

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Unconfirmed is an ack, a nak or a term that has failed, and that its process must send again.
type Unconfirmed struct {
	Process string
	Kind    sim.Kind
	Step    int           // the step at which it was last sent
	Within  time.Duration // how soon after its failure the process must send it again

	node, job, phase string
	seq              uint64
	answers          int           // the step of the delivery
	failed           time.Duration // when it failed; 0 while the process waits for an answer
	until            time.Duration // when the process may give it up
}

// repeated has the phases of the acks, naks and terms that a process sends again.
var repeated = []string{"submit_ack", "submit_nak", "submit_term", "result_ack", "result_nak", "result_term", "cancel_ack", "cancel_nak", "cancel_term", "job_ack"}

// Confirm notes an ack, a nak or a term, or its outcome. It calls the Resent hooks for each one that is sent again, and for each
// one that is not sent again in time. None is late while the node or nats-server suffers from a strike.
func (f *Facts) Confirm(e *sim.Event) {
	f.failing = slices.DeleteFunc(f.failing, func(u *Unconfirmed) bool {
		late := u.failed != 0 && e.At-u.failed > u.Within
		switch {
		case f.givesUp(u, e):
			return true
		case f.Strikes.on(u.node, e.At) || f.Strikes.on(sim.NATS, e.At):
			if u.failed != 0 {
				u.failed = e.At
			}
			return false
		case late:
			f.resent(u, true)
		}
		return late
	})
	returns := e.Kind == sim.KindReturn
	if !f.Config.ConfirmAcks || !returns && e.Kind != sim.KindAck && e.Kind != sim.KindNak && e.Kind != sim.KindTerm || !slices.Contains(repeated, e.Phase) || e.Job == "" {
		return
	}
	arrived := history.AnswerOf(e) == history.Done || strings.Contains(e.Outcome, "already acknowledged") // as the client library knows
	i := slices.IndexFunc(f.failing, func(u *Unconfirmed) bool {
		return u.node == e.Node && u.job == e.Job && u.phase == e.Phase && (u.answers == e.Answers || returns && u.failed == 0)
	})
	if i < 0 {
		if !arrived && !returns {
			f.failing = append(f.failing, f.unconfirmed(e))
		}
		return
	}
	u := f.failing[i]
	if !returns {
		f.resent(u, false)
		u.Step = e.Step
	}
	if u.fails(e); arrived {
		f.failing = slices.Delete(f.failing, i, i+1)
	}
}

func (f *Facts) resent(u *Unconfirmed, late bool) {
	for _, check := range f.Hooks.Resent {
		check(f.Job(u.job), u, late)
	}
}

// fails notes that u was sent, or has failed.
func (u *Unconfirmed) fails(e *sim.Event) {
	if u.failed = e.At; history.AnswerOf(e) == history.Waits {
		u.failed = 0
	}
}

// workerRetries is how long after a failed call a worker has made it again: a second, and the timeout of the call.
const workerRetries = 6 * time.Second

// unconfirmed returns the entry for an ack, a nak or a term that is sent for the first time. If its message is lost, the process
// may give it up, since another message may have the sequence by then.
func (f *Facts) unconfirmed(e *sim.Event) *Unconfirmed {
	u := &Unconfirmed{Process: invariants.Process(e.Node, e.Incarnation), Kind: e.Kind, Step: e.Step, node: e.Node, job: e.Job, phase: e.Phase, seq: e.Seq, answers: e.Answers}
	u.fails(e)
	if e.Phase == "job_ack" {
		u.Within, u.until = workerRetries+Doubt, e.At+dispatchAckWait
		if slices.ContainsFunc(f.Job(e.Job).Dispatches, func(d Dispatch) bool { return d.Seq == e.Seq && d.Lost }) {
			u.until = 0
		}
		return u
	}
	u.Within = f.Config.RetryDelayStore + f.Config.PublishTimeout + Doubt
	wait := f.Config.AckWait
	if strings.HasPrefix(e.Phase, "cancel") {
		wait = f.Config.CancelAckWait()
	}
	if m := f.Job(e.Job).message(e.Seq); m != nil && !m.Lost {
		for _, d := range m.deliveries {
			if d.step == e.Answers {
				u.until = d.at + wait
			}
		}
	}
	return u
}

// givesUp says whether a process may give up u: the process is down, JetStream redelivers the message, or the process knows that
// the stream does not hold it.
func (f *Facts) givesUp(u *Unconfirmed, e *sim.Event) bool {
	return f.Node(u.node).Down || u.failed+u.Within >= u.until || e.Name == "power-loss" && e.Target == sim.NATS ||
		e.Name == "GetMsg" && e.Node == u.node && strings.Contains(e.Outcome, "not found") && strings.HasSuffix(e.Target, "/"+strconv.FormatUint(u.seq, 10))
}
