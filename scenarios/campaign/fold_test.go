package campaign

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/scenarios"
)

func drawRecords(t *rapid.T) []*Record {
	name := rapid.SampledFrom(judge.All())
	names := rapid.Map(rapid.SliceOfNDistinct(name, 0, 3, func(i invariants.Invariant) string { return i.Name }), func(list []invariants.Invariant) (names []string) {
		for _, i := range list {
			names = append(names, i.Name)
		}
		return names
	})
	kinds := rapid.SliceOfNDistinct(rapid.SampledFrom(FaultKinds()), 0, 3, rapid.ID[string])
	var list []*Record
	for n := range rapid.IntRange(1, 20).Draw(t, "runs") {
		r := &Record{N: n, Digest: rapid.StringMatching("[0-9a-f]{16}").Draw(t, "digest"), Steps: rapid.IntRange(0, 1000).Draw(t, "steps")}
		r.Verdict = rapid.SampledFrom([]scenarios.Verdict{scenarios.Held, scenarios.Violated, scenarios.Inconclusive}).Draw(t, "verdict")
		r.Exercised = names.Draw(t, "exercised")
		for _, name := range names.Draw(t, "outside") {
			r.Outside = append(r.Outside, Outside{Invariant: name})
		}
		r.Drawn, r.Fired = kinds.Draw(t, "drawn"), kinds.Draw(t, "fired")
		if rapid.Bool().Draw(t, "contained") {
			r.Verdict, r.Contained = "", &Contained{What: Panicked}
		}
		list = append(list, r)
	}
	return list
}

func folded(t require.TestingT, list []*Record) string {
	f := newFold()
	for _, r := range list {
		f.add(r)
	}
	data, err := json.Marshal(f.result(Spec{}))
	require.NoError(t, err)
	return string(data)
}

func TestTheOrderOfRecordsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawRecords(t)
		want := folded(t, list)
		other := rapid.Permutation(list).Draw(t, "order")
		assert.Equal(t, want, folded(t, other))
		changed := slices.Clone(list)
		first := *changed[0]
		first.Digest += "x"
		changed[0] = &first
		assert.NotEqual(t, want, folded(t, changed), "the digest is over all runs")
	})
}

func TestTheBoundIsOfCampaignsThatFoundNothing(t *testing.T) {
	bound := func(change func(*Record)) float64 {
		f := newFold()
		for n := range 100 {
			r := kept(n)
			if n == 50 {
				change(r)
			}
			f.add(r)
		}
		return f.result(Spec{}).Bound
	}
	assert.InDelta(t, 0.03, bound(func(*Record) {}), 1e-12)
	assert.InDelta(t, 3./99, bound(func(r *Record) { r.Verdict, r.Reason = scenarios.Inconclusive, "job-1 was still under way" }), 1e-12, "nothing was said of its end")
	assert.InDelta(t, 3./99, bound(func(r *Record) { r.Unjudged = []string{"one-execution-per-job"} }), 1e-12, "a promise did not judge it")
	assert.InDelta(t, 0.03, bound(func(r *Record) { r.Outside = []Outside{{Invariant: "one-dispatch-per-job"}} }), 1e-12)
	assert.Zero(t, bound(func(r *Record) { r.Broken = []Broken{{Invariant: "one-dispatch-per-job"}} }))
	assert.Zero(t, bound(func(r *Record) { r.Contained = &Contained{What: Hung} }))
}

func TestReasonsOfOneSort(t *testing.T) {
	for reason, want := range map[string]string{
		"job-3 was still under way when the time was over; raise then.settle_within, now 20m0s": "job-N was still under way when the time was over; raise then.settle_within, now N",
		"a fault did not fire as it should: crash of worker-2 at 3.5s: never":                   "a fault did not fire as it should",
	} {
		assert.Equal(t, want, sortOf(reason))
	}
}
