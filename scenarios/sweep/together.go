package sweep

import (
	"fmt"
	"strings"
)

// An answer makes many comparisons, and of those that are each 95 % sure some would differ by chance
// alone. So the comparisons that answer one question share its 5 % (Bonferroni): which value of the
// knob, under one combination of the other axes or by the mean over some of them; which of the other choices; which
// condition. Each question is then answered at 95 %, and all of them together less surely. How many comparisons there are
// depends on the sweep alone, and not on what its runs give.

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

// ofRow counts the comparisons of the knob's values: by the metric that decides and by the one that it is weighed against.
func (d *Definition) ofRow() int { return 2 * pairs(len(d.Axes[0].Values)) * d.looks() }

// looks is how often the numbers may be looked at, after each of which runs are added.
func (d *Definition) looks() int {
	if d.Precision == 0 {
		return 1
	}
	return roundsMax
}

// ofChoices counts the comparisons of the other choices, each with its own value of the knob.
func (d *Definition) ofChoices() int { return pairs(d.choices()) * d.looks() }

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
func (d *Definition) ofCondition(a Axis) int {
	return len(d.conditions()) * pairs(len(a.Values)) * d.looks()
}

// reading says what an interval of a difference is, and what decides that one is beyond noise; nothing if nothing is compared.
func (d *Definition) reading() string {
	var sorts []string
	if n := d.ofRow(); n > 0 {
		sorts = append(sorts, fmt.Sprintf("the %s of a row", grouped(n)))
	}
	if n := d.ofChoices(); n > 0 {
		sorts = append(sorts, fmt.Sprintf("the %s of the other choices", grouped(n)))
	}
	for _, a := range d.conditions() {
		sorts = append(sorts, fmt.Sprintf("the %s of %s", grouped(d.ofCondition(a)), a.Setting))
	}
	if len(sorts) == 0 || d.Seeds < 2 {
		return ""
	}
	text := "An interval in brackets is of a difference, seed by seed, and as wide as 95 % for all comparisons of its question together takes (Bonferroni): " + strings.Join(sorts, ", ")
	if n := d.looks(); n > 1 {
		text += fmt.Sprintf(", each looked at up to %d times", n)
	}
	return text + ". A difference is beyond noise if this interval leaves out 0; below 1 % of the mean it counts as none. Intervals of means are at 95 % each."
}
