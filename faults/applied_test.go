package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

// An effect that takes an operation that was applied misses one that failed by itself: it is no strike, and leaves no mark.
func TestAnEffectMissesWhatFailedByItself(t *testing.T) {
	crash := faults.Fault{Do: faults.Crash, Node: faults.Actor, RestartIn: time.Minute}
	after := func(phase string) faults.Fault {
		crash.After = on(1, phase, 1)
		return crash
	}
	for _, f := range []faults.Fault{
		{On: on(1, "publish", 1), Do: faults.FailAfter}, after("publish"),
		{On: on(1, "save", 1), Do: faults.FailAfter},
	} {
		t.Run(f.String(), func(t *testing.T) {
			in, events := world(t, []faults.Fault{{At: 2 * time.Second, Do: faults.Restart, Node: faults.NATS, For: 20 * time.Second}, f}, func(w *sim.World, _ *faults.Injector) {
				w.Node("n", func(p *sim.Process) {
					p.Redis().Set(p.Context(), "order-1", "no hash", 0)
					p.Clock().Sleep(5 * time.Second)
					_, err := p.JetStream().Publish(tagged(p.Context(), "order-1", "publish"), "s", nil)
					assert.Error(t, err)
					assert.ErrorContains(t, p.Redis().HSet(tagged(p.Context(), "order-1", "save"), "order-1", "a", "b").Err(), "WRONGTYPE")
				}).Start()
				w.Step(10*time.Second, nil)
			})
			require.Len(t, in.Fired(), 1, "the restart")
			assert.Equal(t, []string{f.String() + ": never, as the operation failed by itself"}, unfired(in))
			for _, e := range events {
				assert.Empty(t, e.Fault)
			}
		})
	}
}

// What comes right after an operation comes after its refusal, too: the server was asked, and its answer is on its way.
func TestACrashComesAfterARefusal(t *testing.T) {
	crash := faults.Fault{Do: faults.Crash, Node: faults.Actor, After: on(1, "save", 1), RestartIn: time.Hour}
	in, _ := world(t, []faults.Fault{crash}, func(w *sim.World, _ *faults.Injector) {
		w.Node("n", func(p *sim.Process) {
			p.Redis().Set(p.Context(), "order-1", "no hash", 0)
			p.Redis().HSet(tagged(p.Context(), "order-1", "save"), "order-1", "a", "b")
			t.Error("it is dead")
		}).Start()
		w.Step(time.Minute, nil)
	})
	assert.Len(t, in.Fired(), 1)
	assert.Empty(t, in.Unfired())
}

// That there is nothing is an answer, which can be lost.
func TestAnAnswerOfNothingCanBeLost(t *testing.T) {
	in, _ := world(t, []faults.Fault{{On: on(1, "lock", 1), Do: faults.FailAfter}}, func(w *sim.World, _ *faults.Injector) {
		w.Node("n", func(p *sim.Process) {
			p.Redis().Set(p.Context(), "order-1", "theirs", 0)
			err := p.Redis().SetArgs(tagged(p.Context(), "order-1", "lock"), "order-1", "mine", redis.SetArgs{Mode: "NX"}).Err()
			assert.ErrorContains(t, err, "connection reset")
		}).Start()
		w.Step(time.Minute, nil)
	})
	assert.Len(t, in.Fired(), 1)
	assert.Empty(t, in.Unfired())
}

// What cannot be held up, as it sends nothing, is not late.
func TestWhatSendsNothingIsNotLate(t *testing.T) {
	in, events := world(t, []faults.Fault{{On: on(1, "save", 1), Do: faults.Late, For: time.Second}}, func(w *sim.World, in *faults.Injector) {
		_, err := w.JetStream().CreateStream(context.Background(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.MemoryStorage})
		require.NoError(t, err)
		w.Node("n", func(p *sim.Process) {
			assert.NoError(t, p.JetStream().DeleteStream(tagged(p.Context(), "order-1", "save"), "S"), "it is a call that cannot be held up")
		}).Start()
		w.Step(time.Minute, nil)
		assert.True(t, in.Quiet())
	})
	assert.Empty(t, in.Fired())
	assert.Len(t, in.Unfired(), 1)
	for _, e := range events {
		assert.Empty(t, e.Fault)
	}
}
