package scenarios

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Whatever a program, a file or a label is called, a command can be pasted into a shell, and is of the same plan.
func TestCommandsCanBePasted(t *testing.T) {
	res := &Result{Seed: 7}
	res.RepeatedBy(Command{Program: ProgramName, Source: "calm", Seeded: true})
	assert.Equal(t, "wavetank run calm --seed 7", res.Replay)

	label := "workload.label.3=a= --preset documented b"
	res.Overrides = []string{"world.redis=server", "preset=documented", "judge=one-effect-per-key", label, "judge=every-job-settles"}
	res.RepeatedBy(Command{Program: "'my run dir/wavetank'", Source: "plans/it's why.yaml", Seeded: true, Redis: "my redis"})
	begin := ` 'plans/it'\''s why.yaml' --seed 7 --redis-server='my redis'`
	assert.Equal(t, "'my run dir/wavetank' run"+begin+" --preset documented --judge one-effect-per-key --set '"+label+"' --judge every-job-settles", res.Replay)
	assert.Equal(t, "'my run dir/wavetank' why"+begin+" --preset documented --set '"+label+"' --invariant one-effect-per-key", res.WhyCommand("one-effect-per-key"))
	assert.Equal(t, "'my run dir/wavetank' run"+begin+" --judge one-effect-per-key --set '"+label+"' --judge every-job-settles --preset hardened", res.HardenedCommand())

	res.RepeatedBy(Command{Program: ProgramName, Source: "calm", Redis: DefaultRedisProgram})
	assert.Contains(t, res.Replay, "wavetank run calm --redis-server --preset documented")

	res.Overrides = nil
	res.RepeatedBy(Command{Program: ProgramName, Source: "--x.yaml"})
	assert.Equal(t, "wavetank run ./--x.yaml", res.Replay, "a file is no flag")
}
