package model

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Message is a request, a result or a cancellation of a job in the stream.
type Message struct {
	Seq      uint64
	Consumer string        // who delivers it; "" for nobody
	Epoch    int64         // for a result
	Answer   history.Reply // for a result
	From     string        // the node that published it
	Over     string        // the process to which it was last delivered, if its job was over by then
	Garbled  bool          // it is an unreadable request, or a result without a legal status
	Consents string        // for a request that carries an approval: the request's hash
	Asked    time.Duration // for a cancellation of a job that was not over: when it was stored; otherwise 0
	Guard    guard
	Refusal  *refusal // of a garbled message, once it was delivered

	deliveries
	Stored    time.Duration // when it was stored
	PutOff    time.Duration // when it was last sent back with a delay
	Away      time.Duration // the delay; 0 if it did not arrive
	Due       config.Span   // the delay that it should have had
	Delivered uint64        // how often it was seen to be delivered
	Since     int           // the step up to which Delivered counts every delivery
	Done      bool          // acknowledged or terminated
	Lost      bool          // the stream does not hold it any more; whoever received it still has it
	Abandoned bool          // JetStream no longer delivers it, and nobody has acknowledged it
	astray    bool          // a delivery of it was lost, or the answer to one, and nobody has asked about its job since it was redelivered
	found     bool          // it has been redelivered since
	overdue   bool          // JetStream may have waited in vain for an answer, and redelivered it before it was sent back
	twice     bool          // it was delivered while a process had it in hand, or sooner than its delay: like a second request
}

// refusal is what happened to a message that can never be handled.
type refusal struct {
	Unfiled []string // processes to which Redis refused its DLQ entry, once for each handling that they have yet to end
	Tried   bool     // a scheduler terminated it, whether or not the stream knows
	Kept    uint64   // the delivery whose handling ended otherwise, although nothing refused the entry; 0 for none
	Late    string   // the process to which it was delivered after its termination was confirmed
	Again   int      // the step at which that process refused it again; 0 if it did not
}

// Termination is the end of a message that can never be handled.
type Termination struct {
	Step  int
	Place string
}

// Place identifies a message in its stream, as its DLQ entry names it.
func Place(seq uint64) string { return history.StreamSys + ":" + strconv.FormatUint(seq, 10) }

// OfMessage says whether a DLQ entry belongs to a message, not to a job.
func OfMessage(entry string) bool { return strings.HasPrefix(entry, history.StreamSys+":") }

// Poisoned says whether the job has no record, and one of its messages can never be handled.
func (f *Facts) Poisoned(j *Job) bool {
	return j.State == Absent && (len(j.Terminated) > 0 || slices.ContainsFunc(j.Messages, func(m Message) bool { return m.Garbled || f.HasLetter(Place(m.Seq)) }))
}

// pulls are the pulls of a process, by consumer: the step at which the last one was sent; 0 once it has
// ended. A full pull has no end of its own, so it counts as open until the next.
type pulls map[string]int

// swept is a crash and the open pulls that it ended, to which the server may have sent messages that nobody
// saw.
type swept struct {
	step  int
	pulls pulls
}

// Pull notes that a pull was sent or has ended.
func (n *Node) Pull(e *sim.Event) {
	if n.pulls == nil {
		n.pulls = pulls{}
	}
	n.pulls[e.Target] = 0
	if e.Kind == sim.KindFetch && !history.AnswerOf(e).Failed() {
		n.pulls[e.Target] = e.Step
	}
}

// message returns the last of the job's messages with that sequence, or nil.
func (j *Job) message(seq uint64) *Message {
	for i := len(j.Messages) - 1; i >= 0; i-- {
		if j.Messages[i].Seq == seq {
			return &j.Messages[i]
		}
	}
	return nil
}

// Unreadable says whether one of the job's messages that have had that sequence can never be handled. A
// process that received it may answer it when another message has its sequence.
func (j *Job) Unreadable(seq uint64) bool {
	return slices.ContainsFunc(j.Messages, func(m Message) bool { return m.Seq == seq && m.Garbled })
}

