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

// Message is a request, a result or a cancellation of a job, as the stream holds it.
type Message struct {
	Seq      uint64
	Consumer string        // who hands it out; "" for nobody
	Epoch    int64         // of a result
	Answer   history.Reply // of a result
	From     string        // the node that published it
	Over     string        // the process to which it was delivered last, if its job was over by then
	Garbled  bool          // it is a request that nobody can read, or a result without a legal status
	Consents string        // the hash of the request that it is, if that bears an approval
	Asked    time.Duration // when it was stored, if it is a cancellation of a job that was not over then; 0 if not
	Guard    guard
	Refusal  *refusal // of one that is garbled, once it was delivered

	deliveries
	Stored    time.Duration // when
	PutOff    time.Duration // when it was last sent back, to come again after a delay
	Away      time.Duration // for how long; 0 if that did not arrive
	Due       config.Span   // for how long it should have been
	Delivered uint64        // how often somebody saw it delivered
	Since     int           // the step up to which every delivery is among those
	Done      bool          // acknowledged, or terminated
	Lost      bool          // the stream does not hold it any more; who was given it has it all the same
	Abandoned bool          // JetStream delivers it no more, and nobody has acknowledged it
	astray    bool          // a delivery of it was lost, or the answer to one, and its job has not been asked about since it came again
	found     bool          // it has come again since
	overdue   bool          // JetStream may have waited in vain for an answer: it may have sent it again, before it was sent back
	twice     bool          // it was delivered while somebody had it in hand, or sooner than it was sent back for: as a second request would be
}

// refusal is what came of a message that can never be handled.
type refusal struct {
	Unfiled []string // processes to which Redis refused its DLQ entry, once for each handling they have yet to end
	Tried   bool     // a scheduler terminated it, whether the stream knows or not
	Kept    uint64   // the delivery whose handling ended otherwise, although nothing refused the entry; 0 for none
	Late    string   // the process to which it was delivered after its termination was confirmed
	Again   int      // the step at which that refused it again; 0 if it did not
}

// Termination is the end of a message that can never be handled.
type Termination struct {
	Step  int
	Place string
}

// Place is where a message is in its stream, as its DLQ entry names it.
func Place(seq uint64) string { return history.StreamSys + ":" + strconv.FormatUint(seq, 10) }

// OfMessage says whether a DLQ entry is about a message, and not about a job.
func OfMessage(entry string) bool { return strings.HasPrefix(entry, history.StreamSys+":") }

// Poisoned says whether the job has no record, and a message of it can never be handled.
func (f *Facts) Poisoned(j *Job) bool {
	return j.State == Absent && (len(j.Terminated) > 0 || slices.ContainsFunc(j.Messages, func(m Message) bool { return m.Garbled || f.HasLetter(Place(m.Seq)) }))
}

// pulls are a process's, by consumer: the step at which each was sent; 0 once it has ended. One that
// is full has no end of its own, so it counts as open until the next.
type pulls map[string]int

// swept is what a crash took with it: the pulls to which the server may have sent what nobody saw.
type swept struct {
	step  int
	pulls pulls
}

// Pull notes that a pull was sent, or has ended.
func (n *Node) Pull(e *sim.Event) {
	if n.pulls == nil {
		n.pulls = pulls{}
	}
	n.pulls[e.Target] = 0
	if e.Kind == sim.KindFetch && !history.AnswerOf(e).Failed() {
		n.pulls[e.Target] = e.Step
	}
}

// message returns the last of the job's messages that have had that sequence, or nil.
func (j *Job) message(seq uint64) *Message {
	for i := len(j.Messages) - 1; i >= 0; i-- {
		if j.Messages[i].Seq == seq {
			return &j.Messages[i]
		}
	}
	return nil
}

// Unreadable says whether one of the job's messages that have had that sequence can never be handled: who was given one may
// answer it when another has its place.
func (j *Job) Unreadable(seq uint64) bool {
	return slices.ContainsFunc(j.Messages, func(m Message) bool { return m.Seq == seq && m.Garbled })
}

