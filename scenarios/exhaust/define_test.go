package exhaust

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Without a try there is no certificate, which would hold whatever the engine does.
func TestWhereThereIsNothingToTryNothingIsDefined(t *testing.T) {
	for _, c := range []struct {
		name, faults, says string
		o                  Options
	}{
		{"a kind", "", "one makes no operation of phase publish that a fault of kind duplicate can strike; kinds that can: fail-before, fail-after, ", Options{Phases: []string{"publish"}, Kinds: []string{"duplicate"}}},
		{"pairs without a first", "", "one makes no operation of phase rollback_write that a fault of kind duplicate can strike first; no kind can", Options{Pairs: true, Phases: []string{"rollback_write"}, Kinds: []string{"duplicate"}}},
		{"pairs without a second", "", "one makes no operation that a second fault can strike after a first", Options{Pairs: true, Phases: []string{"submit_write"}, Kinds: []string{"fail-after"}}},
		{"pairs that are alike", "", "each second fault on one looks the same as one without a first fault; use --unpruned to try them", Options{Pairs: true, Phases: []string{"lock_release"}, Kinds: []string{"fail-after"}}},
		{"the plan's own", "faults: [{on: {job: 1, phase: lock_release}, do: fail-after, times: 99}]", "can strike, since a fault of the plan strikes it or keeps it from its server", Options{Phases: []string{"lock_release"}, Kinds: []string{"crash"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := plans.Parse("one.yaml", []byte("name: one\npreset: documented\ntopology: {schedulers: 1, workers: 1}\nworkload: {jobs: 1}\n"+c.faults))
			require.NoError(t, err)
			_, err = Define(t.Context(), p, c.o)
			assert.ErrorContains(t, err, c.says)
		})
	}
}

// Where the plan's own fault strikes an operation, no other can: none is tried there, and so none is without an effect. They
// are counted. What strikes at a time is tried.
func TestWhatThePlanStrikesItselfIsLeftOut(t *testing.T) {
	p, err := plans.Load("publish-ack-lost")
	require.NoError(t, err)
	o := Options{Phases: []string{"publish"}}
	d, err := Define(t.Context(), p, o)
	require.NoError(t, err)
	p.Faults = nil
	all, err := Define(t.Context(), p, o)
	require.NoError(t, err)
	const site = "publish 1 of job 3"
	at := func(d *Definition) (tries []int) {
		for n := range d.Tries {
			if d.Sites[d.Tries[n].Site].String() == site {
				tries = append(tries, n)
			}
		}
		return tries
	}
	left := at(d)
	assert.Equal(t, len(at(all)), len(left)+d.Own)
	assert.Positive(t, d.Own)
	for _, n := range left {
		p, err := d.PlanOf(n)
		require.NoError(t, err)
		res, err := scenarios.Run(t.Context(), p, d.options(p))
		require.NoError(t, err)
		assert.True(t, slices.ContainsFunc(res.Fired, func(f scenarios.FiredFault) bool { return f.Number == 1 }), "%s has no effect", &d.Tries[n].Fault)
	}
}

// Likewise what the plan's own fault keeps from its server, by an outage or by a refusal.
func TestWhatThePlanKeepsFromItsServerIsLeftOut(t *testing.T) {
	for _, fault := range []string{"{after: {job: 1, phase: submit_deliver}, do: kill, node: redis, for: 3s}", "{after: {job: 1, phase: submit_deliver}, do: refusal, node: redis, with: loading, for: 3s}", "{at: 2100ms, do: partition, node: scheduler-1, from: redis, for: 3s}"} {
		t.Run(fault, func(t *testing.T) {
			p, err := plans.Parse("one.yaml", []byte("name: one\npreset: documented\ntopology: {schedulers: 1, workers: 1}\nworkload: {jobs: 1}\nfaults: ["+fault+"]"))
			require.NoError(t, err)
			d, err := Define(t.Context(), p, Options{Phases: []string{"processed_read", "lock_acquire"}, Kinds: []string{"fail-before", "crash"}})
			require.NoError(t, err)
			assert.Positive(t, d.Own)
			for n := range d.Tries {
				p, err := d.PlanOf(n)
				require.NoError(t, err)
				res, err := scenarios.Run(t.Context(), p, d.options(p))
				require.NoError(t, err)
				assert.True(t, slices.ContainsFunc(res.Fired, func(f scenarios.FiredFault) bool { return f.Number == 1 }), d.Tries[n].Fault)
			}
		})
	}
}
