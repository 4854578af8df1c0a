package search

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// examples are the first n plans of a space.
func examples(space Space, n int) []*plans.Plan {
	drawn := rapid.Custom(func(t *rapid.T) *plans.Plan { return Draw(t, space) })
	list := make([]*plans.Plan, n)
	for i := range list {
		list[i] = drawn.Example(i)
	}
	return list
}

// inTurn draws the first n plans of each space, one of each at a time, for as long as somebody asks for more.
func inTurn(n int, spaces ...Space) iter.Seq[*plans.Plan] {
	return func(yield func(*plans.Plan) bool) {
		for i := range n {
			for _, space := range spaces {
				if !yield(rapid.Custom(func(t *rapid.T) *plans.Plan { return Draw(t, space) }).Example(i)) {
					return
				}
			}
		}
	}
}

// requireSound asks of a drawn plan what Parse asks of a file.
func requireSound(t require.TestingT, p *plans.Plan) {
	text, err := plans.Marshal(p)
	require.NoError(t, err)
	again, err := plans.Parse("drawn.yaml", text)
	require.NoError(t, err, "%s", text)
	require.Equal(t, string(text), PlanText(t, again))
}

func TestDrawnPlansAreSound(t *testing.T) {
	for _, p := range examples(Space{}, 300) {
		requireSound(t, p)
		assert.Equal(t, "drawn", p.Name)
		assert.Empty(t, p.Expect)
	}
}

func TestDrawnPlansAreOfThePresetsGiven(t *testing.T) {
	of := func(presets ...string) map[string]bool {
		seen := map[string]bool{}
		for _, p := range examples(Space{Presets: presets}, 50) {
			seen[p.Preset] = true
		}
		return seen
	}
	assert.Equal(t, map[string]bool{plans.PresetHardened: true}, of(plans.PresetHardened))
	assert.Equal(t, map[string]bool{plans.PresetHardened: true, plans.PresetDocumented: true}, of())
}

// Whatever can go wrong, some plan has it: each effect on each operation that it can strike, at one
// occurrence, at several, by rate, on a node alone, and on any job; and each node's crash.
func TestDrawReachesEveryFault(t *testing.T) {
	missing := map[string]bool{"by rate": true, "on a node": true, "any job": true, "again": true, "until the heal": true, "at a later occurrence": true}
	for _, k := range faults.Kinds() {
		for _, ph := range plans.Phases() {
			if slices.Contains(k.Places, ph.Place) && (k.Effect != faults.Late || !faults.Reads(ph.Name)) {
				missing[string(k.Effect)+" "+ph.Name] = true
			}
		}
	}
	for _, ph := range plans.Phases() {
		if ph.Place != faults.PlaceNone {
			missing["crash after "+ph.Name] = true
		}
	}
	for _, node := range []string{"scheduler-3", "worker-1", "submitter"} {
		missing["crash at a time of "+node], missing["crash of another, "+node] = true, true
	}
	missing["partition at a time of worker-2"] = true

	order := func(o settings.DispatchOrder, sets ...string) Space {
		return Space{Sets: append(sets, "engine.dispatch_order="+string(o))}
	}
	plain, kernel := order(settings.StateFirst), order(settings.Outbox, "kernel.default=ALLOW", "engine.output.enabled=true")
	replay, runs := Space{Sets: []string{"engine.replay.enabled=true"}}, order(settings.StateFirst, "workload.runs=1")
	for p := range inTurn(4500, plain, kernel, replay, runs) {
		if len(missing) == 0 {
			break
		}
		for _, f := range p.Faults {
			m := plans.MatchOf(&f)
			switch {
			case f.At != 0:
				delete(missing, fmt.Sprintf("%s at a time of %s", f.Do, f.Node))
			case f.After != nil && f.Node == faults.Actor:
				delete(missing, "crash after "+m.Phase)
			case f.After != nil:
				delete(missing, "crash of another, "+f.Node)
			default:
				delete(missing, string(f.Do)+" "+m.Phase)
			}
			for what, is := range map[string]bool{
				"by rate": f.Rate > 0, "on a node": m != nil && m.Node != "", "any job": m != nil && m.Job == 0, "again": f.Times > 1,
				"until the heal": f.Do == faults.Partition && f.For == 0, "at a later occurrence": m != nil && m.Occurrence > 1,
			} {
				if is {
					delete(missing, what)
				}
			}
		}
	}
	assert.Empty(t, slices.Sorted(maps.Keys(missing)))
}

