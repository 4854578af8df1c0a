package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// ErrUnable says that a tick ended early, since its replica seems not to be able to work.
var ErrUnable = errors.New("one failure after another: this replica may be cut off")

// ErrOwn says that a job was put off for a reason of its own: it would be so on any replica.
var ErrOwn = errors.New("put off for a reason of its own")

// Own makes an error an [ErrOwn], and leaves its words as they are.
func Own(err error) error { return own{err} }

type own struct{ error }

func (o own) Is(target error) bool { return target == ErrOwn }
func (o own) Unwrap() error        { return o.error }

// Health judges by what becomes of one job after another, tick after tick, whether the replica that is at
// them can work at all. The zero Health is good.
type Health struct {
	failed int // jobs in a row
}

// failuresMax ends a tick: one failure may be its job's, and a second with no success between is rather
// the replica's. A job that nobody can bring on makes for every other tick of a replica that has no other.
const failuresMax = 2

// Saw takes in what became of a job, and fails with ErrUnable once the replica seems unable to work. A
// lock or a record in another's hands, and what is ErrOwn, tell nothing of it.
func (h *Health) Saw(err error) error {
	switch {
	case err == nil:
		h.failed = 0
	case errors.Is(err, lock.ErrBusy), errors.Is(err, store.ErrFenced), errors.Is(err, ErrOwn):
	default:
		h.failed++
	}
	if h.failed < failuresMax {
		return nil
	}
	h.failed = 0
	return fmt.Errorf("%w: %w", ErrUnable, err)
}

// Loop does a tick at each beat for which it gets the lock, until ctx ends, and calls idle at those that are
// another's, or left to others. A tick that has begun sees ctx end between two jobs. It fails if its replica
// cannot do what a tick is for, which leaves the next to others: at its lists, or with ErrUnable.
func Loop(ctx context.Context, beat clockwork.Ticker, k *lock.Tick, log *slog.Logger, tick func(ctx context.Context) error, idle func()) {
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
		switch err := k.Begin(calls); {
		case errors.Is(err, lock.ErrBusy), errors.Is(err, lock.ErrRests):
			idle()
			continue
		case err != nil:
			warn("tick skipped", err)
			continue
		}
		err := tick(ctx)
		warn("tick ended early", err)
		warn("tick lock kept", k.End(calls, err == nil))
	}
}

// walker lists jobs, and whatever else one query names, for a tick.
type walker struct {
	store      *store.Store
	lock       *lock.Tick
	log        *slog.Logger
	size       int             // jobs of one query in a batch
	iterations int             // batches in a tick
	again      time.Duration   // how long after the others those with a busy lock are visited once more; 0 is not at all
	clock      clockwork.Clock // for again
	passed     []int           // for each query, how many jobs that stay the last tick has got past, if it did not get to the end

	// What the last query lists are names, and not jobs, if there is a visitor of names. It sees ctx end; a name
	// that it fails at stays.
	named  func(ctx context.Context, name string) error
	health Health
	failed map[string]int // how often what was failed at since a tick last got to its end: it is visited after all others
}

// names says whether the i-th of n queries lists names.
func (w *walker) names(i, n int) bool { return w.named != nil && i == n-1 }

// saw takes in what became of what a walk knows as key.
func (w *walker) saw(key string, err error) error {
	if err != nil {
		if w.failed == nil {
			w.failed = map[string]int{}
		}
		w.failed[key]++
	}
	return w.health.Saw(err)
}

// walk lists jobs by the queries, batch by batch, and gives each of them to visit once, until all have
// been, or the iterations are used up, or ctx ends. What visit says waits rightly, or fails at, is
// passed over in the next batch, and in the next tick if the iterations were used up: otherwise jobs that
// wait rightly could keep the younger ones out for ever. Those whose lock another owner holds are visited
// once more at the end, if again is set. It fails when it cannot list, when the lock is not its own any
// more, and with ErrUnable as soon as visit's errors say so: others wait for the lock.
func (w *walker) walk(ctx context.Context, queries []store.Query, visit visitor) error {
	calls := context.WithoutCancel(ctx)
	for i, n := range w.passed {
		queries[i].Skip = n
	}
	k := &walk{walker: w, visit: visit, stays: map[string]bool{}}
	defer k.warn(ctx)
	var lists [][]string
	for range w.iterations {
		var err error
		if lists, err = w.store.List(calls, w.size, queries...); err != nil {
			return err
		}
		if goes, err := k.batch(ctx, calls, k.news(lists)); err != nil || !goes {
			return err
		}
		more := false
		for i, list := range lists {
			more = more || len(list) == w.size
			for _, id := range list {
				if k.stays[listed{id, w.names(i, len(lists))}.key()] {
					queries[i].Skip++
				}
			}
		}
		if !more {
			break
		}
	}
	slices.SortStableFunc(k.late, func(a, b listed) int { return w.failed[a.key()] - w.failed[b.key()] })
	for late := range slices.Chunk(k.late, w.size) {
		if goes, err := k.batch(ctx, calls, late); err != nil || !goes {
			return err
		}
	}
	if goes, err := k.lookAgain(ctx, calls); err != nil || !goes {
		return err
	}
	w.failed = nil
	w.passed = make([]int, len(queries))
	for i, list := range lists {
		if len(list) == w.size {
			w.passed[i] = queries[i].Skip
		}
	}
	return nil
}

