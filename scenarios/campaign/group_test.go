package campaign

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Findings of one invariant that hang on the same are one group, told by the smallest plan. What hangs on nothing that is
// known, or does not repeat, is by itself.
func TestFindingsThatHangOnTheSameAreAGroup(t *testing.T) {
	lost, first := []string{"fail-after publish"}, []string{"engine.dispatch_order=publish-first"}
	res := &Result{Findings: []Finding{
		{Invariant: "a", Blamed: lost, Faults: 2, Jobs: 1, Runs: 3, File: "0"},
		{Invariant: "b", Blamed: lost, Faults: 1, File: "1"},
		{Invariant: "a", Blamed: lost, Faults: 1, Jobs: 2, Runs: 1, File: "2"},
		{Invariant: "a", File: "3"},
		{Invariant: "a", Blamed: first, File: "4"},
		{Invariant: "a", Blamed: lost, Faults: 1, Jobs: 1, Runs: 5, File: "5"},
		{Invariant: "a", File: "6"},
		{Invariant: "a", Blamed: lost, Flaky: true, File: "7"},
	}}
	var files [][]string
	for _, g := range res.Groups() {
		var list []string
		for _, f := range g {
			list = append(list, f.File)
		}
		files = append(files, list)
	}
	assert.Equal(t, [][]string{{"5", "2", "0"}, {"1"}, {"3"}, {"4"}, {"6"}, {"7"}}, files)
	assert.Equal(t, 9, res.Groups()[0].Runs())
}
