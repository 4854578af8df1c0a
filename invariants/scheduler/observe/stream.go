package observe

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

// jobsStored notes what the stream of dispatches stored, and says whether it is what the step is for: a
// dispatch, a void in its place, or a cancel notice.
func (o *Observer) jobsStored(s *model.Step, c *sim.Change, what history.What) bool {
	f := o.Facts
	own := o.concerning(s)
	id := c.Header[history.HeaderJob]
	if id == "" {
		id = s.Job
	}
	if own.About = f.Job(id); own.About == nil {
		return false
	}
	f.TakePlace(own.About, c)
	if what == history.Notice {
		own.About.Tell(c)
		return own.About == s.About
	}
	if what == history.Void {
		f.Reach(model.VoidStored)
		own.About.Voids = append(own.About.Voids, model.Void{Epoch: history.EpochOf(c), Step: s.Step})
		for _, check := range o.hooks.Voided {
			check(own)
		}
		return own.About == s.About
	}
	if own.About != s.About {
		own.Handling = nil
	}
	o.dispatchStored(own, c)
	return own.About == s.About
}

// dispatchStored notes a dispatch of the step's job.
func (o *Observer) dispatchStored(own *model.Step, c *sim.Change) {
	f := o.Facts
	d := &o.dispatch
	*d = model.Dispatch{Worker: history.WorkerOf(c.Subject), Subject: c.Subject, Epoch: history.EpochOf(c), Seq: c.Seq, Step: own.Step, At: own.At}
	if order, err := history.Read[history.Order](c.Value); err == nil {
		d.Order = order
	}
	if own.Handling != nil {
		f.Overstay(own)
		own.Handling.Stored = true
	}
	f.Assigned(own.About, d.Worker)
	if d.Worker == "" {
		f.Reach(model.ToTopic)
	}
	if n := f.Nodes[d.Worker]; n != nil && d.Worker != "" {
		if n.Down {
			f.Come(own.About, model.DeadWorker)
			f.Reach(model.ToDeadWorker)
		}
		if n.Silent+n.Cut > 0 {
			f.Reach(model.ToSilentWorker)
		}
	}
	for _, check := range o.hooks.Stored {
		check(own, d)
	}
	d.Order = nil // it is as long as a job's own request, and not needed again
	own.About.Dispatches = append(own.About.Dispatches, *d)
	own.About.Queued.Stored = own.About.Queued.Step != 0
	if i := &own.About.Intent; i.Matches(d) {
		i.Stored = true
	}
}

// sysStored notes a submission, a result or a cancellation, and says whether it belongs to the step's own
// job.
func (o *Observer) sysStored(s *model.Step, c *sim.Change, what history.What) bool {
	id := c.Header[history.HeaderJob]
	if id == "" {
		id = s.Job
	}
	about := o.Facts.Job(id)
	if about == nil {
		return false
	}
	o.Facts.TakePlace(about, c)
	about.Messages = append(about.Messages, model.Message{Seq: c.Seq, Consumer: history.ConsumerOf(c.Subject), Epoch: history.EpochOf(c), Since: s.Step, From: s.Node, Stored: s.At})
	m := &about.Messages[len(about.Messages)-1]
	switch what {
	case history.Submission:
		about.Accepted = true
		about.Requests++
		r := history.ReadRequest(c.Value)
		o.requested(s, about, r)
		if m.Garbled = r == nil; m.Garbled {
			break
		}
		about.Saga.Undoable = about.Saga.Undoable || r.Undoable()
		about.Wanted(r)
		o.Facts.Resubmitted(about, r)
		if strings.HasPrefix(id, history.CompensationIDs) {
			o.Facts.CompensationSubmitted(s, r)
		}
		o.stepStored(s, id, c.Seq)
	case history.Result:
		r, err := history.Read[history.Reply](c.Value)
		if m.Garbled = err != nil || !r.Legal(); err == nil {
			m.Answer = *r
			about.Answered(r)
			about.Asked = about.Asked || r.Status == model.Cancelled.String()
		}
		for _, check := range o.hooks.Replied {
			check(about, m)
		}
		about.Moments &^= 1 << model.ResultUnsent
	case history.Cancellation:
		about.Asked = true
		w, err := history.Read[history.Word](c.Value)
		if err == nil {
			about.Why(w.Reason)
		}
		o.cancelRequested(s, about, w.Reason)
		if !about.State.Terminal() {
			m.Asked = s.At
		}
	}
	return about == s.About
}

