package campaign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/internal/race"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/whatif"
)

const oneDispatch = "one-dispatch-per-job"

// here runs a trial in this process.
func here(ctx context.Context, t Trial) (*Outcome, error) {
	p, err := plans.Parse("trial", []byte(t.Plan))
	if err != nil {
		return nil, err
	}
	if t.Why != "" {
		cause, err := whatif.Explain(ctx, p, whatif.Options{Invariant: t.Why, Quick: true})
		return &Outcome{Cause: cause}, err
	}
	res, err := scenarios.Run(ctx, p, scenarios.RunOptions{Source: p.Name, Modified: true, Drawn: true, StopAt: t.StopAt})
	return &Outcome{Result: res}, err
}

// firstBroken is the first run of the campaign that breaks the promise.
func firstBroken(t *testing.T, spec *Spec, invariant string) *Record {
	t.Helper()
	require.NoError(t, spec.Validate())
	for n := range 1000 {
		p, err := spec.Plan(n)
		require.NoError(t, err)
		res, err := scenarios.Run(t.Context(), p, scenarios.RunOptions{Source: p.Name, Modified: true, Drawn: true})
		require.NoError(t, err)
		if r := RecordOf(n, p, res); slices.Contains(r.promises(), invariant) {
			return r
		}
	}
	require.Fail(t, "no run breaks it")
	return nil
}

// losing is the run of losesByOrder, which takes seconds to find.
var losing = struct {
	sync.Once
	Record
}{}

// losesByOrder is a campaign over publish-first, and its first run that dispatches a job twice.
func losesByOrder(t *testing.T) (*Spec, *Record) {
	t.Helper()
	spec := drawn(Drawn{Sets: []string{"engine.dispatch_order=publish-first"}})
	require.NoError(t, spec.Validate())
	losing.Do(func() { losing.Record = *firstBroken(t, spec, oneDispatch) })
	r := losing.Record
	return spec, &r
}

func drawn(d Drawn) *Spec {
	d.Presets = []string{plans.PresetDocumented}
	return &Spec{Version: SpecVersion, Name: "test", Seed: 1, Runs: 1000, Drawn: &d}
}

