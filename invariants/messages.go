package invariants

import "github.com/faultline-sim/faultline/sim"

// message is a request or a result of a job, as the stream holds it.
type message struct {
	seq       uint64
	delivered uint64 // how often somebody saw it delivered
	done      bool   // acknowledged, or terminated
}

// follow notes what a delivery or an acknowledgement says of one of the job's messages.
func (j *job) follow(e *sim.Event) {
	for i := range j.messages {
		m := &j.messages[i]
		if m.seq != e.Seq {
			continue
		}
		m.delivered = max(m.delivered, e.Delivered)
		switch e.Kind {
		case sim.KindAck, sim.KindTerm:
			m.done = m.done || e.Fault == "" || e.Fault == faultFailAfter
		}
	}
}

// giveUp notes the messages that nobody has acknowledged and JetStream delivers no more. Each crash
// may have swallowed one delivery, which nobody saw.
func (f *facts) giveUp() {
	crashes := uint64(f.met[bit(schedulerCrash)])
	for _, j := range f.order {
		for _, m := range j.messages {
			if !m.done && m.delivered+crashes >= uint64(f.cfg.MaxDeliver) && j.classes&deliveriesExhausted == 0 {
				f.meet(j, deliveriesExhausted)
			}
		}
	}
}
