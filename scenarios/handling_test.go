package scenarios

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// Who gives back a lock that another has taken meanwhile, and acknowledges, leaves the job in the other's hands.
func TestLateReleaseEndsNoOtherHandling(t *testing.T) {
	facts := &model.Facts{Jobs: map[string]*model.Job{"job-1": {Handlings: []model.Handling{{Node: "scheduler-2"}}}}}
	r := newRecord(plans.Defaults(), facts)
	j := r.job("job-1")
	j.State = "DISPATCHED"
	operation := func(node, phase string) {
		r.observe(&sim.Event{Kind: sim.KindRedis, Node: node, Job: j.ID, Phase: phase, Outcome: sim.OutcomeOK}, nil)
	}
	operation("scheduler-1", "lock_release")
	operation("scheduler-1", "submit_ack")
	assert.Nil(t, j.Blind)

	facts.Jobs[j.ID].Handlings = nil
	operation("scheduler-2", "submit_ack")
	assert.NotNil(t, j.Blind)
}