// Every setting is drawn, but for those that a campaign has to ask for.
func TestDrawTurnsEverySetting(t *testing.T) {
	asked := []string{
		"engine.publish_dedup", "engine.read_error", // whose alternatives lose; so do those without a part of the documented design
		"engine.reconciler", "engine.pending_replayer", "engine.warm_start", "engine.idempotency_guard", "engine.lock_renewal",
		"engine.lock_release", "engine.workflow.durable_timers", "engine.workflow.delay_poller", "engine.workflow.run_reconciler", "engine.snapshot_lock", "engine.terminate_order", "engine.tie_break", "engine.policy.bind_approvals",
		"engine.replay.triage", "engine.replay.keep_key", "engine.replay.check_committed", "engine.replay.check_policy", "engine.replay.atomic", "engine.replay.carry_count",
		"engine.policy.fail_mode", "engine.policy.shared_breaker",
		"engine.output.recheck",
		"world.redis",          // every run is the same over either
		"world.start",          // nothing hangs on it
		"world.sync_time",      // compare measures by it what a sync costs
		"topology.fan_out",     // a topic's dispatch is at least once
		"schedule.steps_max",   // what uses it up is a finding
		"schedule.steps",       // as many as there are
		"schedule.preemptions", // what wavetank orders tries
		"preset",               // a space says which
		"then.settle_within",   // as long as the other settings ask for
	}
	missing := map[string]bool{}
	for _, s := range plans.Settings() {
		if name := strings.Replace(s.Name, ".N", ".1", 1); !slices.Contains(asked, name) {
			missing[name] = true
		}
	}
	for p := range inTurn(700, []Space{{}, {Sets: []string{"engine.replay.enabled=true"}}, {Sets: []string{"schedule.strategy=pct"}}, {Sets: []string{"engine.dispatch_order=outbox", "engine.read_error=cached-state", "engine.stale_worker=jittered-retries", "kernel.default=ALLOW"}}}...) {
		if len(missing) == 0 {
			break
		}
		for _, change := range p.Changes() {
			delete(missing, plans.NameOf(change))
		}
	}
	assert.Empty(t, missing, "these are never drawn: give them draws in knobs.go")
}

// The values of the dials are in range, and others than both presets' own.
func TestDialsTurn(t *testing.T) {
	for _, dial := range plans.Dials {
		for _, value := range dial.Values() {
			documented, hardened := plans.Defaults(), plans.Defaults()
			require.NoError(t, documented.Set("preset="+plans.PresetDocumented))
			require.NoError(t, documented.Set(dial.Name+"="+value))
			require.NoError(t, hardened.Set(dial.Name+"="+value))
			assert.NotEmpty(t, append(documented.Changes(), hardened.Changes()...), "%s=%s", dial.Name, value)
		}
	}
}

// Whatever settings a space fixes, each of its plans has them, and is sound.
func TestFixedSettingsStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		space := Space{Judged: []string{"one-dispatch-per-job"}}
		for range rapid.IntRange(0, 6).Draw(t, "sets") {
			space.Sets = append(space.Sets, drawSet(t))
		}
		if space.Validate() != nil {
			t.Skip("the settings do not fit together")
		}
		p := Draw(t, space)
		requireSound(t, p)
		fixed := plans.Defaults()
		for _, set := range space.Sets {
			require.NoError(t, fixed.Set(set))
		}
		for _, set := range space.Sets {
			assert.Equal(t, settingOf(fixed, plans.NameOf(set)), settingOf(p, plans.NameOf(set)), "%v", space.Sets)
		}
		assert.Equal(t, space.Judged, p.Expect.Violates)
	})
}

// drawSet draws a value for any setting: one of its ends, or one that a dial has.
func drawSet(t *rapid.T) string {
	s := rapid.SampledFrom(plans.Settings()).Draw(t, "setting")
	if k, _, ok := plans.PerJobOf(s.Name); ok {
		values := []string{k.Example}
		if k.Scalar("").Type() == "duration" {
			values = longWork
		}
		return fmt.Sprintf("%s%d=%s", k.Prefix(), rapid.IntRange(1, 12).Draw(t, "job"), rapid.SampledFrom(values).Draw(t, "value"))
	}
	values := []string{s.Default}
	if low, high, is := strings.Cut(s.Allowed, " to "); is {
		values = append(values, low, high)
	} else {
		values = append(values, strings.Split(s.Allowed, ", ")...)
	}
	for _, dial := range append(slices.Clone(plans.Shape), plans.Dials...) {
		if dial.Name == s.Name {
			values = append(values, dial.Values()...)
		}
	}
	return s.Name + "=" + rapid.SampledFrom(values).Draw(t, "value")
}

func settingOf(p *plans.Plan, name string) string {
	if k, job, ok := plans.PerJobOf(name); ok {
		n, err := strconv.Atoi(job)
		if err != nil {
			return ""
		}
		return k.Text(&p.Workload, n)
	}
	s, known := p.Setting(name)
	if !known {
		return ""
	}
	return s.Text()
}