// Follow notes a delivery or an acknowledgement of one of the job's messages, and returns the message; nil if
// the stream was not seen to store it. first says that it is the first answer to a delivery. again says that
// the delivery had that answer before: the answer is then repeated, and nobody handles the message.
func (f *Facts) Follow(j *Job, e *sim.Event) (m *Message, first, again bool) {
	m = j.message(e.Seq)
	if m == nil {
		return nil, false, false
	}
	if m.Garbled && m.Refusal == nil {
		m.Refusal = &refusal{}
	}
	reached, newer := history.Applied(e), e.Delivered > m.Delivered
	if e.Kind == sim.KindDeliver && newer {
		m.Since = max(m.Since, f.Node(e.Node).pulls[m.Consumer]) // it counts those before it, and was sent after its pull
		if e.Delivered > m.Delivered+1 {                         // a process has it, or had it, that was not seen to receive it
			j.Struck |= f.StruckNow() & ofReplicas
		}
		if m.Done && f.Strikes.forgot != 0 {
			m.Done = false // only a server that has forgotten that redelivers it
			j.Struck |= f.Strikes.forgot
		}
	}
	m.Delivered = max(m.Delivered, e.Delivered)
	m.astray = m.astray || !reached
	if e.Kind == sim.KindDeliver && !reached {
		m.found = false
		return m, false, false
	}
	m.twice = m.twice || e.Kind == sim.KindDeliver && (m.held() || m.PutOff != 0 && e.At-m.PutOff < f.Config.ShortestDelay())
	first, again = m.follow(e)
	if m.Garbled && !again {
		m.Refusal.follow(e, m.Done && newer)
	}
	switch e.Kind {
	case sim.KindDeliver:
		m.found, m.Over = m.astray, ""
		if j.State.Terminal() {
			m.Over = invariants.Process(e.Node, e.Incarnation)
		}
	case sim.KindNak:
		m.overdue = m.overdue || e.At-max(m.Stored, m.PutOff) >= f.Config.CancelAckWait()-Slack
		m.Due = f.due(m, e)
		if m.PutOff, m.Away = e.At, 0; reached {
			m.Away = e.Delay
		}
	case sim.KindAck, sim.KindTerm:
		m.Done = m.Done || reached
	}
	return m, first, again
}

// disturbsDeliveries are the strikes under which a message may be redelivered at any time.
var disturbsDeliveries = history.StrikesOf(history.AckLost, history.DeliveryLost, history.NATSAway, history.NATSPowerLoss)

// due is the delay that the message should have that the event sends back.
func (f *Facts) due(m *Message, e *sim.Event) config.Span {
	i := slices.IndexFunc(m.deliveries, func(d delivery) bool { return d.step == e.Answers })
	if i < 0 || m.deliveries[i].asked > 1 || m.deliveries[i].away == (config.Span{}) {
		return f.Config.AnyDelay()
	}
	return m.deliveries[i].away
}

// ComesBack returns the job's message that the event redelivers because it was sent back, and for no other
// reason; nil if there is none.
func (j *Job) ComesBack(e *sim.Event) *Message {
	m := j.message(e.Seq)
	if e.Kind != sim.KindDeliver || m == nil || m.Away == 0 || m.twice || m.overdue || m.held() || e.Delivered != m.Delivered+1 || j.Struck&disturbsDeliveries != 0 {
		return nil
	}
	if n := len(m.deliveries); n == 0 || !m.deliveries[n-1].back {
		return nil
	}
	return m
}

// HeardNotice notes the delivery of a notice to the worker that it is for.
func (f *Facts) HeardNotice(j *Job, e *sim.Event) {
	i := slices.IndexFunc(j.Told, func(n Notice) bool { return n.Seq == e.Seq && n.Worker == e.Node })
	if i < 0 || !history.Applied(e) {
		return
	}
	j.Heard = append(j.Heard, Heard{j.Told[i], invariants.Process(e.Node, e.Incarnation), e.Step, e.At, f.Node(e.Node).Away(e.At)})
}

