package model

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// Lock is a job's lock as Redis holds it.
type Lock struct {
	Node        string // who set it; "" for no lock
	Incarnation int
	Token       string
	Expires     time.Duration // 0 is never
	Step        int           // when it was set
	Abandoned   time.Duration // since when nobody will release it; 0 if its holder may
}

// Slack is how far from its expiry Redis may be: it keeps milliseconds.
const Slack = time.Millisecond

func (l *Lock) Live(at time.Duration) bool {
	return l.Node != "" && (l.Expires == 0 || at < l.Expires)
}

func (l *Lock) HeldBy(e *sim.Event) bool {
	return l.Live(e.At) && l.Node == e.Node && l.Incarnation == e.Incarnation
}

// Release is a lock's being given back, which ends a handling.
type Release struct {
	node        string
	incarnation int
	Lock        int    // the step at which the lock was taken; 0 if events do not say which of two it is
	Hung        string // the operation of it that hangs
}

// BeginsRelease says whether the step is the first of those in which a lock is given back.
func BeginsRelease(s *Step) bool {
	return s.Phase == "lock_release" && s.Kind == sim.KindRedis && (s.Name == "watch" || s.Name == "del")
}

// Release notes that the step's handling begins to give its lock back. Those of its process that went
// before are over, but for one that hangs.
func (j *Job) Release(s *Step) {
	r := Release{node: s.Node, incarnation: s.Incarnation, Lock: s.Handling.Lock}
	if j.HandlesTwice(s.Event) {
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
