package scenarios

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

// pause is longer than any lock lives.
const pause = 5 * time.Minute

// pausedRun is a run in which a scheduler stood still.
type pausedRun struct {
	res   *Result
	at    *sim.Event // the operation after which it did; nil if there were not as many
	since time.Duration
	wrote []sim.Event // what it changed in job 3's record or stored for it, under a lock from before
	taken bool        // another scheduler took the job over meanwhile
	seen  []string    // the phases of the schedulers' operations on job 3, up to the pause
}

// promised lists the promises that the run breaks. That a living holder keeps its lock is not promised of
// one that stands still; and one that still does when the run is over has not counted what it did last.
func (r *pausedRun) promised() (broken []Violation) {
	asleep := r.at != nil && r.res.Virtual < r.since+pause
	for _, v := range r.res.Violations {
		if v.Promised && (!asleep || v.Invariant != "counters-equal-trace") {
			broken = append(broken, v)
		}
	}
	return broken
}

// fenced is how many writes the fence has refused.
func (r *pausedRun) fenced() (n float64) {
	for name, v := range r.res.Counters {
		if strings.HasPrefix(name, "scheduler_fenced_writes_total") {
			n += v
		}
	}
	return n
}

// pausePlan is three jobs on two schedulers, preset hardened, with more of a plan's YAML.
func pausePlan(t *testing.T, more string) *plans.Plan {
	t.Helper()
	p, err := plans.Parse("pause", []byte("version: 1\nname: pause\npreset: hardened\ntopology: {schedulers: 2, workers: 2}\n"+more))
	require.NoError(t, err)
	return p
}

const pausedJobs = "workload: {jobs: 3}\n"

// pauseAt runs a plan. After the n-th operation on job 3, the scheduler that has run it stands still for five minutes, which is longer than its lock lives: before it
// learns what came of the operation, or else at its next gate, where the deadline of what it was about to
// do passes.
func pauseAt(t *testing.T, n int, learns bool, more string, settings ...string) *pausedRun {
	t.Helper()
	p := pausePlan(t, more)
	for _, s := range settings {
		require.NoError(t, p.Set(s))
	}
	require.NoError(t, p.Validate())
	require.Less(t, p.Engine.JobLockTTL, pause)

	r, err := newRun(context.Background(), p, RunOptions{Source: p.Name})
	require.NoError(t, err)
	out := &pausedRun{}
	cfg := r.config()
	locked := false
	inject := cfg.Intercept
	cfg.Intercept = func(ctx context.Context, op *sim.Op, apply func() error) error {
		err := inject(ctx, op, apply)
		if out.at != nil || op.Job != "job-3" || !strings.HasPrefix(op.Node(), "scheduler-") {
			return err
		}
		if out.seen = append(out.seen, op.Phase); len(out.seen) != n {
			return err
		}
		w := op.World()
		out.at = &sim.Event{Node: op.Node(), Kind: op.Kind, Name: op.Name, Job: op.Job, Phase: op.Phase, Occurrence: op.Occurrence}
		out.since = w.Now()
		w.Find(op.Node()).Pause(pause)
		w.Control("pause", op.Node(), func() {})
		w.At(w.Now()+pause, "resume", op.Node(), func() {})
		if learns {
			return op.Hold(err)
		}
		return err
	}
	observe := cfg.Observe
	cfg.Observe = func(e *sim.Event) {
		observe(e)
		if out.at == nil || e.At <= out.since {
			return
		}
		for _, c := range e.Changes {
			switch {
			case e.Node != out.at.Node:
				out.taken = out.taken || c.Key == "job:job-3" && strings.HasPrefix(e.Node, "scheduler-") && e.At < out.since+pause
			case c.Key == "cordum:scheduler:job:job-3" && e.Phase == "lock_acquire":
				locked = true // anew: what it does from here on is its own again
			case !locked && (c.Key == "job:job-3" || c.Stream == "CORDUM_JOBS" && c.Header["Job-Id"] == "job-3"):
				kept := *e
				kept.Changes = nil
				out.wrote = append(out.wrote, kept)
			}
		}
	}
	sum, err := sim.Run(cfg, r.play)
	require.NoError(t, err, "pause after operation %d (%+v)", n, out.at)
	out.res = r.result(sum)
	return out
}

