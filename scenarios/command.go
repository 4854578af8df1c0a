package scenarios

import (
	"fmt"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/shell"
)

// Command is how a user had wavetank run a plan. Its changes to the plan are the overrides of the run's
// [Result].
type Command struct {
	Program string `json:"program"`                // as in a shell
	Source  string `json:"source"`                 // the scenario's name, or the plan's file
	Seeded  bool   `json:"seeded,omitempty"`       // it gives the seed
	Redis   string `json:"redis_server,omitempty"` // the value of --redis-server; "" if it is not given
}

// ProgramName is the program's name in a shell, unless the user called it otherwise.
const ProgramName = "wavetank"

// RunCommand returns the shell command that makes program run a scenario or a plan's file unchanged.
func RunCommand(program, source string) string { return program + " run " + shell.Operand(source) }

// RepeatedBy sets the command that repeats the run.
func (res *Result) RepeatedBy(c Command) {
	res.Command = c
	res.Replay = c.Program + " " + res.Arguments()
}

// Arguments returns the arguments of the command that repeats the run.
func (res *Result) Arguments() string { return res.arguments("run", res.Overrides) }

// WhyCommand returns the shell command that explains why the run breaks an invariant, even if the run was not
// told to judge it.
func (res *Result) WhyCommand(invariant string) string {
	return res.Command.Program + " " + res.arguments("why", but(res.Overrides, "judge=")) + " --invariant " + shell.Word(invariant)
}

// HardenedCommand returns the shell command that runs the same plan under the preset hardened.
func (res *Result) HardenedCommand() string {
	return res.Command.Program + " " + res.arguments("run", but(res.Overrides, "preset=")) + " --preset " + plans.PresetHardened
}

func (res *Result) arguments(verb string, overrides []string) string {
	var b strings.Builder
	b.WriteString(verb + " " + shell.Operand(res.Command.Source))
	if res.Command.Seeded {
		fmt.Fprintf(&b, " --seed %d", res.Seed)
	}
	if redis := res.Command.Redis; redis != "" {
		overrides = but(overrides, overRedisServer)
		b.WriteString(" --redis-server")
		if redis != DefaultRedisProgram {
			b.WriteString("=" + shell.Word(redis))
		}
	}
	for _, o := range overrides {
		flag := " --set "
		for _, own := range []string{"preset", "judge"} {
			if value, ok := strings.CutPrefix(o, own+"="); ok {
				flag, o = " --"+own+" ", value
				break
			}
		}
		b.WriteString(flag + shell.Word(o))
	}
	return b.String()
}

// overRedisServer is the override that --redis-server sets.
const overRedisServer = "world.redis=" + plans.RedisServer

// but returns the overrides that do not begin with start.
func but(overrides []string, start string) (list []string) {
	for _, o := range overrides {
		if !strings.HasPrefix(o, start) {
			list = append(list, o)
		}
	}
	return list
}
