package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// approval says what an approval is worth to a request that bears one.
type approval int

const (
	notApproved     approval = iota // it bears none
	approved                        //
	approvedAnother                 // another request was approved, or none
	approvalExpired                 //
)

// approvalOf says what an approval is worth to the request at hand: the record must have one, not too old by the clock of
// Redis, of this very request. Without bind_approvals the request's own word is enough. An error is of the read of the clock.
func (e *Engine) approvalOf(ctx context.Context, rec *store.Record, req *job.Request) (approval, error) {
	s := &e.settings.Policy
	switch {
	case req.Labels[job.LabelApprovalGranted] != "true":
		return notApproved, nil
	case !s.BindApprovals:
		return approved, nil
	case rec.Grant.At.IsZero() || rec.Grant.Hash != req.Hash():
		return approvedAnother, nil
	}
	now, err := e.store.Now(phase.With(ctx, req.JobID, phase.ApprovalAge))
	if err != nil {
		return notApproved, err
	}
	if now.Sub(rec.Grant.At) > s.ApprovalTTL {
		return approvalExpired, nil
	}
	return approved, nil
}

// granted says whether a job that waits for an approval has one, by the request that its record keeps.
func (e *Engine) granted(ctx context.Context, rec *store.Record) (bool, error) {
	req, err := rec.Request()
	if err != nil { // nobody can have approved it
		return false, nil
	}
	worth, err := e.approvalOf(ctx, rec, &req)
	return worth == approved, err
}

// resumeApproved takes a job in APPROVAL_REQUIRED on, if the request at hand has been approved. One that
// is not the request which waits takes its place, and has to be approved itself. The caller holds the job's
// lock.
func (e *Engine) resumeApproved(ctx context.Context, h *handling) (goes bool, err error) {
	worth, err := e.approvalOf(ctx, &h.rec, h.req)
	if err != nil {
		return false, e.storeRetry(ctx, err, phase.ApprovalAge, "")
	}
	switch worth {
	case approved:
		return e.backToPending(ctx, h)
	case approvalExpired:
		e.refuseApproval(ctx, h, metrics.RefusedExpired)
		return false, nil
	case approvedAnother:
		e.refuseApproval(ctx, h, metrics.RefusedChanged)
	}
	hash := h.req.Hash()
	if waits, err := h.rec.Request(); err == nil && waits.Hash() == hash {
		return false, nil
	}
	return false, e.askAgain(ctx, h, hash)
}

func (e *Engine) refuseApproval(ctx context.Context, h *handling, reason string) {
	e.metrics.ApprovalsRefused.WithLabelValues(h.rec.Topic, reason).Inc()
	e.logJob(ctx, slog.LevelWarn, "approval does not count", h.rec.JobID, h.rec.Topic, slog.String("reason", reason))
}

// backToPending writes PENDING, and the approved request with it: whoever takes the job on from its record
// is to dispatch that one.
func (e *Engine) backToPending(ctx context.Context, h *handling) (goes bool, err error) {
	keep, err := e.keep(h)
	if err != nil {
		return false, err
	}
	w := h.move(job.Pending)
	w.Also = keep
	if err := e.move(ctx, phase.ApprovedWrite, &h.rec, w); err != nil {
		return false, e.writeRetry(ctx, err, phase.ApprovedWrite, "")
	}
	e.metrics.ApprovalsGranted.WithLabelValues(h.req.Topic).Inc()
	e.logJob(ctx, slog.LevelInfo, "job approved", h.req.JobID, h.req.Topic, slog.String("by", h.rec.Grant.By))
	return true, nil
}

// keep makes the request at hand the record's, in the MULTI that it is given.
func (e *Engine) keep(h *handling) (func(ctx context.Context, p redis.Pipeliner) error, error) {
	packet, err := json.Marshal(h.req)
	if err != nil {
		return nil, err
	}
	h.rec.Packet, h.rec.Topic, h.rec.Tenant = packet, h.req.Topic, h.req.Tenant
	return func(ctx context.Context, p redis.Pipeliner) error {
		e.store.PutRequest(ctx, p, h.req, packet)
		return nil
	}, nil
}

func (e *Engine) askAgain(ctx context.Context, h *handling, hash string) error {
	packet, err := json.Marshal(h.req)
	if err != nil {
		return err
	}
	if err := e.store.AskAgain(phase.With(ctx, h.req.JobID, phase.AskAgainWrite), h.move(job.ApprovalRequired), h.req, packet, hash); err != nil {
		return e.writeRetry(ctx, err, phase.AskAgainWrite, "")
	}
	e.metrics.ApprovalsRequired.WithLabelValues(h.req.Topic).Inc()
	e.logJob(ctx, slog.LevelWarn, "request has changed, another approval is required", h.req.JobID, h.req.Topic, slog.String("job_hash", hash))
	return nil
}

// asRecorded makes the request at hand the record's: the one that was decided upon, or, where nobody decides, the first that was
// submitted. What came under the same id since is not done.
func (e *Engine) asRecorded(ctx context.Context, h *handling) error {
	if packet, err := json.Marshal(h.req); h.guessed || err == nil && bytes.Equal(packet, h.rec.Packet) {
		return nil
	}
	req, err := h.rec.Request()
	switch {
	case err != nil && h.rec.Decided.Decision == "":
		return nil
	case err != nil:
		return e.storeRetry(ctx, err, phase.StateRead, "")
	case req.Hash() != h.req.Hash():
		e.logJob(ctx, slog.LevelWarn, "request is not the one on record, which is done", h.req.JobID, h.req.Topic)
		h.req = &req
	}
	return nil
}

// keepDecided is keep if the request that the safety kernel has decided upon is not the record's; else nil.
func (e *Engine) keepDecided(h *handling) (func(ctx context.Context, p redis.Pipeliner) error, error) {
	if stored, err := h.rec.Request(); err == nil && stored.Hash() == h.req.Hash() {
		return nil, nil
	}
	return e.keep(h)
}
