package campaign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// How much else than what a violation depends on a story of a finding takes of a run's telling, and how many faults it
// names.
const (
	storyLines   = 12
	storyStrikes = 3
)

func leftOut(n int) string {
	if n == 1 {
		return "1 more step is left out."
	}
	return fmt.Sprintf("%d more steps are left out.", n)
}

// story says what happened in a run that broke a promise, up to how it broke. Of a long one it keeps what the violation
// depends on, then what the faults did, then what came last.
func story(res *scenarios.Result, v *scenarios.Violation) string {
	struck := map[int]bool{}
	for _, f := range res.Fired {
		struck[f.Step] = true
	}
	var told []string
	var step []int
	for i, at := range res.TellingAt {
		if at.Violates == "" && (at.At < v.At || at.At == v.At && at.Step <= v.Step) {
			told, step = append(told, res.Telling[i]), append(step, at.Step)
		}
	}
	end := ""
	if over := len(told) - storyLines; over > 0 {
		left := 0
		for _, spared := range []func(int) bool{
			func(step int) bool { return slices.Contains(v.Steps, step) || struck[step] },
			func(step int) bool { return slices.Contains(v.Steps, step) },
		} {
			for i := 0; i < len(told) && left < over; {
				if spared(step[i]) {
					i++
					continue
				}
				told, step, left = slices.Delete(told, i, i+1), slices.Delete(step, i, i+1), left+1
			}
		}
		end = " " + leftOut(left)
	}
	message := strings.TrimPrefix(v.Message, v.Job+": ")
	if !strings.Contains(message, fmt.Sprintf("at step %d", v.Step)) {
		message = fmt.Sprintf("at step %d, %s", v.Step, message)
	}
	told = append(told, fmt.Sprintf("At %s %s is broken: %s.", v.At.Round(time.Millisecond), v.Invariant, message))
	return strings.Join(told, " ") + end
}

// repeatsItsStep says whether a run that goes out of bounds like that does so at the same step each time:
// what is seen on the real clock, or in the heap, is not.
func (c Containment) repeatsItsStep() bool { return c != Hung && c != Overgrew }

// lasting is the step, if it is the same each time, or 0.
func (c *Contained) lasting() int {
	if c.What.repeatsItsStep() {
		return c.Step
	}
	return 0
}

// contained says in a sentence or two how the code under test went out of bounds.
func contained(p *plans.Plan, c *Contained) string {
	what := map[Containment]string{
		Panicked: "the code under test panicked", Hung: "the code under test hung",
		Leaked: "goroutines of the code under test outlived their world", Overgrew: "the heap grew past its bound",
		Endless: "the run used up its steps", BrokeOff: "the world could not go on",
	}[c.What]
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
