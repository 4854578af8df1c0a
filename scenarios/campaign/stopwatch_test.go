package campaign

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestStopwatch(t *testing.T) {
	var w stopwatch
	now := time.Unix(0, 0)
	tick := func(run int64, after time.Duration) time.Duration {
		now = now.Add(after)
		return w.tick(run, now)
	}
	assert.Zero(t, tick(1, heapEvery))
	assert.Equal(t, heapEvery, tick(1, heapEvery))
	assert.Equal(t, heapEvery+tickMax, tick(1, time.Hour), "the process was stopped")
	assert.Zero(t, tick(2, heapEvery), "another run")
}
