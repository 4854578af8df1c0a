package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// amends changes fields of the job's record, and not its state.
func (s *story) amends(node, job string, fields ...string) *story {
	key := history.RecordPrefix + job
	var changes []sim.Change
	for i := 0; i < len(fields); i += 2 {
		changes = append(changes, s.set(key, fields[i], fields[i+1]))
	}
	return s.add(node, sim.KindRedis, "hset", key, job, "result_write", changes...)
}

// What a job has come to stays, not its state alone.
func TestAJobThatIsOverKeepsWhatItHas(t *testing.T) {
	over := func() *story {
		s := newStory()
		s.submit(job1).dispatched(s1, job1, w1).executed(w1, job1)
		return s.completed(s2, job1, "SUCCEEDED")
	}
	for name, c := range map[string]struct {
		s    *story
		says string // "" if it holds
	}{
		"another output":      {over().amends(s1, job1, "result_ptr", "res:job-1"), `which is SUCCEEDED: result_ptr "" to "res:job-1"`},
		"another reason code": {over().amends(s1, job1, "reason_code", "timeout"), `reason_code "" to "timeout"`},
		"the same":            {over().amends(s1, job1, "result_ptr", ""), ""},
		"something else":      {over().amends(s1, job1, "compensated", "true"), ""},
		"before the end":      {newStory().submit(job1).amends(s1, job1, "reason_code", "no_workers"), ""},
	} {
		said := ""
		if found := outcomeOf(c.s.judge(config.Config{}), "terminal-states-final").Violations; len(found) > 0 {
			said = found[0].Message
		}
		if c.says == "" {
			assert.Empty(t, said, name)
		}
		assert.Contains(t, said, c.says, name)
	}
}
