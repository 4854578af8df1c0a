package sweep

import (
	"fmt"
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/buildname"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// Analyse makes the result of a sweep from the records of its campaign, in any order. Records of rounds are
// numbered as by [Round.Place]. If records are missing, the result is not complete.
func Analyse(d *Definition, records []*campaign.Record) (*Result, error) {
	spec := d.Spec()
	asked := spec.Grid.Seeds
	if d.Precision > 0 {
		for _, r := range records {
			spec.Grid.Seeds = min(max(spec.Grid.Seeds, r.N/len(spec.Grid.Points)+1), seedsMax)
		}
	}
	t, err := newTable(spec, records)
	if err != nil {
		return nil, err
	}
	t.asked = asked * len(spec.Grid.Points)
	res := &Result{
		Version: ResultVersion, Build: buildname.Of(), Name: d.Name, Question: d.question(), Plan: d.Plan, Axes: d.Axes,
		Seeds: d.Seeds, FirstSeed: d.FirstSeed, Added: t.added(), Complete: t.complete(), Metrics: ordered(d.Metrics), Pareto: d.Pareto,
	}
	points := d.points()
	measured := map[string][]Estimate{}
	for _, m := range res.Metrics {
		series := make([][]float64, len(points))
		for i := range points {
			series[i] = t.series(0, i, m.Name)
		}
		measured[m.Name] = estimates(m.Name, series)
	}
	for i, values := range points {
		var sum tally
		t.tally(0, i, &sum)
		p := Point{Values: values, Runs: sum.runs, Broken: sum.broken, Outside: sum.outside, Estimates: map[string]Estimate{}, Worst: d.worst(t, i)}
		for _, m := range res.Metrics {
			if e := measured[m.Name][i]; e.N > 0 {
				p.Estimates[m.Name] = e
			}
		}
		res.Points = append(res.Points, p)
	}
	res.markFront()
	res.Answer = answer(d, t, res)
	res.Notes = append(t.notes(d, res.Points), d.Notes...)
	return res, nil
}

// question returns the sweep's own question, or one made from its axes.
func (d *Definition) question() string {
	if d.Question != "" {
		return d.Question
	}
	q := fmt.Sprintf("Which value of %s is best for %s", d.Axes[0].Setting, naming(d.Metrics[0]))
	if others := settingsOf(d.Axes[1:]); len(others) > 0 {
		q += ", over " + invariants.List(others)
	}
	return q + "?"
}

// notes say how to read the numbers.
func (t *table) notes(d *Definition, points []Point) []string {
	least, most := d.Seeds, d.Seeds // how many seeds the points have; in an unfinished sweep, some have fewer
	for i, p := range points {
		if i == 0 {
			least = max(d.Seeds, p.Runs)
		}
		least, most = min(least, max(d.Seeds, p.Runs)), max(most, p.Runs)
	}
	list := []string{fmt.Sprintf("Every point was run under the same %s", seedsFrom(least, d.FirstSeed))}
	if most > least {
		list[0] += fmt.Sprintf(", and where the answer was open under up to %s", seedsFrom(most, d.FirstSeed))
	}
	list[0] += ". Values are compared seed by seed. Estimates are means over seeds, with 95 % intervals: Wilson's for shares, in which a run counts for as many jobs as its spread shows, and Student's t for other numbers."
	if least == 1 {
		list[0] = fmt.Sprintf("Every point was run under one seed, %d: there are no intervals.", d.FirstSeed)
	} else {
		list = append(list, fmt.Sprintf("Where all runs of a point agree, its interval goes by the spread of the other points. If %s agree, up to %s of all seeds may still differ (95 %%).", invariants.Plural(least, "run"), percent(min(1, 3/float64(least)))))
	}
	if n := t.added(); n > 0 {
		list = append(list, fmt.Sprintf("There were %s at first. %s added where the answer was open, each time under as many seeds as there were. A row is looked at up to %d times; its comparisons allow for that.", invariants.Plural(d.Seeds, "seed"), wereOf(n, "run"), roundsMax))
	}
	if n, reason := t.inconclusive(); n > 0 {
		list = append(list, fmt.Sprintf("%s inconclusive and measured as far as they went; the first: %s.", wereOf(n, "run"), reason))
	}
	if missing := t.missing(); missing > 0 {
		list = append(list, fmt.Sprintf("%s missing: the sweep was cut short.", areOf(missing, "run")))
	}
	return list
}

// seedsFrom describes n seeds from first on.
func seedsFrom(n int, first uint64) string {
	return fmt.Sprintf("%s, %d to %d", invariants.Plural(n, "seed"), first, first+uint64(n)-1)
}

// markFront marks the points on the Pareto front of each combination of conditions.
func (r *Result) markFront() {
	for i := range r.Points {
		p := &r.Points[i]
		p.OnFront = r.weighed(p) && !slices.ContainsFunc(r.Points, func(q Point) bool {
			return r.weighed(&q) && r.sameConditions(p, &q) && r.dominates(&q, p)
		})
	}
}

func (r *Result) weighed(p *Point) bool {
	return p.Sound() && p.Estimates[r.Pareto.X].N > 0 && p.Estimates[r.Pareto.Y].N > 0
}

// sameConditions says whether two points differ only in choices. The first axis is the subject of the
// question, so it is a choice whatever its setting.
func (r *Result) sameConditions(p, q *Point) bool {
	for i, a := range r.Axes {
		if i > 0 && a.Condition && p.Values[i] != q.Values[i] {
			return false
		}
	}
	return true
}

func (r *Result) dominates(q, p *Point) bool {
	qx, qy := q.Estimates[r.Pareto.X].Mean, q.Estimates[r.Pareto.Y].Mean
	px, py := p.Estimates[r.Pareto.X].Mean, p.Estimates[r.Pareto.Y].Mean
	return qx <= px && qy <= py && (qx < px || qy < py)
}

// answer makes the recommendation from the points.
func answer(d *Definition, t *table, res *Result) Answer {
	means := decide(d, t, res.Points, func(axis Axis) bool { return !axis.Condition })
	a := &answering{d: d, t: t, points: res.Points, decisions: means, knob: d.Axes[0], metric: d.Metrics[0]}
	out := Answer{Rows: advise(d, decide(d, t, res.Points, func(Axis) bool { return true })), Evidence: a.evidence()}
	if len(means) < len(out.Rows) {
		out.Means = advise(d, means)
	}
	a.say(&out)
	if out.brackets() {
		out.Reading = d.reading()
	}
	return out
}
