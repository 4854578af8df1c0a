package plots

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/scenarios"
)

// The drawing is made from the table that the engine obeys, so the two cannot differ; this is that
// it draws all of it.
func TestTheMachineHasEveryStateAndEveryDocumentedMove(t *testing.T) {
	v := MachineOf(&scenarios.Result{})
	require.Len(t, v.States, len(job.States)+1)
	for i, s := range append([]job.State{job.Absent}, job.States...) {
		assert.Equal(t, s, v.States[i].Name)
		assert.NotZero(t, v.States[i].W, s)
		assert.LessOrEqual(t, v.States[i].X+v.States[i].W, v.Width, s)
		assert.LessOrEqual(t, v.States[i].Y+v.States[i].H, v.Height, s)
	}
	require.Len(t, v.Moves, len(job.Transitions))
	lines := map[string]bool{}
	for i, m := range v.Moves {
		assert.Equal(t, job.Transitions[i].From, m.From)
		assert.Equal(t, job.Transitions[i].To, m.To)
		assert.Zero(t, m.Times)
		assert.False(t, lines[m.Path], "%s to %s is drawn on another move", m.From, m.To)
		lines[m.Path] = true
	}
}

func TestTheMachineCountsWhatJobsMadeOfIt(t *testing.T) {
	path := func(states ...job.State) (j scenarios.JobResult) {
		for _, s := range states {
			j.Path = append(j.Path, scenarios.JobPoint{State: string(s)})
		}
		return j
	}
	v := MachineOf(&scenarios.Result{Jobs: []scenarios.JobResult{
		path(job.Pending, job.Scheduled, job.Dispatched, job.Scheduled, job.Scheduled, job.Dispatched, job.Running, job.Succeeded),
		path(job.Pending, job.Scheduled, job.Dispatched, job.Running, job.Succeeded, job.Running),
	}})
	times := map[string]int{}
	for _, m := range v.Moves {
		if m.Times > 0 {
			times[string(m.From)+">"+string(m.To)] = m.Times
		}
		assert.Equal(t, !job.CanMove(m.From, m.To), m.Undocumented, "%s to %s", m.From, m.To)
	}
	assert.Equal(t, map[string]int{
		">PENDING": 2, "PENDING>SCHEDULED": 2, "SCHEDULED>DISPATCHED": 3, "DISPATCHED>SCHEDULED": 1, "SCHEDULED>SCHEDULED": 1,
		"DISPATCHED>RUNNING": 2, "RUNNING>SUCCEEDED": 2, "SUCCEEDED>RUNNING": 1,
	}, times)
	assert.Contains(t, v.Label, "SUCCEEDED to RUNNING: 1 time.")
	for _, s := range v.States {
		assert.Equal(t, map[job.State]int{job.Succeeded: 1, job.Running: 1}[s.Name], s.Jobs, s.Name)
	}
}
