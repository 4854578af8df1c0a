package reports

import (
	"cmp"
	"slices"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/reports/plots"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/sim"
)

// focusMax is how many jobs the lanes follow, each in its own colour of the plots.
const focusMax = plots.Colours

// focus are the jobs that the page looks at closely.
type focus struct {
	jobs   []string       // in the order of their numbers; at most focusMax
	runs   []string       // of which they are steps
	colour map[string]int // index into jobs
	left   int            // jobs that the plan is about, or that a violation or its cause names, beyond focusMax
	sample bool           // the plan is about no job, and the first one stands for all
}

// focusOn picks first the jobs that the page explains a violation by, then those that a violation names, judged ones before
// others, and then those that the plan is about.
func focusOn(res *scenarios.Result) focus {
	number := make(map[string]int, len(res.Jobs))
	for i, j := range res.Jobs {
		number[j.ID] = i
	}
	var wanted []string
	seen := map[string]bool{}
	want := func(id string) {
		if _, known := number[id]; known && !seen[id] {
			seen[id] = true
			wanted = append(wanted, id)
		}
	}
	if c := res.Cause; c != nil {
		want(c.Job)
		for _, at := range c.Path {
			for _, id := range res.JobsIn(at.Says) {
				want(id)
			}
		}
	}
	for _, promised := range []bool{true, false} {
		for _, v := range res.Violations {
			if v.Promised == promised {
				want(v.Job)
			}
		}
	}
	// Half of the room stays with the plan's own jobs, however many others were hurt.
	hurt := wanted
	wanted, seen = nil, map[string]bool{}
	for _, id := range hurt[:min(len(hurt), focusMax/2)] {
		want(id)
	}
	for _, j := range res.Jobs {
		if j.About {
			want(j.ID)
		}
	}
	for _, id := range hurt {
		want(id)
	}

	f := focus{jobs: wanted, colour: map[string]int{}}
	if len(wanted) == 0 && len(res.Jobs) > 0 {
		f.jobs, f.sample = []string{res.Jobs[0].ID}, true
	}
	if len(f.jobs) > focusMax {
		f.left = len(f.jobs) - focusMax
		f.jobs = f.jobs[:focusMax]
	}
	f.jobs = slices.Clone(f.jobs)
	slices.SortFunc(f.jobs, func(a, b string) int { return cmp.Compare(number[a], number[b]) })
	for i, id := range f.jobs {
		f.colour[id] = i
	}
	for _, run := range res.Runs {
		if slices.ContainsFunc(res.Derived, func(j *scenarios.DerivedJob) bool {
			_, own := f.colour[j.ID]
			return own && j.Of == run.ID
		}) {
			f.runs = append(f.runs, run.ID)
		}
	}
	return f
}

// follows says whether e is about one of the jobs, or makes something of a run of which they are steps.
func (f focus) follows(e sim.Event) bool {
	if _, own := f.colour[e.Job]; own {
		return true
	}
	what, run := history.KeyOf(e.Target)
	return e.Job == "" && len(e.Changes) > 0 && what == history.Run && slices.Contains(f.runs, run)
}
