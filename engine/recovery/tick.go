package recovery

import (
	"context"
	"errors"
	"log/slog"

	"github.com/jonboulle/clockwork"

	"github.com/faultline-sim/faultline/engine/lock"
	"github.com/faultline-sim/faultline/engine/store"
)

// Loop does a tick at each beat for which it gets the lock, until ctx ends, and calls idle at the others. A
// tick that has begun sees ctx end between two jobs. It says whether it went well: a replica that cannot do
// what a tick is for leaves the next ones to others.
func Loop(ctx context.Context, beat clockwork.Ticker, k *lock.Tick, log *slog.Logger, tick func(ctx context.Context) (well bool, err error), idle func()) {
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
		well, err := tick(ctx)
		warn("tick ended early", err)
		warn("tick lock kept", k.End(calls, well && err == nil))
	}
}

// Able says whether what became of a job leaves the replica's own health out of doubt. A busy lock is that
// of another, who is well enough to be at the job; any other error may be one that only this replica
// meets: it is cut off from NATS, or knows of no worker.
func Able(err error) bool { return err == nil || errors.Is(err, lock.ErrBusy) }

// walker lists jobs, and whatever else one query names, for a tick.
type walker struct {
	store      *store.Store
	lock       *lock.Tick
	log        *slog.Logger
	size       int   // jobs of one query in a batch
	iterations int   // batches in a tick
	passed     []int // for each query, how many jobs that stay the last tick has got past, if it did not get to the end

	// What the last query lists are names, and not jobs, if there is a visitor of names. It sees ctx end.
	named func(ctx context.Context, name string) (stays bool)
}

// known is how a walk remembers what the i-th of n queries listed. No job's id holds a space.
func (w *walker) known(i, n int, id string) string {
	if w.names(i, n) {
		return "name " + id
	}
	return id
}

// names says whether the i-th of n queries lists names.
func (w *walker) names(i, n int) bool { return w.named != nil && i == n-1 }

// walk lists jobs by the queries, batch by batch, and gives each of them to visit once, until all have
// been, or the iterations are used up, or ctx ends. What visit says is still there afterwards is
// passed over in the next batch, and in the next tick if the iterations were used up: otherwise jobs that
// wait rightly could keep the younger ones out for ever. It fails when it cannot list, and when the
// lock is not its own any more.
func (w *walker) walk(ctx context.Context, queries []store.Query, visit func(ctx context.Context, r *store.Record) (stays bool)) error {
	calls := context.WithoutCancel(ctx)
	for i, n := range w.passed {
		queries[i].Skip = n
	}
	var unreadable []error
	defer func() {
		if len(unreadable) > 0 { // nobody takes them up until somebody mends them
			w.log.LogAttrs(ctx, slog.LevelError, "jobs left alone: their records cannot be read", slog.Int("jobs", len(unreadable)), slog.Any("first", unreadable[0]))
		}
	}()
	stays := map[string]bool{} // every job that was listed
	var lists [][]string
	for range w.iterations {
		var err error
		if lists, err = w.store.List(calls, w.size, queries...); err != nil {
			return err
		}
		var fresh, names []string
		more := false
		for i, list := range lists {
			more = more || len(list) == w.size
			for _, id := range list {
				key := w.known(i, len(lists), id)
				_, again := stays[key]
				stays[key] = true
				switch {
				case again:
				case w.names(i, len(lists)):
					names = append(names, id)
				default:
					fresh = append(fresh, id)
				}
			}
		}
		records, odd, err := w.store.ReadAll(calls, fresh)
		if err != nil {
			return err
		}
		unreadable = append(unreadable, odd...)
		for i := range records {
			if ctx.Err() != nil {
				return nil
			}
			if err := w.lock.Hold(calls); err != nil {
				return err
			}
			stays[records[i].JobID] = visit(calls, &records[i])
		}
		for _, name := range names {
			if ctx.Err() != nil {
				return nil
			}
			if err := w.lock.Hold(calls); err != nil {
				return err
			}
			stays[w.known(len(lists)-1, len(lists), name)] = w.named(ctx, name)
		}
		for i, list := range lists {
			for _, id := range list {
				if stays[w.known(i, len(lists), id)] {
					queries[i].Skip++
				}
			}
		}
		if !more {
			break
		}
	}
	w.passed = make([]int, len(queries))
	for i, list := range lists {
		if len(list) == w.size {
			w.passed[i] = queries[i].Skip
		}
	}
	return nil
}
