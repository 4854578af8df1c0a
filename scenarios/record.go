package scenarios

import (
	"cmp"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

func newRecord(plan *plans.Plan, facts *model.Facts) *record {
	r := &record{
		facts:    facts,
		progress: progress{outstanding: map[message]bool{}}, locks: map[string]lock{}, stacks: map[string]string{},
		synced: plan.World.SyncAlways, each: plan.Workload.Submissions, deliveries: plan.Engine.MaxDeliver, ackWait: plan.Engine.AckWait, syncEvery: plan.World.SyncInterval, relayed: plan.Relays(), derived: newDerived(), letters: newLetters(),
	}
	for n := range plan.Workload.Jobs {
		r.jobs = append(r.jobs, &jobRecord{JobResult: JobResult{ID: plans.JobID(n + 1), Dispatches: []DispatchPoint{}}})
	}
	return r
}

// observe records one event, fact by fact.
func (r *record) observe(e *sim.Event, facts []history.Fact) {
	r.loses(e)
	for i := range facts {
		f := &facts[i]
		switch {
		case f.Again:
		case f.What <= history.Notice && f.Change.Gone:
			r.messageLost(f)
		case f.What <= history.Notice:
			r.stored(f)
		case f.What == history.Record:
			r.written(f)
		case f.What == history.Run:
			r.ran(f)
		case f.What == history.Audited:
			r.decided(f)
		case f.What == history.Finding:
			r.judgedOutput(f)
		case f.What == history.Lock, f.What == history.SagaLock, f.What == history.RunLock:
			r.locked(f)
		case f.What == history.TickLock:
			r.ticked(f)
		case f.What == history.Letter, f.What == history.MessageLetter:
			r.lettered(f)
		case f.What == history.SagaLetter:
			r.unusable(f)
		case f.What == history.LetterIndex:
			r.letters.indexed(f)
		case f.What == history.SagaStack:
			r.stacked(f)
		}
	}
	r.operated(e)
}

// operated records an operation that changed no server.
func (r *record) operated(e *sim.Event) {
	done := history.AnswerOf(e) == history.Done
	switch e.Kind {
	case sim.KindAck, sim.KindTerm:
		r.acknowledged(e)
	case sim.KindNak:
		if int(e.Delivered) >= r.deliveries { // it is not delivered again
			r.acknowledged(e)
		}
	case actors.KindEffect:
		r.executed(e)
	case sim.KindControl:
		r.forgets(e)
		r.controlled(e)
	}
	if e.Phase == "lock_acquire" || e.Phase == "saga_lock" || e.Phase == "run_lock" {
		r.foundTaken(e)
	}
	if rescues[e.Phase] != "" {
		r.didNotTick(e)
	}
	r.runFenced(e)
	j := r.job(e.Job)
	if j == nil {
		if j := r.stranger(e.Job); j != nil {
			j.operated(e)
			r.handles(j, e)
		}
		r.derived.delivered(e)
		return
	}
	j.operated(e)
	r.handles(j, e)
	switch e.Phase {
	case "submit_deliver":
		j.requests = max(j.requests, int(e.Delivered))
	case "result_deliver":
		j.answers = max(j.answers, int(e.Delivered))
	case "publish":
		if e.Kind == sim.KindPublish && e.Outcome == sim.OutcomeOK && len(e.Changes) == 0 {
			r.dropped(j, e)
		}
	case "state_read":
		if j.State == "" && done {
			tell(&j.moments, e, noRecord, "", "", 0)
		}
	case "replay_read":
		if !j.replayed {
			tell(&j.moments, e, replayed, "", "", 0)
		}
		j.replayed = true
	case "timeout_read":
		if scheduler.Terminal(j.State) && done {
			tell(&j.moments, e, foundOver, j.State, "", 0)
		}
	case "safety_check":
		if history.Throttles(e) {
			tell(&j.moments, e, throttled, "", "", 0)
		} else {
			tell(&j.moments, e, askedKernel, "", "", 0)
		}
	case "result_nak":
		if j.State == "PENDING" || j.State == "SCHEDULED" {
			tell(&j.moments, e, early, j.State, j.called(result, e.Seq), 0)
		}
	case "submit_ack", "submit_nak":
		r.handled(j)
	}
}

func (r *record) stored(f *history.Fact) {
	c, j := f.Change, r.job(f.Job)
	r.outstanding[message{c.Seq, c.Subject}] = true
	if j == nil {
		r.derived.stored(f)
		if f.What == history.Submission && f.Node == actors.StrangerName && r.stranger(f.Job) == nil {
			p := &jobRecord{JobResult: JobResult{ID: f.Job, Submitted: f.At}}
			tell(&p.moments, f.Event, submitted, "", ", which nobody can read", 0)
			r.poison = append(r.poison, p)
		}
		return
	}
	switch f.What {
	case history.Submission:
		j.numbers = append(j.numbers, numbered{what: request, seq: c.Seq})
		if j.submissions == 0 {
			j.Submitted = f.At
		}
		if approved(c.Value) {
			j.approvals++
		}
		if j.submissions++; j.submissions <= r.each {
			r.submitted++
		}
		again := ""
		if j.submissions > 1 {
			again = " again"
		}
		tell(&j.moments, f.Event, submitted, "", again, 0)
	case history.Result:
		j.replied(c)
	case history.Cancellation:
		if !j.cancelled {
			r.cancels++
		}
		j.cancelled = true
		tell(&j.moments, f.Event, cancelAsked, "", "", 0)
	case history.Notice:
		tell(&j.moments, f.Event, notified, f.Worker(), "", 0)
	case history.Void:
		tell(&j.moments, f.Event, voided, "", "", 0)
	case history.Dispatch:
		r.dispatched(j, f)
		j.worker = f.Worker()
		if r.down(j.worker) {
			j.ToDead = true
			j.openBlind(f.At)
		} else {
			j.awaited = true
			j.closeBlind(f.At, "dispatch")
		}
	}
}

// dispatched tells of a stored dispatch.
func (r *record) dispatched(j *jobRecord, f *history.Fact) {
	c, h := f.Change, r.known(j).Handling(f.Event)
	j.Dispatches = append(j.Dispatches, DispatchPoint{f.Step, f.At, c.Subject, c.Seq})
	to, says := cmp.Or(f.Worker(), "the topic "+c.Subject), dispatched
	last := j.last()
	expected := last != nil && last.says == wrote && last.a == "DISPATCHED" && last.node == f.Node && f.At < last.at+time.Second
	switch {
	case j.State == "DISPATCHED" && h != nil && h.Lock > j.Path[len(j.Path)-1].Step && !r.relayed && f.Kind != sim.KindLate:
		says = resumed
	case len(j.Dispatches) > 1:
		says = dispatchedAgain
	}
	forgotten := ""
	if id := c.Header[history.HeaderMessageID]; id != "" && id == j.messageID {
		forgotten = ", as it remembered the message id no more"
	}
	j.messageID = c.Header[history.HeaderMessageID]
	tell(&j.moments, f.Event, says, to, forgotten, len(j.Dispatches))
	j.last().quiet = says == dispatched && expected && f.Kind != sim.KindLate
}

// dropped notes a publish that the stream dropped as a duplicate. The stream then holds only an earlier
// dispatch of the job, whose worker may be dead.
func (r *record) dropped(j *jobRecord, e *sim.Event) {
	tell(&j.moments, e, dropped, history.WorkerOf(e.Target), "", 0)
	if len(j.Dispatches) > 0 && !r.down(j.worker) && (j.executing != "" || r.waits(j)) {
		j.awaited = true
	} else if !j.finished {
		j.openBlind(e.At)
	}
}

func (r *record) written(f *history.Fact) {
	to, moves := f.Field("state")
	if to == "FAILED" || to == "DENIED" || to == "OUTPUT_QUARANTINED" {
		r.buried = f.At
	}
	j := r.job(f.Job)
	if j == nil {
		r.derived.written(f)
		r.doneBy(f.Job)
		return
	}
	if decision, ok := f.Field("decision"); ok && decision == scheduler.DecidedFailOpen {
		if !j.undecided {
			tell(&j.moments, f.Event, undecided, "", "", 0)
		}
		j.undecided = true
	}
	if f.Vanished() { // in a failover that loses its writes
		j.Attempts, j.Reason, j.Why = 0, "", ""
		r.moved(j, f, "")
		return
	}
	j.takeIn(f)
	if _, ok := f.Field("cancel"); ok && j.State == "" && !moves {
		j.keptCancellation = true
		tell(&j.moments, f.Event, keptCancellation, "", "", 0)
	}
	if moves {
		r.moved(j, f, to)
	} else if n := len(j.Path); n > 0 && j.Path[n-1].Step == f.Step {
		j.Path[n-1].Attempts = j.Attempts
	}
}

// moved notes that the job's record has another state.
func (r *record) moved(j *jobRecord, f *history.Fact, to string) {
	r.settle(&j.JobResult, to, f.At)
	from := j.State
	j.State, j.since = to, f.At
	j.Path = add(j.Path, JobPoint{f.Step, f.At, to, j.Attempts, cmp.Or(f.Phase, f.Name)})
	switch {
	case lossBy(f.Event):
		l, says, was := &r.losses[len(r.losses)-1], rewound, from
		j.rewound = true
		if to == "" {
			says, was = recordLost, either(from == "", "no state yet", "said "+from)
			if from == "" && j.keptCancellation {
				was = "its cancellation alone"
			}
			l.gone = append(l.gone, j.ID)
		} else {
			l.back = append(l.back, j.ID)
		}
		tell(&j.moments, f.Event, says, was, to, 0)
	case f.Kind == sim.KindLate:
		tell(&j.moments, f.Event, lateWrote, to+over(from, to), f.Phase, 0)
	case f.Phase == "rollback_write":
		tell(&j.moments, f.Event, rolledBack, to, "", j.Attempts)
	default:
		tell(&j.moments, f.Event, wrote, to, j.stateWords(f)+over(from, to), j.Attempts)
	}
	if to != "DISPATCHED" && to != "RUNNING" {
		j.found(f.At)
	}
	if to == "SCHEDULED" {
		j.awaited = false
	}
}

// stacked tells that a job's compensation was pushed onto its saga's stack, or popped.
func (r *record) stacked(f *history.Fact) {
	c := f.Change
	place := f.Job + " " + cmp.Or(c.Field, "0") // the last to go removes the key
	if !c.Gone {
		_, r.stacks[place] = whatOf(history.CompensationIDs, c.Value)
		if j := r.job(f.Event.Job); j != nil && f.Phase == "saga_record" {
			j.tellOnce(f.Event, recorded, "")
		}
		return
	}
	if j := r.job(r.stacks[place]); j != nil && f.Phase == "saga_pop" {
		j.tellOnce(f.Event, popped, "")
	}
	delete(r.stacks, place)
}

func (r *record) executed(e *sim.Event) {
	j := r.job(e.Job)
	if answer := history.AnswerOf(e); answer.Failed() { // after a crash right then there is no answer
		return
	}
	if j == nil {
		r.derived.executed(e)
		return
	}
	over := ""
	if scheduler.Terminal(j.State) && j.State != "SUCCEEDED" {
		over = j.State
	}
	if e.Name == actors.EffectBegin {
		j.Executions++
		h := j.handedTo(e)
		h.executions, h.began = h.executions+1, e.At
		j.beganAgain(e)
		again := ""
		if j.Executions > 1 {
			again = " again"
		}
		tell(&j.moments, e, either(over == "", began, overtaken), over, again, j.Executions)
		j.executing, j.awaited = e.Node, true
		j.closeBlind(e.At, "execution")
		return
	}
	declined := history.AnswerOf(e) == history.Declined
	says := either(over == "", finished, finishedOvertaken)
	if declined {
		says = effectRefused
	}
	tell(&j.moments, e, says, over, either(e.Name == actors.EffectFail, " with a failure", ""), 0)
	j.executing, j.awaited = "", false
	if e.Name == actors.EffectDone && !declined {
		j.Effects++
	}
	j.finished = j.finished || e.Name == actors.EffectDone
}
