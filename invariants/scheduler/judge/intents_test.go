package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
)

// Each state write counts the version up by one. A write that leaves the version alone is a write all the same.
func TestAWriteThatDoesNotCountIsAWrite(t *testing.T) {
	for version, miscounted := range map[string]bool{"2": true, "3": false, "4": true} {
		s := newStory().write("submitter", job1, "submit_write", "PENDING", "attempts", "0", "version", "1")
		s.lock(s1, job1).read(s1, job1).write(s1, job1, "timeout_write", "TIMEOUT", "version", "2").unlock(s1, job1)
		r := s.lock(s1, job1).write(s2, job1, "result_write", "SUCCEEDED", "version", version).judge(hardened)
		for _, name := range []string{"terminal-states-final", "lock-mutual-exclusion", "succeeded-implies-finished-execution"} {
			assert.Equal(t, 1, outcomeOf(r, name).Promised, "version %s: %s", version, name)
		}
		o := outcomeOf(r, "epochs-never-decrease")
		assert.Equal(t, miscounted, o.Promised == 1, "version %s", version)
		for _, v := range o.Violations {
			assert.Contains(t, v.Message, "the version went from 2 to "+version+" with the write of SUCCEEDED")
		}
	}
}

// Who knows of no replica, or has learnt of one only since, waits for none.
func TestWhatADispatchWaitsFor(t *testing.T) {
	waits := func(s *story) *story { return s.begins(s1, job2).op(s1, job2, "replica_wait") }
	for name, c := range map[string]struct {
		breaks bool
		s      func(*story) *story
	}{
		"none known":      {false, func(s *story) *story { return s.begins(s1, job1).intended(s1, job1, w1) }},
		"known, and none": {true, func(s *story) *story { return waits(s).begins(s1, job1).intended(s1, job1, w1) }},
		"by another":      {false, func(s *story) *story { return waits(s).begins(s2, job1).intended(s2, job1, w1) }},
		"known since":     {false, func(s *story) *story { return waits(s.begins(s1, job1).intended(s1, job1, w1)) }},
		"told": {false, func(s *story) *story {
			return waits(s).begins(s1, job1).intended(s1, job1, w1).op(s1, job1, "replica_wait")
		}},
		"refused": {true, func(s *story) *story {
			return waits(s).begins(s1, job1).intended(s1, job1, w1).op(s1, job1, "replica_wait").fails()
		}},
		"before a restart": {false, func(s *story) *story {
			return waits(s).control("crash", s1).control("restart", s1).begins(s1, job1).intended(s1, job1, w1)
		}},
	} {
		node := s1
		if name == "by another" {
			node = s2
		}
		s := c.s(newStory().submit(job1).submit(job2)).publish(node, job1, w1)
		assert.Equal(t, c.breaks, len(outcomeOf(s.judge(config.Config{WaitReplica: true}), "intent-is-safe-before-dispatch").Violations) > 0, name)
	}
}
