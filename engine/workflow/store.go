package workflow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// Keys of workflows (Scheduler internals, section 8).
const (
	LiveKey       = "cordum:wf:runs"         // a sorted set: the runs that are not over, by when they were started, in unix ms
	TimersKey     = "cordum:wf:delay:timers" // a sorted set: workflowID:runID, by the unix second in which it is due
	PollerKey     = "cordum:wf:delay:poller"
	ReconcilerKey = "cordum:workflow-engine:reconciler:default"
)

// RunKey is the key of a run's record.
func RunKey(runID string) string { return "cordum:wf:run:" + runID }

// RunLockKey is the key of a run's lock. No run has it for its record: a run's id has no colon.
func RunLockKey(runID string) string { return "cordum:wf:run:lock:" + runID }

// ErrNotFound says that a run has no record.
var ErrNotFound = fmt.Errorf("no run record: %w", redis.Nil)

// member is how the sorted set of timers names a run.
func (r *Run) member() string { return r.WorkflowID + ":" + r.RunID }

// runOf is the run that a member of the timers names.
func runOf(member string) string {
	_, runID, _ := strings.Cut(member, ":")
	return runID
}

// score is a timer's place in the sorted set: whole seconds, rounded up, so that none is due before its time.
func score(unixMS int64) float64 { return math.Ceil(float64(unixMS) / 1000) }

// Store keeps runs. It is safe for concurrent use.
type Store struct {
	Redis   redis.UniversalClient
	Clock   clockwork.Clock
	Timeout time.Duration // of one operation
	Fence   bool          // a write is a compare-and-set on the version that was read, and on the lock that its context holds
	Durable bool          // runs are started by a timer in Redis

	// Also adds to the MULTI of a run's write what goes with it; may be nil.
	Also func(ctx context.Context, p redis.Pipeliner, r *Run) error
}

// RunTTL is how long the record of a run that is over is kept: as long as a dead letter of one of its jobs, of which it
// tells what came of it (Dead letters).
const RunTTL = 30 * 24 * time.Hour

func (s *Store) op(ctx context.Context, p phase.Phase) (context.Context, context.CancelFunc) {
	return context.WithTimeout(phase.With(ctx, "", p), s.Timeout)
}

// Create stores a run that is to start, unless there is one of that id already, and says whether it did. With it, in the same MULTI, go
// its place among those that are not over, which the reconciler goes by, and a timer that is due at once, which
// the poller of whatever replica comes first fires: once it is stored nothing can lose it.
func (s *Store) Create(ctx context.Context, r Run) (created bool, err error) {
	r.begin(s.Clock.Now())
	data, err := json.Marshal(&r)
	if err != nil {
		return false, fmt.Errorf("run %s: %w", r.RunID, err)
	}
	ctx, cancel := s.op(ctx, phase.RunCreate)
	defer cancel()
	key := RunKey(r.RunID)
	err = s.Redis.Watch(ctx, func(tx *redis.Tx) error {
		n, err := tx.Exists(ctx, key).Result()
		if err != nil || n > 0 {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, key, data, 0)
			p.ZAdd(ctx, LiveKey, redis.Z{Score: float64(r.CreatedAt), Member: r.RunID})
			if s.Durable {
				p.ZAdd(ctx, TimersKey, redis.Z{Score: score(r.CreatedAt), Member: r.member()})
			}
			return nil
		})
		created = err == nil
		return err
	}, key)
	if err != nil && !errors.Is(err, redis.TxFailedErr) { // another start of the same run came between
		return false, fmt.Errorf("create %s: %w", key, err)
	}
	return created, nil
}

// Read returns a run's record. A run without one is ErrNotFound.
func (s *Store) Read(ctx context.Context, runID string) (Run, error) {
	ctx, cancel := s.op(ctx, phase.RunRead)
	defer cancel()
	return s.get(ctx, s.Redis, runID)
}

