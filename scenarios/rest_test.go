package scenarios

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Nothing comes of an ack whose answer is lost, of a job that nobody will submit, or of one that has no record any more and no
// message: the run does not wait for them.
func TestARunEndsOnceNothingCanComeOfIt(t *testing.T) {
	for name, faults := range map[string]string{
		"the answer to an ack is lost":               "{on: {job: 2, phase: job_ack}, do: fail-after}",
		"a worker dies after its ack":                "{after: {job: 2, phase: job_ack}, do: crash, node: actor, restart_in: 5s}",
		"a scheduler dies after its ack":             "{after: {job: 2, phase: result_ack}, do: crash, node: actor, restart_in: 5s}",
		"a submission that is given up":              "{on: {job: 2, phase: submit_write}, do: fail-before}",
		"the submitter is down until all heals":      "{after: {job: 1, phase: submit_publish}, do: crash, node: submitter}",
		"the submitter is cut off until all heals":   "{at: 2.3s, do: partition, node: submitter, from: redis}",
		"the record goes with a failover in the end": "{after: {job: 2, phase: result_ack}, do: failover, node: redis, lag: 1s}",
	} {
		p := plan(t, "preset: hardened\nworkload: {jobs: 2, tries: 1}\nfaults: ["+faults+"]\n")
		res, err := Run(context.Background(), p, RunOptions{Source: name})
		require.NoError(t, err, name)
		assert.Equal(t, Held, res.Verdict, "%s: %s", name, res.Reason)
		assert.Less(t, res.Virtual, 5*time.Minute, name)
	}
}

// The last operation of a run is one after which a server can fail.
func TestAStrikeAfterTheLastOperationIsWaitedFor(t *testing.T) {
	for _, do := range []string{"failover, node: redis, lag: 500ms", "restart, node: nats, for: 5s", "power-loss, node: nats, for: 5s, lag: 1s"} {
		p := plan(t, "preset: hardened\nworkload: {jobs: 1}\nfaults: [{after: {job: 1, phase: result_ack}, do: "+do+"}]\n")
		res, err := Run(context.Background(), p, RunOptions{Source: do})
		require.NoError(t, err)
		assert.NotEqual(t, Inconclusive, res.Verdict, "%s: %s", do, res.Reason)
		assert.Len(t, res.Fired, 1, do)
	}
}

// nats-server that is killed forgets the last acks. The run waits for what comes again of that, and for what is made of it.
func TestWhatWasAcknowledgedInVainComesAgain(t *testing.T) {
	for _, phase := range []string{"job_ack", "result_ack"} {
		p := plan(t, "preset: hardened\nworkload: {jobs: 1}\nfaults: [{after: {job: 1, phase: "+phase+"}, do: kill, node: nats, for: 2s}]\n")
		var trace bytes.Buffer
		res, err := Run(context.Background(), p, RunOptions{Source: phase, Trace: &trace})
		require.NoError(t, err)
		assert.NotEqual(t, Inconclusive, res.Verdict, "%s: %s", phase, res.Reason)
		assert.Greater(t, res.Virtual, p.Engine.AckWait, phase)
		of := strings.Count(trace.String(), `"phase":"`+strings.TrimSuffix(phase, "_ack")+`_deliver"`)
		assert.Greater(t, of, 1, "%s: it comes again", phase)
		assert.GreaterOrEqual(t, strings.Count(trace.String(), `"phase":"`+phase+`"`), of, "%s: each time it is acknowledged", phase)
	}
}
