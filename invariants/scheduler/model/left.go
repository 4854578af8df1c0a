package model

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// dispatchAckWait is the time after which an unanswered dispatch is redelivered.
const dispatchAckWait = 10 * time.Minute

// LeftMessage returns a message of the job that no scheduler has answered, although one was up and nothing
// was struck for longer than a redelivery takes; nil if there is none.
func (f *Facts) LeftMessage(j *Job, at time.Duration) *Message {
	if f.lastOf("") || f.Strikes.lasts(sim.NATS) || f.Strikes.lasts(sim.Redis) {
		return nil // nobody could answer
	}
	for i := range j.Messages {
		m := &j.Messages[i]
		if m.Consumer != "" && !m.Done && !m.Lost && !m.Abandoned && at-max(m.Stored, m.PutOff, f.Strikes.last) > f.again(f.Config.AckWait) {
			return m
		}
	}
	return nil
}

// LeftDispatch does the same for a dispatch to a worker that was up and had nothing else to do.
func (f *Facts) LeftDispatch(j *Job, at time.Duration) *Dispatch {
	for i := range j.Dispatches {
		d := &j.Dispatches[i]
		n := f.Nodes[d.Worker]
		if d.settled || d.Lost || n == nil || n.Down || f.Strikes.lasts(d.Worker) || f.Strikes.lasts(sim.NATS) || f.executes(d.Worker) {
			continue
		}
		if at-max(d.At, n.Worked, f.Strikes.last) > f.again(dispatchAckWait) {
			return d
		}
	}
	return nil
}

// again is the longest time until a message is handled again that was not answered, or was sent back.
func (f *Facts) again(ackWait time.Duration) time.Duration {
	c := &f.Config
	return max(ackWait, c.BackoffMax, c.RetryDelayNoWorkers, c.RetryDelayStore) + c.ThrottledFor()
}

// executes says whether a worker has an execution under way.
func (f *Facts) executes(worker string) bool {
	return slices.ContainsFunc(f.Order, func(j *Job) bool { return slices.Contains(j.Executing, worker) })
}
