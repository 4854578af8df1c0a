package search

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// large is a plan with much of everything.
func large(t *testing.T) *plans.Plan {
	p := parsed(t, `
preset: documented
engine: {max_deliver: 7, ack_wait: 30s, worker_ttl: 5s, handlers: 2}
topology: {schedulers: 3, workers: 3, heartbeat_every: 3s, deduplicate: true}
world: {heartbeat_lag: 5s, dying: 0.5}
workload: {jobs: 5, every: 3s, work: 20s, submissions: 3, slow: {2: 7m, 4: 15m}}
faults:
  - {on: {job: 2, phase: publish}, do: fail-before, times: 30}
  - {on: {job: 4, phase: dispatched_write, occurrence: 3, node: scheduler-3}, do: hang, times: 2}
  - {on: {phase: heartbeat}, do: lose, rate: 0.6}
  - {on: {job: 5, phase: result_ack}, do: lose}
  - {after: {job: 4, phase: publish}, do: crash, node: worker-3, restart_in: 11m}
  - {at: 17.345s, do: partition, node: worker-2, from: heartbeats, for: 5m}
schedule: {strategy: random, steps_max: 50000}
then: {heal: true, settle_within: 2h}
about: [2, 4]
seed: 77
`[1:])
	return p
}

func TestShrinkToNothing(t *testing.T) {
	tries := 0
	before := large(t)
	smallest := Shrink(before, nil, func(*plans.Plan) bool { tries++; return true })
	assert.Equal(t, "version: 1\nname: x\npreset: documented\ntopology:\n  schedulers: 1\n  workers: 1\nworkload:\n  jobs: 1\nseed: 1\n", PlanText(t, smallest))
	assert.LessOrEqual(t, tries, 8, "large cuts come first")
	assert.Equal(t, PlanText(t, large(t)), PlanText(t, before), "the plan given is not changed")
}

func TestShrinkOfTheOrder(t *testing.T) {
	p := parsed(t, "workload: {jobs: 1}\ntopology: {schedulers: 1, workers: 1}\nschedule: {strategy: pct, change_points: 5, steps: 300}\nseed: 7\n")
	assert.Equal(t, plans.Latency, Shrink(p, nil, func(*plans.Plan) bool { return true }).Schedule.Strategy)
	smallest := Shrink(p, nil, func(p *plans.Plan) bool { return p.Schedule.Strategy == plans.PCT && p.Schedule.ChangePoints > 2 })
	assert.Equal(t, plans.Schedule{Strategy: plans.PCT, ChangePoints: 5, StepsMax: 1_000_000}, smallest.Schedule)
}

func TestShrinkKeepsWhatItCannotDoWithout(t *testing.T) {
	p := large(t)
	p.About = nil // whose story is told
	assert.Equal(t, PlanText(t, p), PlanText(t, Shrink(p, nil, func(*plans.Plan) bool { return false })))
}

// has says whether a plan has a fault with that effect in that phase.
func has(p *plans.Plan, do faults.Effect, phase string) bool {
	return slices.ContainsFunc(p.Faults, func(f faults.Fault) bool {
		m := plans.MatchOf(&f)
		return f.Do == do && m != nil && m.Phase == phase
	})
}

// What is left is what the failure needs, in its plainest form: the job renumbered, the nodes renamed,
// the fault by rate turned into one that strikes once.
func TestShrinkTo(t *testing.T) {
	for name, c := range map[string]struct {
		fails func(*plans.Plan) bool
		want  string
	}{
		"a fault and a setting": {
			func(p *plans.Plan) bool { return p.Engine.MaxDeliver < 10 && has(p, faults.Hang, "dispatched_write") },
			"engine:\n  max_deliver: 7\ntopology:\n  schedulers: 1\n  workers: 1\nworkload:\n  jobs: 1\nfaults:\n  - on: {job: 1, phase: dispatched_write}\n    do: hang\nseed: 1\n",
		},
		"a fault by rate": {
			func(p *plans.Plan) bool { return has(p, faults.Lose, "heartbeat") },
			"topology:\n  schedulers: 1\n  workers: 1\nworkload:\n  jobs: 1\nfaults:\n  - on: {phase: heartbeat}\n    do: lose\nseed: 1\n",
		},
		"how often": {
			func(p *plans.Plan) bool {
				return has(p, faults.FailBefore, "publish") && slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.Times >= 6 })
			},
			"topology:\n  schedulers: 1\n  workers: 1\nworkload:\n  jobs: 1\nfaults:\n  - on: {job: 1, phase: publish}\n    do: fail-before\n    times: 6\nseed: 1\n",
		},
		"a crash of another node": {
			func(p *plans.Plan) bool { return p.Topology.Workers > 1 && has(p, faults.Crash, "publish") },
			"topology:\n  schedulers: 1\n  workers: 2\nworkload:\n  jobs: 1\nfaults:\n  - after: {job: 1, phase: publish}\n    do: crash\n    node: actor\nseed: 1\n",
		},
		"two jobs, of which one is slow": {
			func(p *plans.Plan) bool { return p.Workload.Jobs >= 2 && p.Workload.Slow[2] > time.Minute },
			"topology:\n  schedulers: 1\n  workers: 1\nworkload:\n  jobs: 2\n  slow: {2: 7m}\nseed: 1\n",
		},
		"an instant": {
			func(p *plans.Plan) bool {
				return slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.Do == faults.Partition && f.At > 4*time.Second })
			},
			"topology:\n  schedulers: 1\n  workers: 1\nworkload:\n  jobs: 1\nfaults:\n  - at: 4.2s\n    do: partition\n    node: worker-1\n    from: heartbeats\nseed: 1\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			smallest := Shrink(large(t), nil, func(p *plans.Plan) bool { tries++; return c.fails(p) })
			assert.Equal(t, "version: 1\nname: x\npreset: documented\n"+c.want, PlanText(t, smallest))
			assert.Less(t, tries, 150)
		})
	}
}

