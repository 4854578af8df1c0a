package sweep

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

func TestComparisons(t *testing.T) {
	var names []string
	for _, a := range Comparisons() {
		names = append(names, a.Name)
		require.NoError(t, a.Validate())
		for _, c := range a.Plans {
			assert.NotContains(t, c.Plan, "expect:", "%s is judged by its promises", c.Name)
		}
		spec := a.Spec()
		require.NoError(t, spec.Validate())
		rows := map[string]int{"dispatch-order": 4, "dead-letter-replay": 4, "durability": 4} // with one that is not in the documents; without and with approval
		assert.Len(t, a.Rows, max(3, rows[a.Name]), "%s: %v", a.Name, a.Notes)
		known := metricNames()
		for _, m := range a.Metrics {
			assert.Contains(t, known, m)
		}
		for _, row := range a.Rows {
			assert.NotEmpty(t, row.Name+row.Upside+row.Downside)
		}
		if a.Name == "dead-letter-replay" {
			continue // it begins with none
		}
		assert.Contains(t, a.Rows[0].Name, "rrent)", "the documented design comes first")
	}
	assert.Equal(t, []string{"dispatch-order", "state-read", "stale-worker", "dead-letter-replay", "durability"}, names)
	a, err := Compare("state-read")
	require.NoError(t, err)
	assert.Equal(t, "state-read", a.Name)
	_, err = Compare("state-reed")
	refused(t, err, `unknown comparison "state-reed"; there are dispatch-order, state-read, stale-worker, dead-letter-replay and durability (did you mean "state-read"?)`)
	a.Seeds = 0
	refused(t, a.Validate(), "seeds is 0, out of range")
	a.Seeds = 9999
	a.Rows = append(a.Rows, make([]Row, 50)...)
	refused(t, a.Validate(), "53 alternatives with 3 plans under 9,999 seeds are 1,589,841 runs")
}

func TestCompareByHand(t *testing.T) {
	a, err := Compare("dispatch-order")
	require.NoError(t, err)
	a.Plans, a.Rows, a.Seeds, a.FirstSeed = a.Plans[:2], a.Rows[:2], 2, 5
	g := a.Spec().Grid
	var records []*campaign.Record
	for n := range 2 * 2 * 2 {
		plan, point, seed := g.At(n)
		r := &campaign.Record{N: n, Verdict: scenarios.Held, Measures: campaign.Measures{"operations": float64(100*point + 10*plan + seed)}}
		if point == 1 && plan == 1 {
			r.Broken = []campaign.Broken{{Invariant: "one-dispatch-per-job"}}
			r.Outside = []campaign.Outside{{Invariant: "every-job-settles"}}
		}
		records = append(records, r)
	}
	res, err := a.Analyse(records)
	require.NoError(t, err)
	assert.True(t, res.Complete)
	assert.Equal(t, []string{"state-write-failure", "publish-ack-lost"}, res.Plans)
	assert.Len(t, res.Metrics, len(a.Metrics))
	row := res.Rows[1]
	assert.Equal(t, "Publish-before-state", row.Name)
	assert.Equal(t, 4, row.Runs)
	assert.InDelta(t, 105.5, row.Estimates["operations"].Mean, 1e-9, "of the means over plans: 105 and 106")
	assert.InDelta(t, 105.5-12.7062*0.5, row.Estimates["operations"].Low, 1e-4)
	assert.InDelta(t, 110.5, row.Under[1]["operations"].Mean, 1e-9)
	assert.Equal(t, map[string]int{"one-dispatch-per-job": 2}, row.Broken)
	assert.Equal(t, map[string]int{"every-job-settles": 2}, row.Outside)
	worst := row.Worst["operations"]
	assert.Equal(t, Example{Plan: "publish-ack-lost", Seed: 6, Value: 111, File: "runs/dispatch-order-publish-ack-lost-2-6"}, worst)
	text, err := a.PlanOf(1, worst)
	require.NoError(t, err)
	assert.Contains(t, text, "seed: 6")
	assert.Contains(t, text, "dispatch_order: publish-first")
	assert.Empty(t, res.Rows[0].Broken)
	assert.Empty(t, a.Rows[0].Estimates, "the comparison itself is as it was")
	assert.True(t, strings.HasPrefix(res.Notes[0], "Every alternative ran each of 2 plans under the same 2 seeds, 5 to 6"), res.Notes[0])

	res, err = a.Analyse(records[:7])
	require.NoError(t, err)
	assert.False(t, res.Complete)
	assert.Contains(t, res.Notes[1], "1 run is missing")
}

// Two alternatives of one table are told apart seed by seed, whatever the seeds do to both.
func TestAlternativesAreComparedSeedBySeed(t *testing.T) {
	a, err := Compare("dispatch-order")
	require.NoError(t, err)
	a.Plans, a.Rows, a.FirstSeed = a.Plans[:1], a.Rows[:3], 1
	beaten := func(seeds int) (by [][]string) {
		a.Seeds = seeds
		var records []*campaign.Record
		for n := range 3 * seeds {
			_, point, seed := a.Spec().Grid.At(n)
			records = append(records, &campaign.Record{N: n, Measures: campaign.Measures{"operations": float64(100*seed + []int{3, 2, 2}[point])}})
		}
		res, err := a.Analyse(records)
		require.NoError(t, err)
		for _, row := range res.Rows {
			by = append(by, row.Beaten["operations"])
		}
		return by
	}
	assert.Equal(t, [][]string{{a.Rows[1].Name, a.Rows[2].Name}, nil, nil}, beaten(7))
	assert.Equal(t, [][]string{nil, nil, nil}, beaten(6), "three comparisons take seven seeds")
}
