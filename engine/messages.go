package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/phase"
)

func (e *Engine) onSubmit(ctx context.Context, msg jetstream.Msg) error {
	var req job.Request
	if err := json.Unmarshal(msg.Data(), &req); err != nil {
		return &bus.Poison{ReasonCode: job.ReasonParseError, Err: err}
	}
	if !utf8.Valid(msg.Data()) { // decoding has replaced it: the request would be another than its submitter's
		return &bus.Poison{ReasonCode: job.ReasonSchemaInvalid, Err: errors.New("the request is not valid UTF-8")}
	}
	return e.HandleJobRequest(ctx, req)
}

func (e *Engine) onResult(ctx context.Context, msg jetstream.Msg) error {
	var res job.Result
	if err := json.Unmarshal(msg.Data(), &res); err != nil {
		return &bus.Poison{ReasonCode: job.ReasonParseError, Err: err}
	}
	if res.Epoch == 0 { // the packet does not say; a header that makes no sense does not either
		res.Epoch, _ = strconv.ParseInt(msg.Headers().Get(job.HeaderEpoch), 10, 64)
	}
	return e.HandleJobResult(ctx, res)
}

func (e *Engine) onCancel(ctx context.Context, msg jetstream.Msg) error {
	var c job.Cancel
	if err := json.Unmarshal(msg.Data(), &c); err != nil {
		return &bus.Poison{ReasonCode: job.ReasonParseError, Err: err}
	}
	return e.HandleJobCancel(ctx, c)
}

func (e *Engine) onHeartbeat(msg *nats.Msg) {
	var h job.Heartbeat
	err := json.Unmarshal(msg.Data, &h)
	if err == nil {
		err = e.HandleHeartbeat(h)
	}
	if err != nil {
		e.log.LogAttrs(context.Background(), slog.LevelWarn, "heartbeat ignored", slog.Any("error", err))
	}
}

// HandleHeartbeat takes a worker's word that it lives. It fails on a heartbeat that makes no sense.
func (e *Engine) HandleHeartbeat(h job.Heartbeat) error {
	if err := h.Validate(); err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	e.registry.Heartbeat(h)
	return nil
}

// recordPoison writes the DLQ entry of a message that can never be handled (Scheduler internals, section 9,
// DLQ-first termination). It goes by the message's place in the stream, where its payload remains: the
// job that the message claims to be about may have an entry of its own. A message whose end was lost comes
// again, and its entry stays as triage has left it.
func (e *Engine) recordPoison(ctx context.Context, msg jetstream.Msg, p *bus.Poison) error {
	md, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("poison message: %w", err)
	}
	place := fmt.Sprintf("%s:%d", md.Stream, md.Sequence.Stream)
	reason, about := p.Err.Error(), place
	if claimed := msg.Headers().Get(job.Header); claimed != "" {
		reason, about = fmt.Sprintf("claims to be about job %q: %v", claimed, p.Err), claimed
	}
	wrote, err := e.dlq.AddOnce(phase.With(ctx, about, phase.DLQWrite), dlq.Entry{
		JobID:        place,
		MessageAt:    md.Timestamp.UnixNano(),
		Topic:        msg.Subject(),
		Status:       dlq.StatusTerminated,
		ReasonCode:   p.ReasonCode,
		Reason:       reason,
		ReplayStatus: dlq.PendingReview,
	})
	switch {
	case err != nil:
		e.metrics.DLQWritesFailed.WithLabelValues(metrics.UnknownTopic).Inc()
	case wrote:
		e.metrics.Replay.Entries.WithLabelValues(dlq.CodeLabel(p.ReasonCode)).Inc()
	}
	return err
}