// A scheduler may stand still for longer than its lock lives after any operation of a job's handling,
// from the delivery of its request to the ack of its result. In preset hardened it changes nothing when
// it goes on, unless it takes the lock anew.
func TestAPausedHolderChangesNothing(t *testing.T) {
	for name, learns := range map[string]bool{"before it learns what came of the operation": true, "at its next gate": false} {
		t.Run(name, func(t *testing.T) {
			phases := map[string]bool{}
			taken, fenced := 0, 0.0
			for n := 1; ; n++ {
				run := pauseAt(t, n, learns, pausedJobs)
				if run.at == nil {
					break
				}
				phases[run.at.Phase+" "+run.at.Name] = true
				assert.Empty(t, run.wrote, "after a pause at %+v", run.at)
				assert.Empty(t, run.promised(), "after a pause at %+v", run.at)
				if run.taken {
					taken++
				}
				fenced += run.fenced()
				for _, j := range run.res.Jobs {
					assert.Equal(t, "SUCCEEDED", j.State, "%s, after a pause at %+v", j.ID, run.at)
					assert.Len(t, j.Dispatches, 1, "%s, after a pause at %+v", j.ID, run.at)
				}
			}
			for _, gate := range []string{
				"submit_deliver ", "lock_acquire set", "state_read hgetall", "scheduled_write multi", "dispatched_write watch", "dispatched_write pipeline", "dispatched_write multi",
				"publish ", "running_write multi", "lock_release multi", "submit_ack DoubleAck", "result_deliver ", "result_write multi", "result_ack DoubleAck",
			} {
				assert.True(t, phases[gate], "no pause at %s", gate)
			}
			assert.Greater(t, taken, 10, "the other replica takes over")
			assert.Equal(t, learns, fenced > 0, "the paused one tries to write what is not past its deadline")
		})
	}
}

// The same holds where the dispatch does not go as it should: from the handling on that differs, until the
// job's result comes.
func TestAPausedHolderChangesNothingOnTheOtherPaths(t *testing.T) {
	for name, path := range map[string]struct {
		plan  string
		gates []string // where a scheduler has stood still, the first of the handling that differs first
		ends  []string // of job 3, according to who came first
	}{
		"resume": {
			plan:  pausedJobs + "faults: [{on: {job: 3, phase: publish}, do: fail-before}]",
			gates: []string{"publish", "running_write"}, ends: []string{"SUCCEEDED"},
		},
		"resume a dispatch that was stored": {
			plan:  "workload: {jobs: 3, slow: {3: 1m}}\nfaults: [{on: {job: 3, phase: publish}, do: fail-after}]",
			gates: []string{"publish", "publish_read", "running_write"}, ends: []string{"SUCCEEDED"},
		},
		"cancel": {
			plan:  "workload: {jobs: 3, cancel: {3: 500ms}}\nfaults: [{on: {job: 3, phase: publish}, do: fail-before}]",
			gates: []string{"void_publish", "cancel_write", "cancel_notice"}, ends: []string{"CANCELLED", "SUCCEEDED"},
		},
		"dead worker": {
			plan: pausedJobs + `engine: {backoff_base: 15s, intent_age: 2m, count_dispatches: false}
faults:
  - {on: {job: 3, phase: publish}, do: fail-before, times: 2}
  - {after: {job: 3, phase: dispatched_write}, do: crash, node: worker-1}
then: {heal: false}`,
			gates: []string{"void_publish", "rollback_write"}, ends: []string{"SUCCEEDED"},
		},
		"timeout": {
			plan: pausedJobs + `engine: {backoff_base: 15s, intent_age: 2m, topic_timeouts: job.default=20s}
faults: [{on: {job: 3, phase: publish}, do: fail-before, times: 2}]`,
			gates: []string{"timeout_read", "void_publish", "rollback_write"}, ends: []string{"SUCCEEDED"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "resume" && name != "cancel" {
				t.Skip("a night pauses on the others")
			}
			phases := map[string]bool{}
			calm := pauseAt(t, 0, true, path.plan)
			differs := slices.Index(calm.seen, path.gates[0])
			require.Positive(t, differs)
			for calm.seen[differs] != "lock_acquire" {
				differs--
			}
			for n := differs + 1; ; n++ {
				run := pauseAt(t, n, true, path.plan)
				if run.at == nil || run.at.Phase == "result_deliver" {
					break
				}
				phases[run.at.Phase] = true
				assert.Empty(t, run.wrote, "after a pause at %+v", run.at)
				assert.Empty(t, run.promised(), "after a pause at %+v", run.at)
				for _, j := range run.res.Jobs {
					if j.ID == "job-3" {
						assert.Contains(t, path.ends, j.State, "after a pause at %+v", run.at)
						assert.LessOrEqual(t, len(j.Dispatches), 1, "after a pause at %+v", run.at)
					}
				}
			}
			for _, gate := range path.gates {
				assert.True(t, phases[gate], "no pause at %s", gate)
			}
		})
	}
}

