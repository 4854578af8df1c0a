package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// answering makes an answer of decisions. There is one for each combination of the choices, by the mean over
// all conditions.
type answering struct {
	d         *Definition
	t         *table
	points    []Point
	decisions []*decision
	knob      Axis
	metric    string
}

// say writes the answer's sentence, and the sentences that belong to it.
func (a *answering) say(out *Answer) {
	own, defaults := a.d.own()
	if len(own) > 0 {
		defer func() { out.Also = append(out.Also, measuredWith(own, defaults)) }()
	}
	best := a.best()
	if best == nil {
		out.Sentence = a.nothing(out)
		return
	}
	row := best.advice(a.d)
	list, by, cost := a.rivalry()
	across, sure := a.across(list, by, cost, slices.Index(list, best))
	prices, harm := []string{}, len(row.Harms) > 0
	if row.Price != "" {
		prices = append(prices, row.Price)
	}
	for _, price := range a.harms(list, slices.Index(list, best)) {
		prices, harm = append(prices, price), true
	}
	if row.Sure == Sure && (!sure || harm) {
		row.Sure = NotSure
	}
	out.Take = slices.Concat([]string{a.set(best)}, best.choice, own)
	text := "take " + out.Take[0]
	if with := out.Take[1:]; len(with) > 0 {
		text += " with " + invariants.List(with)
	}
	if len(out.Means) > 0 {
		text = fmt.Sprintf("by the mean over all %d conditions, ", len(best.points[0])) + text
	}
	out.Sentence = fmt.Sprintf("%s (%s): %s %s.", capital(text), row.Sure, title(a.metric), row.Says)
	if len(prices) > 0 {
		out.Also = append(out.Also, "The price: "+strings.Join(prices, "; ")+".")
	}
	if harm {
		out.Also = append(out.Also, "It is not sure, as there is less harm without it: whether it is worth that, no run can tell.")
	}
	if across != "" {
		out.Also = append(out.Also, across)
	}
	if len(out.Means) > 0 {
		out.Also = append(out.Also, gist(a.d, out.Rows))
	}
}

// nothing says that no value is to be taken by the mean over all conditions, and what holds under single
// conditions.
func (a *answering) nothing(out *Answer) string {
	if len(out.Means) == 0 || !out.Conclusive() {
		return gist(a.d, out.Rows)
	}
	out.Also = append(out.Also, gist(a.d, out.Rows))
	return fmt.Sprintf("No one value of %s is to be taken under all conditions: by their mean there is %s.", a.knob.Setting, out.Means[0].Says)
}

func (a *answering) set(c *decision) string {
	return a.knob.Setting + "=" + a.knob.Values[c.value()]
}

// rivalry returns the contests between the choices, each at its own value of the knob: by the deciding
// metric, and by the one that it is weighed against.
func (a *answering) rivalry() (list []*decision, by, cost *contest) {
	var series, costs [][]float64
	for _, c := range a.decisions {
		if c.compared() {
			list = append(list, c)
			series = append(series, c.pooled(a.t, a.metric, c.value()))
			costs = append(costs, c.pooled(a.t, a.d.against(), c.value()))
		}
	}
	return list, newContest(a.metric, series, a.d.ofChoices()), newContest(a.d.against(), costs, a.d.ofChoices())
}

// best is the choice to take, or nil. It is the cheapest of the choices that have a value to take, and to
// which no other such choice is better beyond noise.
func (a *answering) best() (best *decision) {
	list, by, cost := a.rivalry()
	least := 0.0
	for i, c := range list {
		beaten := slices.ContainsFunc(list, func(o *decision) bool { return o.taken() && by.better(slices.Index(list, o), i) })
		if c.taken() && !beaten && (best == nil || cost.seeds() > 0 && cost.mean(i) < least) {
			best = c
			if cost.seeds() > 0 {
				least = cost.mean(i)
			}
		}
	}
	return best
}

// harms lists the measures of harm in which the choice to take is worse than another.
func (a *answering) harms(list []*decision, w int) (says []string) {
	for _, metric := range a.d.harms() {
		var series [][]float64
		for _, c := range list {
			series = append(series, c.pooled(a.t, metric, c.value()))
		}
		by := newContest(metric, series, a.d.ofChoices())
		if b := by.beats(w); b >= 0 {
			says = append(says, fmt.Sprintf("%s %s rather than %s with %s", title(metric), amount(by.mean(w), metric), amount(by.mean(b), metric), invariants.List(list[b].choice)))
		}
	}
	return says
}

// across compares the choice to take with the next best, and says whether it is for sure at least as good as
// every other.
func (a *answering) across(list []*decision, by, cost *contest, w int) (text string, sure bool) {
	if len(list) < 2 || by.seeds() == 0 {
		return "", true
	}
	sure = true
	for i := range list {
		sure = sure && (i == w || by.better(w, i) || by.alike(w, i, a.d.Precision))
	}
	i := by.next(w)
	text = fmt.Sprintf("With %s it is %s at best; with %s it differs by %s", invariants.List(list[i].choice), amount(by.mean(i), a.metric), invariants.List(list[w].choice), by.gapText(w, i))
	switch {
	case by.better(w, i) || by.better(i, w):
	case by.alike(w, i, a.d.Precision):
		text += ", as good to within " + by.within(a.d.Precision)
	default:
		text += ", which is noise"
	}
	if !by.better(w, i) && cost.mean(w) < cost.mean(i) {
		text += fmt.Sprintf("; %s %s rather than %s", title(cost.metric), amount(cost.mean(w), cost.metric), amount(cost.mean(i), cost.metric))
	}
	return text + ".", sure
}

// own lists the engine's settings, besides the axes, in which the swept plan differs from its preset, and the
// preset's values.
func (d *Definition) own() (sets, defaults []string) {
	p, err := d.plan()
	if err != nil {
		return nil, nil
	}
	for _, set := range p.Resettable() {
		name := plans.NameOf(set)
		if !strings.HasPrefix(name, "engine.") || d.axis(name) >= 0 {
			continue
		}
		base := p.Clone()
		base.Reset([]string{set})
		if s, ok := base.Setting(name); ok {
			sets, defaults = append(sets, set), append(defaults, s.Text())
		}
	}
	return sets, defaults
}

func measuredWith(own, defaults []string) string {
	return fmt.Sprintf("It was measured with %s, by default %s; with another value the answer may be another.", invariants.List(own), invariants.List(defaults))
}
