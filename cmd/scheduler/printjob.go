package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// printJob prints what there is to say of a job.
func printJob(p *cli.Printer, s *shown, now time.Time) {
	j := &s.Job
	p.Line("%s is %s since %s, %s ago", p.Paint(cli.Bold, j.Job), j.State, j.Since.Format(time.RFC3339), ago(now, j.Since))
	if why := j.why(); why != "" {
		p.Line("  %s", why)
	}
	if hint := waitsFor(j.ending); hint != "" {
		p.Line("  %s", hint)
	}
	if j.State == job.Scheduled {
		printMates(p, s.Known, now)
	}
	printHeard(p, s.Heard, j.Worker, now)
	p.Line("  topic %s, %s%s%s", j.Topic, cli.Plural(j.Attempts, "attempt"), of(", tenant ", j.Tenant), of(", worker ", j.Worker))
	if j.Decision != "" {
		p.Line("  safety kernel: %s%s%s", j.Decision, of(", policy ", j.Snapshot), of(", constraints ", pairsOf(j.Constraints)))
	}
	if j.ApprovedAt != nil {
		p.Line("  approved by %s at %s", j.ApprovedBy, j.ApprovedAt.Format(time.RFC3339))
	}
	deadline := ""
	if j.DeadlineAt != nil {
		deadline = j.DeadlineAt.Format(time.RFC3339)
		if late := j.Since.Sub(*j.DeadlineAt); late >= 0 && j.State.Terminal() && j.State != job.OutputQuarantined { // which follows upon the end
			deadline += fmt.Sprintf(", ended %v past it", roughly(late))
		}
	}
	p.Line("  submitted at %s%s%s", j.SubmittedAt.Format(time.RFC3339), of(", deadline ", deadline), of(", replay of ", j.ReplayOf))
	if j.ResultPtr != "" {
		p.Line("  output in Redis under %s", j.ResultPtr)
	}
	if e := s.Letter; e != nil {
		p.Line("  dead letter: %s; replay: %s%s", e.ReasonCode, e.ReplayStatus, becameOf(*e))
		p.Line("    `%s` shows more about it", cli.Pasteable("scheduler dlq show "+j.Job))
	}
	for _, r := range s.Replays {
		state := string(r.State)
		if r.State == job.Absent {
			state = "without a record"
		}
		p.Line("  replay %s is %s%s", r.Job, state, of(": ", r.why()))
	}
}

// printMates says which workers there are for a job that waits for one.
func printMates(p *cli.Printer, known []knownMate, now time.Time) {
	if len(known) == 0 {
		p.Line("  The schedulers have heard of no worker.")
		return
	}
	p.Line("  The schedulers have heard of:")
	for i, w := range known {
		if i == cli.ShownMax {
			p.Line("    ... and %d more", len(known)-i)
			return
		}
		if w.Stopping {
			p.Line("    %s of pool %s, which reported %s ago that it stops", w.Worker, w.Pool, ago(now, w.Heard))
			continue
		}
		p.Line("    %s of pool %s, %d of %d jobs, %s ago", w.Worker, w.Pool, w.Active, w.Most, ago(now, w.Heard))
	}
}

// printHeard says whether the worker that has a job lives, as far as that is known.
func printHeard(p *cli.Printer, h *heard, worker string, now time.Time) {
	switch {
	case h == nil:
	case h.Last == nil:
		p.Line("  The schedulers' snapshot of %s does not name %s.", h.AsOf.Format(time.RFC3339), worker)
		p.Line("  %s.", orTimeout(worker))
	case now.Sub(*h.Last) > settings.Hardened().WorkerTTL:
		p.Line("  %s has been silent since %s, %s ago, as far as the schedulers have heard.", worker, h.Last.Format(time.RFC3339), ago(now, *h.Last))
		p.Line("  %s.", orTimeout(worker))
	default:
		p.Line("  The schedulers heard of %s %s ago.", worker, ago(now, *h.Last))
	}
}

// why is the reason that is on record, with its code.
func (o *ending) why() string {
	if o.ReasonCode == "" || o.Reason == "" {
		return o.ReasonCode + o.Reason
	}
	return o.ReasonCode + ": " + o.Reason
}

// lookAt is the command that shows what a job needs an approval for.
func lookAt(id string) string { return cli.Pasteable("scheduler approve " + id + " --look") }

// waitsFor says what a job that has not ended waits for, and what can be done about it.
func waitsFor(o ending) string {
	switch o.State {
	case job.Pending:
		return "It waits for a scheduler, or for a decision of its safety kernel; the schedulers' logs say which."
	case job.ApprovalRequired:
		return "It waits for its approval: " + lookAt(o.Job)
	case job.Scheduled:
		return "It waits for a worker; the schedulers' logs say why it has none."
	case job.Dispatched:
		return "It is on its way to its worker."
	case job.Running:
		return "Its worker was given it, and has not reported a result."
	}
	return ""
}

// ago is how long something is past, for people.
func ago(now, then time.Time) time.Duration { return max(0, now.Sub(then)).Round(time.Second) }

// roughly is a duration for people.
func roughly(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}

// of is text after what it is of, or nothing.
func of(what, text string) string {
	if text == "" {
		return ""
	}
	return what + text
}

// pairsOf is labels as a flag takes them.
func pairsOf(labels map[string]string) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, fmt.Sprintf("%s=%s", key, labels[key]))
	}
	return strings.Join(pairs, ",")
}

// orTimeout is what to do about jobs that were dispatched to a worker that is not there.
func orTimeout(id string) string {
	return fmt.Sprintf("Start a worker with --id %s again; otherwise the jobs that it has not executed end TIMEOUT at a tick of the reconciler", id)
}
