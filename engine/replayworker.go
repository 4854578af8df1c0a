package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// startDLQReplayer adds the loop that triages dead letters, if there is to be one.
func (e *Engine) startDLQReplayer(ctx context.Context, loops *errgroup.Group) {
	if !e.settings.Replay.Enabled {
		return
	}
	w := &replayWorker{engine: e, replayer: e.dlqReplayer()}
	k := e.tickLock(dlq.ReplayerKey, phase.DLQLock)
	w.hold = k.Hold
	beat := e.clock.NewTicker(e.settings.PollInterval)
	loops.Go(func() error { defer beat.Stop(); recovery.Loop(ctx, beat, k, e.log, w.tick, w.idle); return nil })
}

// replayWorker does the ticks.
type replayWorker struct {
	engine   *Engine
	replayer *dlq.Replayer
	hold     func(ctx context.Context) error // keeps the tick's lock
	health   recovery.Health
	adopted  bool // the entries of a time before this process are due
}

// idle forgets how the queue has grown, which another replica watches now.
func (w *replayWorker) idle() {
	w.engine.metrics.Replay.Alert.Set(0)
}

// tick looks at how the queue grows, and at each entry that is due. What could not be done with one is
// left to a later tick.
func (w *replayWorker) tick(ctx context.Context) error {
	calls := context.WithoutCancel(ctx)
	e := w.engine
	if err := e.watchGrowth(calls); err != nil {
		return err
	}
	if !w.adopted {
		if err := w.replayer.Queue.Adopt(phase.With(calls, "", phase.DLQRead), e.settings.BatchSize); err != nil {
			return err
		}
		w.adopted = true
	}
	visited, stays := map[string]bool{}, 0
	for range e.settings.MaxIterations {
		ids, err := w.replayer.Due(phase.With(calls, "", phase.DLQRead), stays, e.settings.BatchSize)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if ctx.Err() != nil {
				return nil
			}
			if visited[id] {
				continue
			}
			visited[id] = true
			if err := w.hold(calls); err != nil {
				return err
			}
			err := w.replayer.Visit(calls, id)
			if err != nil {
				if !errors.Is(err, dlq.ErrOwnFault) { // else it is due later
					stays++
				}
				e.log.LogAttrs(calls, slog.LevelWarn, "dead letter left to a later tick", slog.String("job_id", id), slog.Any("error", err))
			}
			if errors.Is(err, dlq.ErrOwnFault) || errors.Is(err, dlq.ErrChanged) {
				err = fmt.Errorf("%w: %w", recovery.ErrOwn, err)
			}
			if err := w.health.Saw(err); err != nil {
				return err
			}
		}
		if len(ids) < e.settings.BatchSize {
			break
		}
	}
	return nil
}

// watchGrowth raises the growth alert, and ends it (Dead letters, next step 3).
func (e *Engine) watchGrowth(ctx context.Context) error {
	s := &e.settings.Replay
	g, err := e.dlq.Growth(phase.With(ctx, "", phase.GrowthRead), s.GrowthWindow, s.GrowthAlert)
	if err != nil {
		return err
	}
	alert := 0.0
	if g.Alert {
		alert = 1
	}
	e.metrics.Replay.Alert.Set(alert)
	if g.Alert == g.Alerting {
		return nil
	}
	reason := fmt.Sprintf("%d new entries within %s; more than %d are too many", g.New, s.GrowthWindow, s.GrowthAlert)
	e.log.LogAttrs(ctx, slog.LevelWarn, "dead letters", slog.Bool("growth_alert", g.Alert), slog.Int("new", g.New), slog.Int("depth", g.Depth))
	return e.dlq.Alarm(phase.With(ctx, "", phase.GrowthWrite), g.Alert, reason)
}

// dlqReplayer is what the worker triages and replays with.
func (e *Engine) dlqReplayer() *dlq.Replayer {
	r := newDLQReplayer(&e.settings, e.store, e.dlq, e.js, e.random)
	r.Policy, r.Logger = e.triage, e.log
	r.Check = e.checkSafety
	r.Ended = func(entry *dlq.Entry) {
		e.metrics.Replay.Replays.WithLabelValues(entry.ReplayStatus).Inc()
		if entry.ReplayStatus == dlq.Denied {
			e.metrics.Replay.Denied.WithLabelValues(entry.ReasonCode).Inc()
		}
	}
	return r
}

// newDLQReplayer is what a scheduler and an operator have in common.
func newDLQReplayer(s *settings.Settings, records *store.Store, queue *dlq.Queue, js jetstream.JetStream, random Random) *dlq.Replayer {
	return &dlq.Replayer{
		Wait: replayWait(s, random), Draw: random.Uint64,
		Publish: func(ctx context.Context, req *job.Request) error {
			packet, err := json.Marshal(req)
			if err != nil {
				return err
			}
			return bus.Publish(ctx, js, bus.Message{Subject: bus.SubjectSubmit, JobID: req.JobID, Body: packet}, s.PublishTimeout)
		},
		Queue: queue, Clock: queue.Clock, MaxReplays: s.Replay.MaxReplays,
		Triage: s.Replay.Triage, KeepKey: s.Replay.KeepKey, CheckCommitted: s.Replay.CheckCommitted,
		CheckPolicy: s.Replay.CheckPolicy, Atomic: s.Replay.Atomic,
		Record: store.JobKey,
		Request: func(ctx context.Context, jobID string) (job.Request, error) {
			rec, err := records.Read(ctx, jobID)
			if err != nil {
				return job.Request{}, err
			}
			req, err := rec.Request()
			if err != nil {
				err = fmt.Errorf("%w: %w", dlq.ErrOwnFault, err)
			}
			return req, err
		},
		Create: func(ctx context.Context, p redis.Pipeliner, req *job.Request) error {
			packet, err := json.Marshal(req)
			if err == nil {
				records.Put(ctx, p, req, packet)
			}
			return err
		},
	}
}

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
