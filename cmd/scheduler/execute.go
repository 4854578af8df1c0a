package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
)

// take does what a dispatch asks for: executes the job, reports its result and acknowledges the
// dispatch, in this order, so that a worker that dies in between does it again.
func (w *executor) take(ctx context.Context, msg jetstream.Msg) {
	var d job.Dispatch
	md, err := msg.Metadata()
	if err == nil {
		err = json.Unmarshal(msg.Data(), &d)
	}
	if err != nil {
		w.log.Error("dispatch refused: it cannot be read", slog.String("subject", msg.Subject()), slog.Any("error", err))
		w.tell("term", msg.Term())
		return
	}
	log := w.log.With(slog.String("job_id", d.JobID), slog.Int64("epoch", d.Epoch))
	if msg.Headers().Get(job.HeaderVoid) != "" {
		log.Info("nothing to do: the dispatch is void")
		w.tell("ack", msg.Ack())
		return
	}
	execute, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	if !w.begin(d, md.Sequence.Stream, end) {
		return
	}
	defer w.finish(md.Sequence.Stream)
	go w.holdOn(execute, msg)

	e := execution{
		Job: d.JobID, Epoch: d.Epoch, IdempotencyKey: d.IdempotencyKey, Worker: w.id,
		Seq: md.Sequence.Stream, Delivered: md.NumDelivered, Began: time.Now(),
	}
	e.Status = w.execute(execute, d)
	e.Ended = time.Now()
	if e.Status == job.StatusCancelled {
		log.Info("dropped: the job is cancelled")
	} else {
		if err := w.ledger.record(e); err != nil {
			w.broken(err)
			return
		}
		w.executed.Add(1)
		log.Info("executed", slog.String("status", string(e.Status)), slog.Duration("took", e.Ended.Sub(e.Began)))
	}
	w.answer(ctx, d, e, msg)
}

// begin says whether an execution may begin: not of a dispatch that is in execution already.
func (w *executor) begin(d job.Dispatch, seq uint64, stop func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, begun := w.begun[seq]; begun {
		return false
	}
	w.begun[seq] = underway{d.JobID, d.Epoch, stop}
	if epoch, told := w.cancelled[d.JobID]; told && d.Epoch <= epoch {
		stop()
	}
	return true
}

func (w *executor) finish(seq uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.begun, seq)
}

// execute is the job's effect on the outside: here, nothing but time.
func (w *executor) execute(ctx context.Context, _ job.Dispatch) job.Status {
	if ctx.Err() != nil {
		return job.StatusCancelled
	}
	timer := time.NewTimer(w.work)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return job.StatusCancelled
	case <-timer.C:
	}
	if rand.Float64() < w.failRate {
		return job.StatusFailed
	}
	return job.StatusSucceeded
}

// holdOn keeps a dispatch from being delivered again while it is in execution.
func (w *executor) holdOn(ctx context.Context, msg jetstream.Msg) {
	tick := time.NewTicker(workerAckWait / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.tell("in progress", msg.InProgress())
		}
	}
}

// answer stores the output, reports the result and acknowledges the dispatch, until all are confirmed.
func (w *executor) answer(ctx context.Context, d job.Dispatch, e execution, msg jetstream.Msg) {
	res := job.Result{JobID: d.JobID, WorkerID: w.id, Status: e.Status, Epoch: d.Epoch}
	if output := w.outputs.of(d); output != "" && e.Status == job.StatusSucceeded {
		stored := w.insist(ctx, "output", d.JobID, func(ctx context.Context) (err error) {
			res.ResultPtr, err = w.outputs.put(ctx, d, e.Seq, output)
			return err
		})
		if !stored {
			return
		}
	}
	header := nats.Header{job.Header: {d.JobID}}
	if d.Epoch > 0 {
		header.Set(job.HeaderEpoch, strconv.FormatInt(d.Epoch, 10))
	}
	if e.Status == job.StatusFailed {
		res.Reason, res.ReasonCode = "the worker was told to fail a share of its jobs", w.failCode
	}
	data, err := json.Marshal(res)
	if err != nil {
		w.log.Error("result not reported", slog.String("job_id", d.JobID), slog.Any("error", err))
		return
	}
	w.insist(ctx, "result", d.JobID, func(ctx context.Context) error {
		_, err := w.js.PublishMsg(ctx, &nats.Msg{Subject: bus.SubjectResult, Data: data, Header: header})
		return err
	})
	w.insist(ctx, "ack", d.JobID, msg.DoubleAck)
}

// insist makes a call again and again until it succeeds, or until workerLastWords after the end of ctx. It says
// whether the call has succeeded.
func (w *executor) insist(ctx context.Context, what, jobID string, call func(context.Context) error) bool {
	last := context.WithoutCancel(ctx)
	taken := servers.Outage{Log: w.log, Fails: what + " not taken; trying again", Over: what + " taken"}
	about := slog.String("job_id", jobID)
	for stopping := false; ; {
		if ctx.Err() != nil && !stopping {
			stopping = true
			var cancel func()
			last, cancel = context.WithTimeout(last, workerLastWords)
			defer cancel()
		}
		attempt, cancel := context.WithTimeout(last, workerFetchWait)
		err := call(attempt)
		cancel()
		if errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			err = nil
		}
		if taken.Says(err, about); err == nil {
			return true
		}
		if pause(last, workerRetry); last.Err() != nil {
			w.log.LogAttrs(ctx, slog.LevelError, what+" given up; the dispatch comes again", about)
			return false
		}
	}
}

func (w *executor) tell(verb string, err error) {
	if err != nil {
		w.log.Warn("acknowledgement failed", slog.String("verb", verb), slog.Any("error", err))
	}
}
