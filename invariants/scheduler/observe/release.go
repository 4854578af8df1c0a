package observe

import (
	"slices"

	"github.com/wavetank-sim/wavetank/sim"
)

// beginsRelease says whether the step is the first of those in which a lock is given back.
func beginsRelease(s *Step) bool {
	return s.Phase == "lock_release" && s.Kind == sim.KindRedis && (s.Name == "watch" || s.Name == "del")
}

// release notes that the step's handling begins to give its lock back. Those of its process that went
// before are over, but for one that hangs.
func (j *Job) release(s *Step) {
	r := release{node: s.Node, incarnation: s.Incarnation, lock: s.Handling.lock}
	if j.Twice(s.Event) {
		r.lock = 0
	}
	j.releases = slices.DeleteFunc(j.releases, func(o release) bool { return o.by(s.Event) && o.hung == "" })
	j.releases = append(j.releases, r)
}

// releasing returns the release that the step belongs to, or nil: what returns late is of the first that
// hangs in that operation, and all else of the last.
func (j *Job) releasing(s *Step) (found *release) {
	for i := range j.releases {
		r := &j.releases[i]
		switch {
		case !r.by(s.Event):
		case s.Kind != sim.KindReturn && r.hung == "":
			found = r
		case s.Kind == sim.KindReturn && r.hung == s.Name:
			return r
		}
	}
	return found
}

func (r *release) by(e *sim.Event) bool { return r.node == e.Node && r.incarnation == e.Incarnation }

// twice says whether the event's process has more than one handling of the job under way.
func (j *Job) Twice(e *sim.Event) bool {
	n := 0
	for i := range j.Handlings {
		if h := &j.Handlings[i]; h.node == e.Node && h.incarnation == e.Incarnation {
			n++
		}
	}
	return n > 1
}

// closed says whether the handling gave up because its state read had failed.
func (h *handling) Closed() bool {
	return h.ReadFailed != 0 && !h.wrote && !h.published && !h.StoreFailed
}

// foundNobody says whether the handling scheduled the job and went no further, without an error.
func (h *handling) FoundNobody() bool {
	return h.Scheduled && !h.intended && !h.published && !h.StoreFailed && !h.failed
}
