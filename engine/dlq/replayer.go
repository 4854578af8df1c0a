package dlq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/audit"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

// ReplayerKey is the key of the replay worker's lock.
const ReplayerKey = "cordum:dlq:replayer"

// The kinds of audit event that triage and replay leave.
const (
	EventTriaged     = "dlq_triaged"
	EventReplayed    = "dlq_replayed"
	EventDenied      = "dlq_replay_denied"
	EventCommitted   = "dlq_already_committed"
	EventExhausted   = "dlq_exhausted"
	EventApproved    = "dlq_replay_approved"
	EventAsked       = "dlq_replay_asked" // by a person, of the schedulers
	EventMended      = "dlq_mended"
	EventRefused     = "dlq_refused" // to who is not of the group that the policy names
	EventMismatch    = "dlq_policy_snapshot_mismatch"
	EventGrowth      = "dlq_growth_alert"
	EventGrowthOver  = "dlq_growth_over"
	byWorker         = "replay-worker"
	throttledInWords = "the safety kernel wants to be asked again later"
	unknownInWords   = "whether it has been done is not known yet"
)

// Ledger is the outside system that executions act on.
type Ledger interface {
	// Had says whether what an idempotency key of a tenant stands for has been done.
	Had(ctx context.Context, tenant, idempotencyKey string) (bool, error)
}

// Replayer triages entries, and replays those that the policy and the safety kernel let it. All fields but
// Policy, Ledger and Safe are required. It is safe for concurrent use: a change of an entry is a compare-and-set.
type Replayer struct {
	Queue      *Queue
	Policy     *Policy // nil is the default of each class
	Clock      clockwork.Clock
	Logger     *slog.Logger
	MaxReplays int // of a job, where no rule says how many

	// What can be taken away of it, to see what it is for.
	Triage         bool // go by the policy; without, every entry is replayed, as in any dead-letter queue
	KeepKey        bool // a replay has the idempotency key of its original
	CheckCommitted bool // what has been done after all is not replayed
	CheckPolicy    bool // the safety kernel decides anew
	Atomic         bool // the replay and its entry's update are one MULTI

	// Ledger is asked what has been done of which Redis knows nothing; nil asks nobody.
	Ledger Ledger
	// Request returns what a job asked for. A job without a record is redis.Nil to errors.Is.
	Request func(ctx context.Context, jobID string) (job.Request, error)
	// Create adds to a MULTI that a job is PENDING, as Submit stores it.
	Create func(ctx context.Context, p redis.Pipeliner, req *job.Request) error
	// Publish puts a job before the schedulers. It may be repeated.
	Publish func(ctx context.Context, req *job.Request) error
	// Check is the safety kernel's decision on a job, or safety.ErrUnavailable.
	Check func(ctx context.Context, req *job.Request) (safety.Verdict, error)
	// Wait is the back-off before the n-th replay of a job, from 1.
	Wait func(ctx context.Context, n int) time.Duration
	// Draw is a number by chance, for an id without Atomic.
	Draw func(ctx context.Context) uint64
	// Safe begins a decision of a person's, which stands once confirm returns nil; nil is at once.
	Safe func(ctx context.Context, jobID string) (confirm func(context.Context) error)
	// Ended hears of each outcome, by replay_status, with the entry as it is then.
	Ended func(e *Entry)
}

// Visit does with an entry whatever is next: triage, or its replay once that is due. An entry that it fails at comes again
// after all others that are due. stays says that the entry is where it was among them: somebody has changed it, or that
// could not be written either.
func (r *Replayer) Visit(ctx context.Context, jobID string) (stays bool, err error) {
	err = r.visit(ctx, jobID)
	if err == nil {
		return false, nil
	}
	if errors.Is(err, ErrChanged) { // whoever has changed it has said when it is due
		return true, err
	}
	if late := r.Queue.postpone(phase.With(ctx, jobID, phase.DLQUpdate), jobID); late != nil {
		return true, late // which is the replica's fault, whatever was before
	}
	return false, err
}

func (r *Replayer) visit(ctx context.Context, jobID string) error {
	was, err := r.Queue.read(phase.With(ctx, jobID, phase.DLQEntryRead), jobID)
	if errors.Is(err, redis.Nil) { // it has expired
		return r.Queue.settle(phase.With(ctx, jobID, phase.DLQUpdate), jobID, nil)
	}
	if err != nil {
		return err
	}
	switch was.ReplayStatus {
	case PendingReview, Quarantined, AwaitingApproval:
		return r.triage(ctx, was)
	case Scheduled:
		if was.NextReplayAt > r.Clock.Now().UnixMilli() { // another replica has scheduled it since it was listed as due
			return ErrChanged
		}
		if was.Action == "" { // a person has decided while no scheduler triaged
			was.Action = r.Decide(&was.Entry).Action
		}
		return r.replay(ctx, was, byWorker)
	case Replayed:
		return r.publishAgain(ctx, was)
	case Denied:
		if was.Uncounted {
			c := change{to: was.Entry}
			c.to.Uncounted = false
			return r.decided(ctx, was, c)
		}
	}
	return r.Queue.settle(phase.With(ctx, jobID, phase.DLQUpdate), jobID, was.body)
}

