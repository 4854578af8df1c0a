package engine

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// countReplay notes in an entry which replay of which job its job was, if it was one: of an operator, too,
// where no scheduler replays by itself.
func (e *Engine) countReplay(entry *dlq.Entry, labels map[string]string) {
	if !e.settings.Replay.CarryCount || labels[job.LabelReplayOf] == "" {
		return
	}
	n, err := strconv.Atoi(labels[job.LabelReplayCount])
	if err == nil && n >= 1 {
		entry.ReplayOf, entry.ReplayCount = labels[job.LabelReplayOf], n
	}
}

// commits adds to the MULTI of SUCCEEDED that what the job's idempotency key stands for has been done. Where
// no scheduler replays by itself, only a replay says so.
func (e *Engine) commits(to job.State, rec *store.Record) func(ctx context.Context, p redis.Pipeliner) error {
	if to != job.Succeeded {
		return nil
	}
	req, err := rec.Request()
	if err != nil || !e.settings.Replay.Enabled && req.Labels[job.LabelReplayOf] == "" {
		return nil
	}
	return func(ctx context.Context, p redis.Pipeliner) error {
		e.dlq.Commit(ctx, p, req.Tenant, req.IdempotencyKey, rec.JobID)
		return nil
	}
}

// succeededAfterAll takes in a result of a job that is over: the state stays as it is (Scheduler internals, section
// 1), but a replay must know that what the job is about has been done.
func (e *Engine) succeededAfterAll(ctx context.Context, res *job.Result, rec *store.Record) error {
	add := e.commits(res.Status.State(), rec)
	if add == nil || rec.State == job.Succeeded {
		return nil
	}
	ctx = phase.With(ctx, rec.JobID, phase.CommitWrite)
	if err := e.dlq.Also(ctx, add); err != nil {
		return e.storeRetry(ctx, err, phase.CommitWrite, "")
	}
	return nil
}

// takesOver says whether the decision on a replay's original stands for the replay too, so that nobody is
// asked again.
func (e *Engine) takesOver(req *job.Request) bool {
	return e.settings.Replay.Enabled && !e.settings.Replay.CheckPolicy && req.Labels[job.LabelReplayOf] != ""
}
