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

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

var update = flag.Bool("update", false, "write the golden files anew instead of comparing with them")

// behaviourFile says what every scenario does, a line a run. `make golden` writes it anew.
const behaviourFile = "testdata/behaviour.tsv"

const behaviourHead = "scenario\tpreset\tseed\tdigest\tverdict\tviolated\n"

// Every scenario does what the committed table says, under both presets and seeds 1 to 3: its events (the digest),
// its verdict and what it violates. A change that is to change no behaviour leaves the table as it is.
func TestBehaviour(t *testing.T) {
	data, err := os.ReadFile(behaviourFile)
	require.NoError(t, err)
	want := map[string]string{}
	for line := range strings.Lines(strings.TrimPrefix(string(data), behaviourHead)) {
		want[behaviourKey(line)] = line
	}
	var table strings.Builder
	table.WriteString(behaviourHead)
	for _, name := range plans.Names() {
		t.Run(name, func(t *testing.T) {
			for _, preset := range []string{plans.PresetDocumented, plans.PresetHardened} {
				for seed := range uint64(3) {
					line := behaviour(t, name, preset, seed+1)
					table.WriteString(line)
					if !*update {
						assert.Equal(t, want[behaviourKey(line)], line, "if the change is meant, `make golden` notes it")
					}
					delete(want, behaviourKey(line))
				}
			}
		})
	}
	if strings.Count(table.String(), "\n") < 1+6*len(plans.Names()) { // -run leaves some out
		return
	}
	if *update {
		temp := filepath.Join(filepath.Dir(behaviourFile), ".behaviour.tmp")
		require.NoError(t, os.WriteFile(temp, []byte(table.String()), 0o644))
		require.NoError(t, os.Rename(temp, behaviourFile))
		return
	}
	assert.Empty(t, want, "these scenarios are gone; `make golden` forgets them")
}

// behaviour runs a scenario and returns its line of the table. An invariant that is violated within its promise has
// an exclamation mark.
func behaviour(t *testing.T, name, preset string, seed uint64) string {
	p, err := plans.Load(name)
	require.NoError(t, err)
	expects := p.Expects(preset)
	require.NoError(t, p.Set("preset="+preset))
	p.Seed = seed
	res, err := Run(context.Background(), p, RunOptions{Source: name, Modified: !expects})
	require.NoError(t, err)
	var violated []string
	for _, v := range res.Violations {
		if v.Promised {
			v.Invariant += "!"
		}
		violated = append(violated, v.Invariant)
	}
	slices.Sort(violated)
	return fmt.Sprintf("%s\t%s\t%d\t%s\t%s\t%s\n", name, preset, seed, res.Digest, res.Verdict, strings.Join(slices.Compact(violated), ","))
}

// behaviourKey is what a line of the table is about.
func behaviourKey(line string) string { return strings.Join(strings.SplitN(line, "\t", 4)[:3], " ") }
