package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
)

// Each phase is of the role that the table says: of several, the one that nobody has to ask for.
func TestPhasesAreOfWhoActs(t *testing.T) {
	for _, p := range plans.Phases() {
		assert.Contains(t, actors.Roles, plans.ActorIn(p.Name), p.Name)
	}
	acted := map[string][]string{}
	for _, name := range []string{
		"approval-of-a-changed-job", "breaker-storm", "cancel-before-record", "cancel-running", "outbox-ack-lost", "output-quarantine",
		"poison-dlq-failure", "publish-failure", "replay-mended", "saga-unmarshal", "tenant-limit", "timeout-race", "workflow-timer-crash",
	} {
		p, err := plans.Load(name)
		require.NoError(t, err)
		var trace bytes.Buffer
		_, err = Run(context.Background(), p, RunOptions{Trace: &trace})
		require.NoError(t, err)
		for lines := json.NewDecoder(&trace); lines.More(); {
			var e struct{ Node, Phase string }
			require.NoError(t, lines.Decode(&e))
			acted[e.Phase] = append(acted[e.Phase], actors.RoleOf(e.Node))
		}
	}
	for phase, roles := range acted {
		if phase != "" {
			assert.Contains(t, roles, plans.ActorIn(phase), phase)
		}
	}
	for _, phase := range []string{"run_create", "saga_unreadable", "output_store", "approve_write", "cancel_publish"} {
		assert.Contains(t, acted, phase)
	}
}
