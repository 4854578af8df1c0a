package faults_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

func lateEvents(events []sim.Event) (late []sim.Event) {
	for _, e := range events {
		if e.Kind == sim.KindLate {
			late = append(late, e)
		}
	}
	return late
}

func TestALateWriteIsAppliedWhenItsCallerHasGivenUp(t *testing.T) {
	in, events := world(t, []faults.Fault{{On: on(1, "save", 1), Do: faults.Late, For: 30 * time.Second}}, func(w *sim.World, in *faults.Injector) {
		w.Node("n", func(p *sim.Process) {
			began := w.Now()
			err := write(p, "order-1", "save", "old")
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Less(t, w.Now()-began, time.Second, "it sees the timeout at once")
			assert.NoError(t, write(p, "order-1", "save", "new"), "on another connection")
		}).Start()
		w.Step(10*time.Second, nil)
		assert.Equal(t, "new", w.Redis()["order-1"][""])
		assert.False(t, in.Quiet())
		w.Find("n").Crash()
		w.Step(time.Minute, nil)
		assert.Equal(t, "old", w.Redis()["order-1"][""], "it is on its way, whatever becomes of its sender")
		assert.True(t, in.Quiet())
		assert.NoError(t, w.CheckTruth())
	})
	fired := in.Fired()[0]
	assert.Equal(t, 30*time.Second, fired.Until-fired.At)
	late := lateEvents(events)
	require.Len(t, late, 1)
	e := late[0]
	assert.Equal(t, fired.Until, e.At)
	assert.Equal(t, sim.Event{
		Step: e.Step, At: e.At, Node: "n", Incarnation: 1, Kind: sim.KindLate, Name: "set", Target: "order-1",
		Job: "order-1", Phase: "save", Occurrence: 1, Fault: "late", Outcome: "ok",
	}, e)
}

func TestALateWriteOnDeadlineCountsItsTTLFromItsArrival(t *testing.T) {
	_, events := world(t, []faults.Fault{
		{On: on(1, "lock", 1), Do: faults.Late, For: 30 * time.Second},
		{On: on(2, "lock", 1), Do: faults.Late, For: 30 * time.Second},
	}, func(w *sim.World, _ *faults.Injector) {
		w.Node("n", func(p *sim.Process) {
			for _, job := range []string{"order-1", "order-2"} {
				assert.Error(t, p.Redis().SetNX(tagged(p.Context(), job, "lock"), job, "late", 10*time.Second).Err())
			}
			assert.NoError(t, p.Redis().Set(p.Context(), "order-2", "taken", 0).Err())
		}).Start()
		w.Step(35*time.Second, nil)
		assert.Equal(t, "late", w.Redis()["order-1"][""])
		assert.Equal(t, "taken", w.Redis()["order-2"][""])
		w.Step(50*time.Second, nil)
		assert.NotContains(t, w.Redis(), "order-1")
		assert.NoError(t, w.CheckTruth())
	})
	late := lateEvents(events)
	require.Len(t, late, 2)
	assert.Equal(t, "ok", late[0].Outcome)
	assert.Equal(t, "nil", late[1].Outcome, "SET NX found the key")
}

// A late EXEC meets the server's WATCH check, on the connection that has WATCHed; so it is applied if
// nothing has changed what it has read, and else not.
func TestALateTransactionMeetsWhatItHasWatched(t *testing.T) {
	for name, c := range map[string]struct {
		rival   bool
		outcome string
		want    string
	}{
		"nothing has changed": {false, "ok", "2"},
		"another has written": {true, "nil", "rival"},
	} {
		t.Run(name, func(t *testing.T) {
			_, events := world(t, []faults.Fault{{On: on(1, "save", 1), Do: faults.Late, For: 30 * time.Second}}, func(w *sim.World, _ *faults.Injector) {
				w.Node("n", func(p *sim.Process) {
					ctx := tagged(p.Context(), "order-1", "save")
					assert.NoError(t, p.Redis().HSet(p.Context(), "order-1", "v", 1).Err())
					err := p.Redis().Watch(ctx, func(tx *redis.Tx) error {
						if _, err := tx.HGet(ctx, "order-1", "v").Result(); err != nil {
							return err
						}
						_, err := tx.TxPipelined(ctx, func(q redis.Pipeliner) error {
							q.HSet(ctx, "order-1", "v", 2)
							q.Set(ctx, "other", "x", 0)
							return nil
						})
						return err
					}, "order-1")
					assert.ErrorIs(t, err, context.DeadlineExceeded)
					p.Clock().Sleep(10 * time.Second)
					if c.rival {
						assert.NoError(t, p.Redis().HSet(p.Context(), "order-1", "v", "rival").Err())
					}
					assert.NoError(t, p.Redis().HSet(ctx, "order-2", "v", 1).Err(), "the pool has other connections")
				}).Start()
				w.Step(time.Minute, nil)
				assert.Equal(t, c.want, w.Redis()["order-1"]["v"])
				assert.Equal(t, !c.rival, w.Redis()["other"] != nil)
				assert.NoError(t, w.CheckTruth())
			})
			late := lateEvents(events)
			require.Len(t, late, 1)
			assert.Equal(t, "multi", late[0].Name)
			assert.Equal(t, c.outcome, late[0].Outcome)
		})
	}
}

