package axis

import (
	"cmp"
	"slices"
)

// spansMax is how many spans of a kind a picture holds at most of the jobs that the page follows, and how many besides.
// The locks of many runs leave room for a fault so.
const spansMax = 700

// spans are what the picture holds of what lasts.
type spans struct {
	kept map[spanRoom][]Span
	left map[What]int
}

type spanRoom struct {
	what     What
	followed bool
}

func newSpans() spans { return spans{map[spanRoom][]Span{}, map[What]int{}} }

// room says whether there is room for one more, and else counts it among those that are left out.
func (s *spans) room(what What, followed bool) bool {
	if len(s.kept[spanRoom{what, followed}]) == spansMax {
		s.left[what]++
		return false
	}
	return true
}

func (s *spans) add(span Span, followed bool) {
	of := spanRoom{span.What, followed}
	s.kept[of] = append(s.kept[of], span)
}

// list has them in the order of their beginnings. Of those that begin at once the longest is drawn below the others.
func (s *spans) list() (list []Span) {
	for _, kept := range s.kept {
		list = append(list, kept...)
	}
	slices.SortFunc(list, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To), cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.What, b.What), cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Says, b.Says))
	})
	return list
}
