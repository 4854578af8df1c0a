package sim_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// A command that adds nobody to a sorted set has changed nothing, and a score of 0 is a score.
func TestSortedSetsAreReadByTheirMembers(t *testing.T) {
	var changes [][]sim.Change
	observe := func(e *sim.Event) {
		if e.Kind == sim.KindRedis {
			changes = append(changes, append([]sim.Change(nil), e.Changes...))
		}
	}
	_, err := sim.Run(sim.Config{Seed: 1, Observe: observe}, func(w *sim.World) error {
		w.Node("n", func(p *sim.Process) {
			ctx, r := p.Context(), p.Redis()
			r.ZAdd(ctx, "due", redis.Z{Score: 0, Member: "a"})
			r.ZAddXX(ctx, "due", redis.Z{Score: 7, Member: "b"})
			r.ZAddXX(ctx, "due", redis.Z{Score: 8, Member: "a"})
			r.ZAdd(ctx, "due", redis.Z{Score: 0, Member: "a"})
			r.ZRem(ctx, "due", "b")
			r.ZRem(ctx, "due", "a")
			r.ZAddXX(ctx, "due", redis.Z{Score: 9, Member: "a"})
		}).Start()
		w.Step(time.Minute, nil)
		return w.CheckTruth()
	})
	require.NoError(t, err)
	at := func(score string) []sim.Change { return []sim.Change{{Key: "due", Field: "a", Value: score}} }
	assert.Equal(t, [][]sim.Change{at("0"), nil, at("8"), at("0"), nil, {{Key: "due", Field: "a", Gone: true}}, nil}, changes)
}

// A write of what was there already is a change, as another writer could not tell it from one of
// anything else; a write that the server refused is none, whoever hears of it.
func TestAWriteThatTheServerRefusedChangesNothing(t *testing.T) {
	changes := map[string][]sim.Change{}
	observe := func(e *sim.Event) {
		if e.Kind == sim.KindRedis && e.Name != "watch" {
			changes[e.Name+": "+e.Outcome] = append([]sim.Change(nil), e.Changes...)
		}
	}
	_, err := sim.Run(sim.Config{Seed: 1, Observe: observe}, func(w *sim.World) error {
		w.Node("n", func(p *sim.Process) {
			ctx, r := p.Context(), p.Redis()
			r.HSet(ctx, "job", "state", "RUNNING")
			r.HSet(ctx, "job", "state", "RUNNING")
			r.HIncrBy(ctx, "job", "state", 1)
			assert.ErrorIs(t, r.Watch(ctx, func(tx *redis.Tx) error {
				r.Set(ctx, "job2", "x", 0)
				r.HMSet(ctx, "job", "version", "7")
				_, err := tx.TxPipelined(ctx, func(q redis.Pipeliner) error {
					q.HSet(ctx, "job", "state", "RUNNING", "by", "n")
					return nil
				})
				return err
			}, "job"), redis.TxFailedErr)
			_, err := r.TxPipelined(ctx, func(q redis.Pipeliner) error {
				q.HSet(ctx, "job", "state", "RUNNING")
				q.HIncrBy(ctx, "job", "state", 1)
				return nil
			})
			assert.ErrorContains(t, err, "not an integer")
		}).Start()
		w.Step(time.Minute, nil)
		return w.CheckTruth()
	})
	require.NoError(t, err)
	same := []sim.Change{{Key: "job", Field: "state", Value: "RUNNING"}}
	notInteger := "ERR value is not an integer or out of range"
	assert.Equal(t, same, changes["hset: ok"])
	assert.Contains(t, changes, "hincrby: "+notInteger)
	assert.Empty(t, changes["hincrby: "+notInteger])
	assert.Contains(t, changes, "multi: redis: transaction failed")
	assert.Empty(t, changes["multi: redis: transaction failed"])
	assert.Equal(t, append(same, same...), changes["multi: "+notInteger], "one of its commands failed; the others did not")
}

// WATCH, MULTI and EXPIRE on a key that has a TTL: nobody else writes, so nothing is refused.
func TestATransactionRenewsTheTTLOfAKeyItWatches(t *testing.T) {
	_, err := sim.Run(sim.Config{Seed: 1}, func(w *sim.World) error {
		w.Node("n", func(p *sim.Process) {
			ctx, r := p.Context(), p.Redis()
			renew := func() error {
				return r.Watch(ctx, func(tx *redis.Tx) error {
					_, err := tx.TxPipelined(ctx, func(q redis.Pipeliner) error {
						q.HSet(ctx, "session", "seen", p.Clock().Now().UnixMilli())
						q.Expire(ctx, "session", time.Minute)
						return nil
					})
					return err
				}, "session")
			}
			assert.NoError(t, renew())
			p.Clock().Sleep(40 * time.Second)
			assert.NoError(t, renew())
		}).Start()
		w.Step(90*time.Second, nil)
		assert.Contains(t, w.Redis(), "session", "its deadline counts from the second EXPIRE")
		w.Step(110*time.Second, nil)
		assert.NotContains(t, w.Redis(), "session")
		return w.CheckTruth()
	})
	require.NoError(t, err)
}

// A transaction that is refused, and a command that fails, give no key another deadline.
func TestAWriteThatTheServerRefusedMovesNoDeadline(t *testing.T) {
	_, err := sim.Run(sim.Config{Seed: 1}, func(w *sim.World) error {
		w.Node("n", func(p *sim.Process) {
			ctx, r := p.Context(), p.Redis()
			for _, key := range []string{"set", "renewed", "bad"} {
				r.Set(ctx, key, "v", time.Minute)
			}
			p.Clock().Sleep(30 * time.Second)
			assert.ErrorIs(t, r.Watch(ctx, func(tx *redis.Tx) error {
				r.Set(ctx, "watched", "x", 0)
				_, err := tx.TxPipelined(ctx, func(q redis.Pipeliner) error {
					q.Set(ctx, "set", "w", time.Hour)
					q.Expire(ctx, "renewed", time.Hour)
					return nil
				})
				return err
			}, "watched"), redis.TxFailedErr)
			assert.Error(t, r.Do(ctx, "expire", "bad", "soon").Err())
		}).Start()
		w.Step(70*time.Second, nil)
		assert.Equal(t, map[string]map[string]string{"watched": {"": "x"}}, w.Redis())
		return w.CheckTruth()
	})
	require.NoError(t, err)
}
