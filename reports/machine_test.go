package reports

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/engine/job"
)

func TestThePageDrawsTheMachine(t *testing.T) {
	page := publishFailure().page()
	assert.Contains(t, page, `id="machine"`)
	assert.Equal(t, len(job.Transitions), strings.Count(page, `<path class="move`))
}
