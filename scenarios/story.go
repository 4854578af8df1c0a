package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
)

// clause is a part of a job's story, which has its place by a time.
type clause struct {
	at   time.Duration
	text string
}

// story tells of a job what happened to it, in the order of time.
func (r *run) story(j *jobRecord) string {
	var b strings.Builder
	if j.submissions == 0 && len(j.Path) > 0 {
		fmt.Fprintf(&b, "%s was stored at %s and never submitted", j.ID, at(j.Path[0].At))
	} else {
		fmt.Fprintf(&b, "%s was submitted at %s", j.ID, at(j.Submitted))
	}
	all := slices.Concat(r.pauses(j), j.failed(), j.dispatched(r.end), j.drops(), j.happened(), j.befell(), j.lostStates(), j.lostMessages(), j.executions(), j.ends(r.end))
	if !terminal(j.State) && j.finished {
		text := "its result was delivered " + times(j.answers)
		if j.answers >= r.plan.Engine.MaxDeliver {
			text += " and given up"
		}
		all = append(all, clause{r.end, text})
	}
	if !terminal(j.State) && j.State != "" {
		all = append(all, clause{r.end, "still " + j.State + j.because()})
	}
	slices.SortStableFunc(all, func(a, b clause) int { return cmp.Compare(a.at, b.at) })
	for _, c := range all {
		b.WriteString("; " + c.text)
	}
	b.WriteString(".")
	if j.Blind != nil {
		b.WriteString(j.Blind.words(r.end))
	}
	return b.String()
}

// pauses tell of the nodes that stood still over the job.
func (r *run) pauses(j *jobRecord) (all []clause) {
	for _, f := range r.injector.Fired() {
		if f.Fault.Do == faults.Pause && (f.Job == j.ID || j.heldBy(f.Node, f.At)) {
			all = append(all, clause{f.At, fmt.Sprintf("%s was paused from %s to %s", f.Node, at(f.At), at(f.At+f.Fault.For))})
		}
	}
	return all
}

// failed tells of the operations on the job that went wrong, and of what rollbacks and stale picks left.
func (j *jobRecord) failed() (all []clause) {
	for _, f := range tally(j.failures) {
		if f.fault != arrived || !j.tells(f.first) {
			all = append(all, clause{f.first, "its " + f.phase + " " + f.words()})
		}
	}
	var rolled []string
	var since time.Duration
	for _, p := range j.Path {
		if p.Phase == "rollback_write" {
			first(&since, p.At)
			rolled = append(rolled, fmt.Sprint(p.Attempts))
		}
	}
	if len(rolled) > 0 {
		all = append(all, clause{since, "the rollbacks left it at attempts " + strings.Join(rolled, ", ")})
	}
	return all
}

// dispatched tells of the dispatches that were stored.
func (j *jobRecord) dispatched(end time.Duration) (all []clause) {
	n, since := len(j.Dispatches), end
	if n > 0 {
		since = j.Dispatches[0].At
	}
	if j.StalePicks > 0 {
		all = append(all, clause{since, count(j.StalePicks, "pick") + " met a stale worker"})
	}
	switch n {
	case 0:
		return append(all, clause{min(cmp.Or(j.ended(), end), end), "no dispatch of it was stored"})
	case 1:
		d := j.Dispatches[0]
		return append(all, clause{d.At, fmt.Sprintf("one dispatch was stored, at %s for %s, with attempts %d", at(d.At), j.worker, j.attemptsAt(d.At))})
	}
	var when []string
	for _, d := range j.Dispatches {
		when = append(when, fmt.Sprintf("at %s for %s", at(d.At), message{subject: d.Subject}.consumer()))
	}
	return append(all, clause{j.Dispatches[1].At, fmt.Sprintf("%d dispatches were stored: %s", n, strings.Join(when, ", "))})
}

// drops tell of the publishes that were confirmed and not stored.
func (j *jobRecord) drops() (all []clause) {
	for _, d := range j.dropped {
		all = append(all, clause{d.at, fmt.Sprintf("its publish for %s at %s was confirmed, and not stored, as the stream remembers its message id", d.worker, at(d.at))})
	}
	return all
}

