package model

import (
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// CutTails notes that nats-server has lost the last messages of its streams in a power loss. A process that
// has seen one may still act on it, and acknowledge the message that has its sequence by then.
func (f *Facts) CutTails(e *sim.Event) {
	if f.reused == nil {
		f.reused = map[string]uint64{}
	}
	for i := range e.Changes {
		c := &e.Changes[i]
		f.reused[c.Stream] = max(f.reused[c.Stream], c.Seq)
		about := f.Job(c.Header[history.HeaderJob])
		if about == nil {
			continue
		}
		f.Come(about, TailLost)
		f.reachJob(about, history.StrikesOf(history.NATSPowerLoss))
		switch c.Stream {
		case history.StreamSys:
			if m := about.message(c.Seq); m != nil {
				m.Lost = true
			}
		case history.StreamJobs:
			about.loseDispatch(c.Seq)
		}
	}
}

// loseDispatch notes that the stream no longer holds a dispatch of the job. A worker may still have it.
func (j *Job) loseDispatch(seq uint64) {
	for i := range j.Dispatches {
		d := &j.Dispatches[i]
		if d.Seq != seq || d.Lost {
			continue
		}
		d.Lost = true
		if d.Handed == 0 && j.Intent.Matches(d) {
			j.Intent.Stored, j.Intent.Lost = false, true
		}
	}
}

// TakePlace notes that a message of the job is stored, perhaps with the sequence of a lost one.
func (f *Facts) TakePlace(about *Job, c *sim.Change) {
	if c.Seq <= f.reused[c.Stream] {
		f.reachJob(about, history.StrikesOf(history.NATSPowerLoss))
	}
}
