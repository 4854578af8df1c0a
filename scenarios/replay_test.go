package scenarios

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReplayCommandCanBePasted(t *testing.T) {
	assert.Equal(t, "wavetank run calm --seed 7", ReplayCommand("calm", 7, nil))
	assert.Equal(t, `wavetank run 'my plans/it'\''s.yaml' --seed 7 --preset documented --set engine.read_error=fail-open --set 'a=b c'`,
		ReplayCommand("my plans/it's.yaml", 7, []string{"preset=documented", "engine.read_error=fail-open", "a=b c"}))
}