// What is found is a plan file that shows it: of one job, named by its content, with the digest of the
// run that the printed command gives.
func TestExamine(t *testing.T) {
	race.SkipLong(t)
	ackLost, _ := plans.Source("publish-ack-lost")
	writeFailure, _ := plans.Source("state-write-failure")
	for name, c := range map[string]struct {
		drawn  Drawn
		cause  string
		blamed []string
	}{
		"a setting that loses": {
			Drawn{Plans: []string{writeFailure}, Sets: []string{"engine.dispatch_order=publish-first"}}, "fail-before dispatched_write, with engine.dispatch_order=publish-first",
			[]string{"engine.dispatch_order=publish-first"},
		},
		"a setting that is not to blame": {
			Drawn{Plans: []string{ackLost}, Sets: []string{"engine.dispatch_order=publish-first"}, Judged: []string{oneDispatch}}, "fail-after publish", []string{"engine.epochs=false"},
		},
		"judged outside a promise": {Drawn{Plans: []string{ackLost}, Judged: []string{oneDispatch, "every-job-settles"}}, "fail-after publish", []string{"engine.epochs=false"}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := drawn(c.drawn)
			r := firstBroken(t, spec, oneDispatch)
			f, err := examine(t.Context(), spec, r, oneDispatch, here)
			require.NoError(t, err)
			assert.Equal(t, oneDispatch, f.Invariant)
			assert.Equal(t, c.cause, f.Cause)
			assert.Equal(t, c.blamed, f.Blamed)
			assert.Contains(t, f.Why, "The violation needs a fault: the ", "the sentence of why")
			assert.NotContains(t, f.Why, "point of no return", "it is the start")
			assert.Equal(t, []int{1, 1, 1, 1}, []int{f.Jobs, f.Faults, f.Schedulers, f.Workers}, "%s", f.Plan)
			assert.Equal(t, []int{r.N, 1}, []int{f.First, f.Runs})
			assert.Positive(t, f.Tries)
			assert.False(t, f.Flaky)
			assert.Empty(t, f.Detail)
			assert.True(t, f.explains(oneDispatch, r))
			assert.Regexp(t, `^findings/one-dispatch-per-job-[0-9a-f]{8}\.yaml$`, f.File)
			assert.Equal(t, "findings/"+f.Fingerprint().Name()+".yaml", f.File)
			assert.Equal(t, "wavetank run "+f.File, f.Replay)

			p, err := plans.Parse(f.File, []byte(f.Plan))
			require.NoError(t, err)
			assert.Equal(t, strings.TrimSuffix(strings.TrimPrefix(f.File, "findings/"), ".yaml"), p.Name)
			assert.Equal(t, f.Story, p.Story)
			assert.Equal(t, oneDispatch, p.Expect.Violates[0])
			res, err := scenarios.Run(t.Context(), p, scenarios.RunOptions{Source: f.File})
			require.NoError(t, err)
			assert.Equal(t, scenarios.Violated, res.Verdict)
			assert.Contains(t, res.Reason, "violated, as the plan expects")
			assert.Equal(t, []any{res.Digest, res.Verdict}, []any{f.Digest, f.Verdict})
			assert.Contains(t, f.Story, fmt.Sprintf("one-dispatch-per-job is broken: second dispatch stored, CORDUM_JOBS seq 2 on worker.worker-1.jobs at step %d", f.Step))
			assert.Contains(t, f.Story, "a client submitted job-1. ")

			again, err := examine(t.Context(), spec, r, oneDispatch, here)
			require.NoError(t, err)
			assert.Equal(t, f, again)
		})
	}
}

// A run that does not repeat is no evidence: it is reported as what it is, with its whole plan.
func TestExamineTellsThatARunDoesNotRepeat(t *testing.T) {
	race.SkipLong(t)
	spec, r := losesByOrder(t)
	plan, err := spec.Plan(r.N)
	require.NoError(t, err)
	was := r.Digest
	r.Digest = "0123456789abcdef"
	f, err := examine(t.Context(), spec, r, oneDispatch, here)
	require.NoError(t, err)
	assert.True(t, f.Flaky)
	assert.Equal(t, "the same plan gave another run", f.Cause)
	assert.Equal(t, "the first run's digest was 0123456789abcdef, the second's "+was, f.Detail)
	assert.Contains(t, f.Story, f.Detail)
	assert.Equal(t, []int{plan.Workload.Jobs, len(plan.Faults), 1}, []int{f.Jobs, f.Faults, f.Tries})
	assert.Positive(t, f.Step)
	assert.False(t, f.explains(oneDispatch, r), "it accounts for nothing else")
	_, err = plans.Parse(f.File, []byte(f.Plan))
	require.NoError(t, err)
}

// meets is code under test that goes out of bounds in plans like these.
func meets(what Containment, like func(*plans.Plan) bool) trials {
	return func(ctx context.Context, t Trial) (*Outcome, error) {
		p, err := plans.Parse("trial", []byte(t.Plan))
		if err != nil {
			return nil, err
		}
		if like(p) {
			return &Outcome{Contained: &Contained{What: what, Step: 42, Stack: "panic: at the disco"}}, nil
		}
		return &Outcome{Result: &scenarios.Result{Verdict: scenarios.Held}}, nil
	}
}

