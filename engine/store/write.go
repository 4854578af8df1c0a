package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
)

// Write is one move of a job.
type Write struct {
	JobID      string
	Tenant     string    // whose the job is
	From       job.State // as read under the job's lock
	Version    int64     // likewise
	Epoch      int64     // likewise
	Guessed    bool      // From was not read: the job may be in another state after all
	Blind      bool      // with a fence, it is passed by: the move is made over whatever the record holds
	To         job.State
	Reserve    int    // a move to DISPATCHED is made only if the tenant has fewer jobs in flight than this; 0 is no such limit
	Worker     string // who has the job; empty keeps whom the record names, save with To DISPATCHED
	Reason     string // of a failure, in words
	ReasonCode string
	Decided    *Decided                                           // is kept with the move; nil leaves what the record says
	ResultPtr  string                                             // of the job's output; "" keeps what the record says
	Fatal      bool                                               // with To FAILED: the worker called it final
	Enter      *Entry                                             // is put into the outbox with the move
	Leave      bool                                               // the job's entry is taken out of the outbox with the move
	Also       func(ctx context.Context, p redis.Pipeliner) error // adds what belongs to the same MULTI; may be nil
}

// Written is what a write left in the record.
type Written struct {
	Attempts int // counted by a move to SCHEDULED; 0 for other moves
	Version  int64
	Epoch    int64 // with epochs: the one that DISPATCHED minted, or that SCHEDULED found; else what the write said
}

// Write makes the move in one MULTI..EXEC. A move to SCHEDULED counts an attempt; with epochs, one to
// DISPATCHED mints the next epoch. A move that the table does not hold is ErrTransition, one that the
// fence stopped ErrFenced, and one for which the tenant has no slot ErrTenantFull: those touch nothing.
// After any other error the move may have been made or not.
func (s *Store) Write(ctx context.Context, w Write) (Written, error) {
	return s.write(ctx, w, nil)
}

