package plans

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/settings"
)

func parsed(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := Parse("p.yaml", []byte("name: x\n"+text))
	require.NoError(t, err)
	return p
}

func TestSettingsAreThePlansKeys(t *testing.T) {
	byName := map[string]Setting{}
	for _, s := range Settings() {
		assert.NotEmpty(t, s.Doc, s.Name)
		assert.NotEmpty(t, s.Allowed, s.Name)
		assert.NotContains(t, byName, s.Name)
		byName[s.Name] = s
	}
	assert.Equal(t, Setting{Name: "engine.max_dispatch_retries", Type: "integer", Default: "3", Doc: "how many picks one handling makes, if all meet stale workers, before it sends the job back (Stale workers)", Allowed: "1 to 1000", Scenario: "stale-worker"}, byName["engine.max_dispatch_retries"])
	assert.Equal(t, "stale_worker", byName["engine.stale_reason_code"].Hardened)
	assert.Equal(t, "no_workers", byName["engine.stale_reason_code"].Default)
	assert.Equal(t, "45m", byName["then.settle_within"].Default)
	assert.Equal(t, "choice", byName["schedule.strategy"].Type)
	for _, name := range []string{"preset", "workload.jobs", "workload.slow.N", "workload.cancel.N", "workload.deadline.N", "topology.schedulers", "topology.deduplicate"} {
		assert.Contains(t, byName, name)
	}
	assert.NotContains(t, byName, "seed", "it has a flag of its own")
}

func TestEverySettingTakesItsDefault(t *testing.T) {
	for _, s := range Settings() {
		if strings.HasSuffix(s.Name, ".N") {
			continue
		}
		p := parsed(t, "")
		require.NoError(t, p.Set(s.Name+"="+s.Default), s.Name)
		require.NoError(t, p.Validate(), s.Name)
	}
}

func TestSet(t *testing.T) {
	p := parsed(t, "")
	for _, a := range []string{"engine.max_dispatch_retries=5", "engine.dispatch_order = publish-first", "workload.jobs=1_000", "workload.slow.3=15m", "workload.slow.4=1s", "workload.deadline.3=1m", "workload.cancel.4=2s", "topology.deduplicate=true", "then.settle_within=90m", "seed=18446744073709551615"} {
		require.NoError(t, p.Set(a), a)
	}
	assert.Equal(t, 5, p.Engine.MaxDispatchRetries)
	assert.Equal(t, settings.PublishFirst, p.Engine.DispatchOrder)
	assert.Equal(t, 1000, p.Workload.Jobs)
	assert.Equal(t, map[int]time.Duration{3: 15 * time.Minute, 4: time.Second}, p.Workload.Slow)
	assert.Equal(t, map[int]time.Duration{4: 2 * time.Second}, p.Workload.Cancel)
	assert.Equal(t, map[int]time.Duration{3: time.Minute}, p.Workload.Deadline)
	assert.True(t, p.Topology.Deduplicate)
	assert.Equal(t, uint64(1<<64-1), p.Seed)
	assert.Equal(t, []string{"engine.dispatch_order=publish-first", "engine.max_dispatch_retries=5", "topology.deduplicate=true", "workload.jobs=1000", "workload.slow.3=15m", "workload.slow.4=1s", "workload.cancel.4=2s", "workload.deadline.3=1m", "then.settle_within=1h30m"}, p.Changes())
}

