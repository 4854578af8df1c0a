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
		told:           "every promise held. Broken, but not promised: cancelled-job-is-told (not with these settings)",
		settles + dies: "every promise held. Broken, but not promised: every-job-settles (not under these faults)",
		told + dies: "every promise held. Broken, but not promised: every-job-settles (not under these faults), " +
			"cancelled-job-is-told (not with these settings)",
		"workload: {jobs: 1}\nengine: {max_deliver: 1, pending_replayer: false, reconciler: false}\nkernel: {default: THROTTLE, then: [{at: 1h, default: ALLOW}]}\n": "every promise held. " +
			"Broken, but not promised: no-message-given-up and every-job-settles (not with these settings)",
		"workload: {jobs: 1}\ntopology: {schedulers: 1}\nkernel: {default: THROTTLE}\n": "every promise held. " +
			"Broken, but not promised: no-message-given-up (not in such a run). 1 job is still throttled by the safety kernel",
	} {
		res, err := Run(context.Background(), plan(t, "preset: documented\n"+text), RunOptions{})
		require.NoError(t, err)
		assert.Equal(t, Held, res.Verdict)
		assert.Equal(t, reason, res.Reason)
	}
}

// Nobody can say of a world whether it would have settled if its time was too short for that, or if nobody was left to go on.
func TestAWorldThatCannotSettle(t *testing.T) {
	const nobody = "no scheduler was left that could go on; give the outages an end (for, restart_in), or let them heal (then.heal)"
	jobs := "workload: {jobs: 2}\ntopology: {schedulers: 1}\nthen: {heal: false, settle_within: 2m}\n"
	for text, reason := range map[string]string{
		jobs + "faults: [{at: 1s, do: crash, node: scheduler-1}]\n":                  nobody,
		jobs + "faults: [{at: 1s, do: partition, node: scheduler-1, from: redis}]\n": nobody,
		jobs + "faults: [{at: 1s, do: crash, node: scheduler-1, restart_in: 1h}]\n":  "an outage lasted longer than the world had to settle after it; raise then.settle_within, now 2m0s",
		"workload: {jobs: 1}\nengine: {running_timeout: 1h}\ntopology: {workers: 1}\nfaults: [{after: {job: 1, phase: effect}, do: crash, node: worker-1}]\nthen: {heal: false}\n": "with these settings it may take 1h1m30s " +
			"until somebody looks for a job; raise then.settle_within, now 45m0s",
	} {
		res, err := Run(context.Background(), plan(t, text), RunOptions{})
		require.NoError(t, err)
		assert.Equal(t, Inconclusive, res.Verdict, text)
		assert.Equal(t, reason, res.Reason)
	}
}
