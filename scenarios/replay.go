package scenarios

import (
	"fmt"
	"regexp"
	"strings"
)

// RunCommand is the shell command that runs a scenario or a plan's file as it is.
func RunCommand(source string) string { return "wavetank run " + ShellWord(source) }

// ReplayCommand is the shell command that repeats a run: source is the scenario's name or the
// plan's file, and overrides are those of the run's [Result].
func ReplayCommand(source string, seed uint64, overrides []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "wavetank run %s --seed %d", ShellWord(source), seed)
	for _, o := range overrides {
		flag := " --set "
		for _, own := range []string{"preset", "judge"} {
			if value, ok := strings.CutPrefix(o, own+"="); ok {
				flag, o = " --"+own+" ", value
				break
			}
		}
		b.WriteString(flag + ShellWord(o))
	}
	return b.String()
}

// WhyCommand is the shell command that explains why a run breaks an invariant, whether or not the run was told to judge it.
func WhyCommand(res *Result, invariant string) string {
	command := strings.Replace(res.Replay, " run ", " why ", 1)
	for _, o := range res.Overrides {
		if judged, ok := strings.CutPrefix(o, "judge="); ok {
			command = strings.Replace(command, " --judge "+ShellWord(judged), "", 1)
		}
	}
	return command + " --invariant " + ShellWord(invariant)
}

var plainShell = regexp.MustCompile(`^[A-Za-z0-9_./=:@%+,-]+$`)

// ShellWord quotes s for a POSIX shell where that is needed.
func ShellWord(s string) string {
	if plainShell.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