func TestSetRefuses(t *testing.T) {
	for _, c := range []struct{ assignment, want string }{
		{"engine.max_dispatch_retrys=5", "unknown setting \"engine.max_dispatch_retrys\"; `wavetank list settings` names them (did you mean \"engine.max_dispatch_retries\"?)"},
		{"max_dispatch_retries=5", `unknown setting "max_dispatch_retries"; .* \(did you mean "engine.max_dispatch_retries"\?\)`},
		{"name=y", `unknown setting "name"`},
		{"faults=none", `unknown setting "faults"`},
		{"version=1", `unknown setting "version"`},
		{"workload=3", `unknown setting "workload"`},
		{"workload.slow=3", `unknown setting "workload.slow"`},
		{"workload.jobs", `"workload.jobs" sets nothing; write key=value`},
		{"engine.fence", `"engine.fence" sets nothing; write key=value, as in engine.fence=true`},
		{"", `"" sets nothing`},
		{"workload.jobs=", `workload.jobs is "", not an integer; give 1 to 100000`},
		{"workload.jobs=0", `workload.jobs is 0, out of range; give 1 to 100000`},
		{"workload.jobs=-3", `workload.jobs is -3, out of range`},
		{"workload.jobs=1000000000000", `workload.jobs is 1000000000000, out of range`},
		{"workload.jobs=99999999999999999999", `workload.jobs is "99999999999999999999", out of range`},
		{"workload.every=5", `workload.every is "5", without a unit`},
		{"workload.slow.x=15m", `workload.slow.x does not end in the number of a job; write workload.slow.3=15m`},
		{"workload.cancel.x=2s", `workload.cancel.x does not end in the number of a job; write workload.cancel.3=2s`},
		{"workload.deadline.3=1us", `workload.deadline.3 is 1µs, out of range; give a duration such as 200ms, 10s or 20m, from 1ms to 24h`},
		{"workload.slow.3=9999999h", `workload.slow.3 is "9999999h", out of range`},
		{"workload.slow.3=soon", `workload.slow.3 is "soon", not a duration`},
		{"engine.read_error=open", `engine.read_error is "open"; it must be fail-closed, fail-open or cached-state`},
		{"preset=hard", `preset is "hard"; it must be documented or hardened (did you mean "hardened"?)`},
		{"seed=-1", `seed is "-1", out of range`},
		{"then.heal=maybe", `then.heal is "maybe", neither true nor false`},
	} {
		p := parsed(t, "")
		before := *p
		err := p.Set(c.assignment)
		require.Error(t, err, c.assignment)
		if strings.Contains(c.want, `\(`) {
			assert.Regexp(t, c.want, err.Error())
		} else {
			assert.True(t, strings.HasPrefix(err.Error(), c.want), "%s", err.Error())
		}
		assert.Equal(t, before, *p, "a refused setting changes nothing")
	}
}

func TestSetLeavesItToValidateWhetherThePlanFits(t *testing.T) {
	p := parsed(t, "faults: [{on: {job: 3, phase: publish}, do: hang}]\n")
	require.NoError(t, p.Set("workload.jobs=2"))
	err := p.Validate()
	require.Error(t, err)
	assert.Equal(t, "faults[0].on.job: there is no job 3; the workload has jobs 1 to 2", err.Error())
}

func TestAnotherPresetKeepsWhatThePlanGivesItself(t *testing.T) {
	p := parsed(t, "preset: documented\nengine: {read_error: fail-open}\n")
	require.NoError(t, p.Set("preset=hardened"))
	want := settings.Hardened()
	want.ReadError = settings.FailOpen
	assert.Equal(t, want, p.Engine)

	// Given explicitly, though it is what the preset has anyway.
	p = parsed(t, "preset: documented\nengine: {stale_reason_code: no_workers}\n")
	require.NoError(t, p.Set("preset=hardened"))
	assert.Equal(t, "no_workers", p.Engine.StaleReasonCode)
	require.NoError(t, p.Set("preset=documented"))
	require.NoError(t, p.Set("preset=hardened"))
	assert.Equal(t, "no_workers", p.Engine.StaleReasonCode)

	p = parsed(t, "preset: documented\n")
	require.NoError(t, p.Set("engine.stale_reason_code=no_workers"))
	require.NoError(t, p.Set("preset=hardened"))
	assert.Equal(t, "no_workers", p.Engine.StaleReasonCode)

	p = parsed(t, "preset: documented\n")
	require.NoError(t, p.Set("preset=hardened"))
	assert.Equal(t, settings.Hardened(), p.Engine)
}

func TestStepsMaxFollowsJobsUnlessGiven(t *testing.T) {
	p := parsed(t, "")
	require.NoError(t, p.Set("workload.jobs=10000"))
	assert.Equal(t, 10_000_000, p.Schedule.StepsMax)

	p = parsed(t, "schedule: {steps_max: 1000000}\n")
	require.NoError(t, p.Set("workload.jobs=10000"))
	assert.Equal(t, 1_000_000, p.Schedule.StepsMax)
}

func TestAChangedCopyLeavesTheOriginalAlone(t *testing.T) {
	p := parsed(t, "engine: {stale_reason_code: stale_worker}\nworkload: {slow: {3: 1m}}\n")
	copied := *p
	require.NoError(t, copied.Set("engine.handlers=8"))
	require.NoError(t, copied.Set("workload.slow.3=2m"))
	assert.Equal(t, parsed(t, "engine: {stale_reason_code: stale_worker}\nworkload: {slow: {3: 1m}}\n"), p)
}

func ExamplePlan_Set() {
	plan, err := Load("redis-read-error")
	if err != nil {
		panic(err)
	}
	fmt.Println(plan.Set("engine.read_error=fail-opn"))
	fmt.Println(plan.Set("engine.read_error=fail-open"))
	// Output:
	// engine.read_error is "fail-opn"; it must be fail-closed, fail-open or cached-state (did you mean "fail-open"?)
	// <nil>
}
