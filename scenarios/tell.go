package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/faultline-sim/faultline/faults"
)

// aboutMax bounds the stories that a result tells when the plan does not say whose.
const aboutMax = 6

// about are the jobs whose story is told: those the plan names, else those its faults name, else
// those to which something out of the ordinary happened, else the first.
func (r *run) about() []*jobRecord {
	numbers := slices.Clone(r.plan.About)
	if len(numbers) == 0 {
		for _, f := range r.plan.Faults {
			for _, m := range []*faults.Match{f.On, f.After} {
				if m != nil && m.Job > 0 && !slices.Contains(numbers, m.Job) {
					numbers = append(numbers, m.Job)
				}
			}
		}
	}
	var about []*jobRecord
	for _, n := range numbers {
		if n >= 1 && n <= len(r.record.jobs) {
			about = append(about, r.record.jobs[n-1])
		}
	}
	for _, j := range r.record.jobs {
		odd := j.Attempts != 1 || len(j.Dispatches) != 1 || j.Executions != 1 || j.Blind != nil
		if len(numbers) == 0 && odd && len(about) < aboutMax {
			about = append(about, j)
		}
	}
	if len(about) == 0 {
		about = r.record.jobs[:1]
	}
	return about
}

// unsettled says why a job is not in a terminal state.
func (r *run) unsettled(j *jobRecord) string {
	switch {
	case j.State == "":
		return "it was never stored"
	case j.Blind != nil && j.Blind.Open && r.record.down[j.worker] && len(j.Dispatches) > 0:
		return fmt.Sprintf("it was dispatched to %s, which is dead; nobody looks for it until a reconciler does", j.worker)
	case j.Blind != nil && j.Blind.Open:
		return "it is " + j.State + " but was never dispatched; redelivery takes it for a job in flight, and nobody else looks for it"
	case j.finished && j.answers >= r.plan.Engine.MaxDeliver:
		return fmt.Sprintf("a worker has finished it, but its result was given up after %d deliveries (engine.max_deliver)", j.answers)
	case j.finished && j.answers > 0:
		return "a worker has finished it, and its result was delivered " + times(j.answers)
	case j.finished:
		return "a worker has finished it, but no scheduler has heard of it"
	case j.queued:
		return "its dispatch waits in the outbox, and no relay has published it"
	case j.executing != "":
		return j.executing + " is still executing it"
	case j.awaited:
		return fmt.Sprintf("%s has not begun it", j.worker)
	case j.State == "PENDING" && j.submissions == 0:
		return "its submission was never stored in the stream"
	case j.requests >= r.plan.Engine.MaxDeliver:
		return fmt.Sprintf("its request was given up after %d deliveries (engine.max_deliver)", j.requests)
	}
	return "it was still being retried when the time was over"
}

// tell writes the story of each job in a sentence or two.
func (r *run) tell(about []*jobRecord) []string {
	told := []string{}
	for _, j := range about {
		told = append(told, r.story(j))
	}
	if stale := r.staleStory(); stale != "" {
		told = append(told, stale)
	}
	return append(told, r.others(about))
}

func (r *run) story(j *jobRecord) string {
	var b strings.Builder
	if j.submissions == 0 && len(j.Path) > 0 {
		fmt.Fprintf(&b, "%s was stored at %s and never submitted", j.ID, at(j.Path[0].At))
	} else {
		fmt.Fprintf(&b, "%s was submitted at %s", j.ID, at(j.Submitted))
	}
	for _, f := range tally(j.failures) {
		fmt.Fprintf(&b, "; its %s %s", f.phase, f.words())
	}
	if rolled := j.attemptsAfter("rollback_write"); len(rolled) > 0 {
		fmt.Fprintf(&b, "; the rollbacks left it at attempts %s", strings.Join(rolled, ", "))
	}
	if j.StalePicks > 0 {
		fmt.Fprintf(&b, "; %s met a stale worker", count(j.StalePicks, "pick"))
	}
	switch n := len(j.Dispatches); n {
	case 0:
		b.WriteString("; no dispatch of it was stored")
	case 1:
		fmt.Fprintf(&b, "; one dispatch was stored, at %s for %s, with attempts %d", at(j.Dispatches[0].At), j.worker, j.attemptsAt(j.Dispatches[0].At))
	default:
		var when []string
		for _, d := range j.Dispatches {
			when = append(when, fmt.Sprintf("at %s for %s", at(d.At), message{subject: d.Subject}.consumer()))
		}
		fmt.Fprintf(&b, "; %d dispatches were stored: %s", n, strings.Join(when, ", "))
	}
	for _, h := range j.happened() {
		fmt.Fprintf(&b, "; %s at %s", h.what, at(h.when))
	}
	if j.Executions > 1 {
		fmt.Fprintf(&b, "; workers executed it %d times", j.Executions)
	}
	if !terminal(j.State) && j.finished {
		b.WriteString("; its result was delivered " + times(j.answers))
		if j.answers >= r.plan.Engine.MaxDeliver {
			b.WriteString(" and given up")
		}
	}
	if terminal(j.State) {
		fmt.Fprintf(&b, "; %s", strings.Join(j.ends(), ", then "))
	} else if j.State != "" {
		fmt.Fprintf(&b, "; still %s", j.State)
	}
	if j.Reason != "" {
		fmt.Fprintf(&b, " (%s)", j.Reason)
	}
	b.WriteString(".")
	if j.Blind != nil {
		b.WriteString(j.Blind.words(r.end))
	}
	return b.String()
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
	if picks == 0 && dead == 0 {
		return ""
	}
	var parts []string
	if dead > 0 {
		parts = append(parts, fmt.Sprintf("%s went to a worker that was dead, or died over it", count(dead, "job")))
	}
	if picks > 0 {
		parts = append(parts, fmt.Sprintf("stale picks cost %s in all (%s, up to %d a handling)", count(picks, "pick"), count(jobs, "job"), r.plan.Engine.MaxDispatchRetries))
	}
	return "Of all jobs: " + strings.Join(parts, "; ") + "."
}

