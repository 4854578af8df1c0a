package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