// happened tells what befell the job, besides its states and its dispatches.
func (j *jobRecord) happened() []clause {
	all := slices.DeleteFunc([]clause{
		{j.resumed, "a later handling resumed its intent"},
		{j.replayed, "a replayer found it"},
		{j.cancel, "its cancellation was asked for"},
		{j.voided, "its dispatch was declared void"},
		{j.told, "its worker was told that it is cancelled"},
		{j.recorded, "its compensation was recorded"},
		{j.undone, "its compensation was submitted"},
	}, func(c clause) bool { return c.at == 0 })
	for i := range all {
		all[i].text += " at " + at(all[i].at)
	}
	if n := len(j.throttled); n > 0 {
		all = append(all, clause{j.throttled[0], fmt.Sprintf("the safety kernel throttled it %s, first at %s", times(n), at(j.throttled[0]))})
	}
	return all
}

// executions tell of workers that executed the job more than once, or although it had ended already.
func (j *jobRecord) executions() (all []clause) {
	if len(j.begun) > 1 {
		all = append(all, clause{j.begun[1], fmt.Sprintf("workers executed it %d times", j.Executions)})
	}
	if o := j.overtaken; o != nil && o.begun {
		all = append(all, clause{o.at, fmt.Sprintf("%s began to execute it at %s, although it was %s", o.node, at(o.at), o.state)})
	} else if o != nil {
		all = append(all, clause{o.at, fmt.Sprintf("%s executed it to the end, at %s, although it was %s", o.node, at(o.at), o.state)})
	}
	return all
}

// ended is when the job first was in a terminal state; 0 if it never was.
func (j *jobRecord) ended() time.Duration {
	for _, p := range j.Path {
		if terminal(p.State) {
			return p.At
		}
	}
	return 0
}

// ends tells of the terminal state that was written, and of all that was written over it: there should
// be nothing.
func (j *jobRecord) ends(end time.Duration) []clause {
	since := j.ended()
	if since == 0 {
		return nil
	}
	var list []string
	for _, p := range j.Path {
		if p.At < since {
			continue
		}
		text := p.State + " at " + at(p.At)
		if slices.ContainsFunc(j.rewound, func(w rewound) bool { return w.at == p.At }) {
			continue // told of already
		}
		if slices.Contains(j.late, p.At) {
			text += " by its late " + p.Phase
		}
		list = append(list, text)
	}
	text := strings.Join(list, ", then ")
	if terminal(j.State) {
		text += j.because()
	}
	return []clause{{since, text}}
}

// tells says whether the end of the story tells of the late write at that time.
func (j *jobRecord) tells(at time.Duration) bool {
	since := j.ended()
	return since > 0 && at >= since && slices.Contains(j.late, at)
}

// because says why the job is in its state; in words, too, where a policy has put it there.
func (j *JobResult) because() string {
	switch {
	case j.Reason == "":
		return ""
	case j.Why != "" && (j.State == "DENIED" || j.State == "OUTPUT_QUARANTINED"):
		return " (" + j.Reason + ": " + j.Why + ")"
	}
	return " (" + j.Reason + ")"
}

func (j *jobRecord) attemptsAt(t time.Duration) (attempts int) {
	for _, p := range j.Path {
		if p.At <= t {
			attempts = p.Attempts
		}
	}
	return attempts
}

// The ways to fail that no plan has a word for.
const (
	refused     = "refused"       // it came late, and the server refused it
	arrived     = "arrived"       // it came late, and was applied
	cutRedis    = "cut-redis"     // by a partition
	cutNATS     = "cut-nats"      //
	cutKernel   = "cut-kernel"    //
	repeated    = "repeated"      // the stream had stored one of the same epoch
	fencedLock  = "fenced-lock"   // not written: the job's lock was another's, or nobody's
	fencedState = "fenced-record" // not written: the record had moved on
)

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
	how := cmp.Or(map[string]string{
		"fail-after": "was applied but failed for its caller", "hang": "hung until its deadline", "late": "timed out for its caller",
		refused: "arrived late and was refused", arrived: "arrived late and was applied",
		cutRedis: "was cut off from Redis", cutNATS: "was cut off from NATS", cutKernel: "was cut off from the safety kernel",
		repeated: "was refused", fencedLock: "was refused", fencedState: "was refused",
	}[f.fault], "failed")
	why := map[string]string{repeated: ": the stream had stored one of this epoch already", fencedLock: ": the lock was no longer its writer's", fencedState: ": the record had moved on"}[f.fault]
	if f.n == 1 {
		return fmt.Sprintf("%s at %s%s", how, at(f.first), why)
	}
	return fmt.Sprintf("%s %d times, first at %s%s", how, f.n, at(f.first), why)
}
