package sweep

import (
	"fmt"
	"strings"
)

// An answer makes many comparisons, and of those that are each 95 % sure some would differ by chance
// alone. So the comparisons that answer one question share its 5 % (Bonferroni): which value of the
// knob, which of the other choices, which condition. Each question is then answered at 95 %, and an answer
// to all three is less sure as a whole. How many comparisons there are depends on the sweep alone, and not
// on what its runs give.

func pairs(n int) int { return n * (n - 1) / 2 }

// choices counts the combinations of the axes that are choices, but for the knob.
func (d *Definition) choices() int {
	n := 1
	for _, a := range d.Axes[1:] {
		if !a.Condition {
			n *= len(a.Values)
		}
	}
	return n
}

// ofKnob counts the comparisons of the knob's values: under each of the other choices, by the metric
// that decides and by the one that it is weighed against.
func (d *Definition) ofKnob() int { return d.choices() * d.ofRow() }

// ofRow counts those of one row, which is a question of its own.
func (d *Definition) ofRow() int { return 2 * pairs(len(d.Axes[0].Values)) * d.looks() }

// looks is how often the numbers may be looked at, after each of which runs are added.
func (d *Definition) looks() int {
	if d.Precision == 0 {
		return 1
	}
	return roundsMax
}

// ofChoices counts the comparisons of the other choices, each with its own value of the knob.
func (d *Definition) ofChoices() int { return pairs(d.choices()) }

// conditions lists the axes that are conditions and have values to compare.
func (d *Definition) conditions() (list []Axis) {
	for _, a := range d.Axes[1:] {
		if a.Condition && len(a.Values) > 1 {
			list = append(list, a)
		}
	}
	return list
}

// ofCondition is among how many comparisons one of a condition's values counts: each condition has the
// same share, so that one of many values does not hide another of two.
func (d *Definition) ofCondition(a Axis) int { return len(d.conditions()) * pairs(len(a.Values)) }

// correction says what decides that a difference is beyond noise; nothing if nothing is compared.
func (d *Definition) correction() string {
	var sorts []string
	if n := d.ofKnob(); n > 0 {
		sorts = append(sorts, fmt.Sprintf("%s of values of %s, in both metrics", grouped(n), d.Axes[0].Setting))
	}
	if n := d.ofChoices(); n > 0 {
		sorts = append(sorts, fmt.Sprintf("%s of other choices", grouped(n)))
	}
	for _, a := range d.conditions() {
		text := fmt.Sprintf("%s of values of %s", grouped(pairs(len(a.Values))), a.Setting)
		if n := len(d.conditions()); n > 1 {
			text += fmt.Sprintf(" at 1/%d of the 5 %%", n)
		}
		sorts = append(sorts, text)
	}
	if len(sorts) == 0 || d.Seeds < 2 {
		return ""
	}
	return "Each interval holds at 95 % for its difference alone. A value counts as better only if its difference holds at 95 % for all comparisons of its sort together (Bonferroni): " + strings.Join(sorts, "; ") + "."
}