func (s *Store) get(ctx context.Context, client redis.Cmdable, runID string) (r Run, err error) {
	data, err := client.Get(ctx, RunKey(runID)).Bytes()
	if errors.Is(err, redis.Nil) {
		return r, fmt.Errorf("%s: %w", RunKey(runID), ErrNotFound)
	}
	if err == nil {
		if err = json.Unmarshal(data, &r); err != nil {
			err = recovery.Own(err)
		}
	}
	if err != nil {
		return r, fmt.Errorf("read %s: %w", RunKey(runID), err)
	}
	return r, nil
}

// Write stores a run that was read, as its next version; one that is over leaves the index, and its timers go
// with it. After an error the write may have been made or not, unless it is [store.ErrFenced].
func (s *Store) Write(ctx context.Context, r *Run) error {
	read := r.Version
	r.Version, r.UpdatedAt = read+1, s.Clock.Now().UnixMilli()
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("run %s: %w", r.RunID, err)
	}
	ctx, cancel := s.op(ctx, phase.RunWrite)
	defer cancel()
	key := RunKey(r.RunID)
	if !s.Fence {
		err = s.put(ctx, s.Redis, r, data)
	} else {
		held := lock.Held(ctx)
		err = lock.Watch(ctx, s.Redis, held, []string{key}, func(tx *redis.Tx) error {
			if err := s.look(ctx, tx, held, r.RunID, read); err != nil {
				return err
			}
			return s.put(ctx, tx, r, data)
		})
		if errors.Is(err, lock.ErrNotOwner) {
			err = store.ErrFenced
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return nil
}

// look compares the record with the version that was read, and the lock's key with its token.
func (s *Store) look(ctx context.Context, tx *redis.Tx, held *lock.Lock, runID string, read int64) error {
	now, err := s.get(ctx, tx, runID)
	if err != nil {
		return err
	}
	if now.Version != read {
		return store.ErrFenced
	}
	return held.Mine(ctx, tx)()
}

func (s *Store) put(ctx context.Context, client redis.Cmdable, r *Run, data []byte) error {
	_, err := client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		if r.Over() {
			p.Set(ctx, RunKey(r.RunID), data, RunTTL)
			p.ZRem(ctx, LiveKey, r.RunID)
			p.ZRem(ctx, TimersKey, r.member())
		} else { // it may have left the index, if this writes over what it has not read
			p.Set(ctx, RunKey(r.RunID), data, 0)
			p.ZAdd(ctx, LiveKey, redis.Z{Score: float64(r.CreatedAt), Member: r.RunID})
		}
		if s.Also == nil {
			return nil
		}
		return s.Also(ctx, p, r)
	})
	return err
}

// Live lists runs that are not over, the oldest first: at most limit of them, after skip others.
func (s *Store) Live(ctx context.Context, skip, limit int) ([]string, error) {
	ctx, cancel := s.op(ctx, phase.RunsRead)
	defer cancel()
	ids, err := s.Redis.ZRange(ctx, LiveKey, int64(skip), int64(skip+limit-1)).Result()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", LiveKey, err)
	}
	return ids, nil
}

// List returns all runs, the oldest first: those that are over, too, for as long as they are kept.
func (s *Store) List(ctx context.Context) (list []Run, err error) {
	seen := map[string]bool{} // a scan may name a key twice
	for cursor := uint64(0); ; {
		var keys []string
		if keys, cursor, err = s.scan(ctx, cursor); err == nil {
			keys = slices.DeleteFunc(keys, func(key string) bool {
				again := seen[key]
				seen[key] = true
				return again || strings.HasPrefix(key, RunLockKey(""))
			})
			list, err = s.appendRuns(ctx, list, keys)
		}
		if err != nil {
			return nil, err
		}
		if cursor == 0 {
			break
		}
	}
	slices.SortFunc(list, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.RunID, b.RunID))
	})
	return list, nil
}

func (s *Store) scan(ctx context.Context, cursor uint64) (keys []string, next uint64, err error) {
	ctx, cancel := s.op(ctx, phase.RunsRead)
	defer cancel()
	if keys, next, err = s.Redis.Scan(ctx, cursor, RunKey("*"), 1000).Result(); err != nil {
		return nil, 0, fmt.Errorf("scan %s: %w", RunKey("*"), err)
	}
	return keys, next, nil
}

