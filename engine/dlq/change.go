package dlq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/audit"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// DueKey is a sorted set: the entries that the replay worker is to look at, by when, in unix ms.
const DueKey = "dlq:replay:due"

// ErrChanged says that an entry is not what its reader knew any more: nothing was written.
var ErrChanged = errors.New("the entry has changed meanwhile")

// errTaken says that there is a job already of the id that a replay was to have: nothing was written.
var errTaken = errors.New("the replay's id is taken")

// read is an entry as it was read, by which a change of it is a compare-and-set.
type read struct {
	Entry
	body []byte
	ttl  time.Duration // that it has left
}

func (q *Queue) read(ctx context.Context, jobID string) (r read, err error) {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	var body *redis.StringCmd
	var left *redis.DurationCmd
	_, err = q.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		body, left = p.Get(ctx, EntryKey(jobID)), p.PTTL(ctx, EntryKey(jobID))
		return nil
	})
	if err == nil {
		r.body, r.ttl = []byte(body.Val()), max(left.Val(), 0)
		if err = json.Unmarshal(r.body, &r.Entry); err != nil {
			err = recovery.Own(fmt.Errorf("it cannot be read: %w", err))
		}
	}
	if err != nil {
		return read{}, fmt.Errorf("dlq entry of %s: %w", jobID, err)
	}
	return r, nil
}

// change is what is to become of an entry.
type change struct {
	to     Entry
	due    time.Time   // when the replay worker is to look at it again; zero is never
	event  audit.Event // its kind and reason; a kind of "" leaves no trace
	absent string      // a job that must not have a record yet: its replay; "" is none
	undone string      // a key that must not exist yet: of what says that it has been done after all; "" is none
	also   func(ctx context.Context, p redis.Pipeliner) error
}

// note puts an event into the audit trail.
func (q *Queue) note(ctx context.Context, e audit.Event) error {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	e.At = q.Clock.Now().UnixMilli()
	_, err := q.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error { return audit.Put(ctx, p, e) })
	if err != nil {
		return fmt.Errorf("audit trail, about the dlq entry of %s: %w", e.JobID, err)
	}
	return nil
}

// apply makes a change in one MULTI, with its event, if the entry is still what was read. Where the answer is lost it looks
// whether the change was made. The entry names who changed it, so that an equal change of another is not taken for this one.
func (q *Queue) apply(ctx context.Context, was read, c *change) error {
	c.to.ChangedBy = q.By
	body, err := json.Marshal(c.to)
	if err != nil {
		return err
	}
	err = q.write(ctx, was, *c, body)
	if err == nil || errors.Is(err, ErrChanged) || errors.Is(err, errTaken) {
		return err
	}
	if now, unread := q.read(ctx, was.JobID); unread == nil && bytes.Equal(now.body, body) {
		return nil
	}
	return err
}

func (q *Queue) write(ctx context.Context, was read, c change, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	key := EntryKey(was.JobID)
	watched := []string{key}
	if c.absent != "" {
		watched = append(watched, store.JobKey(c.absent))
	}
	if c.undone != "" {
		watched = append(watched, c.undone)
	}
	err := q.Redis.Watch(ctx, func(tx *redis.Tx) error {
		if err := c.unchanged(ctx, tx, key, was.body); err != nil {
			return err
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, key, body, was.ttl)
			if c.due.IsZero() {
				p.ZRem(ctx, DueKey, was.JobID)
			} else {
				p.ZAdd(ctx, DueKey, redis.Z{Score: float64(c.due.UnixMilli()), Member: was.JobID})
			}
			if c.event.Kind != "" {
				c.event.At, c.event.JobID, c.event.ReasonCode = q.Clock.Now().UnixMilli(), was.JobID, was.ReasonCode
				if err := audit.Put(ctx, p, c.event); err != nil {
					return err
				}
			}
			if c.also != nil {
				return c.also(ctx, p)
			}
			return nil
		})
		return err
	}, watched...)
	if errors.Is(err, redis.TxFailedErr) || errors.Is(err, redis.Nil) {
		err = ErrChanged
	}
	if err != nil {
		return fmt.Errorf("dlq entry of %s: %w", was.JobID, err)
	}
	return nil
}

