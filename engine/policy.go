package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/audit"
	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// errUnknownGrant says that a job waits for its record, which may hold an approval.
var errUnknownGrant = errors.New("what was decided cannot be read")

// errThrottled says that the kernel wants to be asked again later.
var errThrottled = errors.New("the safety kernel throttles")

// breaker returns the one of a circuit, which all replicas share unless the settings say otherwise.
func (e *Engine) breaker(client redis.UniversalClient, name, prefix string) *safety.Breaker {
	s := &e.settings.Policy
	if !s.SharedBreaker {
		client = nil
	}
	return &safety.Breaker{
		Name: name, Redis: client, Prefix: prefix, Clock: e.clock, Timeout: e.settings.StoreOpTimeout,
		FailBudget: s.CircuitFailBudget, OpenFor: s.CircuitOpenFor, HalfOpenMax: s.CircuitHalfOpenMax, CloseAfter: s.CircuitCloseAfter,
		SharedProbes: s.SharedProbes, Logger: e.log,
	}
}

func circuitState(circuit string, b *safety.Breaker) prometheus.Collector {
	return metrics.CircuitState(circuit, func() float64 {
		return map[safety.State]float64{
			safety.Closed: metrics.CircuitClosed, safety.HalfOpen: metrics.CircuitHalfOpen, safety.Open: metrics.CircuitOpen,
		}[b.Last()]
	})
}

// SafetyCircuit is the state of the circuit to the safety kernel; without one it is closed.
func (e *Engine) SafetyCircuit(ctx context.Context) safety.State {
	if e.safety == nil {
		return safety.Closed
	}
	return e.safety.Breaker.State(ctx)
}

// checkSafety asks the safety kernel about a request; without a kernel every job is allowed. Its error is
// safety.ErrUnavailable to errors.Is.
func (e *Engine) checkSafety(ctx context.Context, req *job.Request) (safety.Verdict, error) {
	if e.safety == nil {
		return safety.Verdict{Decision: safety.Allow}, nil
	}
	v, err := e.safety.Check(ctx, req)
	if err != nil {
		e.metrics.SafetyUnavailable.WithLabelValues(req.Topic).Inc()
	}
	return v, err
}

// admit has the safety kernel decide on a PENDING job, and says whether it goes on (Scheduler internals, section 1).
// A SCHEDULED job has been allowed already; one whose record cannot be read is asked about again, since nobody knows which request
// was allowed. The caller holds the job's lock.
func (e *Engine) admit(ctx context.Context, h *handling) (goes bool, err error) {
	if e.safety == nil || h.rec.State != job.Pending && !h.guessed || e.takesOver(h.req) {
		return true, nil
	}
	v, err := e.checkSafety(ctx, h.req)
	if err != nil {
		return e.undecided(ctx, h, err)
	}
	if h.guessed && h.rec.State != job.Pending && v.Decision != safety.Allow && v.Decision != safety.AllowWithConstraints {
		return false, e.storeRetry(ctx, fmt.Errorf("%w: the safety kernel says %s", errUnknownGrant, v.Decision), phase.StateRead, "")
	}
	decided := store.Decided{Decision: string(v.Decision), Snapshot: v.Snapshot, Constraints: v.Constraints}
	switch v.Decision {
	case safety.Allow, safety.AllowWithConstraints:
		h.decided = &decided
		return true, nil
	case safety.RequireApproval:
		decided.JobHash, decided.Asks = h.req.Hash(), v.Reason
		worth, err := e.approvalOf(ctx, &h.rec, h.req)
		if err != nil {
			return false, e.storeRetry(ctx, err, phase.ApprovalAge, "")
		}
		if worth == approved {
			h.decided = &decided
			return true, nil
		}
		return false, e.awaitApproval(ctx, h, &v, decided)
	case safety.Throttle:
		err := fmt.Errorf("%w: %s", errThrottled, v.Reason)
		return false, RetryAfter(err, e.infrastructureDelay(ctx, e.settings.Policy.ThrottleDelay), phase.SafetyCheck, "")
	}
	return false, e.deny(ctx, h, &v, decided)
}

// undecided puts off a job of which the kernel says nothing, or lets it go on if the fail mode is open
// (Scheduler internals, section 6), which is for a kernel that cannot be reached: one that refuses the question itself has been,
// and the circuit takes it for well. While the circuit is open nobody has been asked, and the delay is that of the
// infrastructure; else it grows with the message's deliveries in any case.
func (e *Engine) undecided(ctx context.Context, h *handling, cause error) (goes bool, err error) {
	s := &e.settings
	if s.Policy.FailMode == settings.FailModeOpen && !safety.AboutRequest(cause) {
		e.metrics.InputFailOpen.WithLabelValues(h.req.Topic).Inc()
		e.logJob(ctx, slog.LevelWarn, "input policy fail-open: safety kernel unreachable", h.req.JobID, h.req.Topic, slog.Any("error", cause))
		h.decided = &store.Decided{Decision: store.FailOpen}
		return true, nil
	}
	delay := e.infrastructureDelay(ctx, s.Policy.OpenDelay)
	if !errors.Is(cause, safety.ErrOpen) {
		random := e.random.Uint64(phase.With(ctx, h.req.JobID, phase.SafetyCheck))
		delay = backoffDelay(max(0, bus.Deliveries(ctx)-1), s.BackoffBase, jitter(random, s.BackoffJitter), s.BackoffMax)
	}
	return false, RetryAfter(cause, delay, phase.SafetyCheck, "")
}

// awaitApproval parks the job until somebody approves it.
func (e *Engine) awaitApproval(ctx context.Context, h *handling, v *safety.Verdict, decided store.Decided) error {
	w := h.move(job.ApprovalRequired)
	w.Decided = &decided
	keep, err := e.keepDecided(h)
	if err != nil {
		return err
	}
	w.Also = together(keep, func(ctx context.Context, p redis.Pipeliner) error {
		return audit.Put(ctx, p, audit.Event{At: e.clock.Now().UnixMilli(), Kind: audit.ApprovalRequired, JobID: h.req.JobID, Reason: v.Reason})
	})
	if err := e.move(ctx, phase.ApprovalWrite, &h.rec, w); err != nil {
		return e.writeRetry(ctx, err, phase.ApprovalWrite, "")
	}
	e.metrics.ApprovalsRequired.WithLabelValues(h.req.Topic).Inc()
	e.logJob(ctx, slog.LevelInfo, "job waits for its approval", h.req.JobID, h.req.Topic,
		slog.String("job_hash", decided.JobHash), slog.String("reason", v.Reason))
	return nil
}

// deny ends the job as DENIED, with its DLQ entry. The record keeps the request that was denied.
func (e *Engine) deny(ctx context.Context, h *handling, v *safety.Verdict, decided store.Decided) error {
	keep, err := e.keepDecided(h)
	if err != nil {
		return err
	}
	f := h.failure(job.ReasonSafetyDenied, v.Reason)
	f.phase, f.to, f.decided, f.also = phase.DeniedWrite, job.Denied, &decided, keep
	return e.fail(ctx, f)
}

// constrained is the request as routing sees it: with the kernel's constraints as labels on top of its own.
func (h *handling) constrained() *job.Request {
	if len(h.rec.Decided.Constraints) == 0 {
		return h.req
	}
	req := *h.req
	req.Labels = maps.Clone(h.req.Labels)
	if req.Labels == nil {
		req.Labels = map[string]string{}
	}
	maps.Copy(req.Labels, h.rec.Decided.Constraints)
	return &req
}
