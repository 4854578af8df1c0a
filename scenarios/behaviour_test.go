package scenarios

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

var update = flag.Bool("update", false, "write the golden files anew instead of comparing with them")

// behaviourFile says what every scenario does, a line a run. `make golden` writes it anew.
const behaviourFile = "testdata/behaviour.tsv"

const behaviourHead = "scenario\tpreset\tseed\tdigest\tverdict\tviolated\n"

// Every scenario does what the committed table says, under both presets and seeds 1 to 3: its events (the digest),
// its verdict and what it violates. A change that is to change no behaviour leaves the table as it is. Under its own
// seed it does what its plan expects, and among all of them every invariant is exercised. With -short it is seed 1 alone.
func TestBehaviour(t *testing.T) {
	data, err := os.ReadFile(behaviourFile)
	require.NoError(t, err)
	seeds := 3
	if testing.Short() {
		seeds = 1
	}
	want := map[string]string{}
	for line := range strings.Lines(strings.TrimPrefix(string(data), behaviourHead)) {
		if !testing.Short() || strings.Split(line, "\t")[2] == "1" {
			want[behaviourKey(line)] = line
		}
	}
	var table strings.Builder
	table.WriteString(behaviourHead)
	exercised := map[string]bool{}
	for _, name := range plans.Names() {
		t.Run(name, func(t *testing.T) {
			for _, preset := range []string{plans.PresetDocumented, plans.PresetHardened} {
				p, expects := under(t, name, preset)
				own := p.Seed
				run := func(seed uint64) *Result {
					p.Seed = seed
					var res *Result
					if seed == own {
						res = played(t, name, preset)
						asNamed(t, p, expects, res)
					} else {
						res = runOnce(t, p, RunOptions{Source: name, Modified: !expects})
					}
					for _, i := range res.Invariants {
						exercised[i.Name] = exercised[i.Name] || i.Exercised > 0
					}
					return res
				}
				for seed := range uint64(seeds) {
					line := behaviour(name, preset, run(seed+1))
					table.WriteString(line)
					if !*update {
						assert.Equal(t, want[behaviourKey(line)], line, "if the change is meant, `make golden` notes it")
					}
					delete(want, behaviourKey(line))
				}
				if own > uint64(seeds) {
					run(own)
				}
			}
		})
	}
	if strings.Count(table.String(), "\n") < 1+2*seeds*len(plans.Names()) { // -run leaves some out
		return
	}
	for _, i := range judge.All() {
		assert.True(t, exercised[i.Name], "no scenario exercises %s", i.Name)
	}
	if *update && !testing.Short() {
		temp := filepath.Join(filepath.Dir(behaviourFile), ".behaviour.tmp")
		require.NoError(t, os.WriteFile(temp, []byte(table.String()), 0o644))
		require.NoError(t, os.Rename(temp, behaviourFile))
		return
	}
	assert.Empty(t, want, "these scenarios are gone; `make golden` forgets them")
}

// asNamed asserts that a scenario does what its plan expects. Under hardened it holds if the plan expects nothing there.
func asNamed(t *testing.T, p *plans.Plan, expects bool, res *Result) {
	switch {
	case expects:
		assert.NoError(t, res.asExpected(p))
	case p.Preset == plans.PresetHardened && !losesByDesign(p):
		assert.Equal(t, Held, res.Verdict, "hardened: %s", told(res))
	}
}

// losesByDesign says whether the plan's engine runs an alternative that breaks promises by design.
func losesByDesign(p *plans.Plan) bool {
	return p.Engine.DispatchOrder == settings.PublishFirst || p.Engine.ReadError != settings.FailClosed ||
		p.Engine.PublishDedup == settings.MessageID && !p.Engine.Epochs
}

// behaviour is a run's line of the table. An invariant that is violated within its promise has an exclamation mark.
func behaviour(name, preset string, res *Result) string {
	var violated []string
	for _, v := range res.Violations {
		if v.Promised {
			v.Invariant += "!"
		}
		violated = append(violated, v.Invariant)
	}
	slices.Sort(violated)
	return fmt.Sprintf("%s\t%s\t%d\t%s\t%s\t%s\n", name, preset, res.Seed, res.Digest, res.Verdict, strings.Join(slices.Compact(violated), ","))
}

// behaviourKey is what a line of the table is about.
func behaviourKey(line string) string { return strings.Join(strings.SplitN(line, "\t", 4)[:3], " ") }

// known are the runs of scenarios as they are, by name and preset: several tests look at each, and change nothing of it.
var known = map[[2]string]*Result{}

// played is the run of a scenario under a preset.
func played(t *testing.T, name, preset string) *Result {
	t.Helper()
	key := [2]string{name, preset}
	if known[key] == nil {
		p, expects := under(t, name, preset)
		known[key] = runOnce(t, p, RunOptions{Source: name, Modified: !expects})
	}
	return known[key]
}

// under is a scenario under a preset, and whether it says what it expects of it.
func under(t *testing.T, name, preset string) (p *plans.Plan, expects bool) {
	t.Helper()
	p, err := plans.Load(name)
	require.NoError(t, err)
	expects = p.Expects(preset)
	require.NoError(t, p.Set("preset="+preset))
	return p, expects
}

func runOnce(t *testing.T, p *plans.Plan, opt RunOptions) *Result {
	res, err := Run(context.Background(), p, opt)
	require.NoError(t, err)
	return res
}
