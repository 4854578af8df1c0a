package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// Why a job is not approved.
var (
	ErrNotWaiting = errors.New("it does not wait for an approval")
	ErrChanged    = errors.New("it is another request than the one that is to be approved")
)

// Asked is what an approver gets to see of a job.
type Asked struct {
	State   job.State // Absent if there is no such job
	Hash    string    // of the request, which an approval is bound to
	Request job.Request
	Reason  string // why it is to be approved, in words
}

// Look returns what there is to approve.
func (c *Client) Look(ctx context.Context, jobID string) (Asked, error) {
	rec, err := c.store.Read(phase.With(ctx, jobID, phase.ApproveRead), jobID)
	if errors.Is(err, store.ErrNotFound) {
		return Asked{}, nil
	}
	if err != nil {
		return Asked{}, fmt.Errorf("look at %s: %w", jobID, err)
	}
	req, err := rec.Request()
	if err != nil {
		return Asked{}, fmt.Errorf("look at %s: %w", jobID, err)
	}
	return Asked{State: rec.State, Hash: req.Hash(), Request: req, Reason: rec.Decided.Asks}, nil
}

// Approve lets a job in APPROVAL_REQUIRED go on (Scheduler internals, section 1, approval flow): it writes the
// approval into the record and publishes the request again. hash is that of what was looked at; the approval is of
// whatever waits if it is empty. by is who approves, in words. A job that does not wait is ErrNotWaiting, and one
// that has changed ErrChanged. After any other error, approve again: an approval that is written and not published is
// taken up by the schedulers' replayer.
func (c *Client) Approve(ctx context.Context, jobID, hash, by string) error {
	var packet []byte
	safe := c.replica.Since(ctx, jobID)
	err := c.store.Approve(phase.With(ctx, jobID, phase.ApproveWrite), jobID, func(r *store.Record, now time.Time) (store.Grant, []byte, error) {
		if r.State != job.ApprovalRequired {
			return store.Grant{}, nil, fmt.Errorf("it is %s: %w", r.State, ErrNotWaiting)
		}
		req, err := r.Request()
		if err != nil {
			return store.Grant{}, nil, err
		}
		grant := store.Grant{Hash: hash, At: now, By: by}
		switch waits := req.Hash(); {
		case hash == "":
			grant.Hash = waits
		case hash != waits && c.settings.Policy.BindApprovals:
			return store.Grant{}, nil, fmt.Errorf("its hash is %s: %w", waits, ErrChanged)
		}
		labels := maps.Clone(req.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels[job.LabelApprovalGranted], labels[job.LabelApprovalHash] = "true", grant.Hash
		labels[job.LabelApprovedAt], labels[job.LabelApprovedBy] = strconv.FormatInt(grant.At.UnixMilli(), 10), by
		req.Labels = labels
		packet, err = json.Marshal(req)
		return grant, packet, err
	})
	if err != nil {
		return fmt.Errorf("approve %s: %w", jobID, err)
	}
	if err := safe(ctx); err != nil {
		return fmt.Errorf("approve %s: its approval may be lost, give it again: %w", jobID, err)
	}
	err = bus.Publish(phase.With(ctx, jobID, phase.ApprovePublish), c.js,
		bus.Message{Subject: bus.SubjectSubmit, JobID: jobID, Body: packet}, c.settings.PublishTimeout)
	if err != nil {
		return fmt.Errorf("approve %s: it is approved, and its request was not published: %w", jobID, err)
	}
	return nil
}
