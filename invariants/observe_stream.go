package invariants

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/sim"
)

// jobsStored takes in what the stream of dispatches stored, and says whether it is what the step is
// about: a dispatch, a void in its place, or a cancel notice.
func (j *Judge) jobsStored(s *step, c *sim.Change) bool {
	f := j.facts
	own := j.concerning(s)
	id := c.Header[headerJob]
	if id == "" {
		id = s.Job
	}
	if own.job = f.job(id); own.job == nil {
		return false
	}
	f.takePlace(own.job, c)
	if worker, is := toldOf(c.Subject); is {
		own.job.told = append(own.job.told, notice{worker, epochOf(c)})
		return own.job == s.job
	}
	if c.Header[headerVoid] != "" {
		f.reach(voidStored)
		own.job.voids = append(own.job.voids, epochOf(c))
		for _, check := range j.voided {
			check(own)
		}
		return own.job == s.job
	}
	if own.job != s.job {
		own.h = nil
	}
	j.dispatchStored(own, c)
	return own.job == s.job
}

// dispatchStored takes in a dispatch of the step's job.
func (j *Judge) dispatchStored(own *step, c *sim.Change) {
	f := j.facts
	d := &j.dispatch
	*d = dispatch{worker: WorkerOf(c.Subject), subject: c.Subject, epoch: epochOf(c), seq: c.Seq, step: own.Step}
	if own.h != nil {
		f.overstay(own)
		own.h.stored = true
	}
	f.assigned(own.job, d.worker, own.At)
	if n := f.nodes[d.worker]; n != nil && d.worker != "" {
		if n.down {
			f.come(own.job, deadWorker)
			f.reach(toDeadWorker)
		}
		if n.silent+n.cut > 0 {
			f.reach(toSilentWorker)
		}
	}
	for _, check := range j.stored {
		check(own, d)
	}
	own.job.dispatches = append(own.job.dispatches, *d)
	own.job.queued.stored = own.job.queued.step != 0
	if i := &own.job.intent; i.of(d) {
		i.stored = true
	}
}

// sysStored takes in a submission, a result or a cancellation, and says whether it is of the step's
// own job.
func (j *Judge) sysStored(s *step, c *sim.Change) bool {
	id := c.Header[headerJob]
	if id == "" {
		id = s.Job
	}
	about := j.facts.job(id)
	if about == nil {
		return false
	}
	j.facts.takePlace(about, c)
	about.messages = append(about.messages, message{seq: c.Seq, consumer: consumerOf(c.Subject), epoch: epochOf(c), since: s.Step,
		garbled: c.Subject == subjectSubmit && garbled(c.Value) || c.Subject == subjectResult && illegal(c.Value)})
	switch c.Subject {
	case subjectSubmit:
		about.accepted = true
		about.requests++
		j.facts.resubmitted(about, c)
		if strings.HasPrefix(id, compensationIDs) {
			j.facts.compensationSubmitted(s, c.Value)
		}
		j.stepStored(s, id, c.Seq)
	case subjectResult:
		about.answered(c.Value)
		about.moments &^= 1 << resultUnsent
	}
	return about == s.job
}

func (j *Judge) publishAnswered(s *step, stored bool) {
	f := j.facts
	h := s.h
	refused := strings.Contains(s.Outcome, wrongSequence)
	if s.Kind == sim.KindPublish {
		if h != nil {
			h.published = true
			if h.refused, h.resumed = refused, 0; f.resumes(s) {
				h.resumed = s.job.epoch
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
	return f.cfg.ResumeIntents && f.cfg.DispatchOrder != "outbox" && s.h != nil && s.job.intent.step != 0 && !s.h.intended
}

// readBack takes in that a replica has looked up what the stream holds in the place of its dispatch.
func (f *facts) readBack(s *step) {
	if h := s.h; h != nil && h.refused && !s.failed {
		h.refused = false
		if s.job.holds(h.resumed) { // whatever has become of the job by now
			f.count.resumed++
		}
	}
}

// message takes in a delivery, an ack or a nak of a message that concerns a job.
func (j *Judge) message(e *sim.Event) {
	f := j.facts
	about := f.job(e.Job)
	lost := e.Fault != "" && e.Fault != faultFailAfter
	last := e.Delivered >= uint64(f.cfg.MaxDeliver)
	what, _, _ := strings.Cut(e.Phase, "_")
	ours := what != "job" && what != "notice" && what != "void" // those are the other stream's
	var m *message
	if ours {
		m = f.follow(about, e)
	}
	s := &j.step
	*s = step{Event: e, job: about, failed: AnswerOf(e).Failed()}
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
	skipped := m != nil && s.Kind == sim.KindAck && m.guard.skips(process(e.Node, e.Incarnation))
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
func (j *Judge) abandon(about *job, m *message) {
	if m != nil {
		m.abandoned = true
	}
	for _, check := range j.given {
		check(about, m)
	}
}

// execution takes in what a worker did.
func (j *Judge) execution(e *sim.Event) {
	s := &j.step
	*s = step{Event: e, job: j.facts.job(e.Job)}
	switch e.Name {
	case "begin":
		s.job.begun++
		s.job.executing = append(s.job.executing, e.Node)
	case "finish", "fail":
		if e.Name == "finish" {
			s.job.finished++
		}
		if i := slices.Index(s.job.executing, e.Node); i >= 0 {
			s.job.executing = slices.Delete(s.job.executing, i, i+1)
		}
	}
	for _, check := range j.effect {
		check(s)
	}
}
