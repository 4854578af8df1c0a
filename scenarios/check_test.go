package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// traced runs a scenario, and gives the events of its trace as they were stored.
func traced(t *testing.T, name string, opt RunOptions) (*plans.Plan, *Result, func(func(sim.Event, error) bool)) {
	t.Helper()
	p, err := plans.Load(name)
	require.NoError(t, err)
	var trace bytes.Buffer
	opt.Source, opt.Trace = name, &trace
	res, err := Run(context.Background(), p, opt)
	require.NoError(t, err)
	return p, res, func(yield func(sim.Event, error) bool) {
		for dec := json.NewDecoder(bytes.NewReader(trace.Bytes())); dec.More(); {
			var e sim.Event
			if err := dec.Decode(&e); !yield(e, err) {
				return
			}
		}
	}
}

// constant is a log whose every sentence is the same.
type constant struct{ slog.Handler }

func (c constant) Handle(ctx context.Context, rec slog.Record) error {
	rec.Message = "a sentence"
	return c.Handler.Handle(ctx, rec)
}

func (c constant) WithAttrs(attrs []slog.Attr) slog.Handler {
	return constant{c.Handler.WithAttrs(attrs)}
}

// What a run stores agrees with itself, and with its trace. That it stores a trace changes nothing of its result, and neither
// does what the engine logs. With -short it is so of one scenario in five.
func TestCheck(t *testing.T) {
	mute := func(_ string, cfg *engine.Config) { cfg.Logger = slog.New(constant{cfg.Logger.Handler()}) }
	for i, name := range plans.Names() {
		if testing.Short() && i%5 != 0 {
			continue
		}
		p, res, events := traced(t, name, RunOptions{Variant: mute})
		want, err := json.MarshalIndent(played(t, name, p.Preset), "", "  ")
		require.NoError(t, err)
		got, err := json.MarshalIndent(res, "", "  ")
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), name)
		require.NoError(t, res.Check(), name)
		require.NoError(t, res.CheckPlan(p), name)
		require.NoError(t, res.CheckStory(), name)
		require.NoError(t, res.CheckTrace(p, events), name)
	}
}

// Who edits a verdict has to edit the violations and the table of invariants too, and the trace still says otherwise.
func TestCheckOfWhatWasEdited(t *testing.T) {
	p, res, events := traced(t, "tenant-limit", RunOptions{})
	for _, c := range []struct {
		spoil func(res *Result)
		says  string
	}{
		{func(res *Result) { res.Verdict = Held }, "its verdict is held, and it has a violation of tenant-limit-held"},
		{func(res *Result) {
			for i := range res.Violations {
				res.Violations[i].Promised = false
			}
		}, `it says "violated" of tenant-limit-held, and has ` + invariants.CountOf(len(res.Violations), "violation", "violations") + ` of it, 0 within its promise`},
		{func(res *Result) { res.Violations = nil }, `it says "violated" of tenant-limit-held, and has 0 violations of it`},
		{func(res *Result) { res.Steps = -5 }, "its steps are -5, and cannot be negative"},
		{func(res *Result) { res.Invariants = nil }, "it has a violation of tenant-limit-held, and no such invariant"},
	} {
		edited := *res
		edited.Violations = slices.Clone(res.Violations)
		c.spoil(&edited)
		assert.ErrorContains(t, edited.Check(), c.says)
	}
	told := *res
	told.Telling = slices.Clone(res.Telling)
	i := slices.IndexFunc(res.TellingAt, func(at ToldAt) bool { return at.Violates != "" })
	told.Telling[i] = strings.Replace(told.Telling[i], "scheduler-", "scheduler-9", 1)
	assert.ErrorContains(t, told.CheckStory(), "a sentence of its story tells of a violation that it does not have: At ")
	told.Telling[i] = strings.Replace(res.Telling[i], "At ", "At 1", 1)
	assert.ErrorContains(t, told.CheckStory(), "a sentence of its story has another time than it says: At 1")
	set := func(status Status, of []Violation, verdict Verdict, like *Result, invariant string) *Result {
		edited := *like
		edited.Invariants = slices.Clone(like.Invariants)
		i := slices.IndexFunc(edited.Invariants, func(i InvariantResult) bool { return i.Name == invariant })
		edited.Invariants[i].Status, edited.Violations, edited.Verdict = status, of, verdict
		require.NoError(t, edited.Check())
		return &edited
	}
	none := set(StatusHeld, nil, Held, res, "tenant-limit-held")
	assert.EqualError(t, none.CheckTrace(p, events), "the trace shows a violation of tenant-limit-held, and it has none")
	other := set(StatusViolated, slices.Clone(res.Violations), Violated, res, "tenant-limit-held")
	other.Violations[0].Message += "?"
	assert.ErrorContains(t, other.CheckTrace(p, events), "the trace does not show the violation of tenant-limit-held that it has of step ")
	p, calm, events := traced(t, "calm", RunOptions{})
	more := set(StatusViolated, []Violation{{Invariant: "one-dispatch-per-job", Promised: true, Step: 5}}, Violated, calm, "one-dispatch-per-job")
	assert.EqualError(t, more.CheckTrace(p, events), "it has a violation of one-dispatch-per-job, and the trace shows none")
}

// A job's state, its attempts and its path are what the trace shows.
func TestCheckOfEditedJobs(t *testing.T) {
	p, res, events := traced(t, "publish-failure", RunOptions{})
	for _, c := range []struct {
		spoil func(res *Result)
		says  string
	}{
		{func(res *Result) { res.Jobs[2].State = "FAILED" }, "it says that job-3 is FAILED in the end, and the trace that job-3 is SUCCEEDED"},
		{func(res *Result) { res.Jobs[2].Attempts++ }, "what it says of job-3 is not what the trace shows"},
		{func(res *Result) { res.Jobs[4].Path = nil }, "what it says of job-5 is not what the trace shows"},
		{func(res *Result) { res.Steps++ }, "and the trace has "},
		{func(res *Result) { res.Virtual = 1 }, "it says that the run took 0s, and the last step of the trace is at "},
	} {
		edited := *res
		edited.Jobs = slices.Clone(res.Jobs)
		c.spoil(&edited)
		assert.ErrorContains(t, edited.CheckTrace(p, events), c.says)
	}
}

// A plan that was edited after the run is not the result's.
func TestCheckOfAnEditedPlan(t *testing.T) {
	_, res, _ := traced(t, "publish-failure", RunOptions{})
	for _, c := range [][2]string{
		{"seed=4", `it and the plan are not of one run: the seed is "4" in the plan, and "1" in the result`},
		{"workload.jobs=9", `it and the plan are not of one run: the number of jobs is "9" in the plan, and "10" in the result`},
		{"preset=hardened", `it and the plan are not of one run: the preset is "hardened" in the plan, and "documented" in the result`},
	} {
		p, err := plans.Load("publish-failure")
		require.NoError(t, err)
		require.NoError(t, p.Set(c[0]))
		assert.EqualError(t, res.CheckPlan(p), c[1])
	}
	p, err := plans.Load("publish-failure")
	require.NoError(t, err)
	p.Faults[0].Do = faults.Hang
	assert.ErrorContains(t, res.CheckPlan(p), `it and the plan are not of one run: the plan has the fault "hang on publish of job 3`)
	p.Faults = nil
	assert.ErrorContains(t, res.CheckPlan(p), `it and the plan are not of one run: the fault "fail-before on publish of job 3`)
}