// triage decides what becomes of an entry. One that is where triage leaves it stays as it is.
func (r *Replayer) triage(ctx context.Context, was read) error {
	d := r.Decide(&was.Entry)
	c := change{to: was.Entry, event: audit.Event{Kind: EventTriaged, By: byWorker}}
	c.to.Action, c.to.MaxReplays, c.to.ReplayReason, c.to.NextReplayAt = d.Action, d.MaxReplays, d.said(), 0
	if was.Mismatch != "" {
		c.to.ReplayReason = anotherPolicy(was.Mismatch, was.PolicySnapshot) + "; " + c.to.ReplayReason
	}
	c.to.Owner, c.to.ApproverGroup = d.Owner, d.ApproverGroup
	if limit := r.limit(d); was.ReplayCount >= limit && (d.Action == AutoReplay || d.Action == RequireApproval) {
		return r.end(ctx, was, Exhausted, fmt.Sprintf("%d of its %d replays have been had", was.ReplayCount, limit), EventExhausted, byWorker)
	}
	var unknown error
	switch d.Action {
	case AutoReplay:
		at := r.Clock.Now().Add(r.Wait(phase.With(ctx, was.JobID, phase.DLQUpdate), was.ReplayCount+1))
		c.to.ReplayStatus, c.to.NextReplayAt, c.due = Scheduled, at.UnixMilli(), at
	case ManualReview:
		var by string
		if by, unknown = r.committed(ctx, &was.Entry); by != "" {
			return r.alreadyCommitted(ctx, was, by, byWorker)
		}
		if unknown != nil { // a person may decide meanwhile
			c.to.ReplayReason += "; " + unknownInWords
			c.due = r.Clock.Now()
		}
		fallthrough
	default:
		c.to.ReplayStatus = d.status()
	}
	c.event.Reason = c.to.ReplayReason
	switch {
	case c.to != was.Entry:
		return cmp.Or(r.decided(ctx, was, c), unknown)
	case unknown != nil:
		return unknown
	}
	return r.Queue.settle(phase.With(ctx, was.JobID, phase.DLQUpdate), was.JobID, was.body)
}

// replay makes a job of an entry: unless what it is about has been done, or the safety kernel denies it.
func (r *Replayer) replay(ctx context.Context, was read, by string) error {
	at := func(p phase.Phase) context.Context { return phase.With(ctx, was.JobID, p) }
	orig, err := r.Request(at(phase.DLQEntryRead), was.JobID)
	if errors.Is(err, redis.Nil) {
		return r.end(ctx, was, Quarantined, "its job's record is gone, and with it what was asked for", EventTriaged, byWorker)
	}
	if err != nil {
		return err
	}
	if workflow.StepOf(&orig) != "" {
		run := orig.WorkflowID
		if by != byWorker {
			return refused("%s is not replayed. %s", was.JobID, stepOf(run))
		}
		was.Run, was.Action = run, ManualReview // the entry is older than what says so
		return r.end(ctx, was, PendingReview, stepOf(run), EventTriaged, byWorker)
	}
	req := r.request(at(phase.DLQUpdate), orig, &was.Entry)
	if err := req.Validate(); err != nil {
		return r.end(ctx, was, Quarantined, "its replay cannot be submitted: "+err.Error(), EventTriaged, byWorker)
	}
	if done, err := r.committed(ctx, &was.Entry); err != nil {
		return err
	} else if done != "" {
		return r.alreadyCommitted(ctx, was, done, by)
	}
	decision := safety.Verdict{Decision: safety.Allow}
	if r.CheckPolicy {
		decision, err = r.Check(ctx, &req)
	}
	switch {
	case err != nil:
		return recovery.Own(fmt.Errorf("policy evaluate: %w", err))
	case decision.Decision == safety.Deny:
		reason := "replay denied by policy"
		if decision.Reason != "" {
			reason += ": " + decision.Reason
		}
		return r.end(ctx, was, Denied, reason, EventDenied, "safety-kernel")
	case decision.Decision == safety.Throttle:
		return recovery.Own(errors.New(throttledInWords))
	}
	changed := mismatch(&was.Entry, &decision)
	if changed != "" && was.Mismatch != decision.Snapshot {
		if c := r.raise(was, decision.Snapshot, changed, by); c.to.Action != AutoReplay {
			return r.decided(ctx, was, c)
		}
	}
	return r.handOver(ctx, was, req, changed, by)
}

// raise is what becomes of an entry on whose replay another policy decides. Who has let it be replayed did so under the
// policy before, so that it is decided on anew.
func (r *Replayer) raise(was read, snapshot, changed, by string) change {
	c := change{to: was.Entry, event: audit.Event{Kind: EventMismatch, Reason: changed, By: by}}
	c.to.Mismatch, c.to.DecidedBy, c.to.NextReplayAt = snapshot, "", 0
	d := r.Decide(&c.to)
	c.event.Reason += "; " + d.said()
	if by != byWorker && d.Action != AutoReplay { // it stays with persons
		d = Decision{}
	}
	c.to.Action, c.to.MaxReplays, c.to.Owner, c.to.ApproverGroup = d.Action, d.MaxReplays, d.Owner, d.ApproverGroup
	c.to.ReplayStatus, c.to.ReplayReason = d.status(), c.event.Reason
	return c
}
