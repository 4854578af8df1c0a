package dlq

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/audit"
	"github.com/wavetank-sim/wavetank/engine/phase"
)

// ErrNoEntry says that there is no entry of that id.
var ErrNoEntry = errors.New("no such entry")

// Person is who decides on an entry, by the word of whoever lets people in.
type Person struct {
	Name   string
	Groups []string
}

// ErrOutsider is the ErrRefused of a person who is not of the group that the triage policy names.
var ErrOutsider = fmt.Errorf("%w", ErrRefused)

// permit says why a person may not do with an entry what is for a group, and notes that in the audit trail. Anybody may if
// the group is "".
func (r *Replayer) permit(ctx context.Context, e *Entry, who Person, group, what string) error {
	if group == "" || slices.Contains(who.Groups, group) {
		return nil
	}
	why := fmt.Sprintf("only %s may %s, and %s is not of that group", group, what, who.Name)
	err := r.Queue.note(phase.With(ctx, e.JobID, phase.DLQUpdate), audit.Event{Kind: EventRefused, JobID: e.JobID, ReasonCode: e.ReasonCode, Reason: why, By: who.Name})
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %s: %s", ErrOutsider, e.JobID, why)
}

// Approve lets an entry be replayed that waits for it: at once, and by whoever ticks next.
func (r *Replayer) Approve(ctx context.Context, jobID string, who Person) error {
	was, err := r.look(ctx, jobID)
	if err != nil {
		return err
	}
	d := r.Stands(&was.Entry)
	untriaged := was.ReplayStatus == PendingReview && d.Action == RequireApproval // by nobody, if no scheduler triages
	if was.ReplayStatus != AwaitingApproval && !untriaged {
		return refused("the entry of %s waits for no approval: it is %s", jobID, was.ReplayStatus)
	}
	if limit := r.limit(d); was.ReplayCount >= limit {
		return refused("%s has been replayed %d times, of %d at most; submit the job anew, under another id", jobID, was.ReplayCount, limit)
	}
	if err := r.permit(ctx, &was.Entry, who, d.ApproverGroup, "approve its replay"); err != nil {
		return err
	}
	c := r.goes(was, audit.Event{Kind: EventApproved, Reason: was.ReplayReason, By: who.Name})
	if untriaged {
		c.to.Action, c.to.MaxReplays, c.to.ReplayReason = d.Action, d.MaxReplays, d.said()
		c.event.Reason = c.to.ReplayReason
	}
	return r.decided(ctx, was, c)
}

// goes has an entry replayed at once, as a person has decided.
func (r *Replayer) goes(was read, event audit.Event) change {
	now := r.Clock.Now()
	c := change{to: was.Entry, due: now, event: event}
	c.to.ReplayStatus, c.to.NextReplayAt, c.to.DecidedBy = Scheduled, now.UnixMilli(), event.By
	return c
}

// Mend lets a quarantined entry be replayed with another payload, at once, and by whoever ticks next. Its owner does it, if
// the policy names one.
func (r *Replayer) Mend(ctx context.Context, jobID string, payload json.RawMessage, who Person) error {
	was, err := r.look(ctx, jobID)
	if err != nil {
		return err
	}
	d := r.Stands(&was.Entry)
	untriaged := was.ReplayStatus == PendingReview && d.Action == Quarantine
	switch limit := r.limit(d); {
	case was.Status == StatusTerminated:
		return refused("the entry of %s is about a message that is no job: there is no payload to mend", jobID)
	case was.ReplayStatus != Quarantined && !untriaged:
		return refused("the entry of %s is not quarantined: it is %s", jobID, was.ReplayStatus)
	case !json.Valid(payload):
		return refused("the payload is not JSON")
	case was.ReplayCount >= limit:
		return refused("%s has been replayed %d times, of %d at most; submit the job anew, under another id", jobID, was.ReplayCount, limit)
	}
	if err := r.permit(ctx, &was.Entry, who, d.Owner, "mend it"); err != nil {
		return err
	}
	c := r.goes(was, audit.Event{Kind: EventMended, Reason: "with another payload", By: who.Name})
	c.to.Payload, c.to.Action, c.to.ReplayReason = string(payload), d.Action, "mended by "+who.Name
	return r.decided(ctx, was, c)
}

