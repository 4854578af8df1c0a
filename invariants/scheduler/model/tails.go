package model

import (
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// CutTails takes in that nats-server has lost the last messages of its streams with its power. Whoever has
// seen one may still act upon it, and acknowledge what has its place by then.
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

// loseDispatch takes in that the stream holds a dispatch of the job no more. A worker may have it all the same.
func (j *Job) loseDispatch(seq uint64) {
	for i := range j.Dispatches {
		d := &j.Dispatches[i]
		if d.Seq != seq || d.Lost {
			continue
		}
		d.Lost = true
		if !d.handed && j.Intent.Of(d) {
			j.Intent.Stored, j.Intent.Lost = false, true
		}
	}
}

// HandOut takes in that a worker has been given a dispatch of the job, and says whether that is so for a second
// time: a consumer that has lost a part of its state counts from one again.
func (f *Facts) HandOut(j *Job, seq uint64) (again bool) {
	for i := range j.Dispatches {
		d := &j.Dispatches[i]
		if d.Seq != seq {
			continue
		}
		if d.acked && f.Strikes.ever&history.StrikesOf(history.NATSPowerLoss) != 0 {
			d.acked = false
			f.reachJob(j, history.StrikesOf(history.NATSPowerLoss)) // else the consumer would know that it was acknowledged
		}
		again = again || d.handed
		d.handed = true
		if d.Lost && j.Intent.Of(d) {
			j.Intent.Stored = true
		}
	}
	return again
}

// Acknowledge takes in that a worker is done with a dispatch of the job.
func (j *Job) Acknowledge(seq uint64) {
	for i := range j.Dispatches {
		if d := &j.Dispatches[i]; d.Seq == seq {
			d.acked = true
		}
	}
}

// Of says whether d was published for the intent.
func (i *Intent) Of(d *Dispatch) bool { return i.Step != 0 && (d.Epoch == 0 || d.Epoch == i.Epoch) }

// TakePlace takes in that a message of the job is stored, perhaps in the place of a lost one.
func (f *Facts) TakePlace(about *Job, c *sim.Change) {
	if c.Seq <= f.reused[c.Stream] {
		f.reachJob(about, history.StrikesOf(history.NATSPowerLoss))
	}
}