// Follow notes what a delivery or an acknowledgement says of one of the job's messages, and returns
// the message; nil if the stream was not seen to store it. First is whether it is the first answer to a delivery. Again is
// whether the delivery had that answer before: then it is sent again, and nobody handles the message.
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
		if e.Delivered > m.Delivered+1 {                         // somebody has it, or had it, who was not seen to get it
			j.Struck |= f.StruckNow() & ofReplicas
		}
		if m.Done && f.Strikes.forgot != 0 {
			m.Done = false // nobody but a server that forgot it delivers it again
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

// disturbsDeliveries are the strikes under which a message may come again at any time.
var disturbsDeliveries = history.StrikesOf(history.AckLost, history.DeliveryLost, history.NATSAway, history.NATSPowerLoss)

// due is for how long the message that the event sends back is to be away.
func (f *Facts) due(m *Message, e *sim.Event) config.Span {
	i := slices.IndexFunc(m.deliveries, func(d delivery) bool { return d.step == e.Answers })
	if i < 0 || m.deliveries[i].asked > 1 || m.deliveries[i].away == (config.Span{}) {
		return f.Config.AnyDelay()
	}
	return m.deliveries[i].away
}

// ComesBack is the job's message that the event delivers again because it was sent back, and for no other reason; nil if
// it is none.
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

// follow takes in a delivery of the message, or its answer; late is whether the delivery comes after all those that were
// seen before its end was confirmed. One that a paused process finds afterwards was sent before.
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

// Unfiled notes that Redis refused a message of the step's job its DLQ entry.
func (f *Facts) Unfiled(s *Step) {
	if m := GuardedMessage(s, strings.TrimPrefix(s.Target, history.DlqPrefix)); m != nil && m.Refusal != nil {
		m.Refusal.Unfiled = append(m.Refusal.Unfiled, invariants.Process(s.Node, s.Incarnation))
	}
}

// ReplicaAsked takes in that a process asks which server is Redis's master, or waits for a replica of it. A wait in which it
// meets another master than before confirms nothing, not even the DLQ entry of the message in hand.
func (f *Facts) ReplicaAsked(s *Step) {
	f.Resuming(s)
	n, me := f.Node(s.Node), invariants.Process(s.Node, s.Incarnation)
	confirmed := !s.Failed && n.Master == f.failovers
	if !s.Failed {
		n.Master = f.failovers
	}
	if s.Phase == "replica_wait" && n.Waits == 0 {
		n.Waits = s.Step
	}
	if h := s.Handling; h != nil && s.Phase == "replica_wait" {
		h.Safe = confirmed
	}
	if s.Phase != "replica_wait" || confirmed || s.About == nil {
		return
	}
	delete(f.Outputs.Soon, s.About.ID) // for who wrote SUCCEEDED that is an error
	for i := range s.About.Messages {
		if m := &s.About.Messages[i]; m.InHandOf(me) && m.Refusal != nil {
			m.Refusal.Unfiled = append(m.Refusal.Unfiled, me)
		}
	}
}

// Handed counts the requests that a process was given, and what of that is handled. First is whether the step is the first
// answer to a delivery.
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

// StaleResult counts the result of an older epoch that a process has in hand as it reads the state of the result's job, if the
// job is not over. Of several messages in hand, or with its replayer at the job, events do not say for which the process reads.
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

// Unanswered is how many of its deliveries were not sent back: each comes again after AckWait.
func (m *Message) Unanswered() uint64 { return m.Delivered - min(m.sentBack(), m.Delivered) }

// SentBack says whether the process has the job's request in hand, and every delivery before that was sent back, to come again
// after a delay. Otherwise the job waits for AckWait, or for the replayer.
func (j *Job) SentBack(process string) bool {
	return slices.ContainsFunc(j.Messages, func(m Message) bool {
		return m.asks() && m.InHandOf(process) && !m.Lost && !m.Abandoned && m.sentBack()+1 == m.Delivered
	})
}

// AskedTwice says whether several requests of the job have been under way, or one that was delivered twice at once: each
// has a back-off of its own.
func (j *Job) AskedTwice() bool {
	return j.Requests > 1 || slices.ContainsFunc(j.Messages, func(m Message) bool { return m.asks() && m.twice })
}

// Unseen is how many deliveries of m crashes may have swallowed: one each.
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
