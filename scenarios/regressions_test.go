package scenarios

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// corpus is where shrunk plans are kept that once showed something. A finding's plan becomes one of
// them by being copied there.
const corpus = "testdata/regressions"

// readCorpus reads every plan of a folder, and says in a line each what does not belong there.
func readCorpus(dir string) (list []*plans.Plan, problems []error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, []error{err}
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if filepath.Ext(path) != ".yaml" && !e.IsDir() {
			problems = append(problems, &strictyaml.Error{File: path, Message: "this is no plan", Remedy: "the corpus holds plans alone, as .yaml files"})
			continue
		}
		p, err := plans.Load(path)
		switch {
		case err != nil:
			problems = append(problems, err)
		case p.Name+".yaml" != e.Name():
			problems = append(problems, &strictyaml.Error{File: path, Message: fmt.Sprintf("the plan in it is called %s", p.Name), Remedy: "call the file " + p.Name + ".yaml"})
		default:
			list = append(list, p)
		}
	}
	return list, problems
}

// asExpected says how a run ended otherwise than its plan expects, or nil: with exactly the violations
// that it lists, and the situations.
func asExpected(p *plans.Plan) error {
	res, err := Run(context.Background(), p, RunOptions{Source: p.Name})
	if err != nil {
		return err
	}
	return res.asExpected(p)
}

func (res *Result) asExpected(p *plans.Plan) error {
	var broken []string
	for _, i := range res.Invariants {
		if i.Status == StatusViolated {
			broken = append(broken, i.Name)
		}
	}
	want, verdict := slices.Sorted(slices.Values(p.Expect.Violates)), Held
	if len(want) > 0 {
		verdict = Violated
	}
	if slices.Sort(broken); res.Verdict != verdict || !slices.Equal(broken, want) || len(want) > 0 && !strings.HasSuffix(res.Reason, "as the plan expects") {
		return fmt.Errorf("%s expects %s %v, but it is %s: %s", p.Name, verdict, want, res.Verdict, res.Reason)
	}
	return nil
}

func TestRegressions(t *testing.T) {
	list, problems := readCorpus(corpus)
	for _, problem := range problems {
		assert.NoError(t, problem)
	}
	require.NotEmpty(t, list)
	for _, p := range list {
		t.Run(p.Name, func(t *testing.T) {
			assert.NoError(t, asExpected(p))
			assert.NotEmpty(t, p.Story, "say what happens there")
		})
	}
}

func TestAsExpected(t *testing.T) {
	p, err := plans.Load(filepath.Join(corpus, "ambiguous-publish.yaml"))
	require.NoError(t, err)
	require.NoError(t, asExpected(p))

	more := p.Clone()
	more.Expect = plans.Expect{Violates: []string{"every-job-settles", "one-dispatch-per-job"}}
	assert.EqualError(t, asExpected(more), "ambiguous-publish expects violated [every-job-settles one-dispatch-per-job], but it is violated: one-dispatch-per-job is violated")

	calm := p.Clone()
	calm.Faults = nil
	assert.ErrorContains(t, asExpected(calm), "ambiguous-publish expects violated [one-dispatch-per-job], but it is inconclusive: the plan expects what did not come about")

	unfired := calm.Clone()
	unfired.Faults, unfired.Expect = plan(t, "faults: [{on: {job: 1, phase: rollback_write}, do: hang}]\n").Faults, plans.Expect{}
	assert.ErrorContains(t, asExpected(unfired), "ambiguous-publish expects held [], but it is inconclusive: a fault did not fire")
}

// A change of the settings that leaves a fault nothing to strike is no reason for a run to be inconclusive; of the plan as it is,
// that is.
func TestAFaultWithNothingToStrike(t *testing.T) {
	p, err := plans.Load(filepath.Join(corpus, "compensation-given-up.yaml"))
	require.NoError(t, err)
	require.NoError(t, p.Set("preset="+plans.PresetHardened))
	p.Expect = plans.Expect{}
	for modified, verdict := range map[bool]Verdict{true: Held, false: Inconclusive} {
		res, err := Run(context.Background(), p, RunOptions{Modified: modified})
		require.NoError(t, err)
		assert.Equal(t, verdict, res.Verdict, res.Reason)
		assert.Len(t, res.Unfired, 1)
	}
	require.NoError(t, p.Set("preset="+plans.PresetDocumented))
	p.Faults[0].On.Job = 2 // has a record, while the compensation has none
	res, err := Run(context.Background(), p, RunOptions{Modified: true})
	require.NoError(t, err)
	assert.Equal(t, Inconclusive, res.Verdict, "such an operation was made")
}

