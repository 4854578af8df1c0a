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

// Options are options of a search. They do not change what a run finds.
type Options struct {
	Runs     int            // at most so many runs; 0 is no limit
	Runners  []Runner       // they work in parallel, each on one run at a time; if empty, this process makes the runs
	Progress func(Progress) // called after each run; nil is not called
}

// Progress is how far a search has come.
type Progress struct {
	Preemptions int // the number of pre-emptions of the present runs
	Runs, Level int // runs made so far: in all, and with that many pre-emptions
	Of          int // runs with that many, as far as is known
	Broken      int
}

// search tries the orders, those with fewer pre-emptions first. A run shows the orders with one more
// pre-emption: those in which another operation goes at a step after the last pre-emption.
type search struct {
	d      *Definition
	o      Options
	known  map[uint64]int // the fewest pre-emptions of an order that leads to each state
	been   map[uint64]int // the same, for orders that were tried
	found  Result
	digest *xxhash.Digest
}

// order is an order to be tried.
type order struct {
	list  []sim.Preemption
	state uint64 // after the last pre-emption
}

// Explore tries every order of the definition, or as many as the options allow. If ctx ends, it returns what
// was found by then. The number of runners does not change the result.
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

// level tries the orders with n pre-emptions, and returns those with one more.
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

// count adds a run to the result.
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

// covers says whether another run with as many or fewer pre-emptions has reached the state to which the
// order's last pre-emption leads. From there on both runs are the same.
func (s *search) covers(n int, o order) bool {
	before, ok := s.been[o.state]
	return ok && before <= n
}

// uncovered counts the orders that are still to be tried.
func (s *search) uncovered(n int, list []order) (left int) {
	for _, o := range list {
		if !s.covers(n, o) {
			left++
		}
	}
	return left
}

// deeper lists the orders with one more pre-emption that the run shows, up to a state that another run has
// reached.
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
