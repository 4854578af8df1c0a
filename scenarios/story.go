package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
)

// linesMax bounds a story. Strikes, violations, ends and steps that a violation depends on are always told.
const linesMax = 60

// alikeMax is how many similar moments a story tells one by one.
const alikeMax = 2

// tell writes the story of the run in the order of time: each strike, what it hit, what followed, the
// violations and, at the end, a summary of everything else.
func (r *run) tell(res *Result, about []*jobRecord, run *RunResult) (told []string, when []ToldAt) {
	broken, needed := broke(res)
	lines := slices.Concat(r.strikes(res, about), broken, r.happened(res, needed, about, run), r.ends(about))
	inOrder := func(a, b line) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.step, b.step), cmp.Compare(a.rank, b.rank))
	}
	slices.SortStableFunc(lines, inOrder)
	lines = slices.CompactFunc(lines, func(a, b line) bool { return a.at == b.at && a.text == b.text }) // several jobs may wait for the same thing
	over := max(0, len(lines)-linesMax)
	left := 0
	for i := len(lines) - 1; i >= 0 && left < over; i-- {
		if !lines[i].keep {
			lines = slices.Delete(lines, i, i+1)
			left++
		}
	}
	lines = append(lines, r.introduced(lines)...)
	slices.SortStableFunc(lines, inOrder)
	for _, l := range lines {
		told = append(told, "At "+at(l.at)+" "+l.text+".")
		if l.step == lastStep {
			l.step = 0
		}
		struck := l.rank == rankStrike || l.rank == rankAfter
		when = append(when, ToldAt{l.step, l.at, l.violates, l.ends, l.turn, l.wrong || struck, struck})
	}
	if left > 0 {
		told = append(told, fmt.Sprintf("The last %s that matter little %s left out.", count(left, "step"), isAre(left)))
	}
	return append(told, r.closing(about, lines)...), when
}

// withViolated adds jobs that a broken promise names to those that the story follows, up to aboutMax.
func (r *run) withViolated(res *Result, about []*jobRecord) []*jobRecord {
	about = slices.Clone(about)
	for _, v := range res.Violations {
		if j := r.record.job(v.Job); j != nil && (v.Promised || r.opt.Anyway && v.Invariant == r.opt.StopAt) && len(about) < aboutMax && !slices.Contains(about, j) {
			about = append(about, j)
		}
	}
	return about
}

// introduced returns the submissions of jobs that the story names and does not follow.
func (r *run) introduced(lines []line) (more []line) {
	known, said := map[string]bool{}, map[string]bool{}
	for _, l := range lines {
		said[l.text] = true
	}
	for _, l := range lines {
		for _, id := range l.jobs {
			j := r.record.job(id)
			if j == nil || known[id] {
				continue
			}
			known[id] = true
			i := slices.IndexFunc(j.moments, func(m moment) bool { return m.says == submitted })
			if i >= 0 && !said[j.moments[i].words(id)] {
				more = append(more, j.moments[i].line(id, true))
			}
		}
	}
	return more
}

// dependence maps the steps that a violation depends on to the job concerned, or anyJob. The step at which a
// job's violation is found concerns that job alone.
type dependence map[int]string

const anyJob = "any job"

func (d dependence) has(m *moment, job string) bool {
	for _, step := range []int{m.step, m.shownAt} {
		if of, is := d[step]; is && (of == anyJob || of == job) {
			return true
		}
	}
	return false
}

// alike are the violations of one invariant. Those found in one half-open window depend on the same steps.
type alike struct {
	told  map[string]int // how many are told, by the steps that they depend on
	lines []int          // the indices of their lines
	more  int
	last  time.Duration
}

// broke tells of the violations. Of similar violations it tells the first ones, and counts the others. A
// violation that depends on other steps is not similar. needed are the steps that the told violations depend
// on.
func broke(res *Result) (lines []line, needed dependence) {
	type kind struct {
		invariant string
		promised  bool
	}
	found := map[kind]*alike{}
	needed = dependence{}
	for _, v := range res.Violations {
		on := fmt.Sprint(slices.DeleteFunc(slices.Clone(v.Steps), func(step int) bool { return step == v.Step }))
		a := found[kind{v.Invariant, v.Promised}]
		if a == nil {
			a = &alike{told: map[string]int{}}
			found[kind{v.Invariant, v.Promised}] = a
		}
		if n := a.told[on]; n > alikeMax || n == 0 && len(a.told) > alikeMax {
			a.more, a.last = a.more+1, max(a.last, v.At)
			continue
		}
		a.told[on]++
		a.lines = append(a.lines, len(lines))
		if needed[v.Step] == "" {
			needed[v.Step] = v.Job
		}
		for _, step := range v.Steps {
			if step != v.Step {
				needed[step] = anyJob
			}
		}
		how := " was violated: "
		if !v.Promised {
			how = " was broken, outside of its promise: "
		}
		l := always(v.At, v.Step, rankViolation, v.Invariant+how+v.Message, v.Job)
		l.violates = v.Invariant
		lines = append(lines, l)
	}
	for _, a := range found {
		if a.more > 0 {
			after := a.lines[0] // the last one before the others end
			for _, i := range a.lines {
				if lines[i].at >= lines[after].at && lines[i].at <= a.last {
					after = i
				}
			}
			lines[after].text += fmt.Sprintf("; and %s, the last at %s", count(a.more, "more such violation"), at(a.last))
		}
	}
	return lines, needed
}