func (r *run) others(about []*jobRecord) string {
	n, first := 0, 0
	for _, j := range r.record.jobs {
		if slices.Contains(about, j) {
			continue
		}
		n++
		if j.State == "SUCCEEDED" && len(j.Dispatches) == 1 && j.Attempts == 1 {
			first++
		}
	}
	switch n {
	case 0:
		return fmt.Sprintf("There were no other jobs; the run took %s of virtual time.", r.end.Round(time.Millisecond))
	case first:
		return fmt.Sprintf("The other %d jobs were dispatched once each, at the first attempt, and succeeded.", n)
	}
	return fmt.Sprintf("Of the other %d jobs, %d were dispatched once, at the first attempt, and succeeded.", n, first)
}

// happening is something that befell a job, besides its states and its dispatches.
type happening struct {
	what string
	when time.Duration
}

// happened lists what befell the job, in the order of time.
func (j *jobRecord) happened() []happening {
	all := slices.DeleteFunc([]happening{
		{"a later handling resumed its intent", j.resumed},
		{"a replayer found it", j.replayed},
		{"its cancellation was asked for", j.cancel},
		{"its dispatch was declared void", j.voided},
		{"its worker was told that it is cancelled", j.told},
	}, func(h happening) bool { return h.when == 0 })
	slices.SortStableFunc(all, func(a, b happening) int { return cmp.Compare(a.when, b.when) })
	return all
}

// ends lists the terminal states that were written; there should be one.
func (j *jobRecord) ends() (list []string) {
	for _, p := range j.Path {
		if terminal(p.State) {
			list = append(list, fmt.Sprintf("%s at %s", p.State, at(p.At)))
		}
	}
	return list
}

// attemptsAfter lists the attempts that the state writes of one phase left.
func (j *jobRecord) attemptsAfter(phase string) (list []string) {
	for _, p := range j.Path {
		if p.Phase == phase {
			list = append(list, fmt.Sprint(p.Attempts))
		}
	}
	return list
}

func (j *jobRecord) attemptsAt(t time.Duration) (attempts int) {
	for _, p := range j.Path {
		if p.At <= t {
			attempts = p.Attempts
		}
	}
	return attempts
}

// failed is how often one phase of a job failed, and how.
type failed struct {
	phase, fault string
	first        time.Duration
	n            int
}

// tally counts failures by phase and fault, in order of their first.
func tally(list []failure) (all []failed) {
	for _, f := range list {
		i := slices.IndexFunc(all, func(g failed) bool { return g.phase == f.phase && g.fault == f.fault })
		if i < 0 {
			i = len(all)
			all = append(all, failed{f.phase, f.fault, f.at, 0})
		}
		all[i].n++
	}
	return all
}

func (f failed) words() string {
	how := map[string]string{
		"fail-before": "failed", "fail-after": "was applied but failed for its caller", "hang": "hung until its deadline",
		"late": "timed out for its caller", "refused": "arrived late and was refused", "": "failed",
	}[f.fault]
	if f.n == 1 {
		return fmt.Sprintf("%s at %s", how, at(f.first))
	}
	return fmt.Sprintf("%s %d times, first at %s", how, f.n, at(f.first))
}

// at renders an instant or a span to the millisecond.
func at(d time.Duration) string { return d.Round(time.Millisecond).String() }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
