package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var anyChange = rapid.Custom(func(t *rapid.T) Change {
	c := Change{Value: rapid.String().Draw(t, "value")}
	if rapid.Bool().Draw(t, "redis") {
		c.Key = rapid.StringN(1, -1, -1).Draw(t, "key")
		c.Field = rapid.String().Draw(t, "field")
		c.Gone = rapid.Bool().Draw(t, "gone")
		c.Expires = time.Duration(rapid.Int64Min(0).Draw(t, "expires"))
		return c
	}
	c.Stream = rapid.StringN(1, -1, -1).Draw(t, "stream")
	c.Seq = rapid.Uint64Min(1).Draw(t, "seq")
	c.Header = rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "header")
	return c
})

func TestEventIsWrittenAsEncodingJSONWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Event{
			Step: rapid.IntMin(1).Draw(t, "step"), At: time.Duration(rapid.Int64Min(0).Draw(t, "at")),
			Node: rapid.String().Draw(t, "node"), Incarnation: rapid.IntMin(0).Draw(t, "inc"),
			Kind: Kind(rapid.StringN(1, -1, -1).Draw(t, "kind")), Name: rapid.String().Draw(t, "name"), Target: rapid.String().Draw(t, "target"),
			Job: rapid.String().Draw(t, "job"), Phase: rapid.String().Draw(t, "phase"), Occurrence: rapid.IntMin(0).Draw(t, "n"),
			Fault: rapid.String().Draw(t, "fault"), Outcome: rapid.String().Draw(t, "outcome"),
			Seq: rapid.Uint64().Draw(t, "seq"), Delivered: rapid.Uint64().Draw(t, "delivered"), Answers: rapid.IntMin(0).Draw(t, "answers"),
			Delay: time.Duration(rapid.Int64Min(0).Draw(t, "delay")), Asked: rapid.String().Draw(t, "asked"), Data: rapid.String().Draw(t, "data"), Changes: rapid.SliceOfN(anyChange, 0, 3).Draw(t, "changes"),
		}
		want, err := json.Marshal(e)
		require.NoError(t, err)
		require.Equal(t, string(want), string(appendEvent(nil, &e)))
	})
}

func TestFirstDifference(t *testing.T) {
	for name, c := range map[string]struct {
		a, b, inA, inB string
		line           int
	}{
		"equal":        {"x\ny\n", "x\ny\n", "", "", 0},
		"empty":        {"", "", "", "", 0},
		"differ":       {"x\ny\nz\n", "x\nw\nz\n", "y", "w", 2},
		"one is short": {"x\n", "x\ny\n", "", "y", 2},
	} {
		t.Run(name, func(t *testing.T) {
			line, a, b, err := FirstDifference(strings.NewReader(c.a), strings.NewReader(c.b))
			require.NoError(t, err)
			assert.Equal(t, []any{c.line, c.inA, c.inB}, []any{line, a, b})
		})
	}
}

