package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/output"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/safety"
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

// note is what befell a job, and no operation shows.
type note struct {
	job     string
	fenced  string // the phase of a state write that a fence stopped
	putOff  *putOff
	refused string // an approval, and why
}

// noteOf reads a note from a line of a scheduler's log.
func noteOf(rec slog.Record) (n note, ok bool) {
	var ph, reason string
	var err error
	rec.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "job_id":
			n.job = a.Value.String()
		case "phase":
			ph = a.Value.String()
		case "reason":
			reason = a.Value.String()
		case "error":
			err, _ = a.Value.Any().(error)
		}
		return true
	})
	switch {
	case rec.Message == "state write fenced":
		n.fenced = ph
	case rec.Message == "approval does not count" && reason == metrics.RefusedExpired:
		n.refused = refusedOld
	case rec.Message == "approval does not count":
		n.refused = refusedAnother
	case rec.Message == "retrying later" && ph == string(phase.SafetyCheck) && errors.Is(err, safety.ErrUnavailable):
		n.putOff = &putOff{open: errors.Is(err, safety.ErrOpen)}
	default:
		return n, false
	}
	return n, true
}

// refusedBy is the note of an approver whose attempt failed with err.
func refusedBy(job string, err error) (n note, ok bool) {
	return note{job: job, refused: refusedLook}, errors.Is(err, engine.ErrChanged)
}

// noted takes in a note, at the step that came after it.
func (r *record) noted(e *sim.Event, n note) {
	j := r.job(n.job)
	switch {
	case j == nil:
	case n.fenced != "":
		r.fenced(e, n.job, n.fenced)
	case n.putOff != nil:
		j.putOff = append(j.putOff, putOff{e.At, n.putOff.open})
	default:
		j.refusals = append(j.refusals, refusal{e.At, n.refused})
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
