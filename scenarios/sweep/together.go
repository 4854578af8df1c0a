package sweep

import (
	"fmt"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
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

// ofHarm counts the comparisons of the knob's values by one measure of harm. Each is a question of its own: that some harm is
// named which is none is better than that one is not named.
func (d *Definition) ofHarm() int { return pairs(len(d.Axes[0].Values)) * d.looks() }

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
	var takes []string
	add := func(what string, n int) {
		if n > 0 {
			takes = append(takes, what+" "+invariants.Plural(n, "comparison"))
		}
	}
	add("a row takes", d.ofRow())
	add("the other choices take", d.ofChoices())
	for _, a := range d.conditions() {
		add(a.Setting+" takes", d.ofCondition(a))
	}
	if len(takes) == 0 || d.Seeds < 2 {
		return ""
	}
	text := "In brackets behind a difference is its interval, taken seed by seed. The intervals that answer one question are so wide that all of them hold together at 95 % (Bonferroni): " + strings.Join(takes, ", ")
	if n := d.looks(); n > 1 {
		text += fmt.Sprintf(", which counts up to %d looks at the numbers", n)
	}
	return text + ". A difference is beyond noise if its interval leaves out 0. Below 1 % of the mean it counts as none. The interval of a mean is at 95 % by itself."
}
