package scenarios

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
)

// The oracle's state machine is written anew from the documentation. It must be the one that the engine
// goes by: a row of the one alone is a move that is judged wrongly, or that no engine can make.
func TestOracleAndEngineAgreeOnTheStateMachine(t *testing.T) {
	judged := map[[2]string]bool{}
	for _, row := range judge.Transitions() {
		move := [2]string{row.From, row.To}
		assert.False(t, judged[move], "%v is there twice", move)
		judged[move] = true
		assert.True(t, job.CanMove(job.State(row.From), job.State(row.To)), "the engine cannot move a job from %q to %q: %s", row.From, row.To, row.Source)
	}
	for _, row := range job.Transitions {
		assert.True(t, judged[[2]string{string(row.From), string(row.To)}], "the oracle does not know of a move from %q to %q: %s", row.From, row.To, row.Source)
	}
}
