package judge

import (
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// cutTails takes in that nats-server has lost the last messages of its streams with its power. Whoever has
// seen one may still act upon it, and acknowledge what has its place by then.
func (f *facts) cutTails(e *sim.Event) {
	if f.reused == nil {
		f.reused = map[string]uint64{}
	}
	for i := range e.Changes {
		c := &e.Changes[i]
		f.reused[c.Stream] = max(f.reused[c.Stream], c.Seq)
		about := f.job(c.Header[history.HeaderJob])
		if about == nil {
			continue
		}
		f.come(about, tailLost)
		f.reachJob(about, history.NATSPowerLoss)
		switch c.Stream {
		case history.StreamSys:
			if m := about.message(c.Seq); m != nil {
				m.lost = true
			}
		case history.StreamJobs:
			about.loseDispatch(c.Seq)
		}
	}
}

// loseDispatch takes in that the stream holds a dispatch of the job no more. A worker may have it all the same.
func (j *job) loseDispatch(seq uint64) {
	for i := range j.dispatches {
		d := &j.dispatches[i]
		if d.seq != seq || d.lost {
			continue
		}
		d.lost = true
		if !d.handed && j.intent.of(d) {
			j.intent.stored, j.intent.lost = false, true
		}
	}
}

// handOut takes in that a worker has been given a dispatch of the job, and says whether that is so for a second
// time: a consumer that has lost a part of its state counts from one again.
func (j *job) handOut(seq uint64) (again bool) {
	for i := range j.dispatches {
		d := &j.dispatches[i]
		if d.seq != seq {
			continue
		}
		again = again || d.handed
		d.handed = true
		if d.lost && j.intent.of(d) {
			j.intent.stored = true
		}
	}
	return again
}

// of says whether d was published for the intent.
func (i *intent) of(d *dispatch) bool { return i.step != 0 && (d.epoch == 0 || d.epoch == i.epoch) }

// takePlace takes in that a message of the job is stored, perhaps in the place of a lost one.
func (f *facts) takePlace(about *job, c *sim.Change) {
	if c.Seq <= f.reused[c.Stream] {
		f.reachJob(about, history.NATSPowerLoss)
	}
}
