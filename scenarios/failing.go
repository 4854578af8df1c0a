package scenarios

import (
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/world"
	"github.com/wavetank-sim/wavetank/sim"
)

// failing says whether an operation went wrong for whoever asked for it, and how: in the plan's word, or
// in one of a story's own.
func failing(e *sim.Event) (how string, failed bool) {
	cut := e.Fault == string(faults.Partition)
	switch answer := invariants.AnswerOf(e); {
	case e.Kind == sim.KindLate && e.Outcome == sim.OutcomeOK:
		return arrived, true
	case e.Kind == sim.KindLate:
		return refused, true
	case invariants.Stored(e):
		return repeated, true
	case answer != invariants.Failed:
		return "", false
	case cut && e.Kind == sim.KindRedis:
		return cutRedis, true
	case cut && e.Target == world.KernelName:
		return cutKernel, true
	case cut:
		return cutNATS, true
	}
	return e.Fault, true
}

// fenced notes that a write of the job was not made after what e has shown to its writer.
func (r *record) fenced(e *sim.Event, id, phase string) {
	j := r.job(id)
	if j == nil {
		return
	}
	how := fencedState
	if j.holder != e.Node || j.leased <= e.At {
		how = fencedLock
	}
	j.failures = append(j.failures, failure{phase, how, e.At})
}

// leased follows who has the job's lock, and until when.
func (r *record) leased(e *sim.Event, j *jobRecord, c *sim.Change) {
	switch {
	case c.Gone:
		j.leased = 0
		return
	case e.Phase == "lock_acquire":
		j.holder, j.locked = e.Node, e.At
		j.hold(e.Node, e.At)
	}
	j.leased = c.Expires
}

func (j *jobRecord) hold(node string, at time.Duration) {
	j.held = append(j.held, hold{node: node, from: at})
}

// letGo ends what a node holds of the job. That it has released the lock and executes the job still is
// no matter: a node is a scheduler or a worker.
func (j *jobRecord) letGo(node string, at time.Duration) {
	for i := range j.held {
		if h := &j.held[i]; h.node == node && h.to == 0 {
			h.to = at
		}
	}
}

// heldBy says whether the node handled or executed the job at that time.
func (j *jobRecord) heldBy(node string, at time.Duration) bool {
	for _, h := range j.held {
		if h.node == node && h.from <= at && (h.to == 0 || h.to > at) {
			return true
		}
	}
	return false
}

// overtake notes the first execution that the end of the job, without success, has overtaken.
func (j *jobRecord) overtake(e *sim.Event, begun bool) {
	if j.overtaken == nil && terminal(j.State) && j.State != "SUCCEEDED" {
		j.overtaken = &overtaken{e.Node, j.State, e.At, begun}
	}
}
