package judge

import (
	"slices"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

// message is a request, a result or a cancellation of a job, as the stream holds it.
type message struct {
	seq       uint64
	consumer  string // who hands it out; "" for nobody
	epoch     int64  // of a result
	succeeded bool   // it is a result that says so; only an audit looks
	garbled   bool   // it is a request that nobody can read, or a result without a legal status
	consents  string // the hash of the request that it is, if that bears an approval
	holder    string // the process to which it was delivered last, and that has not answered it
	guard     guard

	delivered uint64 // how often somebody saw it delivered
	since     int    // the step up to which every delivery is among those
	done      bool   // acknowledged, or terminated
	lost      bool   // the stream does not hold it any more; who was given it has it all the same
	abandoned bool   // JetStream delivers it no more, and nobody has acknowledged it
}

// termination is the end of a message that can never be handled.
type termination struct {
	step  int
	place string
}

// place is where a message is in its stream, as its DLQ entry names it.
func place(seq uint64) string { return history.StreamSys + ":" + strconv.FormatUint(seq, 10) }

// file notes that a message has an entry in the DLQ, or has none any more. It says whether the entry,
// which goes by id, is of a message, and not of a job.
func (f *facts) file(id string, there bool) bool {
	if !strings.HasPrefix(id, history.StreamSys+":") {
		return false
	}
	if f.filed == nil {
		f.filed = map[string]bool{}
	}
	f.filed[id] = there
	return true
}

// poisoned says whether a message of the job can never be handled.
func (f *facts) poisoned(j *job) bool {
	return len(j.terminated) > 0 || slices.ContainsFunc(j.messages, func(m message) bool { return f.filed[place(m.seq)] })
}

// pulls are a process's, by consumer: the step at which each was sent; 0 once it has ended. One that
// is full has no end of its own, so it counts as open until the next.
type pulls map[string]int

// swept is what a crash took with it: the pulls to which the server may have sent what nobody saw.
type swept struct {
	step  int
	pulls pulls
}

// pull notes that a pull was sent, or has ended.
func (n *node) pull(e *sim.Event) {
	if n.pulls == nil {
		n.pulls = pulls{}
	}
	n.pulls[e.Target] = 0
	if e.Kind == sim.KindFetch && !history.AnswerOf(e).Failed() {
		n.pulls[e.Target] = e.Step
	}
}

// message returns the last of the job's messages that have had that sequence, or nil.
func (j *job) message(seq uint64) *message {
	for i := len(j.messages) - 1; i >= 0; i-- {
		if j.messages[i].seq == seq {
			return &j.messages[i]
		}
	}
	return nil
}

// follow notes what a delivery or an acknowledgement says of one of the job's messages, and returns
// the message; nil if the stream was not seen to store it.
func (f *facts) follow(j *job, e *sim.Event) *message {
	m := j.message(e.Seq)
	if m == nil {
		return nil
	}
	if e.Kind == sim.KindDeliver && e.Delivered > m.delivered { // it counts those before it, and was sent after its pull
		m.since = max(m.since, f.node(e.Node).pulls[m.consumer])
	}
	m.delivered = max(m.delivered, e.Delivered)
	m.holder = ""
	switch e.Kind {
	case sim.KindDeliver:
		m.holder = invariants.Process(e.Node, e.Incarnation)
	case sim.KindAck, sim.KindTerm:
		m.done = m.done || e.Fault == "" || e.Fault == history.FaultFailAfter
	}
	return m
}

// handed follows who has a request in hand, and what of that is handled.
func (f *facts) handed(s *step, m *message, skipped bool) {
	me := invariants.Process(s.Node, s.Incarnation)
	readable := m == nil || !m.garbled
	switch s.Phase {
	case "submit_deliver":
		s.about.inHand = append(s.about.inHand, me)
		if readable {
			f.count.handed++
		}
		return
	case "submit_ack", "submit_nak", "submit_term":
	default:
		return
	}
	i := slices.Index(s.about.inHand, me)
	if i < 0 {
		return // it was not seen delivered
	}
	s.about.inHand = slices.Delete(s.about.inHand, i, i+1)
	switch {
	case !readable:
	case skipped, s.Kind == sim.KindTerm:
		f.count.handed--
	default:
		f.count.received++
	}
}

// giveUp notes the messages that nobody has acknowledged and JetStream delivers no more. A crash may
// have swallowed a delivery that nobody saw, if the stream held the message by then, a pull of the
// process for it was open, and no later delivery has told how many there were.
func (j *observer) giveUp() {
	f := j.facts
	for _, about := range f.order {
		for i := range about.messages {
			m := &about.messages[i]
			if m.done || m.lost || m.abandoned || m.delivered+f.unseen(m) < uint64(f.config.MaxDeliver) {
				continue
			}
			if !about.had(deliveriesExhausted) {
				f.come(about, deliveriesExhausted)
			}
			j.abandon(about, m)
		}
	}
}

// unseen is how many deliveries of m crashes may have swallowed: one each.
func (f *facts) unseen(m *message) (n uint64) {
	for _, s := range f.swept {
		if s.step > m.since && s.pulls[m.consumer] != 0 {
			n++
		}
	}
	return n
}
