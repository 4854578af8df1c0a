package scenarios

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/output"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/sim"
)

// What befalls a job that is no failure of its own operations: the safety kernel does not answer, an approval
// does not count, an output is redacted, a result comes too early.

// putOff is a handling that ended as the safety kernel gave no answer.
type putOff struct {
	at   time.Duration
	open bool // it was not asked, as its circuit was open
}

// refusal is an approval that did not count.
type refusal struct {
	at  time.Duration
	why string
}

// early is a result that was handed back, as its job was not dispatched.
type early struct {
	at    time.Duration
	state string
}

// finding is what the output policy has said of an output.
type finding struct {
	at     time.Duration
	reason string
}

// Why an approval did not count.
const (
	refusedLook    = "the request had changed since the approver looked at it"
	refusedAnother = "it was of another request"
	refusedOld     = "it was too old"
)

// noted takes in what befell a job, as far as no operation of it shows that by itself.
func (r *run) noted(e *sim.Event) {
	if f := r.judge.Fenced(); f.Step == e.Step {
		r.record.fenced(e, f.Job, f.Phase)
	}
	for _, id := range r.crew.refused {
		j := r.record.job(id)
		j.refusals = append(j.refusals, refusal{e.At, refusedLook})
	}
	r.crew.refused = r.crew.refused[:0]
	j := r.record.job(e.Job)
	switch {
	case j == nil:
	case e.Phase == string(phase.LockAcquire):
		j.asked, j.unanswered = false, false
	case e.Phase == string(phase.SafetyCheck):
		j.asked, j.unanswered = true, invariants.AnswerOf(e).Failed()
	case e.Phase == "submit_nak" && (j.State == "" || j.State == string(job.Pending)) && r.plan.Kernel.on():
		if open := !j.asked && r.judge.CircuitOpen(e.Node); open || j.unanswered {
			j.putOff = append(j.putOff, putOff{e.At, open})
		}
	case e.Phase == "submit_ack" && j.State == string(job.ApprovalRequired) && j.consent.sent > 0:
		j.consent.sent--
		why := refusedAnother
		if p := &r.plan.Engine.Policy; p.BindApprovals && e.At > j.consent.granted+p.ApprovalTTL {
			why = refusedOld
		}
		j.refusals = append(j.refusals, refusal{e.At, why})
	}
}

// judgedOutput takes in a finding of the output policy.
func (j *jobRecord) judgedOutput(e *sim.Event, c *sim.Change) {
	var f output.Finding
	if j.redaction == nil && json.Unmarshal([]byte(c.Value), &f) == nil && f.Decision == output.Redact {
		j.redaction = &finding{e.At, f.Reason}
	}
}

// befell tells of all that.
func (j *jobRecord) befell() (all []clause) {
	var open []time.Duration
	for _, p := range j.putOff {
		if p.open {
			open = append(open, p.at)
		}
	}
	switch n := len(open); {
	case n == 1:
		all = append(all, clause{open[0], "it was put off at " + at(open[0]) + ", as the safety kernel's circuit was open"})
	case n > 1:
		all = append(all, clause{open[0], fmt.Sprintf("it was put off %d times from %s to %s, as the safety kernel's circuit was open", n, at(open[0]), at(open[n-1]))})
	}
	if j.undecided > 0 {
		all = append(all, clause{j.undecided, fmt.Sprintf("it went on at %s without a decision of the safety kernel", at(j.undecided))})
	}
	for _, r := range j.refusals {
		all = append(all, clause{r.at, fmt.Sprintf("its approval was refused at %s: %s", at(r.at), r.why)})
	}
	if f := j.redaction; f != nil && j.State == "SUCCEEDED" {
		text := "its output was redacted at " + at(f.at)
		if f.reason != "" {
			text += ": " + f.reason
		}
		all = append(all, clause{f.at, text})
	}
	if n := len(j.early); n > 0 {
		all = append(all, clause{j.early[0].at, fmt.Sprintf("its result came while it was %s and was handed back %s, first at %s", j.early[0].state, times(n), at(j.early[0].at))})
	}
	return all
}

// waited is how long the job was put off, since the safety kernel gave no answer: from its submission until
// it went on.
func (j *jobRecord) waited(end time.Duration) time.Duration {
	if len(j.putOff) == 0 {
		return 0
	}
	for _, p := range j.Path {
		if p.At > j.putOff[len(j.putOff)-1].at {
			return p.At - j.Submitted
		}
	}
	return end - j.Submitted
}