func (s *Store) write(ctx context.Context, w Write, more func(p redis.Pipeliner, nowMS int64)) (Written, error) {
	key := JobKey(w.JobID)
	if !job.CanMove(w.From, w.To) {
		return Written{}, fmt.Errorf("%s from %q to %q: %w", key, w.From, w.To, ErrTransition)
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	var out Written
	var err error
	done := s.watched(true)
	if s.Fence && !w.Blind || w.Reserve > 0 {
		err = s.fenced(ctx, w, s.Fence, func(tx *redis.Tx, read Write) (err error) {
			out, err = s.move(ctx, tx, key, read, more)
			return err
		})
	} else {
		out, err = s.move(ctx, s.Redis, key, w, more)
	}
	done(err)
	if err != nil {
		s.Cache.forget(w.JobID) // the move may have been made or not
		return Written{}, fmt.Errorf("write %s to %s: %w", w.To, key, err)
	}
	s.Cache.wrote(&w, out.Attempts)
	return out, nil
}

// watchTries is how often a WATCH is repeated while others write its key: a submission, an approval, or a write that is to get a
// slot of its tenant.
const watchTries = 5

// retried calls fn in a WATCH of key, and again if that has changed meanwhile.
func (s *Store) retried(ctx context.Context, key string, fn func(tx *redis.Tx) error) (err error) {
	for range watchTries {
		if err = s.Redis.Watch(ctx, fn, key); !errors.Is(err, redis.TxFailedErr) {
			break
		}
	}
	return err
}

// fenced has fn change something only if the record is still what the writer read, and the lock that ctx holds
// is still its own; without fence, no more than Reserve stops it. A renewal of the lock between the look and the EXEC stops
// it too. With Reserve the tenant's set is part of it: others that come and go there do not stop the change at once.
func (s *Store) fenced(ctx context.Context, w Write, fence bool, fn func(tx *redis.Tx, read Write) error) error {
	var watched []string
	var held *lock.Lock
	tries := 1
	if fence {
		watched = append(watched, JobKey(w.JobID))
	}
	if s.Fence {
		held = lock.Held(ctx)
	}
	if w.Reserve > 0 {
		watched = append(watched, tenantKey(w.Tenant))
		tries = watchTries
	}
	for range tries {
		err := lock.Watch(ctx, s.Redis, held, watched, func(tx *redis.Tx) error {
			read, err := s.look(ctx, tx, held, w, fence)
			if err != nil {
				return err
			}
			return fn(tx, read)
		})
		if !errors.Is(err, lock.ErrNotOwner) {
			return err
		}
	}
	return ErrFenced
}

// look compares the record with what w says was read, if there is a fence, and the lock's key with its token. For a
// guessed state it fills in the rest. Before that it sees whether the tenant has a slot.
func (s *Store) look(ctx context.Context, tx *redis.Tx, held *lock.Lock, w Write, fence bool) (Write, error) {
	var record *redis.SliceCmd
	var mine func() error
	var count *redis.IntCmd
	var member *redis.BoolCmd
	_, err := tx.Pipelined(ctx, func(p redis.Pipeliner) error {
		record = p.HMGet(ctx, JobKey(w.JobID), fieldState, fieldVersion, fieldEpoch)
		mine = held.Mine(ctx, p)
		if w.Reserve > 0 {
			count, member = p.SCard(ctx, tenantKey(w.Tenant)), p.SIsMember(ctx, tenantKey(w.Tenant), w.JobID)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) { // the lock's key may be gone
		return w, err
	}
	if w.Reserve > 0 && full(count, member, w.Reserve) {
		return w, ErrTenantFull
	}
	if !fence {
		return w, nil
	}
	word := func(i int) string { s, _ := record.Val()[i].(string); return s }
	version, err := parseCount(word(1))
	if err != nil {
		return w, fmt.Errorf("version: %w", err)
	}
	epoch, err := parseCount(word(2))
	if err != nil {
		return w, fmt.Errorf("epoch: %w", err)
	}
	switch {
	case mine() != nil,
		job.State(word(0)) != w.From,
		!w.Guessed && (version != w.Version || epoch != w.Epoch):
		return w, ErrFenced
	}
	w.Version, w.Epoch = version, epoch
	return w, nil
}

// move makes the move, whatever the record holds; within a WATCH it is a compare-and-set.
func (s *Store) move(ctx context.Context, client redis.Cmdable, key string, w Write, more func(p redis.Pipeliner, nowMS int64)) (Written, error) {
	out := Written{Epoch: w.Epoch}
	var attempts, version *redis.IntCmd
	var epoch *redis.SliceCmd
	_, err := client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		now := s.Clock.Now().UnixMilli()
		fields := []any{fieldState, string(w.To), fieldUpdatedAt, now}
		switch {
		case w.To == job.Dispatched || w.Worker != "":
			fields = append(fields, fieldWorker, w.Worker)
		case w.From == job.Dispatched && w.To == job.Scheduled:
			fields = append(fields, fieldWorker, "")
		}
		if s.Epochs && w.To == job.Dispatched {
			out.Epoch++
			fields = append(fields, fieldEpoch, out.Epoch)
		}
		if w.Reason != "" || w.ReasonCode != "" {
			fields = append(fields, fieldReason, w.Reason, fieldReasonCode, w.ReasonCode)
		}
		if w.Decided != nil {
			decided, err := w.Decided.fields()
			if err != nil {
				return err
			}
			fields = append(fields, decided...)
		}
		if w.ResultPtr != "" {
			fields = append(fields, fieldResultPtr, w.ResultPtr)
		}
		if w.Fatal {
			fields = append(fields, fieldFatal, "true")
		}
		p.HSet(ctx, key, fields...)
		version = p.HIncrBy(ctx, key, fieldVersion, 1)
		if w.To == job.Scheduled {
			attempts = p.HIncrBy(ctx, key, fieldAttempts, 1)
			if s.Epochs { // the state may have been guessed, and DISPATCHED is to count on
				epoch = p.HMGet(ctx, key, fieldEpoch)
			}
		}
		if more != nil {
			more(p, now)
		}
		if err := w.attach(ctx, p, now); err != nil {
			return err
		}
		w.reindex(ctx, p, now)
		s.place(ctx, p, &w)
		return nil
	})
	if err != nil {
		return Written{}, err
	}
	out.Version = version.Val()
	if attempts != nil {
		out.Attempts = int(attempts.Val())
	}
	if epoch != nil {
		word, _ := epoch.Val()[0].(string)
		out.Epoch, err = parseCount(word)
	}
	return out, err
}

// Drop takes out of the outbox the entry of a job that was read, if it is not to be published; the caller holds the job's lock. With
// a fence, one who overstayed it leaves the entry, which may be a later dispatch's, and gets ErrFenced.
func (s *Store) Drop(ctx context.Context, rec *Record) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	drop := func(c redis.Cmdable) error {
		_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
			takeOut(ctx, p, rec.JobID)
			return nil
		})
		return err
	}
	var err error
	if s.Fence {
		err = s.fenced(ctx, rec.Move(rec.State), true, func(tx *redis.Tx, _ Write) error { return drop(tx) })
	} else {
		err = drop(s.Redis)
	}
	if err != nil {
		return fmt.Errorf("drop %s from %s: %w", rec.JobID, OutboxKey, err)
	}
	return nil
}

// attach adds to the MULTI what comes and goes with the move.
func (w *Write) attach(ctx context.Context, p redis.Pipeliner, now int64) error {
	if w.Enter != nil {
		if err := w.Enter.put(ctx, p, w.JobID, now); err != nil {
			return err
		}
	}
	if w.Leave {
		takeOut(ctx, p, w.JobID)
	}
	if w.Also != nil {
		return w.Also(ctx, p)
	}
	return nil
}

// reindex moves the job from index to index; one that is over has no deadline left.
func (w *Write) reindex(ctx context.Context, p redis.Pipeliner, now int64) {
	for _, from := range job.States {
		// Where the job came from is unknown, an older entry may be in any index.
		if from != w.To && (from == w.From || w.From == job.Absent || w.Guessed || w.Blind) {
			p.ZRem(ctx, IndexKey(from), w.JobID)
		}
	}
	p.ZAdd(ctx, IndexKey(w.To), redis.Z{Score: float64(now), Member: w.JobID})
	if w.To.Terminal() {
		p.ZRem(ctx, DeadlinesKey, w.JobID)
	}
}