func TestExamineWhatGoesOutOfBounds(t *testing.T) {
	race.SkipLong(t)
	spec := drawn(Drawn{})
	like := func(p *plans.Plan) bool {
		return p.Workload.Jobs >= 2 && slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.On != nil && f.On.Phase == "publish" && f.On.Job <= 2 })
	}
	n := 0
	var plan *plans.Plan
	for ; plan == nil || !like(plan) || len(plan.Faults) < 3; n++ {
		var err error
		plan, err = spec.Plan(n)
		require.NoError(t, err)
	}
	r := containedRecord(n-1, plan, Contained{What: Panicked, Step: 97})
	f, err := examine(t.Context(), spec, r, string(Panicked), meets(Panicked, like))
	require.NoError(t, err)
	assert.Equal(t, []int{2, 1, 1, 1}, []int{f.Jobs, f.Faults, f.Schedulers, f.Workers}, "%s", f.Plan)
	assert.Equal(t, []string{"fail-before publish"}, f.Kinds)
	assert.Equal(t, "panic: at the disco", f.Detail)
	assert.Regexp(t, `^With fail-before on publish.*, the code under test panicked after step 42\.$`, f.Story)
	assert.Regexp(t, `^findings/no-panic-[0-9a-f]{8}\.yaml$`, f.File)
	assert.Empty(t, f.Verdict)
	p, err := plans.Parse(f.File, []byte(f.Plan))
	require.NoError(t, err)
	assert.Empty(t, p.Expect, "no plan can expect it")

	flaky := containedRecord(n-1, plan, Contained{What: Panicked, Step: 97, Flaky: true})
	f, err = examine(t.Context(), spec, flaky, string(Panicked), meets(Panicked, like))
	require.NoError(t, err)
	assert.True(t, f.Flaky)

	f, err = examine(t.Context(), spec, r, string(Panicked), meets(Hung, like))
	require.NoError(t, err)
	assert.Equal(t, "the first run was out of bounds (no-panic) at step 97, the second out of bounds (no-hang)", f.Detail)
}

// What shrinking made is run once more before it is believed; if it shows nothing then, the plan as it was
// drawn is the finding, and a lack of determinism only if that shows nothing either.
func TestExamineFallsBackToTheWholePlan(t *testing.T) {
	race.SkipLong(t)
	spec := drawn(Drawn{})
	plan, err := spec.Plan(3)
	require.NoError(t, err)
	require.NotEmpty(t, plan.Faults)
	r := containedRecord(3, plan, Contained{What: Hung, Step: 7, Stack: "the world does not move"})
	for _, still := range []bool{true, false} {
		whole := 0
		f, err := examine(t.Context(), spec, r, string(Hung), func(ctx context.Context, trial Trial) (*Outcome, error) {
			p, err := plans.Parse("trial", []byte(trial.Plan))
			if err != nil {
				return nil, err
			}
			drawn := len(p.Faults) == len(plan.Faults)
			if drawn && trial.StopAt == "" {
				whole++
			}
			shows := trial.StopAt != "" || drawn && (whole == 1 || still)
			return meets(Hung, func(*plans.Plan) bool { return shows })(ctx, trial)
		})
		require.NoError(t, err)
		assert.Equal(t, !still, f.Flaky)
		assert.Equal(t, []int{3, 1, plan.Workload.Jobs, len(plan.Faults)}, []int{f.First, f.Runs, f.Jobs, f.Faults})
		assert.Positive(t, f.Tries)
		assert.Zero(t, f.Step)
		assert.NotContains(t, f.Story, "step 7", "it may be another each time")
		_, err = plans.Parse(f.File, []byte(f.Plan))
		require.NoError(t, err)
		if still {
			assert.Equal(t, "a plan that could not be shrunk", f.Cause)
			assert.Equal(t, "not shrunk: the smallest plan that broke the promise did not break it when it was run once more\n\nthe world does not move", f.Detail)
			assert.True(t, f.explains(string(Hung), r))
		}
	}
}