// Each of the two fences is needed: of the record, and of the stream.
func TestWithoutAFenceAPausedHolderChangesTheJob(t *testing.T) {
	for setting, what := range map[string]string{"engine.fence=false": "multi", "engine.epochs=false": ""} {
		t.Run(setting, func(t *testing.T) {
			for n := 1; ; n++ {
				run := pauseAt(t, n, true, pausedJobs, setting)
				require.NotNil(t, run.at, "no pause shows it")
				if slices.ContainsFunc(run.wrote, func(e sim.Event) bool { return e.Name == what }) {
					return
				}
			}
		})
	}
}

// A pause ends with the process that it holds up, and excuses nothing after it.
func TestAPauseThatACrashCutsShortExcusesNothingLater(t *testing.T) {
	for name, before := range map[string]string{"alone": "", "after a pause that a crash cut short": `
  - {at: 3s, do: pause, node: scheduler-1, for: 10m}
  - {at: 4s, do: crash, node: scheduler-1, restart_in: 1s}`} {
		t.Run(name, func(t *testing.T) {
			p, err := plans.Parse("pause", []byte(`
version: 1
name: pause
preset: documented
engine: {dispatch_order: publish-first}
topology: {schedulers: 1, workers: 1}
workload: {jobs: 4, every: 10s}
faults:`+before+`
  - {on: {job: 4, phase: dispatched_write}, do: fail-before}
seed: 7
`))
			require.NoError(t, err)
			res, err := Run(context.Background(), p, RunOptions{})
			require.NoError(t, err)
			assert.Equal(t, Violated, res.Verdict)
			assert.True(t, slices.ContainsFunc(res.Violations, func(v Violation) bool { return v.Promised && v.Invariant == "one-dispatch-per-job" }))
		})
	}
}

// A Redis that is away is away from all, also from a node that a partition cannot cut off.
func TestARedisThatIsAwayIsAwayFromAll(t *testing.T) {
	p, err := plans.Parse("away", []byte(`
version: 1
name: away
topology: {schedulers: 1, workers: 1}
workload: {jobs: 2, every: 1s, saga: 2, unreadable: 3}
faults: [{at: 500ms, do: kill, node: redis, for: 20s}]
seed: 7
`))
	require.NoError(t, err)
	var trace strings.Builder
	res, err := Run(context.Background(), p, RunOptions{Trace: &trace})
	require.NoError(t, err)
	assert.Equal(t, Held, res.Verdict)
	cut := 0
	for line := range strings.Lines(trace.String()) {
		var e sim.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		if e.Node == actors.StrangerName && e.Kind == sim.KindRedis {
			if e.At < 20500*time.Millisecond {
				assert.Equal(t, "partition", e.Fault)
				cut++
			} else {
				assert.Empty(t, e.Fault)
			}
		}
	}
	assert.Positive(t, cut)
}