// What the user has fixed stays, and the rest shrinks around it.
func TestShrinkKeeps(t *testing.T) {
	keep := []string{"engine.max_deliver", "topology.workers", "schedule.strategy"}
	smallest := Shrink(large(t), keep, func(*plans.Plan) bool { return true })
	assert.Equal(t, "version: 1\nname: x\npreset: documented\nengine:\n  max_deliver: 7\ntopology:\n  schedulers: 1\nworkload:\n  jobs: 1\nschedule:\n  strategy: random\nseed: 1\n", PlanText(t, smallest))
}

// A crash that hits by its time becomes one that comes after what it has to come after.
func TestShrinkPinsACrashToAnOperation(t *testing.T) {
	p := parsed(t, "preset: documented\ntopology: {schedulers: 1, workers: 1}\nworkload: {jobs: 3}\nfaults:\n  - {at: 2.6s, do: crash, node: scheduler-1, restart_in: 1m}\n")
	smallest := Shrink(p, nil, func(p *plans.Plan) bool {
		return p.Workload.Jobs == 3 && len(p.Faults) == 1 && p.Faults[0].At == 2600*time.Millisecond || has(p, faults.Crash, "scheduled_write")
	})
	assert.Equal(t, "version: 1\nname: x\npreset: documented\ntopology:\n  schedulers: 1\n  workers: 1\nworkload:\n  jobs: 1\nfaults:\n"+
		"  - after: {job: 1, phase: scheduled_write}\n    do: crash\n    node: actor\nseed: 1\n", PlanText(t, smallest))
}

// A pause that lets an operation run out of time becomes the failure of that operation.
func TestShrinkPinsAPauseToAnOperation(t *testing.T) {
	p := parsed(t, "preset: documented\ntopology: {schedulers: 1, workers: 1}\nworkload: {jobs: 3}\nfaults:\n  - {after: {phase: submit_ack}, do: pause, node: actor, for: 1s}\n")
	smallest := Shrink(p, nil, func(p *plans.Plan) bool {
		return p.Workload.Jobs == 3 && has(p, faults.Pause, "submit_ack") || has(p, faults.FailBefore, "dispatched_write")
	})
	assert.Equal(t, "version: 1\nname: x\npreset: documented\ntopology:\n  schedulers: 1\n  workers: 1\nworkload:\n  jobs: 1\nfaults:\n"+
		"  - on: {job: 1, phase: dispatched_write}\n    do: fail-before\nseed: 1\n", PlanText(t, smallest))
}

// So does one at the node that a phase of the only job names.
func TestShrinkPinsAPauseOfTheOnlyJob(t *testing.T) {
	p := parsed(t, "preset: documented\ntopology: {schedulers: 1, workers: 1}\nworkload: {jobs: 1}\nfaults:\n  - {after: {job: 1, phase: scheduled_write}, do: pause, node: actor, for: 1s}\n")
	smallest := Shrink(p, nil, func(p *plans.Plan) bool {
		return has(p, faults.Pause, "scheduled_write") || has(p, faults.FailBefore, "publish")
	})
	assert.True(t, has(smallest, faults.FailBefore, "publish"), "%s", PlanText(t, smallest))
}

// A failure that hangs on an order of steps may need another seed once other jobs are gone.
func TestShrinkTriesOtherSeeds(t *testing.T) {
	smallest := Shrink(large(t), nil, func(p *plans.Plan) bool { return p.Seed == 77 && p.Workload.Jobs == 5 || p.Seed == 2 })
	assert.Equal(t, 1, smallest.Workload.Jobs)
	assert.Equal(t, uint64(2), smallest.Seed)
}

// No plan is tried twice, each is sound, and the same answers give the same result.
func TestShrinkAsksOnce(t *testing.T) {
	var texts [2][]string
	for i := range texts {
		Shrink(large(t), nil, func(p *plans.Plan) bool {
			requireSound(t, p)
			texts[i] = append(texts[i], PlanText(t, p))
			return len(PlanText(t, p))%3 != 0
		})
	}
	assert.Equal(t, texts[0], texts[1])
	slices.Sort(texts[0])
	assert.Len(t, slices.Compact(slices.Clone(texts[0])), len(texts[0]))
	require.NotEmpty(t, texts[0])
}

// parsed reads a plan from its text.
func parsed(t *testing.T, text string) *plans.Plan {
	t.Helper()
	p, err := plans.Parse("p.yaml", []byte("name: x\n"+text))
	require.NoError(t, err)
	return p
}
