package sweep

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

func TestAnalyseByHand(t *testing.T) {
	d := gridOf(t, 7, "engine.max_dispatch_retries=1,2", "world.dying=0,0.5")
	records := recordsOf(d, func(values []string, seed int) madeUp {
		m := madeUp{failed: float64(seed), picks: 5}
		if values[0] == "2" {
			m.failed, m.picks = float64(6-seed), 6
		}
		if values[1] == "0.5" {
			m.failed, m.picks = m.failed+1, m.picks+float64(seed)
		}
		return m
	})
	slices.Reverse(records) // their order is nobody's business
	res := analysed(t, d, records)
	assert.True(t, res.Complete)
	assert.Equal(t, []string{"failed", "stale_picks"}, []string{res.Metrics[0].Name, res.Metrics[1].Name})
	assert.Len(t, res.Metrics, len(campaign.Metrics()), "all others follow")
	require.Len(t, res.Points, 4)
	p := res.Points[1]
	assert.Equal(t, []string{"1", "0.5"}, p.Values)
	assert.Equal(t, 7, p.Runs)
	assert.InDelta(t, 4, p.Estimates["failed"].Mean, 1e-9, "of 1 to 7")
	// 5 to 11: mean 8, standard error sqrt(14/3/7), t(6, 97.5 %) = 2.446912.
	assert.InDelta(t, 8-2.446912*math.Sqrt(2.0/3), p.Estimates["stale_picks"].Low, 1e-4)
	assert.InDelta(t, 5-2.446912/math.Sqrt(12*7), res.Points[0].Estimates["stale_picks"].Low, 1e-4, "seven that agree, in steps of one")
	_, measured := p.Estimates["retries"]
	assert.False(t, measured)
	assert.Equal(t, []bool{true, true, false, false}, front(res), "as many failed, and fewer picks")
	// 2 against 1: 6, 4, 2, 0, -2, -4, -6. Standard error sqrt(112/6/7), which times t(6, 97.5 %) is 4.
	assert.Equal(t, "There is no value of engine.max_dispatch_retries to take under any of 2 conditions: no difference beyond noise: 0 % [-4.85, 4.85] at 1 rather than 2.", res.Answer.Sentence)
	assert.Contains(t, res.Answer.Evidence, "“jobs failed”, engine.max_dispatch_retries from 1 to 2: 0 % [-4.85, 4.85].")
	assert.Contains(t, strings.Join(res.Answer.Evidence, " "), "“jobs failed”, world.dying from 0 to 0.5, whatever else is chosen: +1 % [")
	assert.Empty(t, res.Answer.Take)
	assert.False(t, res.Answer.Conclusive())
	// Two metrics, so at 97.5 % each: t(6, 98.75 %) = 2.9687, and 1.63299 times that is 4.85.
	assert.Equal(t, Advice{
		Under: []string{"0.5"}, Sure: NoSignal, Metric: "failed", Mean: 4, Than: "2", ThanMean: 4, Gap: res.Answer.Rows[1].Gap,
		Says: "no difference beyond noise: 0 % [-4.85, 4.85] at 1 rather than 2", Open: true,
	}, res.Answer.Rows[1])
}

func front(res *Result) (on []bool) {
	for _, p := range res.Points {
		on = append(on, p.OnFront)
	}
	return on
}

func TestTheFrontIsOfEachCombinationOfConditions(t *testing.T) {
	d := gridOf(t, 2, "engine.max_dispatch_retries=1,2,3", "world.dying=0,0.5")
	res := analysed(t, d, recordsOf(d, func(values []string, _ int) madeUp {
		n, _ := strconv.ParseFloat(values[0], 64)
		m := madeUp{failed: 10 - n, picks: n}
		if values[1] == "0.5" {
			m.failed += 20 // worse than all of the others, which are not to be had
		}
		if values[0] == "3" && values[1] == "0.5" {
			m.failed = 30 // more picks, and no better than 2
		}
		if values[0] == "3" && values[1] == "0" {
			m.broken = "one-dispatch-per-job"
		}
		return m
	}))
	assert.Equal(t, []bool{true, true, true, true, false, false}, front(res), "1 and 2 under either condition; 3 broke a promise, or is worse")
}

func TestRecordsMayBeMissing(t *testing.T) {
	d := gridOf(t, 4, "engine.max_dispatch_retries=1,2")
	records := recordsOf(d, func(values []string, seed int) madeUp { return madeUp{failed: float64(len(values[0]) + seed)} })
	res := analysed(t, d, records[:7])
	assert.False(t, res.Complete)
	assert.Equal(t, 3, res.Points[1].Runs)
	assert.Contains(t, res.Notes[2], "1 run is missing: the sweep was cut short")
	assert.Contains(t, res.Answer.Sentence, "3 seeds are too few to tell", "the seed that only one value was run under does not count")
	res = analysed(t, d, nil)
	assert.Contains(t, res.Answer.Sentence, "no seed was run at all values")
	assert.Empty(t, res.Answer.Take)
	_, err := Analyse(d, []*campaign.Record{{N: 8}})
	assert.ErrorContains(t, err, "a record is of run 8, and the grid has 8 runs: the records are of another sweep")
}

func TestRunsThatTookTheirProcessDownGateThePoint(t *testing.T) {
	d := gridOf(t, 2, "engine.max_dispatch_retries=1,2")
	records := recordsOf(d, func([]string, int) madeUp { return madeUp{} })
	records[1].Contained, records[1].Measures = &campaign.Contained{What: campaign.Panicked}, nil
	records[2].Verdict, records[2].Reason = scenarios.Inconclusive, "the run used up its steps"
	res := analysed(t, d, records)
	assert.Equal(t, map[string]int{"no-panic": 1}, res.Points[1].Broken)
	assert.Equal(t, []string{"engine.max_dispatch_retries=1"}, res.Answer.Take)
	assert.Contains(t, res.Answer.Sentence, "Take engine.max_dispatch_retries=1 (not sure): ", "that the other breaks is sure, that this one never does is not")
	assert.Contains(t, res.Answer.Sentence, "the only value at which every promise was kept, under 2 seeds")
	assert.True(t, res.Answer.Rows[0].Open)
	assert.Contains(t, res.Answer.Evidence, "Left out: engine.max_dispatch_retries=2 (no-panic in 1 run).")
	assert.Contains(t, res.Notes[2], "1 run was inconclusive and measured as far as they went; the first: the run used up its steps.")
}