// follow notes a delivery of the message, or its answer. late says that the delivery comes after all those
// that were seen before the message's end was confirmed. A delivery that a paused process finds afterwards
// was sent before, and is not late.
func (r *refusal) follow(e *sim.Event, late bool) {
	me := invariants.Process(e.Node, e.Incarnation)
	switch e.Kind {
	case sim.KindDeliver:
		if late {
			r.Late = me
		}
	case sim.KindTerm:
		r.Tried = true
		if r.Late == me {
			r.Again = e.Step
		}
	case sim.KindAck, sim.KindNak:
		if i := slices.Index(r.Unfiled, me); i >= 0 && e.Kind == sim.KindNak {
			r.Unfiled = slices.Delete(r.Unfiled, i, i+1)
		} else if r.Kept == 0 {
			r.Kept = e.Delivered
		}
	}
}

// Unfiled notes that Redis refused the DLQ entry of a message of the step's job.
func (f *Facts) Unfiled(s *Step) {
	if m := GuardedMessage(s, strings.TrimPrefix(s.Target, history.DlqPrefix)); m != nil && m.Refusal != nil {
		m.Refusal.Unfiled = append(m.Refusal.Unfiled, invariants.Process(s.Node, s.Incarnation))
	}
}

// ReplicaAsked notes that a process asks which server is Redis's master, or waits for a replica of it. If it
// finds another master than before, the wait confirms nothing, not even the DLQ entry of the message in hand.
func (f *Facts) ReplicaAsked(s *Step) {
	f.Resuming(s)
	n, me := f.Node(s.Node), invariants.Process(s.Node, s.Incarnation)
	confirmed := !s.Failed && n.Master == f.failovers
	if !s.Failed {
		n.Master = f.failovers
	}
	if s.Phase != "replica_wait" || confirmed || s.About == nil {
		return
	}
	delete(f.Outputs.Soon, s.About.ID) // for the writer of SUCCEEDED that is an error
	for i := range s.About.Messages {
		if m := &s.About.Messages[i]; m.InHandOf(me) && m.Refusal != nil {
			m.Refusal.Unfiled = append(m.Refusal.Unfiled, me)
		}
	}
}

// Handed counts requests that were delivered to a process, and those that it has handled. first says that the
// step is the first answer to a delivery.
func (f *Facts) Handed(s *Step, m *Message, first, skipped bool) {
	switch {
	case m.Garbled || !m.asks():
	case s.Kind == sim.KindDeliver && history.Applied(s.Event):
		f.Count.Maybe(history.CounterReceived, s.About.TopicOf())
	case !first:
	default:
		f.Count.Not(history.CounterReceived, s.About.TopicOf())
		if !skipped && s.Kind != sim.KindTerm {
			f.Count.Sure(history.CounterReceived, s.About.TopicOf())
		}
	}
}

// StaleResult counts a result of an older epoch that a process has in hand when it reads the state of the
// result's job, if the job is not over. If it has several messages in hand, or its replayer is at the job,
// events do not show for which of them it reads.
func (f *Facts) StaleResult(s *Step) {
	j, me := s.About, invariants.Process(s.Node, s.Incarnation)
	if !f.Config.RefuseStaleResults || j.State == Absent || j.State.Terminal() {
		return
	}
	stale, held := false, 0
	for i := range j.Messages {
		if m := &j.Messages[i]; m.InHandOf(me) {
			held++
			stale = stale || m.Consumer == history.ConsumerResult && m.Epoch < j.Epoch
		}
	}
	switch {
	case stale && held == 1 && j.Replayer != me:
		f.Count.Sure(history.CounterStaleResults, j.TopicOf())
	case stale:
		f.Count.Maybe(history.CounterStaleResults, j.TopicOf())
	}
}