func TestAPartingKeepsTheLastEventsBefore(t *testing.T) {
	line := func(step int, more string) string {
		return fmt.Sprintf(`{"step":%d,"at_ns":%d,"kind":"start","outcome":"ok"%s}`, step, step, more) + "\n"
	}
	event := func(step int) *Event {
		return &Event{Step: step, At: time.Duration(step), Kind: KindStart, Outcome: OutcomeOK}
	}
	before := line(1, "") + line(2, "") + line(3, "")
	for _, c := range []struct {
		a, b string
		want Parting
	}{
		{before + line(4, ""), before + line(5, ""), Parting{4, []*Event{event(2), event(3)}, event(4), event(5)}},
		{before, before + line(4, ""), Parting{4, []*Event{event(2), event(3)}, nil, event(4)}},
		{line(1, ""), line(2, ""), Parting{1, nil, event(1), event(2)}},
		{before, before, Parting{}},
		{before, line(1, `,"new":7`) + line(2, "") + line(3, ""), Parting{}},
		{before + line(4, ""), line(1, `,"new":7`) + line(2, "") + line(3, "") + line(5, ""), Parting{4, []*Event{event(2), event(3)}, event(4), event(5)}},
	} {
		got, err := PartingOf(strings.NewReader(c.a), strings.NewReader(c.b), 2)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
	_, err := PartingOf(strings.NewReader(before+"{\n"), strings.NewReader(before), 2)
	require.ErrorContains(t, err, "line 4 of A: ")
}

func TestTruthOfEveryRedisType(t *testing.T) {
	_, err := Run(Config{Seed: 1}, func(w *World) error {
		done := false
		w.Node("n", func(p *Process) {
			ctx, r := p.Context(), p.Redis()
			r.Set(ctx, "s", "1", time.Minute)
			r.SetNX(ctx, "s", "2", time.Hour)
			r.Incr(ctx, "n")
			r.HSet(ctx, "h", "a", 1, "b", "")
			r.HDel(ctx, "h", "a", "absent")
			r.HIncrBy(ctx, "h", "c", 3)
			r.RPush(ctx, "l", "x", "y")
			r.LPop(ctx, "l")
			r.SAdd(ctx, "set", "m", "n")
			r.SRem(ctx, "set", "m")
			r.Eval(ctx, "redis.call('set', KEYS[1], 'x')", []string{"lua"})
			r.MSet(ctx, "m1", 1, "m2", 2)
			r.Del(ctx, "m1")
			_, _ = r.TxPipelined(ctx, func(tx redis.Pipeliner) error {
				tx.Set(ctx, "tx", 1, 0)
				tx.Expire(ctx, "tx", time.Minute)
				return nil
			})
			done = true
		}).Start()
		w.Step(time.Minute, func() bool { return done })
		require.NoError(t, w.CheckTruth())
		assert.Equal(t, "1", w.Redis()["s"][""])

		w.Step(10*time.Minute, nil)
		require.NoError(t, w.CheckTruth(), "what expired is no difference")
		rogue := find[*redisServer](w.servers).store
		require.NoError(t, rogue.write("rogue", value{kind: "string", fields: map[string]string{"": "x"}}))
		require.ErrorContains(t, w.CheckTruth(), "rogue, which no step was seen to write")
		rogue.remove("rogue")
		require.NoError(t, rogue.write("h", value{kind: "hash", fields: map[string]string{"c": "4"}}))
		require.ErrorContains(t, w.CheckTruth(), `h c = "4", but the steps wrote "3"`)
		rogue.remove("h")
		require.ErrorContains(t, w.CheckTruth(), "lost h")
		require.NoError(t, rogue.write("h", value{kind: "hash", fields: map[string]string{"c": "3"}}))
		require.ErrorContains(t, w.CheckTruth(), "lost h b without a step")
		rogue.remove("h")
		require.NoError(t, rogue.write("h", value{kind: "set", fields: map[string]string{"c": ""}}))
		require.ErrorContains(t, w.CheckTruth(), "a set at h, but the steps wrote a hash")
		return nil
	})
	require.NoError(t, err)
}

// Deadlines are the world's own: what a SET NX that fails, an EXPIRE and a KEEPTTL do to them is
// what Redis would do.
func TestKeysExpireAtTheirDeadline(t *testing.T) {
	gone := map[string]time.Duration{}
	_, err := Run(Config{Seed: 1, Strategy: Random{}}, func(w *World) error {
		w.Node("n", func(p *Process) {
			ctx, r := p.Context(), p.Redis()
			r.Set(ctx, "plain", 1, 60*time.Second)
			r.Set(ctx, "contended", 1, 60*time.Second)
			r.Set(ctx, "renewed", 1, 60*time.Second)
			r.Set(ctx, "kept", 1, 60*time.Second)
			r.Set(ctx, "counted", 1, 60*time.Second)
			r.Set(ctx, "again", 1, 60*time.Second)
			p.Clock().Sleep(30 * time.Second)
			assert.False(t, r.SetNX(ctx, "contended", 2, 60*time.Second).Val())
			r.Eval(ctx, "return redis.call('pexpire', KEYS[1], ARGV[1])", []string{"renewed"}, 60_000)
			r.Set(ctx, "kept", 2, -1) // KEEPTTL
			r.Incr(ctx, "counted")
			r.Set(ctx, "again", 1, 60*time.Second)
			assert.Equal(t, 30*time.Second, r.PTTL(ctx, "plain").Val().Round(time.Second))
		}).Start()
		for s := range 120 {
			w.Step(time.Duration(s)*time.Second, nil)
			now := w.Redis()
			for _, k := range []string{"plain", "contended", "renewed", "kept", "counted", "again"} {
				if _, ok := now[k]; !ok && s > 1 && gone[k] == 0 {
					gone[k] = w.Now().Round(time.Second)
				}
			}
		}
		return w.CheckTruth()
	})
	require.NoError(t, err)
	assert.Equal(t, map[string]time.Duration{
		"plain": 61 * time.Second, "contended": 61 * time.Second, "kept": 61 * time.Second, "counted": 61 * time.Second,
		"renewed": 91 * time.Second, "again": 91 * time.Second,
	}, gone)
}

func TestCommandsThatAWorldCannotRun(t *testing.T) {
	_, err := Run(Config{Seed: 1}, func(w *World) error {
		w.Node("n", func(p *Process) {
			ctx, r := p.Context(), p.Redis()
			assert.ErrorIs(t, r.BLPop(ctx, time.Second, "l").Err(), ErrUnknownCommand)
			assert.ErrorIs(t, r.Copy(ctx, "a", "b", 0, false).Err(), ErrUnknownCommand)
			_, err := r.TxPipelined(ctx, func(tx redis.Pipeliner) error {
				tx.XAdd(ctx, &redis.XAddArgs{Stream: "x", Values: []any{"k", "v"}})
				return nil
			})
			assert.ErrorIs(t, err, ErrUnknownCommand)
			_, err = r.TxPipelined(ctx, func(tx redis.Pipeliner) error {
				tx.Set(ctx, "k", 1, time.Minute)
				tx.Del(ctx, "k")
				tx.SetNX(ctx, "k", 1, time.Hour)
				return nil
			})
			assert.NoError(t, err)
		}).Start()
		w.Step(10*time.Minute, nil)
		assert.Contains(t, w.Redis(), "k", "the deadline of the last command counts")
		return w.CheckTruth()
	})
	require.NoError(t, err)
}
