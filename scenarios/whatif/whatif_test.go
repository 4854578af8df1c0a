package whatif

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

func load(t *testing.T, name string, sets ...string) *plans.Plan {
	p, err := plans.Load(name)
	require.NoError(t, err)
	for _, set := range sets {
		require.NoError(t, p.Set(set))
	}
	return p
}

const fewSnapshots = "engine.snapshot_every=5m"

// causes are those that several tests look at, and change nothing of, by the names of their scenarios.
var causes = map[string]*why.Cause{}

// explained is what a scenario's violation hangs on, quickly. Snapshots are few, or half of the steps are theirs.
func explained(t *testing.T, name string) *why.Cause {
	t.Helper()
	if causes[name] == nil {
		causes[name] = explain(t, load(t, name, fewSnapshots))
	}
	return causes[name]
}

func explain(t *testing.T, p *plans.Plan) *why.Cause {
	t.Helper()
	c, err := Explain(context.Background(), p, Options{Quick: true})
	require.NoError(t, err)
	return c
}

func TestALostAckIsToBlameAndEpochsWouldHaveHeldIt(t *testing.T) {
	c, err := Explain(context.Background(), load(t, "publish-ack-lost"), Options{})
	require.NoError(t, err)
	assert.Equal(t, "one-dispatch-per-job", c.Invariant)
	require.Len(t, c.Needed(why.Strike, why.Setting), 1)
	assert.Equal(t, "fail-after on publish of job 3", c.Needed(why.Strike)[0].Says)
	assert.Equal(t, "workload.slow.3=10s", c.Unneeded()[0].Says)
	require.Len(t, c.Needed(why.Remedy), 1)
	assert.Equal(t, "engine.epochs=true", c.Needed(why.Remedy)[0].Instead)
	assert.Contains(t, c.String(), "Without engine.epochs, the stream accepts the dispatch of one decision twice, and cannot tell a late one from the next. The violation needs a fault: the publish of job-3 by scheduler-2 was applied, and its caller was told of an error (fail-after).")
	assert.Contains(t, c.String(), "With engine.epochs=true, one-dispatch-per-job holds, but then one-execution-per-job still breaks and result-of-current-epoch breaks outside of its promise.")
	assert.Contains(t, c.Nearest.Own.Says, "struck by fail-after")
	assert.Contains(t, c.Nearest.Other.Says, "publish")
	assert.Equal(t, c.Nearest.Own.Step, c.Nearest.Other.Step)
	assert.Equal(t, &why.NoReturn{Orders: ordersTried, Before: ordersTried}, c.NoReturn)
	assert.GreaterOrEqual(t, len(c.Path), 3)
	assert.LessOrEqual(t, len(c.Path), pathMost)
	assert.Contains(t, c.Path[len(c.Path)-1].Says, "one-dispatch-per-job was violated")
}

// Of redis-failover, each change but one costs something: a job that is never settled, or ends in a timeout.
func TestWhatARemedyCostsIsSaid(t *testing.T) {
	c := explained(t, "redis-failover")
	assert.Contains(t, c.Holding(), "Without the failover, one-dispatch-per-job holds. Without the fail-before, one-dispatch-per-job holds, but then every-job-settles breaks outside of its promise; and job-3 does not settle, as Redis lost its record. With engine.epochs=true, one-dispatch-per-job holds, but then job-3 ends TIMEOUT. With engine.wait_replica=true, one-dispatch-per-job holds, but then no-message-given-up breaks outside of its promise and job-3 ends TIMEOUT.")
	assert.True(t, slices.ContainsFunc(c.Path, func(p why.Point) bool { return strings.Contains(p.Says, "the replayer of scheduler-2 took up job-3") }), "what the second dispatch came of")
}

// A run in which the invariant is not exercised does not hold it. One that is equal in all its steps is the nearest. The path
// tells of the jobs that the violation names, where it is about no single job, and that it is outside of its promise.
func TestAnInvariantThatIsToldByAMetric(t *testing.T) {
	c := explained(t, "stale-worker")
	require.Len(t, c.Needed(why.Remedy), 1)
	assert.Equal(t, "engine.stale_reason_code=stale_worker", c.Nearest.Instead)
	assert.Zero(t, c.Nearest.PartsAt)
	assert.Equal(t, why.Idle, c.Hardened)
	assert.Contains(t, c.Holding(), "Without any one of what it needs, nothing happens that stale-worker-has-its-own-reason judges.")
	var told strings.Builder
	for _, at := range c.Path {
		told.WriteString(at.Says + "\n")
	}
	assert.Contains(t, told.String(), "3 picks of scheduler-2 for job-8 met a stale worker")
	assert.Contains(t, told.String(), "3 picks of scheduler-1 for job-9 met a stale worker")
	assert.Contains(t, told.String(), "was broken, outside of its promise")
	assert.NotContains(t, told.String(), "job-5")
}

