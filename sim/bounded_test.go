package sim

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bounded plays the toy with these pre-emptions, and returns what was missed of them.
func bounded(t *testing.T, actors toy, preemptions string) (order string, missed string) {
	t.Helper()
	list, err := ParsePreemptions(preemptions)
	require.NoError(t, err)
	s := &Bounded{Preemptions: list}
	order = strings.Join(actors.play(s, 1), " ")
	return order, Preemptions(s.Missed())
}

func TestWhoHasBegunGoesOn(t *testing.T) {
	ops := strings.Fields("1 2 3")
	for _, c := range []struct{ preemptions, order, missed string }{
		{"", "b.1 b.2 b.3 a.1 a.2 a.3", ""},
		{"1=a", "a.1 a.2 a.3 b.1 b.2 b.3", ""},
		{"2=a", "b.1 a.1 a.2 a.3 b.2 b.3", ""},
		{"2=a,4=b", "b.1 a.1 a.2 b.2 b.3 a.3", ""},
		{"2=b", "b.1 b.2 b.3 a.1 a.2 a.3", "2=b"},             // it is its turn
		{"5=b", "b.1 b.2 b.3 a.1 a.2 a.3", "5=b"},             // it is over
		{"2=a#2", "b.1 b.2 b.3 a.1 a.2 a.3", "2=a#2"},         // it has one operation ready
		{"2=a/job-1", "b.1 b.2 b.3 a.1 a.2 a.3", "2=a/job-1"}, // it does nothing for a job
		{"9=a", "b.1 b.2 b.3 a.1 a.2 a.3", "9=a"},             // the run has ended
	} {
		order, missed := bounded(t, toy{"a": ops, "b": ops}, c.preemptions)
		assert.Equal(t, c.order, order, c.preemptions)
		assert.Equal(t, c.missed, missed, c.preemptions)
	}
}

// Every operation that could have gone is told, and letting it go is what its pre-emption does.
func TestEveryChoiceIsAPreemption(t *testing.T) {
	actors := toy{"a": {"1", "2"}, "b": {"1", "2"}, "c": {"1"}}
	first := map[string]string{}
	actors.play(&Bounded{Watch: func(ch *Choice) {
		for i := range ch.Ready {
			if i != ch.Chosen {
				first[ch.Preemption(i).String()] = ch.Ready[i].Node() + "." + ch.Ready[i].Name
			}
		}
	}}, 1)
	assert.Len(t, first, 4)
	for preemption, op := range first {
		order, missed := bounded(t, actors, preemption)
		assert.Empty(t, missed)
		step := int(preemption[0] - '1')
		assert.Equal(t, op, strings.Fields(order)[step], preemption)
	}
}

func TestPreemptionsAreWrittenAndRead(t *testing.T) {
	for _, text := range []string{"", "1=a", "17=scheduler-2/job-1#2,40=worker-1"} {
		list, err := ParsePreemptions(text)
		require.NoError(t, err)
		assert.Equal(t, text, Preemptions(list))
	}
	for text, wrong := range map[string]string{
		"a":         `"a" is no step and whose turn it becomes`,
		"x=a":       `"x=a" is no step and whose turn it becomes`,
		"1=":        `"1=" names nobody`,
		"1=a#":      `"1=a#" has nothing behind its #`,
		"1=a#0":     `"1=a#0" has no number from 1 behind its #`,
		"0=a":       "the steps do not rise from 1",
		"2=a,2=b":   "the steps do not rise from 1",
		"1=a,,3=b":  `"" is no step and whose turn it becomes`,
		"1=a;3=b=c": "",
	} {
		_, err := ParsePreemptions(text)
		if wrong == "" {
			assert.NoError(t, err, text)
		} else {
			assert.EqualError(t, err, wrong)
		}
	}
}

// What operations have in common is read from their calls.
func TestUses(t *testing.T) {
	uses := map[string][]Use{}
	_, err := Run(Config{Strategy: &Bounded{}, Intercept: func(_ context.Context, op *Op, apply func() error) error {
		uses[string(op.Kind)+" "+op.Name] = op.Uses()
		return apply()
	}}, func(w *World) error {
		done := false
		w.Node("a", func(p *Process) {
			ctx, r := p.Context(), p.Redis()
			r.Get(ctx, "k")
			r.Set(ctx, "k", 1, 0)
			r.MGet(ctx, "k", "l")
			r.Keys(ctx, "*")
			pipe := r.TxPipeline()
			pipe.Get(ctx, "k")
			pipe.MSet(ctx, "l", 1, "m", 2)
			_, _ = pipe.Exec(ctx)
			_ = p.NATS().Publish("s", nil)
			_ = p.Do(ctx, "call", "buy", "shop", func() error { return nil })
			done = true
		}).Start()
		w.Step(time.Minute, func() bool { return done })
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, map[string][]Use{
		"redis get":   {{"redis k", false}},
		"redis set":   {{"redis k", true}, {allKeys, false}},
		"redis mget":  {{"redis k", false}, {"redis l", false}},
		"redis keys":  {{allKeys, true}},
		"redis multi": {{"redis k", false}, {"redis l", true}, {"redis m", true}, {allKeys, false}},
		"send ":       {{"core s", true}, {"subjects *", false}},
		"call buy":    {{"call shop", true}},
	}, uses)
}

// A transaction looks at what its process WATCHes, also where it does not write it: who changes that decides whether it is
// carried out.
func TestATransactionUsesWhatIsWatched(t *testing.T) {
	var uses [][]Use
	_, err := Run(Config{Strategy: &Bounded{}, Intercept: func(_ context.Context, op *Op, apply func() error) error {
		if op.Name == NameMulti {
			uses = append(uses, op.Uses())
		}
		return apply()
	}}, func(w *World) error {
		w.Node("a", func(p *Process) {
			ctx, r := p.Context(), p.Redis()
			set := func(pipelined func(context.Context, func(redis.Pipeliner) error) ([]redis.Cmder, error)) {
				_, err := pipelined(ctx, func(q redis.Pipeliner) error { return q.Set(ctx, "m", 1, 0).Err() })
				assert.NoError(t, err)
			}
			assert.NoError(t, r.Watch(ctx, func(tx *redis.Tx) error {
				assert.NoError(t, r.Watch(ctx, func(*redis.Tx) error { return nil }, "l"))
				set(tx.TxPipelined)
				set(tx.TxPipelined) // WATCHes nothing any more
				return tx.Watch(ctx, "k").Err()
			}, "l", "k"))
			set(r.TxPipelined)
		}).Start()
		w.Node("b", func(p *Process) {
			ctx, r := p.Context(), p.Redis()
			assert.NoError(t, r.Watch(ctx, func(*redis.Tx) error {
				p.Clock().Sleep(time.Second) // meanwhile the other does all that it does
				return nil
			}, "of another process"))
		}).Start()
		w.Step(time.Minute, nil)
		return nil
	})
	require.NoError(t, err)
	write := []Use{{"redis m", true}, {allKeys, false}}
	assert.Equal(t, [][]Use{append(write[:2:2], Use{"redis k", false}, Use{"redis l", false}), write, write}, uses)
}