// unchanged compares an entry with what was read, and makes sure that nothing came to be that the change rules out.
func (c *change) unchanged(ctx context.Context, tx *redis.Tx, key string, body []byte) error {
	var now *redis.StringCmd
	var taken *redis.BoolCmd
	var done *redis.IntCmd
	_, err := tx.Pipelined(ctx, func(p redis.Pipeliner) error {
		now = p.Get(ctx, key)
		if c.absent != "" {
			taken = store.Exists(ctx, p, c.absent)
		}
		if c.undone != "" {
			done = p.Exists(ctx, c.undone)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case now.Val() != string(body):
		return ErrChanged
	case taken != nil && taken.Val():
		return errTaken
	case done != nil && done.Val() > 0:
		return ErrChanged // the next visit finds it
	}
	return nil
}

// Due lists entries that the replay worker is to look at, those that are due for longest first; skip passes over so many of
// them.
func (q *Queue) Due(ctx context.Context, skip, limit int) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	ids, err := q.Redis.ZRangeByScore(ctx, DueKey, &redis.ZRangeBy{
		Min: "-inf", Max: strconv.FormatInt(q.Clock.Now().UnixMilli(), 10), Offset: int64(skip), Count: int64(limit),
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", DueKey, err)
	}
	return ids, nil
}

// waits says whether an entry is before the replay worker.
func (q *Queue) waits(ctx context.Context, jobID string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	err := q.Redis.ZScore(ctx, DueKey, jobID).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, fmt.Errorf("look for %s in %s: %w", jobID, DueKey, err)
	}
	return err == nil, nil
}

// settle takes an entry off the replay worker's list, if it is still what was read: whoever has approved it
// meanwhile has put it there anew. No body is an entry that had expired.
func (q *Queue) settle(ctx context.Context, jobID string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	key := EntryKey(jobID)
	err := q.Redis.Watch(ctx, func(tx *redis.Tx) error {
		now, err := tx.Get(ctx, key).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if now != string(body) {
			return ErrChanged
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.ZRem(ctx, DueKey, jobID).Err() })
		return err
	}, key)
	if errors.Is(err, redis.TxFailedErr) {
		err = ErrChanged
	}
	if err != nil {
		return fmt.Errorf("settle %s: %w", jobID, err)
	}
	return nil
}

// postpone puts an entry that is on the replay worker's list behind all that are due.
func (q *Queue) postpone(ctx context.Context, jobID string) error {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	last := redis.ZAddArgs{XX: true, GT: true, Members: []redis.Z{{Score: float64(q.Clock.Now().UnixMilli()), Member: jobID}}}
	if err := q.Redis.ZAddArgs(ctx, DueKey, last).Err(); err != nil {
		return fmt.Errorf("postpone %s: %w", jobID, err)
	}
	return nil
}

// Adopt puts every entry before the replay worker that is not, and of which there may be something to do:
// those of a time when there was none, and those that triage has left to a person who has not decided yet, since the policy
// may be another by now, and name another group.
func (q *Queue) Adopt(ctx context.Context, batch int) error {
	return q.each(ctx, batch, func(ctx context.Context, entries []Entry) error {
		now := float64(q.Clock.Now().UnixMilli())
		var members []redis.Z
		for _, e := range entries {
			switch e.ReplayStatus {
			case PendingReview, Quarantined, AwaitingApproval:
				members = append(members, redis.Z{Score: now, Member: e.JobID})
			case Scheduled:
				members = append(members, redis.Z{Score: max(now, float64(e.NextReplayAt)), Member: e.JobID})
			}
		}
		if len(members) == 0 {
			return nil
		}
		return q.Redis.ZAddNX(ctx, DueKey, members...).Err()
	})
}

// Committed says which job of a tenant has done what an idempotency key stands for; "" is none.
func (q *Queue) Committed(ctx context.Context, tenant, idempotencyKey string) (by string, err error) {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	by, err = q.Redis.Get(ctx, committedKey(tenant, idempotencyKey)).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return by, err
}

// Commit adds to a MULTI that a job has done what its idempotency key stands for.
func (q *Queue) Commit(ctx context.Context, p redis.Pipeliner, tenant, idempotencyKey, jobID string) {
	if idempotencyKey != "" {
		p.Set(ctx, committedKey(tenant, idempotencyKey), jobID, q.TTL)
	}
}

// Also makes a MULTI of its own of what add adds to one.
func (q *Queue) Also(ctx context.Context, add func(ctx context.Context, p redis.Pipeliner) error) error {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	_, err := q.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error { return add(ctx, p) })
	return err
}
