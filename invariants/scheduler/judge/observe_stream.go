package judge

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

// jobsStored takes in what the stream of dispatches stored, and says whether it is what the step is
// about: a dispatch, a void in its place, or a cancel notice.
func (j *observer) jobsStored(s *step, c *sim.Change) bool {
	f := j.facts
	own := j.concerning(s)
	id := c.Header[history.HeaderJob]
	if id == "" {
		id = s.Job
	}
	if own.about = f.job(id); own.about == nil {
		return false
	}
	f.takePlace(own.about, c)
	if worker, is := history.ToldOf(c.Subject); is {
		own.about.told = append(own.about.told, notice{worker, history.EpochOf(c)})
		return own.about == s.about
	}
	if c.Header[history.HeaderVoid] != "" {
		f.reach(voidStored)
		own.about.voids = append(own.about.voids, history.EpochOf(c))
		for _, check := range j.voided {
			check(own)
		}
		return own.about == s.about
	}
	if own.about != s.about {
		own.handling = nil
	}
	j.dispatchStored(own, c)
	return own.about == s.about
}

// dispatchStored takes in a dispatch of the step's job.
func (j *observer) dispatchStored(own *step, c *sim.Change) {
	f := j.facts
	d := &j.dispatch
	*d = dispatch{worker: history.WorkerOf(c.Subject), subject: c.Subject, epoch: history.EpochOf(c), seq: c.Seq, step: own.Step}
	if own.handling != nil {
		f.overstay(own)
		own.handling.stored = true
	}
	f.assigned(own.about, d.worker, own.At)
	if n := f.nodes[d.worker]; n != nil && d.worker != "" {
		if n.down {
			f.come(own.about, deadWorker)
			f.reach(toDeadWorker)
		}
		if n.silent+n.cut > 0 {
			f.reach(toSilentWorker)
		}
	}
	for _, check := range j.stored {
		check(own, d)
	}
	own.about.dispatches = append(own.about.dispatches, *d)
	own.about.queued.stored = own.about.queued.step != 0
	if i := &own.about.intent; i.of(d) {
		i.stored = true
	}
}

// sysStored takes in a submission, a result or a cancellation, and says whether it is of the step's
// own job.
func (j *observer) sysStored(s *step, c *sim.Change) bool {
	id := c.Header[history.HeaderJob]
	if id == "" {
		id = s.Job
	}
	about := j.facts.job(id)
	if about == nil {
		return false
	}
	j.facts.takePlace(about, c)
	about.messages = append(about.messages, message{seq: c.Seq, consumer: history.ConsumerOf(c.Subject), epoch: history.EpochOf(c), since: s.Step,
		garbled: c.Subject == history.SubjectSubmit && history.Garbled(c.Value) || c.Subject == history.SubjectResult && history.Illegal(c.Value)})
	switch c.Subject {
	case history.SubjectSubmit:
		about.accepted = true
		about.requests++
		j.facts.resubmitted(about, c)
		if strings.HasPrefix(id, history.CompensationIDs) {
			j.facts.compensationSubmitted(s, c.Value)
		}
		j.stepStored(s, id, c.Seq)
	case history.SubjectResult:
		about.answered(c.Value)
		about.moments &^= 1 << resultUnsent
	}
	return about == s.about
}

func (j *observer) publishAnswered(s *step, stored bool) {
	f := j.facts
	h := s.handling
	refused := strings.Contains(s.Outcome, history.WrongSequence)
	if s.Kind == sim.KindPublish {
		if h != nil {
			h.published = true
			if h.refused, h.resumed = refused, 0; f.resumes(s) {
				h.resumed = s.about.epoch
			}
		}
		for _, check := range j.sent {
			check(s)
		}
	}
	switch {
	case s.Outcome == sim.OutcomePending:
	case refused:
		f.reach(publishRefused)
	case !s.failed:
		if s.Kind == sim.KindPublish && !stored {
			f.reach(publishDropped)
			f.count.duplicates++
		} else {
			f.count.published++
		}
		if f.resumes(s) {
			f.count.resumed++
		}
	case stored:
		f.reach(ambiguousPublish)
	default:
		f.reach(failedPublish)
	}
	if s.failed && h != nil {
		h.publishFailed = s.Step
	}
}

