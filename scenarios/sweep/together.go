package sweep

import (
	"fmt"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
)

// An answer makes many comparisons. If each were 95 % sure, some would show a difference by chance alone. So
// the comparisons that answer one question share its 5 % (Bonferroni). A question is which value of the knob
// to take, under one combination of the other axes or by a mean over some of them; which of the other choices
// to take; or the effect of a condition. Each question is answered at 95 %, and all of them together are less
// sure. The number of comparisons depends only on the sweep, not on the results of its runs.

func pairs(n int) int { return n * (n - 1) / 2 }

// choices counts the combinations of the axes that are choices, except the knob.
func (d *Definition) choices() int {
	n := 1
	for _, a := range d.Axes[1:] {
		if !a.Condition {
			n *= len(a.Values)
		}
	}
	return n
}

// ofRow counts the comparisons of the knob's values, by the deciding metric and by the one that it is weighed
// against.
func (d *Definition) ofRow() int { return 2 * pairs(len(d.Axes[0].Values)) * d.looks() }

// ofHarm counts the comparisons of the knob's values by one measure of harm. Each measure is a question of
// its own: it is better to name a harm that is none than to miss one.
func (d *Definition) ofHarm() int { return pairs(len(d.Axes[0].Values)) * d.looks() }

// looks is how often the results may be looked at; runs are added after each look.
func (d *Definition) looks() int {
	if d.Precision == 0 {
		return 1
	}
	return roundsMax
}

// ofChoices counts the comparisons of the other choices, each at its own value of the knob.
func (d *Definition) ofChoices() int { return pairs(d.choices()) * d.looks() }

// conditions lists the axes that are conditions and have several values.
func (d *Definition) conditions() (list []Axis) {
	for _, a := range d.Axes[1:] {
		if a.Condition && len(a.Values) > 1 {
			list = append(list, a)
		}
	}
	return list
}

// ofCondition is the number of comparisons by which those of a condition's values share the 5 %. Each
// condition has the same share, so that a condition with many values does not hide one with two.
func (d *Definition) ofCondition(a Axis) int {
	return len(d.conditions()) * pairs(len(a.Values)) * d.looks()
}

// reading explains what an interval of a difference is, and which difference is beyond noise. It is empty if
// nothing is compared.
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
