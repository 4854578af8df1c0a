package scenarios

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run that holds says why, where an invariant is broken: its faults are not among those under which the
// settings promise it, or they promise it under none.
func TestWhatIsBrokenOutsideOfItsPromise(t *testing.T) {
	const (
		told    = "workload: {jobs: 2, work: 1m, cancel: {2: 10s}}\n"
		settles = "workload: {jobs: 2, work: 1m}\n"
		dies    = "topology: {workers: 1}\nengine: {reconciler: false}\nfaults: [{at: 20s, do: crash, node: worker-1}]\nthen: {heal: false}\n"
	)
	for text, reason := range map[string]string{
		told:           "no promise was broken; cancelled-job-is-told is broken, which these settings do not promise",
		settles + dies: "no promise was broken; every-job-settles is broken under faults for which these settings promise nothing",
		told + dies: "no promise was broken; every-job-settles is broken under faults for which these settings promise nothing; " +
			"cancelled-job-is-told is broken, which these settings do not promise",
		"workload: {jobs: 1}\nengine: {max_deliver: 1, pending_replayer: false, reconciler: false}\nkernel: {default: THROTTLE, then: [{at: 1h, default: ALLOW}]}\n": "no promise was broken; " +
			"no-message-given-up, every-job-settles are broken, which these settings do not promise",
		"workload: {jobs: 1}\ntopology: {schedulers: 1}\nkernel: {default: THROTTLE}\n": "no promise was broken; " +
			"no-message-given-up is broken under circumstances for which these settings promise nothing; 1 job is still throttled by the safety kernel",
	} {
		res, err := Run(context.Background(), plan(t, "preset: documented\n"+text), RunOptions{})
		require.NoError(t, err)
		assert.Equal(t, Held, res.Verdict)
		assert.Equal(t, reason, res.Reason)
	}
}