// An examination that fails does so each time: what the run broke is reported without it.
func TestAnExaminationThatFailsLeavesTheWholePlan(t *testing.T) {
	race.SkipLong(t)
	spec, r := losesByOrder(t)
	plan, err := spec.Plan(r.N)
	require.NoError(t, err)
	for why, reply := range map[string]*Outcome{
		"the examination panicked: runtime error: invalid memory address or nil pointer dereference": {},
		"trial: the plan is broken": {Problem: "trial: the plan is broken"},
	} {
		calls := make(chan call)
		go func() { (<-calls).reply <- reply }()
		f, err := examineSafely(t.Context(), &supervisor{crew: crew{spec: *spec, calls: calls}}, broken{r.N, oneDispatch}, r)
		require.NoError(t, err)
		assert.Equal(t, "not shrunk: "+why, f.Detail)
		assert.Contains(t, f.Story, "could not be shrunk and is as it was drawn: "+why+". one-dispatch-per-job is broken: at step ")
		assert.Equal(t, []int{r.N, 1, plan.Workload.Jobs, len(plan.Faults)}, []int{f.First, f.Runs, f.Jobs, f.Faults})
		assert.False(t, f.Flaky)
		p, err := plans.Parse(f.File, []byte(f.Plan))
		require.NoError(t, err)
		res, err := scenarios.Run(t.Context(), p, scenarios.RunOptions{Source: f.File})
		require.NoError(t, err)
		assert.Equal(t, []any{f.Digest, f.Verdict}, []any{res.Digest, res.Verdict})
		assert.Contains(t, res.Reason, "violated, as the plan expects")
	}
}

// A hang takes its time whenever it is met again: it is not shrunk for ever.
func TestExamineBoundsItsTries(t *testing.T) {
	race.SkipLong(t)
	spec := drawn(Drawn{})
	plan, err := spec.Plan(3)
	require.NoError(t, err)
	r := containedRecord(3, plan, Contained{What: Hung})
	f, err := examine(t.Context(), spec, r, string(Hung), meets(Hung, func(p *plans.Plan) bool { return len(p.Faults) >= len(plan.Faults) }))
	require.NoError(t, err)
	assert.LessOrEqual(t, f.Tries, triesMaxSlow)
}

func TestExamineFailsWithItsTrials(t *testing.T) {
	race.SkipLong(t)
	spec, r := losesByOrder(t)
	for after := range 3 {
		trials := 0
		_, err := examine(t.Context(), spec, r, oneDispatch, func(ctx context.Context, trial Trial) (*Outcome, error) {
			if trials++; trials > after {
				return nil, errors.New("no worker is left")
			}
			return here(ctx, trial)
		})
		assert.EqualError(t, err, "no worker is left")
		assert.Equal(t, after+1, trials, "and asks for no more")
	}
}

func planOf(t *testing.T, text string) *plans.Plan {
	p, err := plans.Parse("p.yaml", []byte("name: x\n"+text))
	require.NoError(t, err)
	return p
}

func TestCause(t *testing.T) {
	for text, want := range map[string]string{
		"seed: 7\n":                             "no fault",
		"workload: {jobs: 3, submissions: 2}\n": "no fault",
		"faults:\n  - {on: {job: 3, phase: rollback_write}, do: hang, times: 2}\n  - {on: {job: 1, phase: publish}, do: fail-after}\n  - {on: {job: 2, phase: publish}, do: fail-after}\n": "fail-after publish and hang rollback_write",
		"engine: {max_deliver: 5, ack_wait: 11m, read_error: fail-open, stale_reason_code: no_workers}\nworld: {dying: 0.5}\nfaults:\n  - {at: 5s, do: crash, node: worker-2}\n": "crash of a worker at a time, with engine.read_error=fail-open, " +
			"engine.stale_reason_code=no_workers, a higher engine.ack_wait, a lower engine.max_deliver, a higher world.dying",
		"preset: documented\nengine: {stale_reason_code: no_workers, backoff_jitter: 600ms}\n": "no fault, with a higher engine.backoff_jitter",
	} {
		assert.Equal(t, want, cause(planOf(t, text)))
	}
}

