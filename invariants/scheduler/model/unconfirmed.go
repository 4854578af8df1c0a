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

// Unconfirmed is an answer to a delivery that has failed, as its process knows, and is to be sent again.
type Unconfirmed struct {
	Process string
	Kind    sim.Kind
	Step    int           // at which it was last sent
	Within  time.Duration // how soon after its failure it is to be sent again

	node, job, phase string
	seq              uint64
	answers          int           // the step of the delivery
	failed           time.Duration // when it failed; 0 while the process waits for the server's word
	until            time.Duration // when the process may give it up
}

// repeated are the phases of answers that are sent again.
var repeated = []string{"submit_ack", "submit_nak", "submit_term", "result_ack", "result_nak", "result_term", "cancel_ack", "cancel_nak", "cancel_term", "job_ack"}

// Confirm notes an answer to a delivery, or what came of it. It tells which are sent again, and which are late with that. While the
// node suffers from a strike, or nats-server does, none is late.
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
	if !f.Config.ConfirmAcks || e.Job == "" || !slices.Contains(repeated, e.Phase) {
		return
	}
	returns := e.Kind == sim.KindReturn
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

// fails notes that an answer was sent, or has failed.
func (u *Unconfirmed) fails(e *sim.Event) {
	if u.failed = e.At; history.AnswerOf(e) == history.Waits {
		u.failed = 0
	}
}

// workerRetries is how soon a worker makes a call again that has failed: a second, and the call's timeout, later.
const workerRetries = 6 * time.Second

// unconfirmed is an answer that is sent for the first time. If the message is lost, the process may give it up: another may have
// its sequence by now.
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

// givesUp says whether a process may give up an answer: it is down, JetStream redelivers the message, or a stream is known not to hold it.
func (f *Facts) givesUp(u *Unconfirmed, e *sim.Event) bool {
	return f.Node(u.node).Down || u.failed+u.Within >= u.until || e.Name == "power-loss" && e.Target == sim.NATS ||
		e.Name == "GetMsg" && e.Node == u.node && strings.Contains(e.Outcome, "not found") && strings.HasSuffix(e.Target, "/"+strconv.FormatUint(u.seq, 10))
}
