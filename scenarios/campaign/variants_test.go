package campaign

import (
	"context"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/internal/race"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
)

// variants of the code under test misbehave at the second DISPATCHED write of a scheduler process,
// so that a world of one job does not meet them.
var variants = map[string]scheduler.Variant{
	"panic":  plant(func() { panic("the second write") }),
	"crash":  plant(func() { clear(nobodys); nobodys["x"] = 1 }),
	"exit":   plant(func() { os.Exit(3) }),
	"loop":   plant(loop),
	"leak":   plant(func() { go wait() }),
	"sleep":  plant(func() { go sleep() }),
	"memory": plant(eat),
	"hoard":  plant(func() { hoards.Store(true) }),
	"slow":   plant(func() { slow.Store(true) }),
}

func plant(misbehave func()) scheduler.Variant {
	return func(_ string, cfg *engine.Config) { cfg.Redis.AddHook(&planted{misbehave: misbehave}) }
}

// planted is a hook inside the gates: what it does is part of the step.
type planted struct {
	writes    atomic.Int64
	misbehave func()
}

func (h *planted) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *planted) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.look(ctx)
		return next(ctx, cmd)
	}
}

func (h *planted) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.look(ctx)
		return next(ctx, cmds)
	}
}

func (h *planted) look(ctx context.Context) {
	if hoards.Load() {
		hoard = append(hoard, make([]byte, 24<<20))
	}
	if slow.Load() {
		spin(slowCommand)
	}
	if phase.From(ctx).Phase == phase.DispatchedWrite && h.writes.Add(1) == 2 {
		h.misbehave()
	}
}

var (
	nobodys map[string]int
	hoards  atomic.Bool
	slow    atomic.Bool
	hoard   [][]byte
)

// slowCommand is how long a command takes where the code is slow, as turns of a loop: far less than
// a step may take, and together more than a run may.
const slowCommand = 1 << 27

func spin(turns int) {
	for n := range turns {
		spun += n
	}
}

var spun int

func loop() {
	for n := 1; n != 0; n |= 1 {
	}
}

func wait() { <-make(chan int) }

func sleep() {
	for {
		time.Sleep(time.Second)
	}
}

func eat() {
	var all [][]byte
	for {
		all = append(all, make([]byte, 1<<20))
		runtime.KeepAlive(all)
	}
}

// meeting is a campaign of worlds of which every other one meets the planted variant.
func meeting() Spec {
	plan := "version: 1\nname: two-jobs\npreset: documented\ntopology: {schedulers: 1, workers: 1}\nseed: 1\n"
	return Spec{Version: SpecVersion, Name: "test", Seed: 1, Grid: &Grid{
		Plans: []string{plan}, Points: [][]string{{"workload.jobs=1"}, {"workload.jobs=2"}}, Seeds: 2,
	}}
}

func TestMisbehavingCodeIsContained(t *testing.T) {
	race.SkipLong(t)
	for variant, want := range map[string]struct {
		what Containment
		says string // in the finding's detail
	}{
		"panic":  {Panicked, "panic: the second write\n  scenarios/campaign."},
		"crash":  {Panicked, "panic: assignment to entry in nil map\n  scenarios/campaign."},
		"exit":   {Panicked, "the process ended without a panic"},
		"loop":   {Hung, "\n  scenarios/campaign.loop\n"},
		"leak":   {Leaked, "\n  scenarios/campaign.wait\n"},
		"sleep":  {Leaked, "\n  scenarios/campaign.sleep\n"},
		"memory": {Overgrew, "more than 64 MiB of heap"},
		"hoard":  {Overgrew, "more than 64 MiB of heap"},
		"error":  {BrokeOff, "sim: nats-server did not start"},
	} {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			var records []*Record
			opt := quick(1, variant)
			opt.Record = func(r *Record) { records = append(records, r) }
			res, text := ran(t, begun(t, meeting()), opt)

			require.Len(t, records, 4)
			for n, r := range records {
				require.Equal(t, n, r.N)
				if n%2 == 0 {
					assert.Nil(t, r.Contained, "a run that does not meet the variant goes on")
					assert.Equal(t, scenarios.Held, r.Verdict)
					continue
				}
				require.NotNil(t, r.Contained)
				assert.Equal(t, want.what, r.Contained.What)
				assert.False(t, r.Contained.Flaky)
				assert.Equal(t, variant != "error", r.Contained.Step > 0)
				assert.Empty(t, r.Verdict)
			}
			assert.Equal(t, 2, res.Contained)
			assert.Zero(t, res.Bound)
			require.Len(t, res.Findings, 1, "the two runs show one thing")
			f := res.Findings[0]
			assert.Equal(t, string(want.what), f.Invariant)
			assert.Equal(t, []int{1, 2}, []int{f.First, f.Runs})
			assert.False(t, f.Flaky, f.Story)
			assert.Equal(t, variant != "error" && want.what != Hung && want.what != Overgrew, f.Step > 0, "only what is the same each time")
			assert.Contains(t, f.Detail, want.says)
			assert.NotRegexp(t, `0x[0-9a-f]|goroutine \d|/tmp|\.go:\d+ \+`, f.Detail, "what is kept is the same on every machine")

			opt = quick(2, variant)
			_, again := ran(t, begun(t, meeting()), opt)
			assert.Equal(t, text, again, "with two workers")
		})
	}
}

// A bound of the plan's own ends a run before it is over, which says nothing.
func TestRunsThatUseUpTheirSteps(t *testing.T) {
	t.Parallel()
	spec := meeting()
	spec.Grid.Points = [][]string{{"schedule.steps_max=100"}, {"workload.jobs=1"}}
	res, _ := ran(t, begun(t, spec), quick(1, ""))
	assert.Zero(t, res.Contained)
	assert.Empty(t, res.Findings)
	assert.Equal(t, map[scenarios.Verdict]int{scenarios.Held: 2, scenarios.Inconclusive: 2}, res.Verdicts)
}