// Where the nearest run parts in a step of no job, the first that differs of the job is shown, too.
func TestThePartingIsOfTheJob(t *testing.T) {
	c := explained(t, "crash-before-publish")
	then := c.Nearest.Then
	require.NotNil(t, then)
	assert.Equal(t, "job-3", then.Job)
	assert.Contains(t, then.Own.Says, "lock_acquire")
	assert.Contains(t, then.Other.Says, "replay_read")
	assert.Less(t, c.Nearest.PartsAt, then.Own.Step)

	c = explained(t, "second-ticket-refused")
	then = c.Nearest.Then
	require.NotNil(t, then)
	assert.Contains(t, then.Own.Says, "with target worker.worker-1.jobs", "an event to another subject is another event")
	assert.Contains(t, then.Other.Says, "with target worker.worker-1.jobs.job-4.1")
}

// Of what else the run breaks, the part of the engine that is there for it says what goes wrong.
func TestAnotherInvariantsMechanism(t *testing.T) {
	c := explained(t, "paused-holder")
	assert.True(t, strings.HasPrefix(c.Brief(), "Without engine.fence, a replica whose lock has expired"), "%s", c)
	assert.Equal(t, []string{"one-dispatch-per-job", "lock-mutual-exclusion"}, c.Also)
	assert.Contains(t, c.Holding(), "but then lock-mutual-exclusion still breaks")
}

// What only decides which job is hit is not needed, be it a strike.
func TestAnInnocentStrikeIsNotBlamed(t *testing.T) {
	p := load(t, "tenant-limit")
	p.Expect = plans.Expect{}
	p.Faults = append(p.Faults, faults.Fault{At: 2016800 * time.Microsecond, Do: faults.Pause, Node: "scheduler-2", For: time.Millisecond})
	c := explain(t, p)
	assert.Equal(t, "tenant-limit-held", c.Invariant)
	assert.Empty(t, c.Needed(why.Strike), "%s", c)
	assert.Contains(t, c.Brief(), "The violation needs engine.tenant_limit=2")
}

// What a part of the engine is for is said of that with which least goes wrong. What becomes of the job all the same is said.
func TestARemedyThatDoesNotSaveTheJob(t *testing.T) {
	c := explain(t, load(t, "message-id-repick", fewSnapshots))
	assert.Equal(t, "engine.epochs=true", c.Remedies()[0].Instead)
	assert.Equal(t, "job-3 ends TIMEOUT", c.Remedies()[1].Same)
	assert.NotContains(t, c.Brief(), "engine.resume_intents")
	assert.True(t, slices.ContainsFunc(c.Path, func(p why.Point) bool { return strings.Contains(p.Says, "and stored nothing") }))
	assert.False(t, slices.ContainsFunc(c.Path, func(p why.Point) bool { return strings.Contains(p.Says, "partition") }), "it hangs on none")
}

// An invariant that the plan's own run does not judge, as one that it needs is broken, still breaks with a change. One that the preset hardened does not promise
// is not violated under it.
func TestWhatIsNotJudgedOrNotPromised(t *testing.T) {
	c := explained(t, "stale-result")
	assert.Contains(t, c.Holding(), "With engine.epochs=true, one-dispatch-per-job holds, but then one-execution-per-job still breaks and result-of-current-epoch breaks outside of its promise. Under the preset hardened, one-dispatch-per-job holds, but then one-execution-per-job still breaks.")
	c = explained(t, "topic-timeout")
	assert.Equal(t, why.Beyond, c.Hardened)
	c = explained(t, "clock-skew")
	assert.Equal(t, strings.Join(c.Together, " and "), c.Nearest.Says, "the nearest lacks both strikes")
}

// A violation of one job hangs on what hit that job. Another job's violation of the same invariant is another violation.
func TestAViolationIsOfItsJob(t *testing.T) {
	p := load(t, "publish-ack-lost")
	other := p.Faults[0]
	match := *other.On
	match.Job = 4
	other.On = &match
	p.Faults = append(p.Faults, other)
	c := explain(t, p)
	assert.Equal(t, "job-3", c.Job)
	require.Len(t, c.Blamed(), 1)
	assert.Equal(t, "fail-after on publish of job 3", c.Blamed()[0].Says)
	assert.Empty(t, c.Together)
	assert.Contains(t, c.Holding(), "Without the fault, one-dispatch-per-job holds for job-3, but then the invariant still breaks for job-4.")
	for _, at := range c.Path {
		assert.NotContains(t, at.Says, "job-4")
	}
	assert.Equal(t, why.Holds, c.Hardened)
}