// What is wrong in the corpus is said with its file, and its line where there is one.
func TestCorpusSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	good := "version: 1\nname: good\nseed: 1\n"
	for name, text := range map[string]string{
		"good.yaml":   good,
		"broken.yaml": "version: 1\nname: broken\nworkload: {jobs: [\n",
		"odd.yaml":    "version: 1\nname: odd\nworkload:\n  jobs: many\n",
		"old.yaml":    "version: 0\nname: old\n",
		"new.yaml":    "name: new\nversion: 2\nwhatever: 1\n",
		"other.yaml":  good,
		"notes.txt":   "good.yaml shows it",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.yaml"), 0o755))

	list, problems := readCorpus(dir)
	require.Len(t, list, 1)
	assert.Equal(t, "good", list[0].Name)
	var lines []string
	for _, problem := range problems {
		line := strings.TrimPrefix(problem.Error(), dir+string(filepath.Separator))
		assert.NotContains(t, line, "\n")
		lines = append(lines, line)
	}
	require.Len(t, lines, 7)
	assert.Regexp(t, `^broken\.yaml:\d:\d+: broken YAML: .*; mend the syntax here or nearby$`, lines[0])
	assert.Equal(t, []string{
		"folder.yaml: this is a directory; give the plan.yaml in it, or another plan's file",
		`new.yaml:2:10: the plan's format is version 2; this build reads version 1: use the build that wrote it`,
		"notes.txt: this is no plan; the corpus holds plans alone, as .yaml files",
		`odd.yaml:4:9: workload.jobs is "many", not an integer; give 1 to 100000`,
		`old.yaml:1:10: the plan's format is version 0; this build reads version 1: use the build that wrote it`,
		"other.yaml: the plan in it is called good; call the file good.yaml",
	}, lines[1:])
}

// Seven plans on which the oracle was wrong once, as they were found: the false alarms are none any more, and the lost
// cancellation is named.
func TestFindings(t *testing.T) {
	for name, want := range map[string]struct {
		verdict Verdict
		outside string // what is broken outside of its promise
	}{
		"every-job-settles":                    {Held, "every-job-settles no-message-given-up"},
		"lock-mutual-exclusion":                {Held, "lock-mutual-exclusion terminal-states-final"},
		"no-dispatch-without-decision":         {Held, "documented-transitions-only lock-mutual-exclusion no-dispatch-without-approval no-dispatch-without-decision redis-index-agrees-with-record"},
		"no-timeout-while-executing":           {Held, "no-timeout-while-executing"},
		"throttled-job-comes-again-documented": {Held, "no-message-given-up"},
		"outage-longer-than-settle_within":     {Inconclusive, ""},
		"cancel-lost-unnoticed-documented":     {Held, "cancellation-takes-effect"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := plans.Load(filepath.Join("testdata", "findings", name+".yaml"))
			require.NoError(t, err)
			p.Expect = plans.Expect{} // what was expected was the mistake
			res, err := Run(context.Background(), p, RunOptions{})
			require.NoError(t, err)
			var outside []string
			for _, i := range res.Invariants {
				assert.NotEqual(t, StatusViolated, i.Status, i.Name)
				if i.Status == StatusUnpromised {
					outside = append(outside, i.Name)
				}
			}
			slices.Sort(outside)
			assert.Equal(t, want.verdict, res.Verdict, res.Reason)
			assert.Equal(t, want.outside, strings.Join(outside, " "))
		})
	}
}

// In hardened the cancellation that came ahead of its job's record takes effect.
func TestTheLostCancellationIsKept(t *testing.T) {
	p, err := plans.Load(filepath.Join("testdata", "findings", "cancel-lost-unnoticed-documented.yaml"))
	require.NoError(t, err)
	require.NoError(t, p.Set("preset="+plans.PresetHardened))
	res, err := Run(context.Background(), p, RunOptions{})
	require.NoError(t, err)
	assert.Empty(t, res.Violations) // the client, who finds it, never tries the write that was to fail
	assert.Equal(t, "CANCELLED", res.Jobs[0].State)
}
