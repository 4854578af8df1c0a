package reports

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/power"
)

// fourMutants are one that is found, one that is not, one that changes nothing, and one that nothing executes.
func fourMutants() *power.Result {
	row := func(line int, old string, kills ...power.Kill) power.Row {
		return power.Row{Mutation: power.Mutation{Operator: power.Negated, File: "engine/fail.go", Line: line, Old: old, New: "!(" + old + ")"}, Starts: true, Kills: kills}
	}
	missed := func(search string) power.Kill { return power.Kill{Search: search, Runs: 900, Took: time.Minute} }
	seen := power.Kill{Search: "scenarios", Runs: 900, Took: time.Minute, Changed: 7, First: "overrun-pool"}
	return &power.Result{Build: "devel", Seed: 1, Budget: time.Minute, Rows: []power.Row{
		row(1, "err == <nil>", power.Kill{Search: "single faults", By: []string{"every-job-settles"}, Runs: 3, Took: 200 * time.Millisecond}, missed("scenarios")),
		row(2, "a < b", missed("single faults"), seen),
		row(3, "x == y", missed("single faults"), missed("scenarios")),
		row(4, "y == z", power.Kill{Search: "single faults", Unexecuted: true}, power.Kill{Search: "scenarios", Unexecuted: true}),
		{Mutation: power.Mutation{File: "does-not-compile.go"}},
	}}
}

func TestThePageOfPowerSaysWhatIsFoundAndWhatIsNot(t *testing.T) {
	var page bytes.Buffer
	require.NoError(t, PowerPage(&page, fourMutants()))
	html := page.String()
	assert.Contains(t, html, "4 mutants of the engine, run one at a time. Of the 2 that change an event of a run, the searches together find 1.")
	assert.Contains(t, html, "<code>every-job-settles</code>")
	assert.Contains(t, html, "engine/fail.go:2")
	assert.Contains(t, html, "!(a &lt; b)")
	assert.Contains(t, html, "7 runs, such as overrun-pool in scenarios")
	assert.Contains(t, html, "<code>!(x == y)</code></td><td>yes</td>")
	assert.Contains(t, html, "<code>!(y == z)</code></td><td>by no search</td>")
	assert.Contains(t, html, "single faults: 1 of 2; scenarios: 0 of 2")
	assert.NotContains(t, html, "does-not-compile")
	assert.NotContains(t, html, "<nil>")

	page.Reset()
	require.NoError(t, PowerPage(&page, &power.Result{}))
	assert.Contains(t, page.String(), "No mutant that changes a run was measured.")
}