// Where either of two strikes is enough, only both together are necessary; a setting that is necessary does not hide them.
func TestStrikesEachOfWhichIsEnough(t *testing.T) {
	for preset, needed := range map[string][]string{plans.PresetDocumented: nil, plans.PresetHardened: {"engine.epochs=false"}} {
		p := load(t, "publish-ack-lost", append([]string{"preset=" + preset}, needed...)...)
		other := p.Faults[0]
		match := *other.On
		match.Node = "scheduler-2"
		other.On = &match
		p.Faults = append(p.Faults, other)
		c := explain(t, p)
		var blamed []string
		for _, t := range c.Blamed() {
			blamed = append(blamed, t.Says)
		}
		assert.Equal(t, needed, blamed)
		assert.Equal(t, []string{"fail-after on publish of job 3", "fail-after on publish of job 3 at scheduler-2"}, c.Together)
		assert.Contains(t, c.Brief(), "The violation needs one of these: ")
		assert.True(t, c.Found())
	}
}

// The runs with the changes are judged by the violation that is explained: that of a promise if there is one, and of its job.
func TestWhichViolationIsExplained(t *testing.T) {
	list := []scenarios.Violation{{Invariant: "a", Job: "job-1"}, {Invariant: "b", Promised: true}, {Invariant: "a", Job: "job-2", Promised: true}, {Invariant: "a", Job: "job-3", Promised: true}}
	is := func(v *scenarios.Violation) bool { return v.Invariant == "a" }
	assert.Equal(t, "job-2", first(list, is).Job, "the first of a promise, not the first")
	assert.Equal(t, "job-1", first(list[:1], is).Job)
	b := &bench{invariant: "a", of: "job-1"}
	assert.False(t, b.comes(&list[0]), "outside of its promise")
	b.anyway = true
	assert.True(t, b.comes(&list[0]))
	assert.False(t, b.comes(&list[2]), "of another job")
	res := &scenarios.Result{Jobs: []scenarios.JobResult{{ID: "job-1"}}}
	assert.Equal(t, "job-1", subject(res, &list[0]))
	assert.Empty(t, subject(res, &scenarios.Violation{Job: "comp-1"}), "its name hangs on the order")
}

// What else comes of a change: what breaks, what is not exercised any more, and whom else the violation befalls.
func TestWhatElseComes(t *testing.T) {
	b := &bench{invariant: "a", of: "job-1", whole: &scenarios.Result{Violations: []scenarios.Violation{{Invariant: "a", Job: "job-1"}, {Invariant: "a", Job: "job-3"}}, Invariants: []scenarios.InvariantResult{
		{Name: "a", Status: scenarios.StatusViolated}, {Name: "b", Status: scenarios.StatusUnpromised}, {Name: "c", Status: scenarios.StatusViolated}, {Name: "d", Status: scenarios.StatusViolated}}}}
	o := b.outcome(&scenarios.Result{Violations: []scenarios.Violation{{Invariant: "a", Job: "job-2"}, {Invariant: "a", Job: "job-2"}, {Invariant: "a", Job: "job-3"}}, Invariants: []scenarios.InvariantResult{
		{Name: "a", Status: scenarios.StatusViolated}, {Name: "b", Status: scenarios.StatusViolated}, {Name: "c", Status: scenarios.StatusNotExercised}, {Name: "d", Status: scenarios.StatusUnpromised}}})
	assert.Equal(t, why.Outcome{Breaks: []string{"b"}, Still: []string{"d"}, Elsewhere: []string{"job-2"}, Others: []string{"job-3"}, Unjudged: []string{"c"}}, o)
}

// A setting without which the plan is not valid is not passed over, and goes where others go with it.
func TestASettingThatCannotBeLeftOutAlone(t *testing.T) {
	p := load(t, "publish-ack-lost", "engine.backoff_max=5m", "engine.backoff_base=3m")
	c, err := Explain(context.Background(), p, Options{Quick: true, Steps: 1000})
	require.NoError(t, err)
	assert.Equal(t, []string{"engine.backoff_max=5m"}, c.Untried)
	b := &bench{plan: p}
	list, _ := changes(p, c.Invariant, nil)
	assert.Len(t, b.valid(list), len(list))
}

