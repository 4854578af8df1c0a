package model

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// Lock is a job's lock in Redis.
type Lock struct {
	Node        string // who set it; "" if there is none
	Incarnation int
	Token       string
	Expires     time.Duration // 0 is never
	Step        int           // when it was set
	Abandoned   time.Duration // since when nobody will release it; 0 if its holder may
}

// Slack is the tolerance for an expiry, since Redis keeps milliseconds.
const Slack = time.Millisecond

func (l *Lock) Live(at time.Duration) bool {
	return l.Node != "" && (l.Expires == 0 || at < l.Expires)
}

func (l *Lock) HeldBy(e *sim.Event) bool {
	return l.Live(e.At) && l.Node == e.Node && l.Incarnation == e.Incarnation
}

// Release is the release of a lock, which ends a handling.
type Release struct {
	node        string
	incarnation int
	Lock        int    // the step at which the lock was taken; 0 if events do not show which of two locks it is
	Hung        string // its operation that hangs
}

// BeginsRelease says whether the step is the first of those that release a lock.
func BeginsRelease(s *Step) bool {
	return s.Phase == "lock_release" && s.Kind == sim.KindRedis && (s.Name == "watch" || s.Name == "del")
}

// Release notes that the step's handling begins to release its lock. Earlier releases of its process are
// over, except one that hangs.
func (j *Job) Release(s *Step) {
	r := Release{node: s.Node, incarnation: s.Incarnation, Lock: s.Handling.Lock}
	if j.HandlesTwice(s.Event) {
		r.Lock = 0
	}
	j.Releases = slices.DeleteFunc(j.Releases, func(o Release) bool { return o.by(s.Event) && o.Hung == "" })
	j.Releases = append(j.Releases, r)
}

// Releasing returns the release that the step belongs to, or nil. A late return belongs to the first release
// that hangs in that operation, and every other step to the last.
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
