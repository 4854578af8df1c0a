package search

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// What a campaign would hardly ever reach by chance, one of the situations leads to within a few plans.
func TestSituationsComeAbout(t *testing.T) {
	reach := []struct {
		invariants []string
		begin      func(*drawer, int)
	}{
		{[]string{"warm-started", "snapshot-revives-no-worker", "no-retry-for-want-of-known-workers"}, (*drawer).startWarm},
		{[]string{"orphan-replayed"}, (*drawer).orphan},
		{[]string{"scheduled-swept"}, (*drawer).strand},
		{[]string{"redelivery-of-dispatched-job", "state-read-failed-closed"}, (*drawer).misread},
		{[]string{"result-of-older-epoch"}, (*drawer).outdate},
		{[]string{"dead-letter-replayed"}, (*drawer).deadLetter},
		{[]string{"saga-rolled-back", "saga-rollback-resumed"}, (*drawer).breakOff},
		{[]string{"cancellation-takes-effect"}, (*drawer).foretell},
		{[]string{"saga-rolled-back", "compensation-recorded-once"}, (*drawer).undo},
		{[]string{"circuit-opened", "circuit-half-opened", "circuit-closed-again"}, func(d *drawer, _ int) { d.permit(); d.trip() }},
		{[]string{"acked-only-when-durable", "terminated-message-has-dlq-entry"}, (*drawer).lapse},
	}
	require.Len(t, reach, len(situations)+1) // and trip
	for _, c := range reach {
		t.Run(c.invariants[0], func(t *testing.T) {
			plans := rapid.Custom(func(t *rapid.T) *plans.Plan {
				p, err := Space{}.start(plans.PresetHardened)
				require.NoError(t, err)
				d := &drawer{t: t, p: p, fixed: map[string]bool{}}
				c.begin(d, d.job("job"))
				d.finish()
				return p
			})
			reached := map[string]int{}
			for seed := range 4 {
				p := plans.Example(seed)
				requireSound(t, p)
				res, err := scenarios.Run(context.Background(), p, scenarios.RunOptions{Source: p.Name, Modified: true, Drawn: true})
				require.NoError(t, err)
				assert.Equal(t, scenarios.Held, res.Verdict, "%s\n%s", res.Reason, PlanText(t, p))
				for _, i := range res.Invariants {
					reached[i.Name] += i.Exercised
				}
			}
			for _, name := range c.invariants {
				assert.Positive(t, reached[name], name)
			}
		})
	}
}