// requested notes that a request of a job is stored.
func (o *Observer) requested(s *model.Step, j *model.Job, r *history.Request) {
	if history.IsClient(s.Node) {
		for _, check := range o.hooks.Requested {
			check(s, j, r)
		}
	}
}

// cancelRequested notes that a cancellation of a job is stored.
func (o *Observer) cancelRequested(s *model.Step, j *model.Job, reason string) {
	if history.IsClient(s.Node) {
		for _, check := range o.hooks.CancelRequested {
			check(s, j, reason)
		}
	}
}

func (o *Observer) publishAnswered(s *model.Step, stored bool) {
	f := o.Facts
	h := s.Handling
	refused := strings.Contains(s.Outcome, history.WrongSequence)
	if s.Kind == sim.KindPublish {
		if h != nil {
			h.Published = true
			if h.Refused = refused; h.Intended {
				h.Resumed = 0
			}
			f.Resuming(s)
		}
		for _, check := range o.hooks.Sent {
			check(s)
		}
	}
	switch {
	case s.Outcome == sim.OutcomePending:
	case refused:
		f.Reach(model.PublishRefused)
	case !s.Failed:
		if s.Kind == sim.KindPublish && !stored {
			f.Reach(model.PublishDropped)
			f.Count.Sure(history.CounterDuplicates, s.About.TopicOf())
		} else {
			f.Count.Sure(history.CounterDispatched, s.About.TopicOf())
		}
		if f.Resumes(s) {
			f.Count.Sure(history.CounterResumed, s.About.TopicOf())
		}
	case stored:
		f.Reach(model.AmbiguousPublish)
	default:
		f.Reach(model.FailedPublish)
	}
	if s.Failed && h != nil {
		h.PublishFailed = s.Step
		if f.Config.DispatchOrder == "outbox" {
			f.Count.Sure(history.CounterOutboxRetries, s.Phase)
		}
	}
}

// message notes a delivery, an ack or a nak of a message that concerns a job.
func (o *Observer) message(e *sim.Event) {
	f := o.Facts
	about := f.Job(e.Job)
	lost := !history.Applied(e)
	last := e.Delivered >= uint64(f.Config.MaxDeliver)
	what, _, _ := strings.Cut(e.Phase, "_")
	ours := what != "job" && what != "notice" && what != "void" // those are in the other stream
	var m, back *model.Message
	var first, again bool
	if ours {
		back = about.ComesBack(e)
		m, first, again = f.Follow(about, e)
	}
	s := &o.step
	*s = model.Step{Event: e, About: about, Failed: history.AnswerOf(e).Failed()}
	if back != nil {
		for _, check := range o.hooks.Back {
			check(s, back)
		}
	}
	if m != nil && e.Kind == sim.KindNak {
		if first {
			f.Retried(m, e)
		}
		for _, check := range o.hooks.SentBack {
			check(s, m)
		}
	}
	switch e.Phase {
	case "submit_deliver":
		if e.Delivered > 1 && about.State.InFlight() {
			f.Reach(model.RedeliveredInFlight)
		}
	case "result_deliver":
		switch {
		case about.State.Terminal():
			f.Reach(model.ResultAfterEnd)
		case !about.State.InFlight():
			f.Reach(model.ResultAhead)
		}
		if m != nil && m.Epoch < about.Epoch {
			f.Reach(model.OlderResult)
		}
	case "notice_deliver":
		f.HeardNotice(about, e)
	case "job_deliver":
		if !lost {
			about.Again(s)
		}
		f.Node(e.Node).Given(e)
		if again := f.HandOut(about, e.Seq, e.Step); again || e.Delivered > 1 {
			f.Reach(model.DispatchRedelivered)
		}
	case "submit_nak", "result_nak", "cancel_nak", "job_nak":
		if last && !again {
			f.Come(about, model.DeliveriesExhausted)
			if ours {
				f.Count.Sure(history.CounterGivenUp, "scheduler-"+what)
				o.abandon(about, m)
			}
		}
	case "submit_term", "result_term", "cancel_term":
		if !s.Failed && !lost {
			about.Terminated = append(about.Terminated, model.Termination{Step: e.Step, Place: model.Place(e.Seq)})
		}
		for _, check := range o.hooks.Termed {
			check(s, m)
		}
	case "submit_ack", "result_ack", "cancel_ack", "job_ack":
		if what == "job" {
			f.Node(e.Node).Answers(e)
		}
		if lost {
			f.Reach(model.LostAck)
			break
		}
		if e.Phase == "job_ack" {
			about.Acknowledge(e.Seq, !s.Failed)
			if !s.Failed {
				for _, check := range o.hooks.Done {
					check(s)
				}
			}
		}
	}
	if again {
		return
	}
	o.inHand(s, m, first)
	if ours && e.Kind == sim.KindAck {
		for _, check := range o.hooks.Acked {
			check(s, m)
		}
	}
}

