package plans

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/faults"
)

// What a message's deliveries have to outlast, for a promise that depends on its patience.
func TestOutages(t *testing.T) {
	publish := &faults.Match{Job: 1, Phase: "publish"}
	for want, list := range map[time.Duration][]faults.Fault{
		0:                {{At: time.Second, Do: faults.Failover, Node: faults.Redis, Lag: time.Second}},
		30 * time.Second: {{On: publish, Do: faults.FailBefore}},
		7 * time.Minute:  {{On: publish, Do: faults.FailBefore, Times: 14}},
		3 * time.Minute: {
			{At: time.Second, Do: faults.Partition, Node: "scheduler-1", From: faults.Redis, For: time.Minute},
			{After: publish, Do: faults.Crash, Node: faults.Actor, RestartIn: 2 * time.Minute},
		},
		12 * time.Second: {{On: &faults.Match{Phase: "publish"}, Do: faults.FailBefore, Rate: 0.5}},                                 // until the heal
		10 * time.Minute: {{After: &faults.Match{Phase: "lock_release"}, Do: faults.Refusal, Node: faults.Redis, For: time.Minute}}, // after one of each job
		2 * time.Minute:  {{After: &faults.Match{Phase: "heartbeat"}, Do: faults.Refusal, Node: faults.Redis, For: 2 * time.Minute}},
		time.Minute:      {{At: time.Minute, Do: faults.Partition, Node: "scheduler-1", From: faults.Redis}},
	} {
		p := Defaults()
		p.Workload.Jobs, p.Workload.Every, p.Engine.BackoffMax, p.Faults = 10, time.Second, 30*time.Second, list
		assert.Equal(t, want, p.Outages(), "%v", list)
	}
	p := Defaults()
	p.Then.Heal = false
	p.Faults = []faults.Fault{{At: time.Minute, Do: faults.Crash, Node: "scheduler-1"}}
	assert.Equal(t, time.Minute+p.Then.SettleWithin, p.Outages(), "nothing ends it")
}
