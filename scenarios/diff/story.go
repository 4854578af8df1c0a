package diff

import (
	"cmp"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
)

// Told is a sentence of a story, or of both.
type Told struct {
	Says string  `json:"says"`
	A    *Moment `json:"a,omitempty"` // nil: A's story does not have it
	B    *Moment `json:"b,omitempty"`
}

// Moment is when a sentence happened in one of the runs.
type Moment struct {
	Step     int           `json:"step,omitempty"`     // 0 if no step shows it
	At       time.Duration `json:"at_ns,omitempty"`    // 0 if it tells of no instant
	Violates string        `json:"violates,omitempty"` // the invariant whose violation it tells of
}

// Of says whose the sentence is: A, B or both.
func (t *Told) Of() string {
	switch {
	case t.B == nil:
		return "A"
	case t.A == nil:
		return "B"
	}
	return "both"
}

// At is its instant, the earlier of two; 0 if it tells of none.
func (t *Told) At() time.Duration {
	switch {
	case t.B == nil:
		return t.A.At
	case t.A == nil:
		return t.B.At
	}
	return min(t.A.At, t.B.At)
}

// Violates is the invariant whose violation it tells of; "" if it tells of none.
func (t *Told) Violates() string {
	for _, m := range []*Moment{t.A, t.B} {
		if m != nil && m.Violates != "" {
			return m.Violates
		}
	}
	return ""
}

// together lays two stories on one axis: up to the parting, and from there on. What both say is there once.
func together(a, b *scenarios.Result, at *Parting) (before, after []Told) {
	beforeA, afterA := cut(a, at)
	beforeB, afterB := cut(b, at)
	return joined(beforeA, beforeB), joined(afterA, afterB)
}

// joined is two stories in the order of time.
func joined(a, b []sentence) []Told {
	list := []Told{}
	for _, s := range a {
		list = append(list, Told{Says: s.says, A: &s.when})
	}
	for _, s := range b {
		i := slices.IndexFunc(list[:len(a)], func(t Told) bool { return t.Says == s.says && t.B == nil })
		if i < 0 {
			list = append(list, Told{Says: s.says, B: &s.when})
		} else {
			list[i].B = &s.when
		}
	}
	timeless := func(t Told) int { // what tells of no instant ends a story
		if t.At() == 0 {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(s, t Told) int {
		return cmp.Or(cmp.Compare(timeless(s), timeless(t)), cmp.Compare(s.At(), t.At()))
	})
	return list
}

// sentence is one of a story.
type sentence struct {
	says string
	when Moment
}

// cut divides a story at the parting. Runs that do not part have no sentence after it.
func cut(res *scenarios.Result, at *Parting) (before, after []sentence) {
	for i, says := range res.Telling {
		s := sentence{says: says}
		if i < len(res.TellingAt) {
			told := res.TellingAt[i]
			s.when = Moment{told.Step, told.At, told.Violates}
		}
		if at == nil || i < len(res.TellingAt) && !at.follows(s.when) {
			before = append(before, s)
		} else {
			after = append(after, s)
		}
	}
	return before, after
}

// follows says whether the moment is not before the parting.
func (p *Parting) follows(m Moment) bool {
	return m.Step >= p.Step || m.Step == 0 && m.At >= p.At()
}
