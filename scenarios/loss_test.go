package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Redis forgets a dispatch. Only the stream remembers it, and refuses a second one of the same epoch.
func TestTheStreamOutlivesAFailoverOfRedis(t *testing.T) {
	for name, c := range map[string]struct {
		sets       []string
		dispatches int
		verdict    Verdict
	}{
		"documented":      {[]string{"preset=documented"}, 2, Violated},
		"hardened":        {nil, 1, Held},
		"without epochs":  {[]string{"engine.epochs=false", "engine.wait_replica=false"}, 2, Violated}, // with it the result comes first
		"publish-first":   {[]string{"engine.dispatch_order=publish-first"}, 1, Held},
		"with the outbox": {[]string{"engine.dispatch_order=outbox"}, 1, Held},
	} {
		t.Run(name, func(t *testing.T) {
			res := runToggled(t, "redis-failover", "one-dispatch-per-job", c.sets...)
			assert.Equal(t, c.verdict, res.Verdict, "%s", told(res))
			assert.Len(t, res.Jobs[2].Dispatches, c.dispatches)
			assert.Equal(t, "SUCCEEDED", res.Jobs[2].State)
			assert.Regexp(t, `At [0-9.]+s a failover put a replica in the place of Redis, right after the \w+ of job-3; the last writes were lost, \d+ keys \(.*\); back in an earlier state: job-3\.`, told(res))
		})
	}
}

// What a failover takes is told: of all jobs, and of each.
func TestWhatAFailoverTakesIsTold(t *testing.T) {
	p := plans.Defaults()
	p.Name, p.Topology.Schedulers, p.Topology.Workers, p.Workload.Jobs = "failover", 1, 1, 3
	p.Workload.Every, p.Engine.WaitReplica = time.Second, false
	p.Faults = []faults.Fault{
		{At: time.Second, Do: faults.Failover, Node: faults.Redis, Lag: time.Millisecond},
		{After: &faults.Match{Job: 3, Phase: "result_write"}, Do: faults.Failover, Node: faults.Redis, Lag: 500 * time.Millisecond},
	}
	res, err := Run(context.Background(), p, RunOptions{Source: p.Name})
	require.NoError(t, err)
	assert.Contains(t, res.Telling, "At 1s a failover put a replica in the place of Redis; nothing was lost: nobody had written within the lag.")
	assert.Regexp(t, `the last writes were lost, \d+ keys \(.*\); without a record: job-3\.`, told(res))
	assert.Regexp(t, `At [0-9.]+s the record of job-3 was gone, which had said SUCCEEDED\.`, told(res))
	require.Len(t, res.Unsettled, 1)
	assert.Equal(t, "Redis lost its record", res.Unsettled[0].Reason)
}
