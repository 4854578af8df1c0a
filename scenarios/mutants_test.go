package scenarios

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/scenarios/internal/mutants"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/search"
)

const (
	mutantsFile = "testdata/mutants.yaml"
	mutantsTSV  = "testdata/mutants.tsv"
	mutantSeeds = "WAVETANK_MUTANTS"     // how many seeds TestMutants runs each scenario with; without it the test is skipped
	mutantRuns  = "WAVETANK_MUTANT_RUNS" // the same, in the processes that TestMutants starts
	mutantDrawn = 60                     // random plans
)

// Every mutant's line is still there, once, all of them compile, and each was caught by something.
func TestMutantsApply(t *testing.T) {
	list, seen := mutants.Read(t, mutantsFile), map[string]bool{}
	for _, m := range list {
		assert.False(t, seen[m.Name], m.Name)
		seen[m.Name] = true
		assert.True(t, strings.HasSuffix(m.Says, "."), m.Name)
		assert.NotEqual(t, m.Old, m.New, m.Name)
	}
	for left := list; len(left) > 0; {
		var file string
		file, left = mutants.Overlay(t, "..", left...)
		if testing.Short() { // they apply; whether they compile takes half a minute
			continue
		}
		out, err := exec.Command("go", "build", "-overlay", file, "../engine/...").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	measured := map[string]bool{}
	for _, row := range readMutantsTSV(t) {
		measured[row[0]] = true
		assert.NotEqual(t, "0", row[1], "%s is caught by nothing; give it a test, or a plan, or take it away", row[0])
	}
	assert.Equal(t, seen, measured, "`make mutants` measures them anew")
}

func readMutantsTSV(t *testing.T) (rows [][]string) {
	data, err := os.ReadFile(mutantsTSV)
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "mutant\t") {
			rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
	}
	return rows
}

// TestMutants measures how often each mutant is caught: in how many runs a promise is broken, or an expectation of the
// plan missed, that is not without the mutant. -run TestMutants/name measures one.
func TestMutants(t *testing.T) {
	if os.Getenv(mutantSeeds) == "" {
		t.Skip("`make mutants` runs this, for an hour on a busy machine")
	}
	var table strings.Builder
	table.WriteString("mutant\truns\tscenarios\trandom\tby\n")
	without := sync.OnceValue(func() map[string][]string { return runMutant(t) })
	measured, list := 0, mutants.Read(t, mutantsFile)
	for _, m := range list {
		t.Run(m.Name, func(t *testing.T) {
			measured++
			row := m.Name + "\t"
			if m.Test != "" {
				row += caughtByTest(t, m)
			} else {
				row += caught(without(), runMutant(t, m))
			}
			fmt.Println(row)
			assert.False(t, strings.HasPrefix(row, m.Name+"\t0\t"), "nothing catches it; give it a test, or a plan, or take it away")
			table.WriteString(row + "\n")
		})
	}
	if measured == len(list) && !t.Failed() {
		require.NoError(t, os.WriteFile(mutantsTSV, []byte(table.String()), 0o644))
	}
}

// runMutant builds the tests with the mutants and runs TestMutantRuns of them in a process of its own. It returns what
// was wrong in each run, by the run's name.
func runMutant(t *testing.T, list ...mutants.Mutant) map[string][]string {
	program := filepath.Join(t.TempDir(), "mutant.test")
	file, _ := mutants.Overlay(t, "..", list...)
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay", file, "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(program, "-test.run", "^TestMutantRuns$", "-test.timeout", "30m")
	cmd.Env = append(os.Environ(), mutantRuns+"="+os.Getenv(mutantSeeds), "GOMAXPROCS=1")
	out, err = cmd.Output()
	runs := map[string][]string{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		if run, wrong, ok := strings.Cut(lines.Text(), "\t"); ok {
			runs[run] = strings.Fields(wrong)
		}
	}
	if err != nil { // the run after the last that was told has ended the process
		t.Logf("%v after %d runs", err, len(runs))
		runs["ended"] = []string{"process-ended"}
	}
	return runs
}

// caughtByTest runs the mutant's test, which passes without it and must fail with it.
func caughtByTest(t *testing.T, m mutants.Mutant) string {
	pkg, test, _ := strings.Cut(m.Test, " ")
	file, _ := mutants.Overlay(t, "..", m)
	with := exec.Command("go", "test", "-count=1", "-vet=off", "-overlay", file, "-run", test, "../"+pkg)
	out, err := with.CombinedOutput()
	require.NotContains(t, string(out), "[no tests to run]", m.Name)
	require.NotContains(t, string(out), "[build failed]", m.Name)
	if err == nil {
		return "0\t0\t0\t"
	}
	return "1\t0\t0\t" + m.Test
}

// TestMutantRuns tells a line a run: its name, and what was wrong in it.
func TestMutantRuns(t *testing.T) {
	seeds, err := strconv.ParseUint(os.Getenv(mutantRuns), 10, 64)
	if err != nil {
		t.Skip("TestMutants runs this")
	}
	for seed := range seeds {
		for _, name := range plans.Names() {
			for _, preset := range []string{plans.PresetDocumented, plans.PresetHardened} {
				p, err := plans.Load(name)
				require.NoError(t, err)
				expects := p.Expects(preset)
				require.NoError(t, p.Set("preset="+preset))
				p.Seed = seed + 1
				tellWrong(fmt.Sprintf("%s/%s/%d", name, preset, p.Seed), p, RunOptions{Source: name, Modified: !expects})
			}
		}
	}
	drawn := rapid.Custom(func(t *rapid.T) *plans.Plan { return search.Draw(t, search.Space{}) })
	for i := range mutantDrawn {
		tellWrong(fmt.Sprintf("drawn/%d", i), drawn.Example(i), RunOptions{Modified: true, Drawn: true})
	}
}

func tellWrong(run string, p *plans.Plan, opt RunOptions) {
	wrong := map[string]bool{}
	res, err := Run(context.Background(), p, opt)
	if err != nil {
		wrong["not-run"] = true
		res = &Result{}
	}
	for _, v := range res.Violations {
		if v.Promised {
			wrong[v.Invariant] = true
		}
	}
	for _, i := range res.Invariants {
		expected := slices.Contains(p.Expect.Violates, i.Name) && i.Status != StatusViolated ||
			slices.Contains(p.Expect.Sometimes, i.Name) && i.Status != StatusReached
		if expected && !opt.Modified {
			wrong["expected:"+i.Name] = true
		}
	}
	fmt.Printf("%s\t%s\n", run, strings.Join(slices.Sorted(maps.Keys(wrong)), " "))
}

// caught says in how many runs something is wrong that is not without the mutant: of all, of scenarios and of random
// plans, and by what, the most frequent first.
func caught(without, with map[string][]string) string {
	scenarios, drawn, by := 0, 0, map[string]int{}
	for run, wrong := range with {
		wrong = slices.DeleteFunc(wrong, func(w string) bool { return slices.Contains(without[run], w) })
		for _, w := range wrong {
			by[w]++
		}
		switch {
		case len(wrong) == 0:
		case strings.HasPrefix(run, "drawn/"):
			drawn++
		default:
			scenarios++
		}
	}
	var said []string
	for _, w := range slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		if by[a] != by[b] {
			return by[b] - by[a]
		}
		return strings.Compare(a, b)
	}) {
		said = append(said, fmt.Sprintf("%s (%d)", w, by[w]))
	}
	return fmt.Sprintf("%d\t%d\t%d\t%s", scenarios+drawn, scenarios, drawn, strings.Join(said, ", "))
}
