package faults_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/faults"
)

// A strike on the node that did an operation names the node where the plan does.
func TestAStrikeNamesItsNode(t *testing.T) {
	for want, f := range map[string]faults.Fault{
		"pause of the node that did reconcile_read, occurrence 2, for 20s":         {Do: faults.Pause, Node: faults.Actor, After: &faults.Match{Phase: "reconcile_read", Occurrence: 2}, For: 20 * time.Second},
		"failover of redis at 5s to a replica that is 1s behind, away for 5s":      {Do: faults.Failover, Node: faults.Redis, At: 5 * time.Second, Lag: time.Second, For: 5 * time.Second},
		"crash of the node that did dispatched_write of job 2, restarted after 5s": {Do: faults.Crash, Node: faults.Actor, After: &faults.Match{Phase: "dispatched_write", Job: 2}, RestartIn: 5 * time.Second},
		"pause of scheduler-2 after its snapshot_read for 1m30s":                   {Do: faults.Pause, Node: faults.Actor, After: &faults.Match{Phase: "snapshot_read", Node: "scheduler-2"}, For: 90 * time.Second},
		"crash of worker-1 after publish of job 3":                                 {Do: faults.Crash, Node: "worker-1", After: &faults.Match{Phase: "publish", Job: 3}},
	} {
		assert.Equal(t, want, f.String())
	}
}
