package sweep

import (
	"fmt"
	"slices"
	"strings"
)

// evidenceTold is how many lines of evidence of one sort there are.
const evidenceTold = 24

// answering puts an answer into words.
type answering struct {
	d         *Definition
	t         *table
	points    []Point
	decisions []*decision
	knob      Axis
	metric    string
	amounts   bool // the knob's values are amounts, in ascending order
}

func (a *answering) set(v int) string { return a.knob.Setting + "=" + a.knob.Values[v] }

func (a *answering) sentence() string {
	var parts []string
	if len(a.decisions) <= choicesTold {
		for _, c := range a.decisions {
			parts = append(parts, a.tell(c))
		}
		parts = append(parts, a.across())
	} else if best := a.winner(); best != nil {
		parts = append(parts, fmt.Sprintf("Of %d combinations of the other choices, take %s.", len(a.decisions), and(best.choice)), a.tell(best))
	} else {
		parts = append(parts, fmt.Sprintf("Under none of %d combinations of the other choices is there a value of %s to take: promises were broken, or too little was run.", len(a.decisions), a.knob.Setting))
	}
	parts = append(parts, a.conditions(), a.pooling())
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// tell says what to take under one combination of the other choices.
func (a *answering) tell(c *decision) string {
	text := a.verdict(c) + a.price(c)
	if len(c.out) > 0 && c.kind != unsound {
		var out []string
		for _, v := range c.out {
			out = append(out, a.knob.Values[v])
		}
		text += "; " + and(out) + " " + isOrAre(len(out)) + " out, as promises were broken there"
	}
	if len(c.choice) > 0 {
		return "With " + and(c.choice) + ", " + text + "."
	}
	if first, _, _ := strings.Cut(text, " "); strings.ContainsRune(first, '.') {
		return text + "." // a setting's name, which is written as it is
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func (a *answering) verdict(c *decision) string {
	K, M := a.knob.Setting, naming(a.metric)
	value := func(i int) string { return a.knob.Values[c.values[i]] }
	mean := func(i int) string { return amount(c.by.mean(i), a.metric) }
	last := len(c.values) - 1
	switch c.kind {
	case unsound:
		return fmt.Sprintf("no value of %s can be recommended: promises were broken at each of them", K)
	case unseen:
		return fmt.Sprintf("nothing can be said about %s: no seed was run at all of its values", K)
	case alone:
		if len(c.out) > 0 {
			return fmt.Sprintf("take %s, the only value at which every promise was kept (%s: %s)", a.set(c.value()), M, mean(0))
		}
		return fmt.Sprintf("%s has one value here, %s, so there is nothing to choose (%s: %s)", K, value(0), M, mean(0))
	case unsure:
		if c.by.equal() {
			return fmt.Sprintf("%s makes no difference to %s so far (%s at all values), but %s", K, M, mean(0), c.by.tooFew())
		}
		return fmt.Sprintf("%s has the lowest %s so far, %s, but %s", a.set(c.value()), M, mean(c.take), c.by.tooFew())
	case identical:
		return fmt.Sprintf("%s makes no difference at all to %s, run by run (%s at all %d values); %s", K, M, mean(0), len(c.values), a.standing(c))
	case alike:
		return fmt.Sprintf("%s makes no difference of %s or more to %s (%s at %s, %s at %s); %s", K, c.by.within(a.d.Precision), M, mean(0), value(0), mean(last), value(last), a.standing(c))
	case flat:
		return fmt.Sprintf("%s makes no difference to %s that can be told from noise (%s at %s, %s at %s)", K, M, mean(0), value(0), mean(last), value(last))
	}
	text := fmt.Sprintf("take %s for %s: %s", a.set(c.value()), M, mean(c.take))
	if c.by.better(c.take, 0) {
		text += fmt.Sprintf(" rather than %s at %s, and no value is better by more than noise", mean(0), value(0))
	} else {
		i, j := c.by.widest()
		text += fmt.Sprintf(", and no value is better by more than noise, while %s is worse than %s (%s, %s)", value(j), value(i), mean(j), mean(i))
	}
	for i := range c.take {
		if c.by.beats(i) < 0 {
			text += fmt.Sprintf("; %s cannot be told from it (%s), which more seeds may change", value(i), mean(i))
			break
		}
	}
	if a.amounts && c.value() == len(a.knob.Values)-1 {
		text += "; larger ones were not tried"
	}
	return text
}

// standing is the value to take where the deciding metric makes no difference, and why that one.
func (a *answering) standing(c *decision) string {
	if c.cost.flat() {
		return "nor to " + naming(c.cost.metric) + " beyond noise"
	}
	return fmt.Sprintf("take %s for %s", a.knob.Values[c.value()], naming(c.cost.metric))
}

// price says what the value taken costs, or spares, in the metric that the deciding one is weighed
// against.
func (a *answering) price(c *decision) string {
	value := func(i int) string { return a.knob.Values[c.values[i]] }
	mean := func(i int) string { return amount(c.cost.mean(i), c.cost.metric) }
	switch c.kind {
	case identical, alike:
		if w := c.cost.worst(c.take); w >= 0 {
			return fmt.Sprintf(", %s rather than %s at %s", mean(c.take), mean(w), value(w))
		}
	case told:
		if b := c.cost.beats(c.take); b >= 0 {
			return fmt.Sprintf("; the price is %s, %s rather than %s at %s", naming(c.cost.metric), mean(c.take), mean(b), value(b))
		}
	}
	return ""
}

// across says which of the other choices to take, each with its own value of the knob.
func (a *answering) across() string {
	list, by, cost := a.final()
	if len(list) < 2 || by.few() || by.equal() && cost.equal() {
		return ""
	}
	w, good := pick(by, cost)
	text := fmt.Sprintf("Of these, take %s with %s: ", a.set(list[w].value()), and(list[w].choice))
	switch {
	case len(good) == 1:
		return text + fmt.Sprintf("its %s is the lowest by more than noise.", naming(a.metric))
	case !cost.equal():
		return text + fmt.Sprintf("none has a lower %s by more than noise, and of those as good it has the lowest %s, %s.", naming(a.metric), naming(cost.metric), amount(cost.mean(w), cost.metric))
	}
	return text + fmt.Sprintf("none has a lower %s by more than noise.", naming(a.metric))
}

// final are the contests between the choices that have a value to take: by the metric that decides,
// and by the one that it is weighed against.
func (a *answering) final() (list []*decision, by, cost *contest) {
	var series, costs [][]float64
	for _, c := range a.decisions {
		if c.taken() {
			list = append(list, c)
			series = append(series, c.pooled(a.t, a.metric, c.value()))
			costs = append(costs, c.pooled(a.t, a.d.against(), c.value()))
		}
	}
	return list, newContest(a.metric, series, a.d.ofChoices()), newContest(a.d.against(), costs, a.d.ofChoices())
}

// pick is the alternative to take: of the good ones, than which none is better by more than noise, the
// one that costs least.
func pick(by, cost *contest) (winner int, good []int) {
	for i := range by.series {
		if by.beats(i) < 0 {
			good = append(good, i)
		}
	}
	return lowest(cost, good), good
}

// lowest is, of some alternatives, the one with the lowest mean; of equal ones the first.
func lowest(c *contest, of []int) int {
	best := of[0]
	for _, i := range of {
		if c.seeds() > 0 && c.mean(i) < c.mean(best) {
			best = i
		}
	}
	return best
}

// winner is the choice to take, or nil: of few seeds, there is no telling.
func (a *answering) winner() *decision {
	list, by, cost := a.final()
	switch {
	case len(list) == 1 && list[0].kind == alone:
		return list[0]
	case len(list) == 0 || by.few():
		return nil
	}
	w, _ := pick(by, cost)
	return list[w]
}

// conditions says, when the knob is idle somewhere, which condition the metric does depend on.
func (a *answering) conditions() string {
	if !slices.ContainsFunc(a.decisions, func(c *decision) bool { return c.kind == identical || c.kind == alike || c.kind == flat }) {
		return ""
	}
	var names []string
	for j, axis := range a.d.Axes {
		if j > 0 && axis.Condition && len(axis.Values) > 1 {
			names = append(names, axis.Setting)
		}
	}
	e := a.strongest()
	switch {
	case len(names) == 0:
		return ""
	case e == nil:
		return fmt.Sprintf("Nor does %s make a difference beyond noise.", strings.Join(names, " or "))
	}
	return fmt.Sprintf("What makes a difference is %s: %s at %s, %s at %s.", e.setting, amount(e.low, a.metric), e.at, amount(e.high, a.metric), e.than)
}

// pooling says over what the means are taken.
func (a *answering) pooling() string {
	var over []string
	for j, axis := range a.d.Axes {
		if j > 0 && axis.Condition {
			over = append(over, axis.Setting)
		}
	}
	if len(over) == 0 {
		return ""
	}
	return fmt.Sprintf("(Means over all values of %s.)", and(over))
}