// RequestRead counts a read of a job's state, if it is for a request. With several kinds of messages of the job in hand, or
// with a replayer at it, events do not say for which the process reads.
func (f *Facts) RequestRead(s *Step) {
	j, me := s.About, invariants.Process(s.Node, s.Incarnation)
	var asks, others *Message
	for i := range j.Messages {
		if m := &j.Messages[i]; m.InHandOf(me) && m.asks() {
			asks = m
		} else if m.InHandOf(me) {
			others = m
		}
	}
	n := Count{Maybe: 1}
	switch {
	case j.Replayer != "":
	case asks != nil && others == nil:
		n = Count{Sure: 1}
	case others != nil && asks == nil:
		return
	}
	switch {
	case !s.Failed:
		f.Count.add(n, history.CounterReads, "done", j.TopicOf())
		f.refuses(j, asks, n)
	case f.Config.ReadError == "fail-closed":
		f.Count.add(n, history.CounterReads, "fail_closed", j.TopicOf())
	case f.Config.ReadError == "cached-state":
		f.Count.Maybe(history.CounterReads, "fail_closed", j.TopicOf())
	}
}

// refuses counts, as often as n, a request that bears an approval which is not the one on record, as a handling of it reads the
// record. One that is past its deadline ends the job instead. Of what a replayer has read, which is no message, there is no telling.
func (f *Facts) refuses(j *Job, m *Message, n Count) {
	grants := j.Consent.Grants
	switch last := len(grants) - 1; {
	case j.State != ApprovalRequired, !f.Config.Approvals.Bind, m != nil && m.Consents == "":
		return
	case m == nil, j.Deadline != 0, last >= 0 && grants[last].lost:
		n = Count{Maybe: 1}
	case last >= 0 && grants[last].Hash == m.Consents:
		return
	}
	f.Count.add(n, history.CounterApprovalsRefused, "changed", j.TopicOf())
}

// Retried counts a message that is sent back for what its process has met.
func (f *Facts) Retried(m *Message, e *sim.Event) {
	i := slices.IndexFunc(m.deliveries, func(d delivery) bool { return d.step == e.Answers })
	if i >= 0 && m.deliveries[i].asked == 1 && m.deliveries[i].away != (config.Span{}) && !m.Garbled {
		f.Count.Sure(history.CounterRetries)
	}
}

// Unanswered is how many of its deliveries were not sent back. Each is followed by a redelivery after
// AckWait.
func (m *Message) Unanswered() uint64 { return m.Delivered - min(m.sentBack(), m.Delivered) }

// SentBack says whether the process has the job's request in hand, and every earlier delivery was sent back
// with a delay. Otherwise the job waits for AckWait, or for the replayer.
func (j *Job) SentBack(process string) bool {
	return slices.ContainsFunc(j.Messages, func(m Message) bool {
		return m.asks() && m.InHandOf(process) && !m.Lost && !m.Abandoned && m.sentBack()+1 == m.Delivered
	})
}

// AskedTwice says whether there were several requests of the job, or one was delivered twice at once. Each
// has a back-off of its own.
func (j *Job) AskedTwice() bool {
	return j.Requests > 1 || slices.ContainsFunc(j.Messages, func(m Message) bool { return m.asks() && m.twice })
}

// Unseen is how many deliveries of m crashes may have swallowed: one for each crash.
func (f *Facts) Unseen(m *Message) (n uint64) {
	for _, s := range f.swept {
		if s.step > m.Since && s.pulls[m.Consumer] != 0 {
			n++
		}
	}
	return n
}

// GuardedMessage returns the message of the step's job at a place, or nil.
func GuardedMessage(s *Step, place string) *Message {
	stream, number, _ := strings.Cut(place, ":")
	seq, err := strconv.ParseUint(number, 10, 64)
	if s.About == nil || stream != history.StreamSys || err != nil {
		return nil
	}
	return s.About.message(seq)
}
