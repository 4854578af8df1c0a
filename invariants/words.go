package invariants

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/sim"
)

// Who names the process that ran a step.
func Who(e *sim.Event) string { return Process(e.Node, e.Incarnation) }

// Process names a process of a node.
func Process(node string, incarnation int) string {
	if incarnation > 1 {
		return fmt.Sprintf("%s (incarnation %d)", node, incarnation)
	}
	return node
}

// CountOf says how many there are, in words.
func CountOf(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

var stepsNamed = regexp.MustCompile(`steps? (\d+(?:(?:, | and )\d+)*)`)

// StepList names steps as a violation's message does.
func StepList(steps []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(steps), " ", ", "), "[]")
}

// stepsIn lists the steps that a violation's message names: it depends on them.
func stepsIn(message string) (steps []int) {
	for _, named := range stepsNamed.FindAllStringSubmatch(message, -1) {
		for _, digits := range strings.FieldsFunc(named[1], func(r rune) bool { return r < '0' || r > '9' }) {
			n, _ := strconv.Atoi(digits)
			steps = append(steps, n)
		}
	}
	return steps
}
