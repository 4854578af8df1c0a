package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/sim"
)

// aboutMax bounds the number of jobs whose stories are told if the plan does not name them.
const aboutMax = 6

// about lists the jobs whose stories are told: those that the plan names, or else those that its faults name,
// or else those that violations name and those with something unusual, or else the first. If the plan names
// no job and has runs, about also returns a run whose steps are told, and the first job is not told.
func (r *run) about(res *Result) (about []*jobRecord, run *RunResult) {
	numbers := r.plan.Concerned()
	for _, n := range numbers {
		if n >= 1 && n <= len(r.record.jobs) {
			about = append(about, r.record.jobs[n-1])
		}
	}
	if len(numbers) == 0 {
		about, run = r.striking(res), r.aboutRun(res)
	}
	if len(about) == 0 && run == nil {
		about = r.record.jobs[:1]
	}
	return about, run
}

// striking lists the jobs that violations name, and then those with something unusual.
func (r *run) striking(res *Result) (jobs []*jobRecord) {
	named := r.violated(res)
	for _, j := range r.record.jobs {
		if named[j.ID] {
			jobs = append(jobs, j)
		}
	}
	for _, j := range r.record.jobs {
		odd := j.Attempts != 1 || len(j.Dispatches) != 1 || j.Executions != 1 || j.Blind != nil || j.cancelled
		if odd && !named[j.ID] {
			jobs = append(jobs, j)
		}
	}
	return jobs[:min(len(jobs), aboutMax)]
}

// aboutDerived marks the jobs that were submitted for the told jobs and for the told run.
func (r *run) aboutDerived(about []*jobRecord, run *RunResult) {
	of := map[string]bool{}
	for _, j := range about {
		of[j.ID] = true
	}
	if run != nil {
		of[run.ID] = true
	}
	r.record.derived.about(of)
}

// unsettled says why a job is not in a terminal state.
func (r *run) unsettled(j *jobRecord) string {
	k := r.record.known(j)
	switch {
	case j.State == "" && j.rewound:
		return "Redis lost its record"
	case j.State == "" && j.hasLost(history.Submission):
		return "its request went with nats-server's power"
	case j.State == "":
		return "it was never stored"
	case j.State == "APPROVAL_REQUIRED" && !r.judge.Facts.Unapproved(k, r.end):
		return "it has been approved, and has not gone on"
	case j.State == "APPROVAL_REQUIRED" && k.Approved && k.Consent.Granted(k.Consent.Waits) != nil:
		return "its approval grew too old before it could go on (engine.policy.approval_ttl)"
	case j.State == "APPROVAL_REQUIRED":
		return "it waits for an approval that nobody has given"
	case j.Blind != nil && j.Blind.Open && r.record.down(j.worker) && len(j.Dispatches) > 0:
		return fmt.Sprintf("it was dispatched to %s, which is dead; nobody looks for it until a reconciler does", j.worker)
	case j.Blind != nil && j.Blind.Open:
		return "it is " + j.State + " but was never dispatched; redelivery takes it for a job in flight, and nobody else looks for it"
	case j.finished && j.answers >= r.plan.Engine.MaxDeliver:
		return fmt.Sprintf("a worker has finished it, but its result was given up after %d deliveries (engine.max_deliver)", j.answers)
	case j.finished && j.hasLost(history.Result):
		return "a worker has finished it, and its result went with nats-server's power"
	case j.finished && j.answers > 0:
		return "a worker has finished it, and its result was delivered " + times(j.answers)
	case j.finished:
		return "a worker has finished it, but no scheduler has heard of it"
	case r.record.queued(j):
		return "its dispatch waits in the outbox, and no relay has published it"
	case j.executing != "":
		return j.executing + " is still executing it"
	case j.awaited:
		return fmt.Sprintf("%s has not begun it", j.worker)
	case r.judge.Throttled(j.ID):
		return "the safety kernel throttles it; it is asked again from time to time (engine.policy.throttle_delay)"
	case j.State == "PENDING" && j.submissions == 0:
		return "its submission was never stored in the stream"
	case j.requests >= r.plan.Engine.MaxDeliver:
		return fmt.Sprintf("its request was given up after %d deliveries (engine.max_deliver)", j.requests)
	case j.requests == 0:
		return "no scheduler has taken up its request"
	case r.stop == sim.StopSteps:
		return "it was under way when the steps were used up"
	}
	return "it was still being retried when the time was over"
}

// fates says how the jobs ended that the story names and does not follow.
func (r *run) fates(about []*jobRecord, named map[string]bool) string {
	var jobs []*jobRecord
	var parts []string
	endings, ids := map[string]bool{}, map[string][]string{}
	for _, j := range r.record.jobs {
		if named[j.ID] && !slices.Contains(about, j) {
			jobs = append(jobs, j)
			endings[j.ending()] = true
		}
	}
	for _, j := range r.record.jobs { // the followed jobs are counted, or it would seem that they ended otherwise
		if ending := j.ending(); endings[ending] && (named[j.ID] || slices.Contains(about, j)) {
			ids[ending] = append(ids[ending], j.ID)
		}
	}
	for _, ending := range plainFirst(ids) {
		list := ids[ending]
		parts = append(parts, some(list)+" "+plural(len(list), ending))
	}
	if len(parts) == 0 {
		return ""
	}
	return "In the end " + strings.Join(parts, "; ") + "." + r.undecided(jobs)
}

