package main

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/worker"
)

// executor does jobs: it takes its time over each.
type executor struct {
	id       string
	work     time.Duration
	failRate float64
	failCode string // the reason code of those
	ledger   *ledger
	log      *slog.Logger
	broken   func(error) // ends the worker: it cannot keep its ledger
	executed atomic.Int64
}

func (x *executor) execute(ctx context.Context, t *worker.Task) worker.Outcome {
	e := execution{
		Job: t.JobID, Epoch: t.Epoch, Tenant: t.Tenant, IdempotencyKey: t.IdempotencyKey, Worker: x.id,
		Seq: t.Seq, Delivered: t.Delivered, Began: time.Now(),
	}
	if !t.Spend(ctx, x.work) {
		return worker.Outcome{Ending: worker.Dropped}
	}
	o := worker.Outcome{Status: job.StatusSucceeded}
	if rand.Float64() < x.failRate {
		o = worker.Outcome{Status: job.StatusFailed, Reason: "the worker was told to fail a share of its jobs", ReasonCode: x.failCode}
	}
	e.Status, e.Ended = o.Status, time.Now()
	if err := x.ledger.record(e); err != nil {
		x.broken(err)
		return worker.Outcome{Ending: worker.Left}
	}
	x.executed.Add(1)
	x.log.Info("executed", slog.String("job_id", t.JobID), slog.Int64("epoch", t.Epoch), slog.String("status", string(e.Status)), slog.Duration("took", e.Ended.Sub(e.Began)))
	return o
}
