package campaign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios"
)

// storyStrikes bounds the faults that a story spells out.
const storyStrikes = 3

// story says in a few sentences what happened in a run that broke a promise: what struck, what became
// of the job, and how the promise broke.
func story(res *scenarios.Result, v *scenarios.Violation) string {
	var sentences []string
	if struck := struck(res); struck != "" {
		sentences = append(sentences, struck)
	}
	if i := slices.IndexFunc(res.Telling, func(s string) bool { return strings.HasPrefix(s, v.Job+" ") }); v.Job != "" && i >= 0 {
		sentences = append(sentences, res.Telling[i])
	}
	message := strings.TrimPrefix(v.Message, v.Job+": ")
	if !strings.Contains(message, fmt.Sprintf("at step %d", v.Step)) {
		message = fmt.Sprintf("at step %d, %s", v.Step, message)
	}
	return strings.Join(append(sentences, v.Invariant+" is broken: "+message+"."), " ")
}

// struck tells of the faults that the story of a job does not: those of nodes, and what was lost.
func struck(res *scenarios.Result) string {
	var parts []string
	more := 0
	for _, f := range res.Fired {
		what := ""
		switch k := faults.KindOf(faults.Effect(f.Do)); {
		case k.Past != "" && k.OnNode():
			what = f.Node + " " + k.Past + " at " + instant(f.At)
			if f.Phase != "" {
				what += " after " + operation(f)
			}
		case k.Past != "" && f.Until > f.At:
			what = operation(f) + " " + k.Past + ", by " + instant(f.Until-f.At)
		case k.Past != "":
			what = operation(f) + " " + k.Past + " at " + instant(f.At)
		case k.OnNode():
			what = f.Fault
		default: // the story of its job tells of it
			continue
		}
		if len(parts) == storyStrikes {
			more++
			continue
		}
		parts = append(parts, what)
	}
	if len(parts) == 0 {
		return ""
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more such", more))
	}
	return strings.Join(parts, "; ") + "."
}

func operation(f scenarios.FiredFault) string {
	if f.Job == "" || strings.HasPrefix(f.Job, "worker-") {
		return "a " + f.Phase + " of " + f.Node
	}
	return "the " + f.Phase + " of " + f.Job
}

func instant(d time.Duration) string { return d.Round(time.Millisecond).String() }

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
func contained(p *scenarios.Plan, c *Contained) string {
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