// The nearest run holds in all else, if one does.
func TestTheNearestRunPasses(t *testing.T) {
	b := &bench{upTo: &scenarios.Result{}}
	wrong := why.Tried{What: why.Strike, Says: "wrong", Needed: true, Outcome: why.Outcome{Breaks: []string{"a"}}}
	clean := why.Tried{What: why.Setting, Says: "engine.fence=false", Needed: true}
	world := why.Tried{What: why.Setting, Says: "workload.jobs=3", Needed: true}
	own := why.Tried{What: why.Remedy, Says: "engine.epochs=false", Needed: true, Means: "It is stored twice.", Outcome: why.Outcome{Idle: true}}
	for want, list := range map[string][]why.Tried{clean.Says: {wrong, clean, world}, wrong.Says: {world, wrong}, own.Says: {clean, own, wrong}} {
		c := &why.Cause{Tried: list}
		require.NoError(t, b.nearest(c, nil))
		assert.Equal(t, want, c.Nearest.Says)
	}
}

// What a server loses is said, and so is the setting with which it loses nothing.
func TestAPowerLossTakesWhatWasNotSynced(t *testing.T) {
	c := explained(t, "nats-power-cut")
	assert.Equal(t, why.Holds, c.Hardened)
	assert.Contains(t, c.String(), "The violation needs a fault: a power loss took nats-server down (it comes back without what it had not synced to its disk, though it had acknowledged it). It needs workload.work=1m rather than 50ms, too. Without any one of what it needs, every-intent-is-published holds. With world.sync_always=true, every-intent-is-published holds.")
	assert.Equal(t, "job-6", c.Job)
	assert.True(t, slices.ContainsFunc(c.Path, func(p why.Point) bool { return strings.Contains(p.Says, "the dispatch of job-6 was lost") }), "of the same step, what is of the violation's job")
}

// The workers that world.dying lets die are no strikes of the plan.
func TestTheDyingAreNoStrikes(t *testing.T) {
	c, err := Explain(context.Background(), load(t, "stale-worker", "world.dying=0.5"), Options{Steps: 20_000})
	require.NoError(t, err)
	assert.NotEmpty(t, c.Path)
}

func TestALongRunIsNotMadeAgainAndAgain(t *testing.T) {
	c, err := Explain(context.Background(), load(t, "publish-ack-lost"), Options{Steps: 100})
	require.NoError(t, err)
	assert.NotEmpty(t, c.Unknown)
	assert.Contains(t, c.String(), "It is not known what comes without fail-after on publish of job 3")
	assert.NotContains(t, c.String(), "comes whatever")
	assert.False(t, c.Found())
	assert.NotEmpty(t, c.Path)
	assert.Nil(t, c.NoReturn)
}

// The steps that a search takes are enough for it, and one less is not: all runs share them.
func TestTheRunsShareTheSteps(t *testing.T) {
	plan := load(t, "publish-ack-lost")
	c, err := Explain(context.Background(), plan, Options{Quick: true})
	require.NoError(t, err)
	enough := c.Steps - 2*c.Nearest.PartsAt // the two runs up to the parting come besides
	same, err := Explain(context.Background(), plan, Options{Quick: true, Steps: enough})
	require.NoError(t, err)
	assert.Equal(t, c, same)
	less, err := Explain(context.Background(), plan, Options{Quick: true, Steps: enough - 1})
	require.NoError(t, err)
	assert.Nil(t, less.NoReturn)
	assert.Empty(t, less.Unknown, "every change was tried")
	assert.Less(t, less.Steps, c.Steps)
}

// Two handlings count a tenant's jobs at once in some orders, and not in others. From the step on at which both have counted, both
// dispatch: which of their jobs is the one too many hangs on the order.
func TestThePointOfNoReturn(t *testing.T) {
	plan := load(t, "tenant-limit", "preset="+plans.PresetHardened, "engine.tenant_reserve=false")
	c, err := Explain(context.Background(), plan, Options{Invariant: "tenant-limit-held", Quick: true})
	require.NoError(t, err)
	comes := func(step int) (n int) {
		for seed := range uint64(ordersTried) {
			then := []sim.Strategy{sim.Latency{}, sim.Random{}}[seed%2]
			res, err := scenarios.Run(context.Background(), plan, scenarios.RunOptions{Branch: &scenarios.Branch{Then: then, Step: step, Seed: seed}, StopAt: c.Invariant, Anyway: true, Modified: true})
			require.NoError(t, err)
			if slices.ContainsFunc(res.Violations, func(v scenarios.Violation) bool { return v.Invariant == c.Invariant }) {
				n++
			}
		}
		return n
	}
	n := c.NoReturn
	require.NotNil(t, n)
	assert.Positive(t, n.Step)
	assert.Less(t, n.Step, c.Step, "before the violation itself")
	assert.Less(t, n.Before, n.Orders)
	assert.Equal(t, []int{n.Before, n.Orders, n.Orders}, []int{comes(n.Step - 1), comes(n.Step), comes((n.Step + c.Step) / 2)})
	assert.Less(t, comes(0), n.Orders)
	assert.Contains(t, c.String(), fmt.Sprintf("The point of no return is step %d (", n.Step))
}

