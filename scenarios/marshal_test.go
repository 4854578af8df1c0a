package scenarios

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

func TestMarshalWritesWhatDiffers(t *testing.T) {
	p := plan(t, `
story: "It's odd: a #1, \"quoted\""
preset: documented
engine: {read_error: fail-open, ack_wait: 10m}
workload: {jobs: 4, slow: {3: 15m}, every: 1500ms}
`[1:]+"topology: {workers: 12}\n"+`
faults:
  - {on: {job: 3, phase: publish, occurrence: 2}, do: fail-after, times: 2}
  - {after: {phase: effect}, do: crash, node: actor, restart_in: 90s}
  - {at: 5s, do: partition, node: worker-12, from: heartbeats}
then: {heal: false}
expect: {sometimes: []}
about: [3, 1]
seed: 7
`[1:])
	text, err := plans.Marshal(p)
	require.NoError(t, err)
	assert.Equal(t, `version: 1
name: x
story: "It's odd: a #1, \"quoted\""
preset: documented
engine:
  read_error: fail-open
  ack_wait: 10m
topology:
  workers: 12
workload:
  jobs: 4
  every: 1.5s
  slow: {3: 15m}
faults:
  - on: {job: 3, phase: publish, occurrence: 2}
    do: fail-after
    times: 2
  - after: {phase: effect}
    do: crash
    node: actor
    restart_in: 1m30s
  - at: 5s
    do: partition
    node: worker-12
    from: heartbeats
then:
  heal: false
about: [3, 1]
seed: 7
`, string(text))
}

func TestMarshalRefusesWhatParseWould(t *testing.T) {
	p := plans.Defaults()
	_, err := plans.Marshal(p)
	require.ErrorContains(t, err, "the plan has no name")
	p.Name = "x"
	p.Workload.Jobs = -1
	_, err = plans.Marshal(p)
	require.ErrorContains(t, err, "workload.jobs is -1, out of range")
}

func TestNamedPlansRoundTrip(t *testing.T) {
	for _, name := range plans.Names() {
		p, err := plans.Load(name)
		require.NoError(t, err)
		text, err := plans.Marshal(p)
		require.NoError(t, err)
		again, err := plans.Parse("again.yaml", text)
		require.NoError(t, err)
		assert.Equal(t, p, again)
	}
}

// Any valid plan survives being written and read.
func TestPlansRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := plans.Defaults()
		p.Name = rapid.StringMatching(`[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,3}`).Draw(t, "name")
		p.Story = strings.TrimSpace(rapid.StringMatching(`\PC{0,30}`).Draw(t, "story"))
		p.Seed = rapid.Uint64().Draw(t, "seed")
		require.NoError(t, p.Set("preset="+rapid.SampledFrom([]string{plans.PresetDocumented, plans.PresetHardened}).Draw(t, "preset")))
		p.Workload.Jobs = rapid.IntRange(3, 100_000).Draw(t, "jobs")
		p.Workload.Every = time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "every"))
		p.Schedule.StepsMax = rapid.IntRange(100, 1_000_000_000).Draw(t, "steps")
		p.Engine.BackoffMax = time.Duration(rapid.Int64Range(int64(p.Engine.BackoffBase), int64(24*time.Hour)).Draw(t, "backoff"))
		p.Engine.Handlers = rapid.IntRange(1, 1024).Draw(t, "handlers")
		for n, slow := range rapid.MapOfN(rapid.IntRange(1, p.Workload.Jobs), rapid.Int64Range(1, int64(time.Hour)), 0, 3).Draw(t, "slow") {
			require.NoError(t, p.Set("workload.slow."+strconv.Itoa(n)+"="+time.Duration(slow).String()))
		}
		for range rapid.IntRange(0, 4).Draw(t, "faults") {
			p.Faults = append(p.Faults, faults.Fault{
				On:    &faults.Match{Job: rapid.IntRange(0, 3).Draw(t, "job"), Phase: rapid.SampledFrom([]string{"publish", "state_read", "dispatched_write"}).Draw(t, "phase"), Node: rapid.SampledFrom([]string{"", "scheduler-1"}).Draw(t, "node")},
				Do:    rapid.SampledFrom([]faults.Effect{faults.FailBefore, faults.FailAfter, faults.Hang}).Draw(t, "do"),
				Rate:  rapid.Float64Range(0.000001, 1).Draw(t, "rate"),
				Times: 0,
			})
		}
		require.NoError(t, p.Validate())
		text, err := plans.Marshal(p)
		require.NoError(t, err)
		again, err := plans.Parse("again.yaml", text)
		require.NoError(t, err, "%s", text)
		require.Equal(t, p, again, "%s", text)
	})
}
