package job_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/engine/job"
)

func TestWithoutOwnLabels(t *testing.T) {
	labels := map[string]string{
		"zone": "a", "replay_of": "job-1", "replay_count": "2",
		"approval_granted": "true", "approval_hash": "h", "approved_at": "1", "approved_by": "ops",
	}
	before := len(labels)
	assert.Equal(t, map[string]string{"zone": "a"}, job.WithoutOwnLabels(labels))
	assert.Len(t, labels, before, "the job keeps its own")
	assert.NotNil(t, job.WithoutOwnLabels(nil))
}