// Whether a violation comes is not known of a run that uses up its steps, nor of one without the time to settle, if it is
// judged at the end.
func TestARunWithoutAnEndTellsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		plan      *plans.Plan
		invariant string
		most      int
		known     bool
	}{
		"to its end":                   {load(t, "calm", "workload.jobs=2"), "one-dispatch-per-job", stepsMost, true},
		"out of steps":                 {load(t, "calm", "workload.jobs=2"), "one-dispatch-per-job", stepsLeast, false},
		"no time, judged at the end":   {load(t, "../testdata/findings/outage-longer-than-settle_within.yaml"), "every-job-settles", stepsMost, false},
		"no time, judged at each step": {load(t, "../testdata/findings/outage-longer-than-settle_within.yaml"), "documented-transitions-only", stepsMost, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{ctx: context.Background(), plan: c.plan, invariant: c.invariant, anyway: true, most: c.most, say: func(string) {}}
			_, comes, known, err := b.play(c.plan, nil, nil)
			require.NoError(t, err)
			assert.False(t, comes)
			assert.Equal(t, c.known, known)
			if !c.known {
				b.steps = 0
				n, err := b.noReturn(1000)
				require.NoError(t, err)
				assert.Nil(t, n)
			}
		})
	}
}

// The strategy pct spreads its change points over the steps of a whole run: a run up to the violation has the same.
func TestARunUnderPCTIsThePlansOwn(t *testing.T) {
	plan := load(t, "publish-ack-lost", "schedule.strategy=pct")
	whole, err := scenarios.Run(context.Background(), plan, scenarios.RunOptions{})
	require.NoError(t, err)
	b := &bench{ctx: context.Background(), plan: plan, say: func(string) {}}
	_, _, err = b.ownRun("")
	require.NoError(t, err)
	assert.Equal(t, whole.PCT.Steps, b.upTo.PCT.Steps)
}

func TestWithoutAViolationThereIsNothingToExplain(t *testing.T) {
	_, err := Explain(context.Background(), load(t, "calm"), Options{})
	require.ErrorIs(t, err, ErrHeld)
	_, err = Explain(context.Background(), load(t, "publish-ack-lost"), Options{Invariant: "every-job-settles"})
	require.ErrorIs(t, err, ErrHeld)
	assert.ErrorContains(t, err, "the run breaks one-dispatch-per-job, one-effect-per-key, and since then does not judge one-execution-per-job")
}

func TestABranchHasTheEventsOfItsTrunkUpToItsStep(t *testing.T) {
	trace := func(b *scenarios.Branch) [][]byte {
		var out bytes.Buffer
		_, err := scenarios.Run(context.Background(), load(t, "calm", "workload.jobs=2"), scenarios.RunOptions{Branch: b, Trace: &out})
		require.NoError(t, err)
		return bytes.Split(out.Bytes(), []byte("\n"))
	}
	own := trace(nil)
	for _, then := range []sim.Strategy{sim.Latency{}, sim.Random{}} {
		one, other := trace(&scenarios.Branch{Then: then, Step: 60, Seed: 1}), trace(&scenarios.Branch{Then: then, Step: 60, Seed: 2})
		assert.Equal(t, own[:60], one[:60])
		assert.Equal(t, own[:60], other[:60])
		assert.NotEqual(t, one, other)
		assert.NotEqual(t, own, one)
		assert.Equal(t, one, trace(&scenarios.Branch{Then: then, Step: 60, Seed: 1}))
	}
}

// Package why knows no plans, so that pages need none.
func TestWhatAPresetSetsIsNoCircumstance(t *testing.T) {
	assert.True(t, (&why.Tried{What: why.Setting, Says: "world.sync_time=1ms"}).Circumstance())
	for _, key := range append(plans.OfServers, "engine.fence", "preset") {
		assert.False(t, (&why.Tried{What: why.Setting, Says: key + "=x"}).Circumstance(), key)
	}
}
