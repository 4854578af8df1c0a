package campaign

import (
	"fmt"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Bounds of a finding's story: the sentences that it takes from a run besides the steps that the violation
// depends on, and the faults that it names.
const (
	storyLines   = 12
	storyStrikes = 3
)

// story tells what happened in a run up to the violation.
func story(res *scenarios.Result, v *scenarios.Violation) string {
	leading, left := res.Leading(v, storyLines)
	var told []string
	for _, i := range leading {
		told = append(told, res.Telling[i])
	}
	end := ""
	if left > 0 {
		end = " " + invariants.CountOf(left, "more step is", "more steps are") + " left out."
	}
	message := strings.TrimPrefix(v.Message, v.Job+": ")
	if !strings.Contains(message, fmt.Sprintf("at step %d", v.Step)) {
		message = fmt.Sprintf("at step %d, %s", v.Step, message)
	}
	told = append(told, fmt.Sprintf("At %s %s is broken: %s.", invariants.Instant(v.At), v.Invariant, message))
	return strings.Join(told, " ") + end
}

// lasting is the step at which the run went out of bounds, or 0 if it is not the same each time.
func (c *Contained) lasting() int {
	if c.What.repeatsItsStep() {
		return c.Step
	}
	return 0
}

// contained says in a sentence or two how the code under test went out of bounds.
func contained(p *plans.Plan, c *Contained) string {
	what := c.What.Says()
	with := "Without a fault"
	if n := len(p.Faults); n > 0 {
		var words []string
		for _, f := range p.Faults[:min(n, storyStrikes)] {
			words = append(words, f.String())
		}
		with = "With " + strings.Join(words, "; ")
	}
	if !c.What.repeatsItsStep() {
		return fmt.Sprintf("%s, %s.", with, what)
	}
	return fmt.Sprintf("%s, %s after step %d.", with, what, c.Step)
}