func TestSpaceSaysWhatIsWrong(t *testing.T) {
	named, err := plans.Load("lock-release-failure")
	require.NoError(t, err)
	for _, c := range []struct {
		space Space
		want  string
	}{
		{Space{Presets: []string{"hard"}}, `preset is "hard"; it must be documented or hardened (did you mean "hardened"?)`},
		{Space{Sets: []string{"engine.max_delivery=3"}}, `unknown setting "engine.max_delivery"`},
		{Space{Sets: []string{"engine.backoff_base=5m"}}, "engine.backoff_base is 5m, longer than engine.backoff_max; give at most 30s"},
		{Space{Sets: []string{"workload.slow.40=1m"}}, "there is no job 40"},
		{Space{Judged: []string{"one-dispatch"}}, `unknown invariant "one-dispatch"`},
		{Space{Base: named, Sets: []string{"workload.jobs=2"}}, "there is no job 3; the workload has jobs 1 to 2"},
	} {
		err := c.space.Validate()
		var pe *strictyaml.Error
		require.ErrorAs(t, err, &pe)
		assert.Contains(t, err.Error(), c.want)
	}
	assert.NoError(t, Space{Sets: []string{"engine.backoff_base=5m", "engine.backoff_max=1h"}}.Validate())
}

// A perturbation is a little different from its base: in its seed always, in a few settings and
// faults mostly. It is there to show nothing.
func TestPerturbations(t *testing.T) {
	n := 60
	if testing.Short() {
		n = 20
	}
	for _, name := range plans.Names() {
		base, err := plans.Load(name)
		require.NoError(t, err)
		before := PlanText(t, base)
		seeds, changed := map[uint64]bool{}, 0
		for _, p := range examples(Space{Base: base}, n) {
			requireSound(t, p)
			assert.Equal(t, name+"-perturbed", p.Name)
			assert.Empty(t, p.Story)
			assert.Empty(t, p.Expect)
			assert.Equal(t, base.Preset, p.Preset)
			assert.InDelta(t, len(base.Faults), len(p.Faults), 6)
			seeds[p.Seed] = true
			bare := p.Clone()
			bare.Name, bare.Story, bare.Expect, bare.Seed = base.Name, base.Story, base.Expect, base.Seed
			if PlanText(t, bare) != before {
				changed++
			}
		}
		assert.Greater(t, len(seeds), n*11/12)
		assert.Greater(t, changed, n/2)
		assert.Equal(t, before, PlanText(t, base), "the base is not changed")
	}
}

func TestPerturbationsOfAPlanWithALongName(t *testing.T) {
	base := plans.Defaults()
	base.Name = strings.Repeat("abcdefg-", 7) + "abcdefgh"
	require.NoError(t, base.Validate())
	p := examples(Space{Base: base, Presets: []string{plans.PresetDocumented}}, 1)[0]
	requireSound(t, p)
	assert.Equal(t, strings.Repeat("abcdefg-", 6)+"abcdef-perturbed", p.Name)
	assert.Equal(t, plans.PresetDocumented, p.Preset)
}

// A plan has the time to settle that its settings ask for.
func TestPatience(t *testing.T) {
	p := plans.Defaults()
	assert.Equal(t, 45*time.Minute, p.Patience())
	p.Engine.RetryDelayNoWorkers = 12 * time.Second // 50 attempts, each 10 s later than by default
	assert.Equal(t, 45*time.Minute+50*10*time.Second, p.Patience())
	p.Engine.TopicTimeouts, p.Engine.PollInterval = "job.default=10m", time.Minute // 5 min more than the default, and three polls of half a minute more
	assert.Equal(t, 45*time.Minute+50*10*time.Second+5*time.Minute+90*time.Second, p.Patience())
	p.Engine.WorkerTTL = p.Topology.HeartbeatEvery // 50 sweeps, each two minutes and three polls after the last
	assert.Equal(t, 45*time.Minute+50*10*time.Second+5*time.Minute+90*time.Second+50*5*time.Minute, p.Patience())
	p.Engine.AckWait = 24 * time.Hour
	p.Engine.MaxSchedulingRetries, p.Engine.RetryDelayNoWorkers = 10_000, time.Hour
	assert.Equal(t, 720*time.Hour, p.Patience())
}

// Without a heal there is nothing that only the heal would end.
func TestDrawnPlansWithoutAHealEndTheirFaults(t *testing.T) {
	for _, p := range examples(Space{Sets: []string{"then.heal=false"}}, 300) {
		assert.False(t, p.HealsFaults(), "%s", PlanText(t, p))
	}
}