// Deny ends the matter of an entry that has not been replayed. If the policy names who approves it, only they may do so, and
// else its owner, if there is one.
func (r *Replayer) Deny(ctx context.Context, jobID string, who Person, reason string) error {
	was, err := r.look(ctx, jobID)
	if err != nil {
		return err
	}
	switch was.ReplayStatus {
	case Replayed, Denied, AlreadyCommitted, Exhausted:
		return refused("the entry of %s is %s already", jobID, was.ReplayStatus)
	}
	d := r.Stands(&was.Entry)
	if err := r.permit(ctx, &was.Entry, who, cmp.Or(d.ApproverGroup, d.Owner), "deny its replay"); err != nil {
		return err
	}
	c := change{to: was.Entry, event: audit.Event{Kind: EventDenied, Reason: reason, By: who.Name}}
	c.to.ReplayStatus, c.to.NextReplayAt, c.to.DecidedBy, c.to.ReplayReason = Denied, 0, who.Name, "replay denied by "+who.Name
	if reason != "" {
		c.to.ReplayReason += ": " + reason
	}
	return r.decided(ctx, was, c)
}

// Replay replays an entry now, as a person wants it, who is who manual_review leaves it to. What is
// quarantined, or waits for its approval, is refused, and what would break max_replays; a commit and the
// policy are checked as ever: under another policy than before it may have to wait. It returns the entry as it is then.
func (r *Replayer) Replay(ctx context.Context, jobID string, who Person) (Entry, error) {
	was, err := r.look(ctx, jobID)
	if err != nil {
		return Entry{}, err
	}
	if err := r.may(&was.Entry); err != nil {
		return was.Entry, err
	}
	if d := r.Stands(&was.Entry); d.Action == ManualReview {
		if err := r.permit(ctx, &was.Entry, who, d.Owner, "replay it"); err != nil {
			return was.Entry, err
		}
	}
	if err := r.replay(ctx, was, who.Name); err != nil {
		return was.Entry, err
	}
	return r.Queue.Get(ctx, jobID)
}

// Stands is what goes for an entry: what the policy at hand makes of it or, with none at hand, what the
// schedulers' has made of it; if they have not triaged it yet, the default of its class. The owner and the group that the
// schedulers have noted stay, whatever policy a person brings.
func (r *Replayer) Stands(e *Entry) Decision {
	d := r.Decide(e)
	if r.blind(e) && e.Run == "" {
		d.Action, d.MaxReplays = e.Action, e.MaxReplays
		d.Why = "So the schedulers have triaged it."
		if e.ReplayStatus == Quarantined {
			d.Action = Quarantine
		}
		if e.ReplayReason != "" {
			d.Why = e.ReplayReason
		}
	}
	d.Owner, d.ApproverGroup = cmp.Or(e.Owner, d.Owner), cmp.Or(e.ApproverGroup, d.ApproverGroup)
	return d
}

// may says why an entry may not be replayed by a person, or nil.
func (r *Replayer) may(e *Entry) error {
	if e.Run != "" {
		return refused("%s is not replayed. %s", e.JobID, stepOf(e.Run))
	}
	switch e.ReplayStatus {
	case Replayed:
		return refused("%s has been replayed already, as %s", e.JobID, e.ReplayJob)
	case Denied, AlreadyCommitted, Exhausted:
		return refused("the entry of %s is %s: %s; submit the job anew, under another id, if it is to be done all the same", e.JobID, e.ReplayStatus, e.ReplayReason)
	case AwaitingApproval:
		return refused("the replay of %s waits for its approval; `scheduler dlq approve %s` gives it", e.JobID, e.JobID)
	case Scheduled:
		if e.DecidedBy != "" || r.Policy == nil {
			return nil
		}
	}
	d := r.Stands(e)
	switch d.Action {
	case Quarantine:
		return refused("%s is quarantined; `scheduler dlq mend %s` gives it another payload; or mend what it is about, and give its reason_code %s another action in the triage policy, with --policy. %s", e.JobID, e.JobID, e.ReasonCode, d.Why)
	case RequireApproval:
		return refused("the replay of %s needs an approval; `scheduler dlq approve %s` gives it. %s", e.JobID, e.JobID, d.Why)
	}
	if limit := r.limit(d); e.ReplayCount >= limit {
		return refused("%s has been replayed %d times, of %d at most; submit the job anew, under another id", e.JobID, e.ReplayCount, limit)
	}
	return nil
}

func (r *Replayer) look(ctx context.Context, jobID string) (read, error) {
	was, err := r.Queue.read(phase.With(ctx, jobID, phase.DLQEntryRead), jobID)
	if errors.Is(err, redis.Nil) {
		return read{}, fmt.Errorf("%s: %w", jobID, ErrNoEntry)
	}
	return was, err
}

// Entry returns a job's entry, or ErrNoEntry.
func (r *Replayer) Entry(ctx context.Context, jobID string) (Entry, error) {
	was, err := r.look(ctx, jobID)
	return was.Entry, err
}

// May returns an entry that [Replayer.Replay] would take up, or says why it would not.
func (r *Replayer) May(ctx context.Context, jobID string) (Entry, error) {
	was, err := r.look(ctx, jobID)
	if err == nil {
		err = r.may(&was.Entry)
	}
	return was.Entry, err
}
