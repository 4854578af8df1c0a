package invariants

import (
	"fmt"
	"slices"
	"strings"
	"time"

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

// Thousands formats n with commas between the thousands.
func Thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural returns a number and a noun, such as "2 jobs"; it adds an s unless n is 1.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Thousands(n) + " " + what + "s"
}

// CountOf returns a number and a noun; more is the plural.
func CountOf(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Ordinal returns an ordinal number: in words up to "third", then in digits.
func Ordinal(n int) string {
	if words := []string{"first", "second", "third"}; n >= 1 && n <= len(words) {
		return words[n-1]
	}
	switch {
	case n%10 == 1 && n%100 != 11:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2 && n%100 != 12:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3 && n%100 != 13:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

// List returns "a", "a and b" or "a, b and c". It separates items that contain commas by semicolons.
func List(items []string) string { return joined(items, "and") }

// Either returns "a", "a or b" or "a, b or c".
func Either(items []string) string { return joined(items, "or") }

func joined(items []string, last string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	comma, last := ", ", " "+last+" "
	if slices.ContainsFunc(items, func(item string) bool { return strings.Contains(item, ", ") }) {
		comma, last = "; ", ";"+last
	}
	return strings.Join(items[:len(items)-1], comma) + last + items[len(items)-1]
}

// Instant formats an instant, or a duration in a sentence, to the millisecond.
func Instant(at time.Duration) string { return at.Round(time.Millisecond).String() }

// StepNo is the number of a step on which a violation depends.
type StepNo int

// Clause is a message, or a part of one, with the steps on which it depends.
type Clause struct {
	Text  string
	Steps []int
}

func (c Clause) String() string { return c.Text }

// Say formats a message. Its steps are those among args. It formats a time of a second or more to the
// millisecond, and a shorter one, of a millisecond or more, to the microsecond.
func Say(format string, args ...any) (c Clause) {
	args = slices.Clone(args)
	for i, arg := range args {
		switch arg := arg.(type) {
		case StepNo:
			c.Steps = append(c.Steps, int(arg))
		case Clause:
			c.Steps = append(c.Steps, arg.Steps...)
		case time.Duration:
			switch size := arg.Abs(); {
			case size >= time.Second:
				args[i] = arg.Round(time.Millisecond)
			case size >= time.Millisecond:
				args[i] = arg.Round(time.Microsecond)
			}
		}
	}
	c.Text = fmt.Sprintf(format, args...)
	return c
}

// StepList names steps.
func StepList(steps []int) Clause {
	return Clause{strings.Trim(strings.ReplaceAll(fmt.Sprint(steps), " ", ", "), "[]"), steps}
}
