package scenarios

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReplayCommandCanBePasted(t *testing.T) {
	assert.Equal(t, "wavetank run calm --seed 7", ReplayCommand("calm", 7, nil))
	assert.Equal(t, `wavetank run 'my plans/it'\''s.yaml' --seed 7 --preset documented --set engine.read_error=fail-open --set 'a=b c'`,
		ReplayCommand("my plans/it's.yaml", 7, []string{"preset=documented", "engine.read_error=fail-open", "a=b c"}))
	res := &Result{Overrides: []string{"preset=documented", "judge=one-effect-per-key", "judge=every-job-settles"}}
	res.Replay = ReplayCommand("runs/a run", 7, res.Overrides)
	assert.Equal(t, "wavetank why 'runs/a run' --seed 7 --preset documented --invariant one-effect-per-key", WhyCommand(res, "one-effect-per-key"))
}
