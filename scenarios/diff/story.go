package diff

import (
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

// after says whether the moment is after other. What tells of no instant ends a story.
func (m Moment) after(other Moment) bool {
	return other.At > 0 && (m.At == 0 || m.At > other.At)
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

// joined is two stories on one axis, each in its own order. What both say is there once where that keeps both orders, and
// else twice. Between such sentences the others are in the order of time.
func joined(a, b []sentence) []Told {
	list := []Told{}
	alike := common(a, b)
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i].says == b[j].says:
			list = append(list, Told{Says: a[i].says, A: &a[i].when, B: &b[j].when})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && alike[i+1][j] == alike[i][j] && (alike[i][j+1] < alike[i][j] || !a[i].when.after(b[j].when)):
			list = append(list, Told{Says: a[i].says, A: &a[i].when})
			i++
		default:
			list = append(list, Told{Says: b[j].says, B: &b[j].when})
			j++
		}
	}
	return list
}

// common says how many sentences the stories have in common, in the order of both, from each sentence of a and of b on.
func common(a, b []sentence) [][]int {
	alike := make([][]int, len(a)+1)
	for i := range alike {
		alike[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i].says == b[j].says {
				alike[i][j] = 1 + alike[i+1][j+1]
			} else {
				alike[i][j] = max(alike[i+1][j], alike[i][j+1])
			}
		}
	}
	return alike
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
