package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/recovery"
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
		ids, err := w.replayer.Queue.Due(phase.With(calls, "", phase.DLQRead), stays, e.settings.BatchSize)
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(ids, func(id string) bool { return visited[id] }) // else it is behind all others
		for _, id := range fresh {
			if ctx.Err() != nil {
				return nil
			}
			visited[id] = true
			if err := w.hold(calls); err != nil {
				return err
			}
			stay, err := w.replayer.Visit(calls, id)
			if stay {
				stays++
			}
			if err != nil {
				e.log.LogAttrs(calls, slog.LevelWarn, "dead letter left to a later tick", slog.String("job_id", id), slog.Any("error", err))
			}
			if errors.Is(err, dlq.ErrChanged) {
				err = recovery.Own(err)
			}
			if err := w.health.Saw(err); err != nil {
				return err
			}
		}
		if len(fresh) < e.settings.BatchSize {
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
	r.Policy, r.Ledger, r.Logger = e.triage, e.ledger, e.log
	r.Check = e.checkSafety
	r.Ended = func(entry *dlq.Entry) {
		e.metrics.Replay.Replays.WithLabelValues(entry.ReplayStatus).Inc()
		if entry.ReplayStatus == dlq.Denied {
			e.metrics.Replay.Denied.WithLabelValues(dlq.CodeLabel(entry.ReasonCode)).Inc()
		}
	}
	return r
}
