package sweep

import (
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// grid of a sweep that nobody runs: its records are made up.
func gridOf(t require.TestingT, seeds int, assignments ...string) *Definition {
	d, err := Load("calm")
	require.NoError(t, err)
	require.NoError(t, d.Grid(assignments))
	d.Seeds, d.FirstSeed, d.Metrics, d.Pareto = seeds, 1, []string{"failed", "stale_picks"}, Pareto{X: "stale_picks", Y: "failed"}
	require.NoError(t, d.Validate())
	return d
}

// run is what a made-up run is to have measured; broken names a promise that it broke.
type madeUp struct {
	failed, picks float64
	timedOut      float64
	broken        string
}

// records makes up a record for every run of the sweep, by its point's values and its seed.
func recordsOf(d *Definition, run func(values []string, seed int) madeUp) []*campaign.Record {
	var records []*campaign.Record
	points := d.points()
	g := d.Spec().Grid
	for n := range len(points) * d.Seeds {
		_, point, seed := g.At(n)
		m := run(points[point], seed)
		r := &campaign.Record{N: n, Verdict: scenarios.Held, Measures: campaign.Measures{"failed": m.failed, "stale_picks": m.picks, "timed_out": m.timedOut}}
		if m.broken != "" {
			r.Broken, r.Verdict = []campaign.Broken{{Invariant: m.broken}}, scenarios.Violated
		}
		records = append(records, r)
	}
	return records
}

func analysed(t require.TestingT, d *Definition, records []*campaign.Record) *Result {
	res, err := Analyse(d, records)
	require.NoError(t, err)
	return res
}
