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

// safely has what a person decides on an entry outlast a failover before it is said to be decided.
func (r *Replayer) safely(ctx context.Context, jobID string, decide func() error) error {
	if r.Safe == nil {
		return decide()
	}
	safe := r.Safe(ctx, jobID)
	if err := decide(); err != nil {
		return err
	}
	if err := safe(ctx); err != nil {
		return fmt.Errorf("what was decided on %s may be lost; look at it, and decide again if it is: %w", jobID, err)
	}
	return nil
}

// Approve lets an entry be replayed that waits for it: at once, and by whoever ticks next.
func (r *Replayer) Approve(ctx context.Context, jobID string, who Person) error {
	return r.safely(ctx, jobID, func() error { return r.approve(ctx, jobID, who) })
}

func (r *Replayer) approve(ctx context.Context, jobID string, who Person) error {
	was, err := r.look(ctx, jobID)
	if err != nil {
		return err
	}
	d := r.Stands(&was.Entry)
	own := untriaged(&was.Entry) && d.Action == RequireApproval
	if was.ReplayStatus != AwaitingApproval && !own {
		return refused("the entry of %s waits for no approval: it is %s", jobID, was.ReplayStatus)
	}
	if err := r.within(&was.Entry, d); err != nil {
		return err
	}
	if err := r.permit(ctx, &was.Entry, who, d.ApproverGroup, "approve its replay"); err != nil {
		return err
	}
	if own {
		was.ReplayReason = d.said()
	}
	return r.decided(ctx, was, r.goes(was, audit.Event{Kind: EventApproved, Reason: was.ReplayReason, By: who.Name}))
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
	return r.safely(ctx, jobID, func() error { return r.mend(ctx, jobID, payload, who) })
}

func (r *Replayer) mend(ctx context.Context, jobID string, payload json.RawMessage, who Person) error {
	was, err := r.look(ctx, jobID)
	if err != nil {
		return err
	}
	d := r.Stands(&was.Entry)
	own := untriaged(&was.Entry) && d.Action == Quarantine
	switch {
	case was.Status == StatusTerminated:
		return refused("the entry of %s is about a message that is no job: there is no payload to mend", jobID)
	case was.ReplayStatus != Quarantined && !own:
		return refused("the entry of %s is not quarantined: it is %s", jobID, was.ReplayStatus)
	case !json.Valid(payload):
		return refused("the payload is not JSON")
	}
	if err := r.within(&was.Entry, d); err != nil {
		return err
	}
	if err := r.permit(ctx, &was.Entry, who, d.Owner, "mend it"); err != nil {
		return err
	}
	c := r.goes(was, audit.Event{Kind: EventMended, Reason: "with another payload", By: who.Name})
	c.to.Payload, c.to.ReplayReason = string(payload), "mended by "+who.Name
	if !own {
		c.to.Action = d.Action
	}
	return r.decided(ctx, was, c)
}

// Deny ends the matter of an entry that has not been replayed. If the policy names who approves it, only they may do so, and
// else its owner, if there is one.
func (r *Replayer) Deny(ctx context.Context, jobID string, who Person, reason string) error {
	return r.safely(ctx, jobID, func() error { return r.deny(ctx, jobID, who, reason) })
}

func (r *Replayer) deny(ctx context.Context, jobID string, who Person, reason string) error {
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
	if was.Action != "" {
		c.to.Uncounted, c.due = true, r.Clock.Now()
	}
	return r.decided(ctx, was, c)
}

// Replay replays an entry now, as a person wants it, who is who manual_review leaves it to. What is
// quarantined, or waits for its approval, is refused, and what would break max_replays. What schedulers have triaged
// is theirs to replay, at their next tick, by their own look at commits, the ledger and the policy. It
// returns the entry as it is then.
func (r *Replayer) Replay(ctx context.Context, jobID string, who Person) (e Entry, err error) {
	err = r.safely(ctx, jobID, func() error { e, err = r.replayNow(ctx, jobID, who); return err })
	return e, err
}

func (r *Replayer) replayNow(ctx context.Context, jobID string, who Person) (Entry, error) {
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
	switch {
	case was.Action == "":
		err = r.replay(ctx, was, who.Name)
	case was.ReplayStatus != Scheduled || was.DecidedBy == "":
		err = r.ask(ctx, was, who)
	}
	if err != nil {
		return was.Entry, err
	}
	return r.Queue.Get(ctx, jobID)
}

