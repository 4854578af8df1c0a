package recovery

import (
	"context"
	"errors"
	"log/slog"

	"github.com/jonboulle/clockwork"

	"github.com/faultline-sim/faultline/engine/lock"
	"github.com/faultline-sim/faultline/engine/store"
)

// run does a tick at each beat for which it gets the lock, until ctx ends. A tick that has begun sees
// ctx end between two jobs.
func run(ctx context.Context, beat clockwork.Ticker, k *lock.Tick, log *slog.Logger, tick func(ctx context.Context) error, idle func()) {
	warn := func(words string, err error) {
		if err != nil {
			log.LogAttrs(ctx, slog.LevelWarn, words, slog.String("key", k.Key), slog.Any("error", err))
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.Chan():
		}
		calls := context.WithoutCancel(ctx)
		if err := k.Begin(calls); err != nil {
			idle()
			if !errors.Is(err, lock.ErrBusy) {
				warn("tick skipped", err)
			}
			continue
		}
		warn("tick ended early", tick(ctx))
		warn("tick lock kept", k.End(calls))
	}
}

// walk lists jobs by the queries, batch by batch, and gives each of them to visit once, until all have
// been, or the iterations are used up, or ctx ends. What visit says is still there afterwards is
// passed over in the next batch.
func walk(ctx context.Context, s *store.Store, queries []store.Query, size, iterations int, visit func(ctx context.Context, r *store.Record) (stays bool)) error {
	calls := context.WithoutCancel(ctx)
	stays := map[string]bool{} // every job that was listed
	for range iterations {
		lists, err := s.List(calls, size, queries...)
		if err != nil {
			return err
		}
		var fresh []string
		more := false
		for _, list := range lists {
			more = more || len(list) == size
			for _, id := range list {
				if _, again := stays[id]; !again {
					fresh = append(fresh, id)
				}
				stays[id] = true
			}
		}
		records, err := s.ReadAll(calls, fresh)
		if err != nil {
			return err
		}
		for i := range records {
			if ctx.Err() != nil {
				return nil
			}
			stays[records[i].JobID] = visit(calls, &records[i])
		}
		if !more {
			return nil
		}
		for i, list := range lists {
			for _, id := range list {
				if stays[id] {
					queries[i].Skip++
				}
			}
		}
	}
	return nil
}