// inHand notes that a process receives a message or, if first, finishes with it for the first time. m is nil
// if the stream was not seen to store it.
func (o *Observer) inHand(s *model.Step, m *model.Message, first bool) {
	if m == nil {
		return
	}
	skipped := s.Kind == sim.KindAck && m.Guard.Skips(invariants.Process(s.Node, s.Incarnation))
	o.Facts.Handed(s, m, first, skipped)
	o.guarded(s, m, skipped)
	if s.Kind == sim.KindAck && !skipped {
		o.Facts.SagaAnswered(s, m)
		o.Facts.SucceededAfterAll(s, m)
	}
}

// abandon notes that JetStream no longer delivers a message that nobody has handled. m is nil if the stream
// was not seen to store it.
func (o *Observer) abandon(about *model.Job, m *model.Message) {
	if m != nil {
		m.Abandoned = true
	}
	for _, check := range o.hooks.Given {
		check(about, m)
	}
}

// execution notes what a worker did.
func (o *Observer) execution(e *sim.Event) {
	s := &o.step
	*s = model.Step{Event: e, About: o.Facts.Job(e.Job)}
	n := o.Facts.Node(e.Node)
	n.Worked = e.At
	n.Executes(e)
	switch e.Name {
	case "begin":
		if s.About.Begun++; s.About.Begun == 1 {
			s.About.BegunStep, s.About.BegunBy = e.Step, e.Node
		}
		s.About.Executing = append(s.About.Executing, e.Node)
	case "finish", "fail":
		model.ExecutionEnds(s)
		if e.Name == "finish" && history.AnswerOf(e) != history.Declined { // after a crash right then there is no answer
			s.About.Finished++
			o.Facts.HadEffect(s)
		}
		if i := slices.Index(s.About.Executing, e.Node); i >= 0 {
			s.About.Executing = slices.Delete(s.About.Executing, i, i+1)
		}
	}
	for _, check := range o.hooks.Effect {
		check(s)
	}
}

// GiveUp notes the messages that nobody has acknowledged and that JetStream no longer delivers. A crash may
// have swallowed a delivery that nobody saw, if the stream held the message by then, the process had an open
// pull for it, and no later delivery has shown the count.
func (o *Observer) GiveUp() {
	f := o.Facts
	for _, about := range f.Order {
		for i := range about.Messages {
			m := &about.Messages[i]
			if m.Done || m.Lost || m.Abandoned || m.Delivered+f.Unseen(m) < uint64(f.Config.MaxDeliver) {
				continue
			}
			if !about.Had(model.DeliveriesExhausted) {
				f.Come(about, model.DeliveriesExhausted)
			}
			o.abandon(about, m)
		}
	}
}
