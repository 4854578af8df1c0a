package orders

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/internal/mutants"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// planted are the mutants that hang on an order of steps, and the world in which each is looked for.
var planted = map[string]world{
	"request-read-before-its-lock": worlds[0],
	"result-read-before-its-lock":  worlds[1],
	"tenant-slots-unwatched":       worlds[2],
}

const (
	plantedRuns  = "WAVETANK_PLANTED_RUNS"  // the mutant, in the processes that the tests start, and how many searches
	plantedTable = "WAVETANK_PLANTED_TABLE" // how many searches TestPlantedTable makes by each strategy; without it the test is skipped
)

// plant runs TestPlantedRuns with the mutant in the engine, and returns what it says.
func plant(t *testing.T, name string, searches int) string {
	list := mutants.Read(t, "../testdata/mutants.yaml")
	i := slices.IndexFunc(list, func(m mutants.Mutant) bool { return m.Name == name })
	require.GreaterOrEqual(t, i, 0)
	file, _ := mutants.Overlay(t, "../..", list[i])
	program := filepath.Join(t.TempDir(), "orders.test")
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay", file, "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(program, "-test.run", "^TestPlantedRuns$", "-test.timeout", "2h")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", plantedRuns, name, searches), "GOMAXPROCS=1", "GOGC=400")
	out, err = cmd.Output()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// TestPlantedTable measures the table in scenarios/README.md. Each planted bug is found: by the bounded search, which tries
// all orders of one, and by pct. Without the bug neither finds anything (TestEveryOrder, TestPCTFindsNothing).
func TestPlantedTable(t *testing.T) {
	searches, err := strconv.Atoi(os.Getenv(plantedTable))
	if err != nil {
		t.Skip(plantedTable + "=30 measures the table of scenarios/README.md, for half an hour")
	}
	for name := range planted {
		t.Run(name, func(t *testing.T) {
			said := plant(t, name, searches)
			fmt.Printf("%s\n%s", name, said)
			for _, by := range []string{plans.Bounded, plans.PCT} {
				assert.Regexp(t, by+`\t[0-9]+`, said)
			}
		})
	}
}

// runsMax is how many runs a search makes at most.
const runsMax = 1000

// TestPlantedRuns tells, for each strategy, how many runs each search needed; - is none that found anything.
func TestPlantedRuns(t *testing.T) {
	var name string
	var searches int
	if _, err := fmt.Sscan(os.Getenv(plantedRuns), &name, &searches); err != nil {
		t.Skip("TestPlantedTable runs this")
	}
	w := planted[name]
	for _, strategy := range []string{plans.Latency, plans.Random, plans.PCT, plans.Bounded} {
		var needed []string
		for s := range searches {
			n := needs(t, w, strategy, uint64(s))
			said := strconv.Itoa(n)
			if n == 0 {
				said = "-"
			}
			needed = append(needed, said)
		}
		fmt.Printf("%s\t%s\n", strategy, strings.Join(needed, " "))
	}
}

// needs is how many runs the s-th search by a strategy makes until a promise is broken; 0 is more than it may.
func needs(t *testing.T, w world, strategy string, s uint64) int {
	p := w.plan(t)
	p.Seed = 1 + s*runsMax
	if strategy == plans.Bounded {
		d, err := Define(p, w.preemptions)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		found := 0
		_, err = d.Explore(ctx, Options{Progress: func(now Progress) {
			if now.Broken > 0 && found == 0 {
				found = now.Runs
				cancel()
			}
		}})
		require.NoError(t, err)
		return found
	}
	p.Schedule.Strategy, p.Schedule.ChangePoints = plans.Random, w.preemptions
	run := func() *scenarios.Result {
		res, err := scenarios.Run(context.Background(), p, scenarios.RunOptions{Modified: true, Drawn: true})
		require.NoError(t, err)
		return res
	}
	if strategy == plans.PCT {
		p.Schedule.Steps = run().Steps // of one run under random, as a plan without would learn it each time
	}
	p.Schedule.Strategy = strategy
	for n := range runsMax {
		if run().Verdict == scenarios.Violated {
			return n + 1
		}
		p.Seed++
	}
	return 0
}

// What pct finds in the worlds of the planted bugs is theirs.
func TestPCTFindsNothing(t *testing.T) {
	for _, w := range worlds {
		p := w.plan(t)
		p.Schedule = plans.Schedule{Strategy: plans.PCT, ChangePoints: 2, Steps: 100, StepsMax: p.Schedule.StepsMax}
		for seed := range uint64(30) {
			p.Seed = seed
			res, err := scenarios.Run(context.Background(), p, scenarios.RunOptions{Modified: true, Drawn: true})
			require.NoError(t, err)
			assert.Equal(t, scenarios.Held, res.Verdict, "%s, seed %d: %s", w.name, seed, res.Reason)
			assert.False(t, slices.ContainsFunc(res.Violations, func(v scenarios.Violation) bool { return v.Promised }))
		}
	}
}