func TestALatePublish(t *testing.T) {
	in, events := world(t, []faults.Fault{{On: on(1, "publish", 0), Do: faults.Late, For: 30 * time.Second, Times: 2}}, func(w *sim.World, _ *faults.Injector) {
		_, err := w.JetStream().CreateStream(context.Background(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Storage: jetstream.MemoryStorage})
		require.NoError(t, err)
		w.Node("n", func(p *sim.Process) {
			ctx := tagged(p.Context(), "order-1", "publish")
			for _, data := range []string{"first", "second", "third"} {
				buf := []byte(data)
				_, err := p.JetStream().Publish(ctx, "s.x", buf, jetstream.WithExpectLastSequenceForSubject(0, "s.x"))
				copy(buf, "......") // it is its caller's again
				assert.Equal(t, data != "third", errors.Is(err, context.DeadlineExceeded), data)
				p.Clock().Sleep(time.Second)
			}
		}).Start()
		w.Step(time.Minute, nil)
		assert.NoError(t, w.CheckTruth())
		m, err := w.JetStream().Stream(context.Background(), "S")
		require.NoError(t, err)
		got, err := m.GetMsg(context.Background(), 1)
		require.NoError(t, err)
		assert.Equal(t, "third", string(got.Data))
		assert.EqualValues(t, 1, m.CachedInfo().State.Msgs)
	})
	late := lateEvents(events)
	require.Len(t, late, 2)
	for _, e := range late {
		assert.True(t, strings.Contains(e.Outcome, "10071"), "the stream compares when it arrives: %s", e.Outcome)
		assert.Equal(t, "n order-1 publish", e.Node+" "+e.Job+" "+e.Phase)
	}
	assert.Empty(t, in.Unfired())
}

func TestALatePublishIsStored(t *testing.T) {
	var stored []string
	in := faults.NewInjector([]faults.Fault{{On: &faults.Match{Phase: "publish"}, Do: faults.Late, For: time.Minute}}, func(int) string { return "" }, nil)
	_, err := sim.Run(sim.Config{
		Intercept: in.Intercept,
		Tags: func(ctx context.Context) sim.Tags {
			tags, _ := ctx.Value(tagKey{}).(sim.Tags)
			return tags
		},
		Observe: func(e *sim.Event) {
			for _, c := range e.Changes {
				stored = append(stored, string(e.Kind)+" "+e.Node+" "+c.Subject+" "+c.Value+" "+c.Header["Job-Id"])
			}
		},
	}, func(w *sim.World) error {
		_, err := w.JetStream().CreateStream(context.Background(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.MemoryStorage})
		require.NoError(t, err)
		w.Node("n", func(p *sim.Process) {
			_, _ = p.JetStream().Publish(tagged(p.Context(), "order-1", "publish"), "s", []byte("x"))
			w.Find("n").Crash()
		}).Start()
		w.Step(2*time.Minute, nil)
		return w.CheckTruth()
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"late n s x "}, stored)
}

// A run may end before an operation arrives: then the fault has not had its effect.
func TestALateWriteThatHasNotArrived(t *testing.T) {
	world(t, []faults.Fault{
		{On: on(1, "save", 1), Do: faults.Late, For: 30 * time.Second},
		{On: on(2, "save", 1), Do: faults.Late, For: 10 * time.Second, Times: 3},
	}, func(w *sim.World, in *faults.Injector) {
		w.Node("n", func(p *sim.Process) {
			assert.Error(t, write(p, "order-1", "save", "late"))
			assert.Error(t, write(p, "order-2", "save", "late"))
			p.Clock().Sleep(15 * time.Second)
			assert.Error(t, write(p, "order-2", "save", "late"))
		}).Start()
		w.Step(20*time.Second, nil)
		assert.Equal(t, []string{
			"late on save of job 1, by 30s: it had not arrived when the run ended",
			"late on save of job 2, occurrences 1 to 3, by 10s: only 2 of 3 times",
			"late on save of job 2, occurrences 1 to 3, by 10s: 1 of 2 had not arrived when the run ended",
		}, unfired(in))
		w.Step(time.Minute, nil)
		assert.Equal(t, []string{"late on save of job 2, occurrences 1 to 3, by 10s: only 2 of 3 times"}, unfired(in))
	})
}