func TestExplains(t *testing.T) {
	f := &Finding{Invariant: oneDispatch, Kinds: []string{"fail-before state_read", "lose submit_ack"}, Settings: []string{"engine.read_error"}}
	settings := []string{"engine.read_error", "workload.jobs"}
	for _, c := range []struct {
		why       string
		invariant string
		r         Record
		want      bool
	}{
		{"all of it struck", oneDispatch, Record{Fired: []string{"fail-before state_read", "hang publish", "lose submit_ack"}, Settings: settings}, true},
		{"another promise", "every-job-settles", Record{Fired: f.Kinds, Settings: settings}, false},
		{"one of its faults did not strike", oneDispatch, Record{Drawn: f.Kinds, Fired: []string{"lose submit_ack"}, Settings: settings}, false},
		{"another setting", oneDispatch, Record{Fired: f.Kinds, Settings: []string{"engine.handlers"}}, false},
		{"to hang is to fail", oneDispatch, Record{Fired: []string{"hang state_read", "lose submit_ack"}, Settings: settings}, true},
		{"a read that fails is a read that fails", oneDispatch, Record{Fired: []string{"fail-after state_read", "lose submit_ack"}, Settings: settings}, true},
		{"nobody can say what struck", oneDispatch, Record{Drawn: f.Kinds, Settings: settings, Contained: &Contained{}}, true},
	} {
		assert.Equal(t, c.want, f.explains(c.invariant, &c.r), c.why)
	}
	write := &Finding{Invariant: oneDispatch, Kinds: []string{"fail-before dispatched_write"}}
	assert.False(t, write.explains(oneDispatch, &Record{Fired: []string{"fail-after dispatched_write"}}), "a write that was applied is another matter")
}

// A finding's story is the run's, up to a length, and says at its end how the promise broke.
func TestStory(t *testing.T) {
	v := scenarios.Violation{Invariant: "every-job-settles", Job: "job-2", Step: 99, At: 3 * time.Second, Steps: []int{12}, Message: "job-2: is still DISPATCHED, since step 12: it crashed"}
	res := &scenarios.Result{
		Violations: []scenarios.Violation{v},
		Telling:    []string{"At 1s a client submitted job-2.", "At 2s scheduler-1 crashed.", "At 3s every-job-settles was violated: job-2: is still DISPATCHED.", "The other 9 jobs succeeded."},
		TellingAt:  []scenarios.ToldAt{{At: time.Second}, {At: 2 * time.Second}, {At: 3 * time.Second, Violates: v.Invariant}},
	}
	end := "At 3s every-job-settles is broken: at step 99, is still DISPATCHED, since step 12: it crashed."
	assert.Equal(t, "At 1s a client submitted job-2. At 2s scheduler-1 crashed. "+end, story(res, &v))
	res.Telling = append([]string{"At 1s scheduler-1 wrote DISPATCHED for job-2."}, slices.Repeat(res.Telling[:1], storyLines+2)...)
	res.TellingAt = append([]scenarios.ToldAt{{Step: 12, At: time.Second}}, slices.Repeat(res.TellingAt[:1], storyLines+2)...)
	assert.Equal(t, res.Telling[0]+" "+strings.Repeat("At 1s a client submitted job-2. ", storyLines-1)+end+" 3 more steps are left out.", story(res, &v))
}

// A setting that one of the plans cannot have is said before the first run.
func TestSpecLooksAtEveryPlanThatItPerturbs(t *testing.T) {
	one, _ := plans.Source("calm")
	other, _ := plans.Source("publish-failure") // its fault is about job 3
	spec := drawn(Drawn{Plans: []string{one, other}, Sets: []string{"workload.jobs=2"}})
	assert.ErrorContains(t, spec.Validate(), "there is no job 3")
	spec.Drawn.Plans = spec.Drawn.Plans[:1]
	assert.NoError(t, spec.Validate())
}
