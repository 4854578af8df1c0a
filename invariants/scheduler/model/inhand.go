package model

import (
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// delivery is a delivery of a message that has reached a process.
type delivery struct {
	step    int
	at      time.Duration
	process string
	end     sim.Kind    // the kind of its answer, or died; "" while the process has the message in hand
	back    bool        // a nak of it has reached JetStream
	nth     uint64      // which delivery of the message it is
	asked   int         // how often the process has asked for the job's lock since
	away    config.Span // how long the message is to be delayed if it is sent back for what the process has met; zero if events do not show it
}

// died is the end of a delivery whose process has crashed.
const died sim.Kind = "died"

// deliveries are the deliveries of a message. A slow process may still have it in hand when it is delivered
// to another.
type deliveries []delivery

// follow notes a delivery, or the answer to one. first says that the message was in hand until then. again
// says that the delivery already had that answer.
func (d *deliveries) follow(e *sim.Event) (first, again bool) {
	if e.Kind == sim.KindDeliver {
		*d = append(*d, delivery{step: e.Step, at: e.At, process: invariants.Process(e.Node, e.Incarnation), nth: e.Delivered})
		return false, false
	}
	for i := range *d {
		if is := &(*d)[i]; is.step == e.Answers {
			first, again = is.end == "", is.end == e.Kind
			is.end, is.back = e.Kind, is.back || e.Kind == sim.KindNak && history.Applied(e)
		}
	}
	return first, again
}

// died notes that the processes of a node have crashed.
func (d deliveries) died(node string) {
	for i := range d {
		if d[i].end == "" && d[i].on(node) {
			d[i].end = died
		}
	}
}

func (d *delivery) on(node string) bool {
	name, _, _ := strings.Cut(d.process, " ")
	return name == node
}

// inHand says whether so holds for a delivery that is not answered yet.
func (m *Message) inHand(so func(*delivery) bool) bool {
	return slices.ContainsFunc(m.deliveries, func(d delivery) bool { return d.end == "" && so(&d) })
}

// held says whether any process has the message in hand.
func (m *Message) held() bool { return m.inHand(func(*delivery) bool { return true }) }

// InHandOf says whether that process has the message in hand.
func (m *Message) InHandOf(process string) bool {
	return m.inHand(func(d *delivery) bool { return d.process == process })
}

// inHandOn says whether a process of the node has the message in hand.
func (m *Message) inHandOn(node string) bool {
	return m.inHand(func(d *delivery) bool { return d.on(node) })
}

// GivenOnce says whether the message has reached one process, once, and that process still has it in hand.
func (m *Message) GivenOnce() bool { return !m.Done && len(m.deliveries) == 1 && m.held() }

// GivenInVain says whether the message has reached a process that finished with it, died, or still had it
// when it was redelivered, and was not acknowledged.
func (m *Message) GivenInVain() bool {
	return !m.Done && (len(m.deliveries) > 1 || len(m.deliveries) == 1 && !m.held())
}

// sentBack is how many of its deliveries a nak has sent back.
func (m *Message) sentBack() (n uint64) {
	for _, d := range m.deliveries {
		if d.back {
			n++
		}
	}
	return n
}

// holders lists the processes that have the message in hand.
func (m *Message) holders() (list []string) {
	for _, d := range m.deliveries {
		if d.end == "" {
			list = append(list, d.process)
		}
	}
	return list
}

// asks says whether the message is a request of its job.
func (m *Message) asks() bool { return m.Consumer == history.ConsumerSubmit }

// InHandOf says whether the process has a request of the job in hand.
func (j *Job) InHandOf(process string) bool {
	return slices.ContainsFunc(j.Messages, func(m Message) bool { return m.asks() && m.InHandOf(process) })
}