// visitor brings a job on, or says that it waits rightly.
type visitor func(ctx context.Context, r *store.Record) (waits bool, err error)

// walk is what one tick's walk knows.
type walk struct {
	*walker
	visit      visitor
	stays      map[string]bool // what was listed, and whether it stays
	late       []listed        // what was failed at before
	busy       []listed        // whose lock another owner holds
	unreadable []error
}

// listed is a job, or a name, that a query has listed.
type listed struct {
	id   string
	name bool
}

// key is how a walk remembers it. No job's id holds a space.
func (l listed) key() string {
	if l.name {
		return "name " + l.id
	}
	return l.id
}

// warn says which jobs were left alone: nobody takes them up until somebody mends them.
func (k *walk) warn(ctx context.Context) {
	if len(k.unreadable) > 0 {
		k.log.LogAttrs(ctx, slog.LevelError, "jobs left alone: their records cannot be read", slog.Int("jobs", len(k.unreadable)), slog.Any("first", k.unreadable[0]))
	}
}

// news returns what no batch before has listed, without what was failed at before.
func (k *walk) news(lists [][]string) (fresh []listed) {
	for i, list := range lists {
		for _, id := range list {
			l := listed{id, k.names(i, len(lists))}
			_, again := k.stays[l.key()]
			k.stays[l.key()] = true
			switch {
			case again:
			case k.failed[l.key()] > 0:
				k.late = append(k.late, l)
			default:
				fresh = append(fresh, l)
			}
		}
	}
	return fresh
}

// batch visits jobs and names, and says whether the walk goes on: ctx may have ended.
func (k *walk) batch(ctx, calls context.Context, list []listed) (goes bool, err error) {
	var jobs []string
	for _, l := range list {
		if !l.name {
			jobs = append(jobs, l.id)
		}
	}
	records, odd, err := k.store.ReadAll(calls, jobs)
	if err != nil {
		return false, err
	}
	k.unreadable = append(k.unreadable, odd...)
	for i := range records {
		if ctx.Err() != nil {
			return false, nil
		}
		if err := k.lock.Hold(calls); err != nil {
			return false, err
		}
		waits, err := k.visit(calls, &records[i])
		k.stays[records[i].JobID] = waits || err != nil
		if waits {
			continue // nobody was at it
		}
		k.met(listed{id: records[i].JobID}, err)
		if err := k.saw(records[i].JobID, err); err != nil {
			return false, err
		}
	}
	for _, l := range list {
		if !l.name {
			continue
		}
		if ctx.Err() != nil {
			return false, nil
		}
		if err := k.lock.Hold(calls); err != nil {
			return false, err
		}
		err := k.named(ctx, l.id)
		k.stays[l.key()] = err != nil
		k.met(l, err)
		if err := k.saw(l.key(), err); err != nil {
			return false, err
		}
	}
	return true, nil
}

// met notes what is to be visited again.
func (k *walk) met(l listed, err error) {
	if k.again > 0 && errors.Is(err, lock.ErrBusy) {
		k.busy = append(k.busy, l)
	}
}

// lookAgain visits those that were busy once more, and says whether the walk goes on: ctx may have ended.
func (k *walk) lookAgain(ctx, calls context.Context) (goes bool, err error) {
	if len(k.busy) == 0 {
		return true, nil
	}
	select {
	case <-ctx.Done():
		return false, nil
	case <-k.clock.After(k.again):
	}
	busy := k.busy
	k.busy = nil
	for list := range slices.Chunk(busy, k.size) {
		if goes, err := k.batch(ctx, calls, list); err != nil || !goes {
			return goes, err
		}
	}
	return true, nil
}
