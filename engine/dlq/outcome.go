package dlq

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/wavetank-sim/wavetank/engine/audit"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/safety"
)

// Decide is what triage makes of an entry.
func (r *Replayer) Decide(e *Entry) Decision {
	if !r.Triage {
		return Decision{Action: AutoReplay, Class: ClassOf(e.ReasonCode).Name, Why: "Without triage every entry is replayed."}
	}
	return r.Policy.Decide(e)
}

// mismatch says that another policy has decided on a replay than on its original; "" if not.
func mismatch(e *Entry, v *safety.Verdict) string {
	if e.PolicySnapshot == "" || v.Snapshot == "" || v.Snapshot == e.PolicySnapshot {
		return ""
	}
	return anotherPolicy(v.Snapshot, e.PolicySnapshot)
}

func anotherPolicy(now, before string) string {
	return fmt.Sprintf("%s: %s decides, and %s did", codeMismatch, now, before)
}

// committed says who has done what the entry is about: a job that has succeeded or, by the ledger, one that nobody heard
// of; "" is none.
func (r *Replayer) committed(ctx context.Context, e *Entry) (by string, err error) {
	if !r.CheckCommitted || e.IdempotencyKey == "" {
		return "", nil
	}
	ctx = phase.With(ctx, e.JobID, phase.CommittedRead)
	if by, err = r.Queue.Committed(ctx, e.Tenant, e.IdempotencyKey); err != nil || by != "" || r.Ledger == nil {
		return by, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.Queue.Timeout)
	defer cancel()
	had, err := r.Ledger.Had(ctx, job.TenantOf(e.Tenant), e.IdempotencyKey)
	if err != nil {
		return "", recovery.Own(fmt.Errorf("ask the ledger: %w", err))
	}
	if had {
		by = "an execution of which only the ledger knows"
	}
	return by, nil
}

func (r *Replayer) alreadyCommitted(ctx context.Context, was read, done, by string) error {
	return r.end(ctx, was, AlreadyCommitted, "what it is about has been done, by "+done, EventCommitted, by)
}

// end takes an entry to a status in which nothing more is to be done.
func (r *Replayer) end(ctx context.Context, was read, status, reason, event, by string) error {
	c := change{to: was.Entry, event: audit.Event{Kind: event, Reason: reason, By: by}}
	c.to.ReplayStatus, c.to.ReplayReason, c.to.NextReplayAt = status, reason, 0
	if c.to.Action == "" && by == byWorker {
		c.to.Action = r.Decide(&was.Entry).Action
	}
	if c.to == was.Entry {
		return r.Queue.settle(phase.With(ctx, was.JobID, phase.DLQUpdate), was.JobID, was.body)
	}
	return r.decided(ctx, was, c)
}

// decided makes a change of an entry, and tells of it.
func (r *Replayer) decided(ctx context.Context, was read, c change) error {
	if err := r.Queue.apply(phase.With(ctx, was.JobID, phase.DLQUpdate), was, &c); err != nil {
		return err
	}
	r.tell(ctx, &c.to)
	return nil
}

func (r *Replayer) tell(ctx context.Context, e *Entry) {
	r.Ended(e)
	r.Logger.LogAttrs(ctx, slog.LevelInfo, "dead letter", slog.String("job_id", e.JobID), slog.String("topic", e.Topic),
		slog.String("reason_code", e.ReasonCode), slog.String("replay_status", e.ReplayStatus), slog.String("replay_job", e.ReplayJob),
		slog.String("reason", e.ReplayReason))
}

func (r *Replayer) limit(d Decision) int {
	if d.MaxReplays > 0 {
		return d.MaxReplays
	}
	return r.MaxReplays
}

// said is a decision in words.
func (d *Decision) said() string {
	who := ""
	if d.Owner != "" {
		who = ", for " + d.Owner
	}
	if d.ApproverGroup != "" {
		who += ", by " + d.ApproverGroup
	}
	return fmt.Sprintf("%s%s: %s", d.Action, who, d.Why)
}

// status is where triage leaves an entry that is not replayed by itself.
func (d *Decision) status() string {
	switch d.Action {
	case RequireApproval:
		return AwaitingApproval
	case Quarantine:
		return Quarantined
	}
	return PendingReview
}
