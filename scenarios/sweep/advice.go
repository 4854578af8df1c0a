package sweep

import (
	"fmt"
	"slices"
)

// noDifference begins what is said of a row whose values cannot be told apart.
const noDifference = "no difference"

// advise says what to take under each combination of the other axes' values, in the order of the points but
// that rows of one choice are together.
func advise(d *Definition, t *table, points []Point) (rows []Advice) {
	for _, c := range decide(d, t, points, func(Axis) bool { return true }, d.ofRow()) {
		rows = append(rows, c.advice(d, points))
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

func (c *decision) advice(d *Definition, points []Point) Advice {
	a := Advice{Under: points[c.points[0][0]].Values[1:], Sure: NoSignal, Metric: d.Metrics[0]}
	knob := d.Axes[0]
	for _, v := range c.out {
		a.Out = append(a.Out, knob.Values[v])
	}
	switch c.kind {
	case unsound:
		a.Says = "a promise was broken at every value"
	case unseen:
		a.Says = "no seed was run at all values"
	case alone:
		a.Take, a.Mean, a.Sure = knob.Values[c.value()], c.by.mean(0), Sure
		a.Says = amount(a.Mean, a.Metric) + "; the only value"
		if len(c.out) > 0 {
			a.Says += " at which every promise was kept"
		}
	case unsure:
		a.Says, a.Open = c.by.tooFew(), true
	case flat:
		low, high := c.by.best(), c.by.most()
		a.compare(c.by, knob, c.values, low, high)
		a.Says, a.Open = fmt.Sprintf(noDifference+" beyond noise: %s at %s rather than %s", c.by.gapText(low, high), knob.Values[c.values[low]], a.Than), true
	case identical, alike:
		a.Says = noDifference + " in any run"
		if c.kind == alike {
			a.Says = "equal: no difference of " + c.by.within(d.Precision) + " or more"
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
		a.rank(c, knob, c.cost, 0) // the precision is of the first metric
		than := c.against(d, c.cost)
		a.compare(c.cost, knob, c.values, c.take, than)
		a.Says += fmt.Sprintf(" (%s); %s %s", amount(c.by.mean(c.take), d.Metrics[0]), title(c.cost.metric), a.rather(c.cost, c.take, than))
		if len(a.Rivals) > 0 {
			a.Says += "; " + and(a.Rivals) + " cannot be told from it"
		}
	case told:
		a.Take = knob.Values[c.value()]
		a.rank(c, knob, c.by, d.Precision)
		than := c.against(d, c.by)
		a.compare(c.by, knob, c.values, c.take, than)
		a.Says = a.rather(c.by, c.take, than)
		if len(a.Rivals) > 0 {
			a.Says += "; " + and(a.Rivals) + " cannot be told from it"
		}
		if d.amounts() && c.value() == len(knob.Values)-1 {
			a.Says += "; larger ones were not tried"
		}
		if b := c.cost.beats(c.take); b >= 0 {
			a.Price = fmt.Sprintf("%s %s rather than %s at %s", title(c.cost.metric), amount(c.cost.mean(c.take), c.cost.metric), amount(c.cost.mean(b), c.cost.metric), knob.Values[c.values[b]])
		}
	}
	if len(a.Out) > 0 && c.kind != unsound && c.kind != alone {
		a.Says += "; " + and(a.Out) + " " + isOrAre(len(a.Out)) + " out: a promise was broken there"
	}
	return a
}

// rank says how sure the value taken is, by a metric, and lists the values that cannot be told from it.
func (a *Advice) rank(c *decision, knob Axis, by *contest, precision float64) {
	for _, v := range c.rivals(by, precision) {
		a.Rivals = append(a.Rivals, knob.Values[c.values[v]])
	}
	if a.Sure = Sure; len(a.Rivals) > 0 {
		a.Sure, a.Open = NotSure, true
	}
}

// compare notes the difference between two values.
func (a *Advice) compare(by *contest, knob Axis, values []int, i, j int) {
	a.Mean, a.Than, a.ThanMean, a.Gap = by.mean(i), knob.Values[values[j]], by.mean(j), by.interval(i, j)
}

func (a *Advice) rather(by *contest, i, j int) string {
	return fmt.Sprintf("%s rather than %s at %s: %s", amount(a.Mean, by.metric), amount(a.ThanMean, by.metric), a.Than, by.gapText(i, j))
}

// against is the value to compare the one taken with: the one in use, if it is worse, or else the worst.
func (c *decision) against(d *Definition, by *contest) int {
	if i := slices.IndexFunc(c.values, func(v int) bool { return d.Axes[0].Values[v] == d.inUse() }); i >= 0 && i != c.take && by.better(c.take, i) {
		return i
	}
	if w := by.worst(c.take); w >= 0 {
		return w
	}
	return c.other()
}

// rivals are the values that are neither worse than the one taken nor as good.
func (c *decision) rivals(by *contest, precision float64) (list []int) {
	for i := range by.series {
		if i != c.take && !by.better(c.take, i) && !by.alike(c.take, i, precision) {
			list = append(list, i)
		}
	}
	return list
}

// inUse is the knob's value in the plan that is swept.
func (d *Definition) inUse() string {
	p, err := d.plan()
	if err != nil {
		return ""
	}
	s, ok := p.Setting(d.Axes[0].Setting)
	if !ok {
		return ""
	}
	return s.Text()
}

// amounts says whether the knob's values are amounts, in ascending order.
func (d *Definition) amounts() bool {
	s := settingOf(d.Axes[0].Setting)
	return s != nil && s.Type != "choice" && s.Type != "boolean" && s.Type != "text"
}