// appendRuns reads runs, a hundred at once. One that is gone meanwhile is left out.
func (s *Store) appendRuns(ctx context.Context, list []Run, keys []string) ([]Run, error) {
	for batch := range slices.Chunk(keys, 100) {
		values, err := s.values(ctx, batch)
		if err != nil {
			return nil, fmt.Errorf("read runs: %w", err)
		}
		for i, v := range values {
			text, there := v.(string)
			if !there {
				continue
			}
			var r Run
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				return nil, fmt.Errorf("read %s: %w", batch[i], err)
			}
			list = append(list, r)
		}
	}
	return list, nil
}

func (s *Store) values(ctx context.Context, keys []string) ([]any, error) {
	ctx, cancel := s.op(ctx, phase.RunRead)
	defer cancel()
	return s.Redis.MGet(ctx, keys...).Result()
}

// Drop takes a run that has no record out of the index.
func (s *Store) Drop(ctx context.Context, runID string) error {
	ctx, cancel := s.op(ctx, phase.RunsDrop)
	defer cancel()
	return s.Redis.ZRem(ctx, LiveKey, runID).Err()
}

// popScript is the documented one: it lists the timers that are due, and removes them, in one step, so that
// of two who pop at once each timer is one's.
var popScript = redis.NewScript(`local due = redis.call("ZRANGEBYSCORE", KEYS[1], "-inf", ARGV[1], "LIMIT", 0, ARGV[2])
if #due > 0 then
	redis.call("ZREM", KEYS[1], unpack(due))
end
return due`)

// popMax is how many timers are popped at once; Lua's unpack has its limits.
const popMax = 1000

// AddTimer has a run's timer be due at a time, or earlier if it is already: all delays of a run share one.
func (s *Store) AddTimer(ctx context.Context, member string, unixMS int64) error {
	ctx, cancel := s.op(ctx, phase.TimerWrite)
	defer cancel()
	return s.Redis.ZAddLT(ctx, TimersKey, redis.Z{Score: score(unixMS), Member: member}).Err()
}

// RemoveTimer takes a run's timer out.
func (s *Store) RemoveTimer(ctx context.Context, member string) error {
	ctx, cancel := s.op(ctx, phase.TimerRemove)
	defer cancel()
	return s.Redis.ZRem(ctx, TimersKey, member).Err()
}

// PopTimers takes out those that are due, and returns them.
func (s *Store) PopTimers(ctx context.Context) ([]string, error) {
	ctx, cancel := s.op(ctx, phase.TimerPop)
	defer cancel()
	return popScript.Run(ctx, s.Redis, []string{TimersKey}, s.Clock.Now().Unix(), popMax).StringSlice()
}

// Timer is a run's timer, as the sorted set has it.
type Timer struct {
	Member string
	At     time.Time
}

// FutureTimers lists those that are not due yet.
func (s *Store) FutureTimers(ctx context.Context) ([]Timer, error) {
	ctx, cancel := s.op(ctx, phase.TimerRead)
	defer cancel()
	list, err := s.Redis.ZRangeByScoreWithScores(ctx, TimersKey, &redis.ZRangeBy{
		Min: "(" + strconv.FormatInt(s.Clock.Now().Unix(), 10), Max: "+inf",
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", TimersKey, err)
	}
	timers := make([]Timer, len(list))
	for i, z := range list {
		member, _ := z.Member.(string)
		timers[i] = Timer{member, time.Unix(int64(z.Score), 0)}
	}
	return timers, nil
}

// CleanTimers takes out those that have been due for longer than age.
func (s *Store) CleanTimers(ctx context.Context, age time.Duration) error {
	ctx, cancel := s.op(ctx, phase.TimerClean)
	defer cancel()
	until := strconv.FormatInt(s.Clock.Now().Add(-age).Unix(), 10)
	return s.Redis.ZRemRangeByScore(ctx, TimersKey, "-inf", "("+until).Err()
}
