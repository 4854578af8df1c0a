package axis

import (
	"slices"
	"time"
)

// spans follows what lasts.
type spans struct {
	list []Span
	open map[string]int // by what and whose: index into list
	ends map[string]time.Duration
}

func newSpans() *spans { return &spans{open: map[string]int{}, ends: map[string]time.Duration{}} }

// begin begins a span, and ends that of the same key.
func (s *spans) begin(key string, at, until time.Duration, span Span) {
	s.end(key, at)
	if len(s.list) == spansMax {
		return
	}
	span.From = at.Microseconds()
	s.open[key], s.ends[key] = len(s.list), until
	s.list = append(s.list, span)
}

// end ends the span of the key, if it has not run out before.
func (s *spans) end(key string, at time.Duration) {
	i, ok := s.open[key]
	if !ok {
		return
	}
	if until := s.ends[key]; until > 0 && until < at {
		at = until
	}
	s.list[i].To = at.Microseconds()
	delete(s.open, key)
}

// leave ends what lasts of a node that is gone, but for the locks: Redis keeps those.
func (s *spans) leave(lane int, at time.Duration) {
	for key, i := range s.open {
		if s.list[i].Lane == lane && s.list[i].What == Execution {
			s.end(key, at)
		}
	}
}

// all are the spans of a run that ended then.
func (s *spans) all(end time.Duration) []Span {
	for key := range s.open {
		s.end(key, end)
	}
	slices.SortStableFunc(s.list, func(a, b Span) int { return int(a.From - b.From) })
	return s.list
}
