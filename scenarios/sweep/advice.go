package sweep

import (
	"fmt"
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// noDifference begins the words for a row whose values cannot be told apart.
const noDifference = "no difference"

// advise makes a row of each decision, in the order of the points, with rows of one choice together.
func advise(d *Definition, decisions []*decision) (rows []Advice) {
	for _, c := range decisions {
		rows = append(rows, c.advice(d))
	}
	slices.SortStableFunc(rows, func(a, b Advice) int {
		for i, x := range d.Axes[1:] {
			if by := slices.Index(x.Values, a.Under[i]) - slices.Index(x.Values, b.Under[i]); by != 0 && !x.Condition {
				return by
			}
		}
		return 0
	})
	return rows
}

func (c *decision) advice(d *Definition) Advice {
	a := Advice{Under: c.under, Sure: NoSignal, Metric: d.Metrics[0]}
	knob := d.Axes[0]
	for _, v := range c.out {
		a.Out = append(a.Out, knob.Values[v])
	}
	switch c.kind {
	case unsound:
		a.Says = "a promise was broken at every value"
	case unseen:
		a.Says = "no seed was run at all values"
	case single:
		a.Says = knob.Values[0] + " is its only value, so there is nothing to choose"
	case alone:
		a.Take, a.Mean, a.Sure = knob.Values[c.value()], c.by.mean(0), Sure
		if a.Open = c.by.few(); a.Open { // that another value breaks a promise is sure; that this one never does is not
			a.Sure = NotSure
		}
		a.Says = fmt.Sprintf("%s; the only value at which every promise was kept, under %s", amount(a.Mean, a.Metric), invariants.Plural(c.by.seeds(), "seed"))
	case unsure:
		a.Says, a.Open = c.by.tooFew(), true
	case flat:
		low, high := c.take, c.by.most()
		a.compare(c.by, knob, c.values, low, high)
		a.Says, a.Open = fmt.Sprintf(noDifference+" beyond noise: %s at %s rather than %s", c.by.gapText(low, high), knob.Values[c.values[low]], a.Than), true
	case identical, alike:
		a.Says = noDifference + " in any run"
		if c.kind == alike {
			a.Says = "equal to within " + c.by.within(d.Precision)
		}
		if c.cost.flat() {
			beyond := ""
			if a.Open = !c.cost.close(0); a.Open {
				beyond = "beyond noise "
			}
			a.Says += ", and none " + beyond + "in " + title(c.cost.metric)
			break
		}
		a.Take, a.Metric = knob.Values[c.value()], c.cost.metric
		at := "at every value"
		if c.kind == alike {
			at = "(" + a.Says + " at every value)"
		}
		a.Says = fmt.Sprintf("%s %s; %s ", amount(c.by.mean(c.take), d.Metrics[0]), at, title(c.cost.metric)) + a.weigh(c, knob, c.cost, 0) // the precision applies to the first metric
	case told:
		a.Take = knob.Values[c.value()]
		a.Says = a.weigh(c, knob, c.by, d.Precision)
		if d.amounts() && c.value() == len(knob.Values)-1 {
			a.Says += "; larger ones were not tried"
		}
		if !metricOf(c.cost.metric).Harm {
			a.pays(c, knob, c.cost)
		}
	}
	if c.taken() {
		for _, harm := range c.harms {
			if a.pays(c, knob, harm) {
				a.Harms, a.Sure = append(a.Harms, harm.metric), NotSure
			}
		}
	}
	if len(a.Out) > 0 && c.kind != unsound && c.kind != alone {
		a.Says += "; " + invariants.List(a.Out) + " " + isOrAre(len(a.Out)) + " out: a promise was broken there"
	}
	return a
}

// pays adds to the price what the chosen value has more of than another value, if anything.
func (a *Advice) pays(c *decision, knob Axis, by *contest) bool {
	b := by.beats(c.take)
	if b < 0 {
		return false
	}
	if a.Price != "" {
		a.Price += "; "
	}
	a.Price += fmt.Sprintf("%s %s rather than %s at %s", title(by.metric), amount(by.mean(c.take), by.metric), amount(by.mean(b), by.metric), knob.Values[c.values[b]])
	return true
}

// weigh says how sure the chosen value is, by a metric: how much worse the next best is, which values cannot
// be told apart from it, and which are worse for sure.
func (a *Advice) weigh(c *decision, knob Axis, by *contest, precision float64) string {
	value := func(i int) string { return knob.Values[c.values[i]] }
	next := by.next(c.take)
	a.compare(by, knob, c.values, c.take, next)
	text := fmt.Sprintf("%s rather than %s at %s, the next best: %s", amount(a.Mean, by.metric), amount(a.ThanMean, by.metric), a.Than, by.gapText(c.take, next))
	var good []string
	for i := range by.series {
		switch {
		case i == c.take:
		case by.alike(c.take, i, precision):
			good = append(good, value(i))
		case !by.better(c.take, i):
			a.Rivals = append(a.Rivals, value(i))
		}
	}
	if len(good) > 0 {
		text += "; " + invariants.List(good) + " " + isOrAre(len(good)) + " as good to within " + by.within(precision)
	}
	if a.Sure = Sure; len(a.Rivals) > 0 {
		a.Sure, a.Open = NotSure, true
		text += "; " + invariants.List(a.Rivals) + " cannot be told from it"
		if w := by.worst(c.take); w >= 0 && w != next {
			text += fmt.Sprintf("; %s is worse, %s: %s", value(w), amount(by.mean(w), by.metric), by.gapText(c.take, w))
		}
	}
	return text
}

// compare stores the difference between two values.
func (a *Advice) compare(by *contest, knob Axis, values []int, i, j int) {
	a.Mean, a.Than, a.ThanMean, a.Gap = by.mean(i), knob.Values[values[j]], by.mean(j), by.interval(i, j)
}

// amounts says whether the knob's values are amounts, which are in ascending order.
func (d *Definition) amounts() bool {
	s, known := plans.SettingOf(d.Axes[0].Setting)
	return known && s.Type != "choice" && s.Type != "boolean" && s.Type != "text"
}