// resumes says whether the step's handling publishes what another has intended.
func (f *facts) resumes(s *step) bool {
	return f.config.ResumeIntents && f.config.DispatchOrder != "outbox" && s.handling != nil && s.about.intent.step != 0 && !s.handling.intended
}

// readBack takes in that a replica has looked up what the stream holds in the place of its dispatch.
func (f *facts) readBack(s *step) {
	if h := s.handling; h != nil && h.refused && !s.failed {
		h.refused = false
		if s.about.holds(h.resumed) { // whatever has become of the job by now
			f.count.resumed++
		}
	}
}

// message takes in a delivery, an ack or a nak of a message that concerns a job.
func (j *observer) message(e *sim.Event) {
	f := j.facts
	about := f.job(e.Job)
	lost := e.Fault != "" && e.Fault != history.FaultFailAfter
	last := e.Delivered >= uint64(f.config.MaxDeliver)
	what, _, _ := strings.Cut(e.Phase, "_")
	ours := what != "job" && what != "notice" && what != "void" // those are the other stream's
	var m *message
	if ours {
		m = f.follow(about, e)
	}
	s := &j.step
	*s = step{Event: e, about: about, failed: history.AnswerOf(e).Failed()}
	switch e.Phase {
	case "submit_deliver":
		if e.Delivered > 1 && about.state.inFlight() {
			f.reach(redeliveredInFlight)
		}
	case "result_deliver":
		switch {
		case about.state.terminal():
			f.reach(resultAfterEnd)
		case !about.state.inFlight():
			f.reach(resultAhead)
		}
		if m != nil && m.epoch < about.epoch {
			f.reach(olderResult)
		}
	case "job_deliver":
		if again := about.handOut(e.Seq); again || e.Delivered > 1 {
			f.reach(dispatchRedelivered)
		}
	case "submit_nak", "result_nak", "cancel_nak", "job_nak":
		if last {
			f.come(about, deliveriesExhausted)
			if ours {
				j.abandon(about, m)
			}
		}
	case "submit_term", "result_term", "cancel_term":
		if !s.failed && !lost {
			about.terminated = append(about.terminated, termination{e.Step, place(e.Seq)})
		}
	case "submit_ack", "result_ack", "cancel_ack", "job_ack":
		if lost {
			f.reach(lostAck)
		}
	}
	skipped := m != nil && s.Kind == sim.KindAck && m.guard.skips(invariants.Process(e.Node, e.Incarnation))
	f.handed(s, m, skipped)
	if m != nil {
		j.guarded(s, m, skipped)
	}
	if ours && e.Kind == sim.KindAck {
		for _, check := range j.acked {
			check(s, m)
		}
	}
}

// abandon notes that JetStream delivers a message no more, which nobody has handled; m is nil if the
// stream was not seen to store it.
func (j *observer) abandon(about *job, m *message) {
	if m != nil {
		m.abandoned = true
	}
	for _, check := range j.given {
		check(about, m)
	}
}

// execution takes in what a worker did.
func (j *observer) execution(e *sim.Event) {
	s := &j.step
	*s = step{Event: e, about: j.facts.job(e.Job)}
	switch e.Name {
	case "begin":
		s.about.begun++
		s.about.executing = append(s.about.executing, e.Node)
	case "finish", "fail":
		if e.Name == "finish" {
			s.about.finished++
		}
		if i := slices.Index(s.about.executing, e.Node); i >= 0 {
			s.about.executing = slices.Delete(s.about.executing, i, i+1)
		}
	}
	for _, check := range j.effect {
		check(s)
	}
}
