package model

import (
	"slices"

	"github.com/wavetank-sim/wavetank/sim"
)

// BeginsRelease says whether the step is the first of those in which a lock is given back.
func BeginsRelease(s *Step) bool {
	return s.Phase == "lock_release" && s.Kind == sim.KindRedis && (s.Name == "watch" || s.Name == "del")
}

// Release notes that the step's handling begins to give its lock back. Those of its process that went
// before are over, but for one that hangs.
func (j *Job) Release(s *Step) {
	r := Release{node: s.Node, incarnation: s.Incarnation, Lock: s.Handling.Lock}
	if j.Twice(s.Event) {
		r.Lock = 0
	}
	j.Releases = slices.DeleteFunc(j.Releases, func(o Release) bool { return o.by(s.Event) && o.Hung == "" })
	j.Releases = append(j.Releases, r)
}

// Releasing returns the release that the step belongs to, or nil: what returns late is of the first that
// hangs in that operation, and all else of the last.
func (j *Job) Releasing(s *Step) (found *Release) {
	for i := range j.Releases {
		r := &j.Releases[i]
		switch {
		case !r.by(s.Event):
		case s.Kind != sim.KindReturn && r.Hung == "":
			found = r
		case s.Kind == sim.KindReturn && r.Hung == s.Name:
			return r
		}
	}
	return found
}

func (r *Release) by(e *sim.Event) bool { return r.node == e.Node && r.incarnation == e.Incarnation }

// Twice says whether the event's process has more than one handling of the job under way.
func (j *Job) Twice(e *sim.Event) bool {
	n := 0
	for i := range j.Handlings {
		if h := &j.Handlings[i]; h.Node == e.Node && h.Incarnation == e.Incarnation {
			n++
		}
	}
	return n > 1
}

// Closed says whether the handling gave up because its state read had failed.
func (h *Handling) Closed() bool {
	return h.ReadFailed != 0 && !h.Wrote && !h.Published && !h.StoreFailed
}

// FoundNobody says whether the handling scheduled the job and went no further, without an error.
func (h *Handling) FoundNobody() bool {
	return h.Scheduled && !h.Intended && !h.Published && !h.StoreFailed && !h.Failed
}
