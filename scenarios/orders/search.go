package orders

import (
	"context"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/sim"
)

// Runner makes one run of a definition.
type Runner func(ctx context.Context, list []sim.Preemption) (*Run, error)

// Options of a search; none of them changes what a run finds.
type Options struct {
	Runs     int            // at most; 0 is no limit
	Runners  []Runner       // that work at the same time, each on one run at a time; empty is this process
	Progress func(Progress) // called after each run; nil is nobody
}

// Progress of a search that is under way.
type Progress struct {
	Preemptions int // of the runs that are made now
	Runs, Level int // made so far: in all, and with so many pre-emptions
	Of          int // runs with so many, as far as is known
	Broken      int
}

// search goes through the orders, those of fewer pre-emptions first. An order of one more is one in whose run something
// else goes at a step after the last pre-emption.
type search struct {
	d      *Definition
	o      Options
	known  map[uint64]int // the fewest pre-emptions of an order that leads to a state
	been   map[uint64]int // the same of those that were tried
	found  Result
	digest *xxhash.Digest
}

// order is one that is to be tried.
type order struct {
	list  []sim.Preemption
	state uint64 // after the last of them
}

// Explore tries every order of the definition, or as many as the options allow. When ctx ends it returns what was found
// by then. The number of runners does not change what it returns.
func (d *Definition) Explore(ctx context.Context, o Options) (*Result, error) {
	if len(o.Runners) == 0 {
		o.Runners = []Runner{d.Try}
	}
	s := &search{d: d, o: o, known: map[uint64]int{}, been: map[uint64]int{}, digest: xxhash.New(), found: newResult(d)}
	level := []order{{}}
	for n := 0; n <= d.Preemptions && len(level) > 0; n++ {
		next, err := s.level(ctx, n, level)
		if err != nil {
			return nil, err
		}
		level = next
		if s.found.Levels[n].Left > 0 {
			break
		}
	}
	s.found.finish(d, s.digest)
	return &s.found, nil
}

// level tries the orders of n pre-emptions, and returns those of one more.
func (s *search) level(ctx context.Context, n int, list []order) (next []order, err error) {
	s.found.Levels = append(s.found.Levels, Level{Preemptions: n})
	told := &s.found.Levels[n]
	runs := s.start(ctx, list)
	defer runs.stop()
	for i := range list {
		if s.covers(n, list[i]) {
			runs.skip(i)
			continue
		}
		if ctx.Err() != nil || s.o.Runs > 0 && s.found.Runs == s.o.Runs {
			told.Left = s.uncovered(n, list[i:])
			return nil, nil
		}
		r, err := runs.take(i)
		if err != nil && ctx.Err() != nil {
			told.Left = s.uncovered(n, list[i:])
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the run with the pre-emptions %q broke down: %w", sim.Preemptions(list[i].list), err)
		}
		s.count(told, list[i], r)
		next = append(next, s.deeper(n, list[i], r)...)
		if s.o.Progress != nil {
			s.o.Progress(Progress{Preemptions: n, Runs: s.found.Runs, Level: told.Runs, Of: len(list), Broken: s.found.Broken})
		}
	}
	return next, nil
}

// count takes a run into the result.
func (s *search) count(told *Level, o order, r *Run) {
	told.Runs++
	s.found.Runs++
	s.found.Steps += r.Steps
	s.found.Actors = max(s.found.Actors, r.Actors)
	s.found.LongestSteps = max(s.found.LongestSteps, r.Steps)
	_, _ = s.digest.WriteString(sim.Preemptions(o.list) + " " + r.Digest + "\n")
	switch {
	case len(r.Broken) > 0:
		told.Broken++
		s.found.Broken++
		s.found.add(o.list, r)
	case r.Verdict == scenarios.Inconclusive:
		told.Inconclusive++
		s.found.Inconclusive++
	}
}

// covers says whether another run has come to where the order's last pre-emption leads, with as many or fewer: from there
// on everything goes as it did.
func (s *search) covers(n int, o order) bool {
	before, ok := s.been[o.state]
	return ok && before <= n
}

// uncovered is how many of the orders are still to be tried.
func (s *search) uncovered(n int, list []order) (left int) {
	for _, o := range list {
		if !s.covers(n, o) {
			left++
		}
	}
	return left
}

// deeper lists the orders of one pre-emption more that the run shows, up to where another run has been.
func (s *search) deeper(n int, o order, r *Run) (list []order) {
	if n > 0 {
		s.been[o.state] = n
	}
	for _, p := range r.Points {
		for _, other := range p.Others {
			if before, ok := s.known[other.State]; n < s.d.Preemptions && (!ok || before > n+1) {
				s.known[other.State] = n + 1
				list = append(list, order{append(slices.Clip(slices.Clone(o.list)), other.preemption()), other.State})
			}
		}
		if before, ok := s.been[p.State]; ok && before <= n {
			break
		}
		s.been[p.State] = n
	}
	return list
}
