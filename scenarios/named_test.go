package scenarios

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants"
)

// Each scenario ends as it expects, under its own preset; under the preset hardened it holds, unless
// it runs an alternative that loses. Either run is the same, step by step, when it is run again. Together
// they exercise every invariant, and reach every situation.
func TestScenarios(t *testing.T) {
	ran, exercised := 0, map[string]bool{}
	note := func(res *Result) *Result {
		for _, i := range res.Invariants {
			exercised[i.Name] = exercised[i.Name] || i.Exercised > 0
		}
		return res
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			ran++
			p, err := Load(name)
			require.NoError(t, err)
			assert.NoError(t, note(runTwice(t, p, RunOptions{Source: name})).asExpected(p))

			require.NoError(t, p.Set("preset="+PresetHardened))
			res := note(runTwice(t, p, RunOptions{Source: name, Modified: true}))
			if !loses(p) {
				assert.Equal(t, Held, res.Verdict, "hardened: %s", told(res))
			}
		})
	}
	if ran < len(Names()) { // -run leaves some out
		return
	}
	for _, i := range invariants.All() {
		assert.True(t, exercised[i.Name], "no scenario exercises %s", i.Name)
	}
}

func runTwice(t *testing.T, p *Plan, opt RunOptions) *Result {
	first, err := Run(context.Background(), p, opt)
	require.NoError(t, err)
	again, err := Run(context.Background(), p, opt)
	require.NoError(t, err)
	assert.Equal(t, first.Digest, again.Digest, "preset %s, run again", p.Preset)
	return first
}

// The README's table has some scenarios, and says how many more there are.
func TestTheReadmeCountsTheScenarios(t *testing.T) {
	data, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(data), "| scenario | what it shows |")
	table, rest, found := strings.Cut(table, "These and ")
	require.True(t, found)
	others := slices.DeleteFunc(Names(), func(name string) bool { return strings.Contains(table, "`"+name+"`") })
	assert.Equal(t, strconv.Itoa(len(others)), regexp.MustCompile(`^\d+`).FindString(rest))
}
