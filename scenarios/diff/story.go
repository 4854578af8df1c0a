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

// together lays two stories on one axis, from the parting on. What both say is there once.
func together(a, b *scenarios.Result, from *Parting) []Told {
	list := []Told{}
	after(a, from, func(says string, m *Moment) { list = append(list, Told{Says: says, A: m}) })
	own := len(list)
	after(b, from, func(says string, m *Moment) {
		i := slices.IndexFunc(list[:own], func(t Told) bool { return t.Says == says && t.B == nil })
		if i < 0 {
			list = append(list, Told{Says: says, B: m})
		} else {
			list[i].B = m
		}
	})
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

// after passes on the sentences of a story that are not before the parting.
func after(res *scenarios.Result, from *Parting, pass func(says string, m *Moment)) {
	for i, says := range res.Telling {
		if i >= len(res.TellingAt) {
			pass(says, &Moment{})
			continue
		}
		at := res.TellingAt[i]
		if at.Step >= from.Step || at.Step == 0 && at.At >= from.At() {
			pass(says, &Moment{at.Step, at.At, at.Violates})
		}
	}
}