// ask leaves the replay that a person wants to the schedulers, unless what it is about has been done. They may have no
// ledger, and the person may bring one.
func (r *Replayer) ask(ctx context.Context, was read, who Person) error {
	if done, err := r.committed(ctx, &was.Entry); err != nil {
		return err
	} else if done != "" {
		return r.alreadyCommitted(ctx, was, done, who.Name)
	}
	c := r.goes(was, audit.Event{Kind: EventAsked, By: who.Name})
	c.to.ReplayReason = "as " + who.Name + " wants it"
	return r.decided(ctx, was, c)
}

// strict orders the actions by how much each keeps a person from replaying an entry.
var strict = map[Action]int{AutoReplay: 0, ManualReview: 1, RequireApproval: 2, Quarantine: 3}

// Stands is what goes for an entry. Once the schedulers have triaged it, that is what they have made of it, and a person's
// policy may only be stricter; else it is what the policy at hand makes of it, or the default of its class.
func (r *Replayer) Stands(e *Entry) Decision {
	own := r.Decide(e)
	if e.Action == "" || e.Run != "" {
		return own
	}
	d := Decision{
		Action: e.Action, MaxReplays: e.MaxReplays, Owner: e.Owner, ApproverGroup: e.ApproverGroup,
		Class: own.Class, Why: cmp.Or(e.ReplayReason, "So the schedulers have triaged it."),
	}
	if e.ReplayStatus == Quarantined {
		d.Action = Quarantine
	}
	if own.Rule > 0 && strict[own.Action] > strict[d.Action] {
		d.Action, d.Rule, d.Why = own.Action, own.Rule, own.Why
	}
	if own.MaxReplays > 0 {
		d.MaxReplays = min(own.MaxReplays, r.limit(d))
	}
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
		if e.DecidedBy != "" {
			return nil
		}
	}
	d := r.Stands(e)
	switch {
	case e.Action != "" && d.Rule > 0 && d.Action != ManualReview:
		return refused("your own policy is against a replay of %s: %s. %s", e.JobID, d.Action, d.Why)
	case d.Action == Quarantine:
		return refused("%s is quarantined; `scheduler dlq mend %s` gives it another payload; or mend what it is about, and have the schedulers' triage policy give its reason_code %s another action. %s", e.JobID, e.JobID, e.ReasonCode, d.Why)
	case d.Action == RequireApproval:
		return refused("the replay of %s needs an approval; `scheduler dlq approve %s` gives it. %s", e.JobID, e.JobID, d.Why)
	}
	return r.within(e, d)
}

// within says that an entry has been replayed as often as it may be, or nil.
func (r *Replayer) within(e *Entry, d Decision) error {
	if limit := r.limit(d); e.ReplayCount >= limit {
		return refused("%s has been replayed %d times, of %d at most; submit the job anew, under another id", e.JobID, e.ReplayCount, limit)
	}
	return nil
}

// untriaged says whether nobody has decided on an entry yet. It is a person's if no scheduler triages.
func untriaged(e *Entry) bool { return e.Action == "" && e.ReplayStatus == PendingReview }

// look reads an entry that a person is to decide on. One that the schedulers are about to triage is theirs until then:
// they say whose it is.
func (r *Replayer) look(ctx context.Context, jobID string) (read, error) {
	ctx = phase.With(ctx, jobID, phase.DLQEntryRead)
	was, err := r.read(ctx, jobID)
	if err == nil && untriaged(&was.Entry) {
		var waits bool
		if waits, err = r.Queue.waits(ctx, jobID); waits {
			err = refused("the schedulers are about to triage %s; try again", jobID)
		}
	}
	return was, err
}

func (r *Replayer) read(ctx context.Context, jobID string) (read, error) {
	was, err := r.Queue.read(ctx, jobID)
	if errors.Is(err, redis.Nil) {
		return read{}, fmt.Errorf("%s: %w", jobID, ErrNoEntry)
	}
	return was, err
}

// Entry returns a job's entry, or ErrNoEntry.
func (r *Replayer) Entry(ctx context.Context, jobID string) (Entry, error) {
	was, err := r.read(phase.With(ctx, jobID, phase.DLQEntryRead), jobID)
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
