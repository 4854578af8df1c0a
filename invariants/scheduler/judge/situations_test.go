package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// A fenced write is a look and a MULTI: what the fence stops is no failed write, and its job no worse
// off.
func TestFencedWrites(t *testing.T) {
	stopped := func(s *story) *story { // by what the look saw
		return s.submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).publishFails(s1, job1, w1).looks(s1, job1, "rollback_write").unlock(s1, job1)
	}
	s := stopped(newStory()).counted(map[string]float64{history.CounterFenced + `{phase="rollback_write"}`: 1, history.CounterRollbacks: 1, history.CounterRollbacksFailed: 1})
	r := s.judge(hardened)
	assert.Equal(t, 1, outcomeOf(r, "late-write-fenced").Exercised)
	assert.Zero(t, outcomeOf(r, "state-write-failed-clean").Exercised)
	assert.Zero(t, outcomeOf(r, "rollback-failed").Exercised)
	assert.Empty(t, outcomeOf(r, "counters-equal-trace").Violations)

	s = newStory().submit(job1).begins(s1, job1).looks(s1, job1, "dispatched_write")
	s.add(s1, sim.KindRedis, "multi", history.RecordPrefix+job1, job1, "dispatched_write", // by the server: what it names is as it was
		sim.Change{Key: history.RecordPrefix + job1, Field: "state", Value: "SCHEDULED"}).last().Outcome = history.TransactionFailed
	s.unlock(s1, job1).counted(map[string]float64{history.CounterFenced + `{phase="dispatched_write"}`: 1})
	r = s.judge(hardened)
	assert.Equal(t, 1, outcomeOf(r, "late-write-fenced").Exercised)
	assert.Empty(t, outcomeOf(r, "attempts-equal-scheduled-writes").Violations)
	assert.Empty(t, outcomeOf(r, "counters-equal-trace").Violations)

	s = newStory().submit(job1).lock(s1, job1).looks(s1, job1, "scheduled_write").busy(s1, job1).scheduled(s1, job1, "scheduled_write").unlock(s1, job1)
	r = s.counted(map[string]float64{}).judge(hardened)
	assert.Zero(t, outcomeOf(r, "late-write-fenced").Exercised, "what another handler of the process does is no refusal")
	assert.Empty(t, outcomeOf(r, "counters-equal-trace").Violations)
}