// others sums up the jobs that the story does not name.
func (r *run) others(about []*jobRecord, named map[string]bool) string {
	var jobs []*jobRecord
	became := map[string]int{}
	for _, j := range r.record.jobs {
		if !named[j.ID] && !slices.Contains(about, j) {
			jobs = append(jobs, j)
			became[j.ending()]++
		}
	}
	if len(jobs) == 0 {
		return ""
	}
	return endings(len(jobs), became, len(jobs) < len(r.record.jobs)) + failedOf(jobs) + r.undecided(jobs)
}

// failedOf says which operations of the jobs failed, whatever the jobs' outcomes.
func failedOf(jobs []*jobRecord) string {
	struck, phases := map[*jobRecord]bool{}, map[string]bool{}
	for _, j := range jobs {
		for i := range j.moments {
			if m := &j.moments[i]; m.says == failed && m.a != "safety_check" { // undecided tells of those
				struck[j], phases[m.a] = true, true
			}
		}
	}
	if len(struck) == 0 {
		return ""
	}
	return fmt.Sprintf(" %s had an operation fail: %s.", ofThem(len(struck), len(jobs)), some(slices.Sorted(maps.Keys(phases))))
}

// undecided says for how many of the jobs the safety kernel did not answer, and how many went on without it.
func (r *run) undecided(jobs []*jobRecord) (told string) {
	undecided, late, longest := 0, 0, time.Duration(0)
	for _, j := range jobs {
		if j.undecided {
			undecided++
		}
		if waited := j.waited(r.end); waited > 0 {
			late++
			longest = max(longest, waited)
		}
	}
	if late > 0 {
		told += fmt.Sprintf(" %s waited for an answer of the safety kernel, for up to %s.", ofThem(late, len(jobs)), at(longest))
	}
	if undecided > 0 {
		told += fmt.Sprintf(" %s went on without a decision of the safety kernel.", ofThem(undecided, len(jobs)))
	}
	return told
}

// endings says how n jobs ended; others says whether they are the rest, or all that clients submitted.
func endings(n int, became map[string]int, others bool) string {
	list := plainFirst(became)
	one, many := "The job that a client submitted", fmt.Sprintf("%d jobs that clients submitted", n)
	if others {
		one, many = "The other job", fmt.Sprintf("other %d jobs", n)
	}
	switch {
	case n == 1:
		return one + " " + list[0] + "."
	case len(list) == 1:
		return "The " + many + " " + plural(n, list[0]) + "."
	}
	for i, ending := range list {
		list[i] = fmt.Sprintf("%d %s", became[ending], plural(became[ending], ending))
	}
	return "Of the " + many + ", " + strings.Join(list, "; ") + "."
}

// plainFirst lists endings in the order in which they are told.
func plainFirst[T any](endings map[string]T) []string {
	return slices.SortedFunc(maps.Keys(endings), func(a, b string) int {
		return cmp.Or(cmp.Compare(slices.Index(plainEndings, b), slices.Index(plainEndings, a)), strings.Compare(a, b))
	})
}

// Endings of jobs that have no story of their own.
const (
	atFirst  = "succeeded at the first attempt"
	executed = "succeeded after more than one execution"
	atLast   = "succeeded after more than one attempt or dispatch"
)

var plainEndings = []string{atLast, executed, atFirst} // told before others, the last one first

// ending says in what state the job is at the end.
func (j *jobRecord) ending() string {
	switch {
	case j.State == "" && j.rewound:
		return "is without a record"
	case j.State == "" && j.hasLost(history.Submission):
		return "was lost without a record"
	case j.State == "":
		return "was never stored"
	case j.cancelled && j.State != "CANCELLED" && scheduler.Terminal(j.State):
		return "ended " + j.State + ", cancelled too late or in vain"
	case j.State == "SUCCEEDED" && len(j.Dispatches) == 1 && j.Attempts == 1:
		return either(j.Executions > 1, executed, atFirst)
	case j.State == "SUCCEEDED":
		return atLast
	case j.DoneBy != "":
		return "ended " + j.State + ", and its replay succeeded"
	case scheduler.Terminal(j.State):
		return "ended " + j.State
	}
	return "is still " + j.State
}

// plural turns the ending of one job into that of n.
func plural(n int, ending string) string {
	if n == 1 {
		return ending
	}
	for one, many := range map[string]string{"was ": "were ", "is ": "are "} {
		if rest, ok := strings.CutPrefix(ending, one); ok {
			return many + rest
		}
	}
	return strings.Replace(ending, "its replay", "their replays", 1)
}