// happened tells what happened to the jobs and to the run that the story follows.
func (r *run) happened(res *Result, needed dependence, about []*jobRecord, run *RunResult) (lines []line) {
	for _, j := range r.record.jobs {
		if slices.Contains(about, j) {
			j.shared()
			lines = append(lines, linesOf(j.moments, &j.JobResult, needed)...)
			lines = append(lines, r.blind(j)...)
			continue
		}
		for i := range j.moments {
			if m := &j.moments[i]; needed.has(m, j.ID) {
				lines = append(lines, m.line(j.ID, true))
			}
		}
	}
	named := r.violated(res)
	for i, j := range r.record.poison {
		if i < alikeMax || named[j.ID] {
			lines = append(lines, linesOf(j.moments, &j.JobResult, needed)...)
		}
	}
	for _, j := range r.record.derived.jobs {
		if r.record.derived.follows(j) {
			lines = append(lines, linesOf(j.moments, &j.JobResult, needed)...)
		}
	}
	for _, o := range r.record.runs {
		if o == run || r.record.derived.followsOf(o.ID) {
			lines = append(lines, linesOf(o.moments, &JobResult{ID: o.ID}, needed)...)
		}
	}
	return slices.Concat(lines, linesOf(r.record.derived.trail, &JobResult{}, needed), linesOf(r.breakerMoments(), &JobResult{}, needed), linesOf(r.reconnections(), &JobResult{}, needed))
}

// linesOf selects the moments of a job that are worth telling. It counts repeated ones.
func linesOf(moments []moment, j *JobResult, needed dependence) (lines []line) {
	for i := range moments {
		m := &moments[i]
		plain := j.Executions == 1 && (m.says == began || m.says == finished)
		needed := needed.has(m, j.ID)
		if (plain || m.quiet || m.routine() && j.Submitted > 0) && !needed {
			continue
		}
		before, after, last, others := 0, 0, m.at, map[string]bool{}
		for k := range moments {
			switch o := &moments[k]; {
			case !m.alike(o) || m.says == wrote || slices.Contains(kept, m.says):
			case k < i:
				before++
			case k > i:
				after, last = after+1, o.at
				if o.node != m.node {
					others[who(o.node)] = true
				}
			}
		}
		keep := needed || m.says == wrote && scheduler.Terminal(m.a) || slices.Contains(kept, m.says)
		l := m.line(j.ID, keep)
		switch {
		case before+after < alikeMax:
		case before == 0:
			l.text += fmt.Sprintf("; %d more times%s, the last at %s", after, too(others), at(last))
		case !needed:
			continue
		}
		lines = append(lines, l)
	}
	return lines
}

// too names, in parentheses, the other nodes that did the same.
func too(others map[string]bool) string {
	if len(others) == 0 {
		return ""
	}
	return " (" + strings.Join(slices.Sorted(maps.Keys(others)), ", ") + " too)"
}

// blind tells of a job's blind window.
func (r *run) blind(j *jobRecord) []line {
	w := j.Blind
	if w == nil {
		return nil
	}
	opened := r.stepAt(j, w.Opened)
	for _, f := range r.injector.Fired() { // the fault that opened it comes first
		if f.At == w.Opened && opened != lastStep {
			opened = max(opened, f.Step)
		}
	}
	lines := []line{always(w.Opened, opened, rankViolation, "the blind window of "+j.ID+" opened: no worker that was up had it, and no dispatch was on its way to one", j.ID)}
	if w.Open {
		return append(lines, always(r.end, lastStep, rankMoment, fmt.Sprintf("the blind window of %s was still open, after %s", j.ID, (r.end-w.Opened).Round(time.Second))))
	}
	closed := r.stepAt(j, w.Closed)
	if w.Closed == w.Opened {
		closed = max(closed, opened)
	}
	return append(lines, always(w.Closed, closed, rankViolation, "the blind window of "+j.ID+" closed: it had "+"lasted "+at(w.Closed-w.Opened)))
}

// stepAt returns the step at which something happened to the job at that time.
func (r *run) stepAt(j *jobRecord, when time.Duration) int {
	for _, m := range j.moments {
		if m.at == when {
			return m.step
		}
	}
	return lastStep
}

// ends tells of the jobs that had not settled when the run ended.
func (r *run) ends(about []*jobRecord) (lines []line) {
	for _, j := range about {
		if !scheduler.Terminal(j.State) {
			state := j.ID + " had no record"
			if j.State != "" {
				state = j.ID + " was still " + j.State + j.because()
			}
			lines = append(lines, always(r.end, lastStep, rankViolation, "the run ended, and "+state+": "+r.unsettled(j), j.ID))
		}
	}
	return lines
}

// closing sums up what the story has not told one by one, a sentence for each subject.
func (r *run) closing(about []*jobRecord, lines []line) (told []string) {
	named := map[string]bool{}
	for _, l := range lines {
		for _, id := range l.jobs {
			named[id] = true
		}
	}
	for _, text := range []string{r.staleStory(), r.fates(about, named), r.others(about, named), r.record.derived.others(), r.lettersLeft()} {
		if text != "" {
			told = append(told, text)
		}
	}
	return told
}

// staleStory says what the dead worker cost all jobs together.
func (r *run) staleStory() string {
	jobs, picks, dead := 0, 0, 0
	for _, j := range r.record.jobs {
		if j.StalePicks > 0 {
			jobs++
			picks += j.StalePicks
		}
		if j.ToDead {
			dead++
		}
	}
	var parts []string
	if dead > 0 {
		parts = append(parts, fmt.Sprintf("%s went to a worker that was dead or died while executing it", count(dead, "job")))
	}
	if picks > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s met a stale worker, up to %d a handling", count(picks, "pick"), count(jobs, "job"), r.plan.Engine.MaxDispatchRetries))
	}
	if len(parts) == 0 {
		return ""
	}
	return "In all, " + strings.Join(parts, ", and ") + "."
}
