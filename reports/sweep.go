package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/reports/plots"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// The files of a sweep's folder besides report.html.
const (
	SweepFile = "sweep.json"
	CSVFile   = "sweep.csv"
)

// Caps of a sweep's page. Its sweep.json and sweep.csv have all.
const (
	pointsMax = 500 // rows of the table of points
	adviceMax = 500 // rows of the answer
)

var sweepTemplate = pageTemplateOf("sweep.html")

// sweepView is what the template sees.
type sweepView struct {
	frame
	*sweep.Result
	Badge       badge
	Lead        string
	Warnings    []string
	AnswerHeads []string // of the axes that the rows of the answer are told apart by
	AnswerRows  []answerRow
	RowsLeft    int
	MeanHeads   []string // of the axes that are choices
	MeanRows    []answerRow
	MeansLeft   int
	Own         []ownNumber
	Given       string // the words of the command, as JSON
	Much        string // the head of what the rows say
	Seeded      string
	AxisRows    []axisRow
	Map         plots.Map
	Curves      []plots.Figure // of the measures that the question is about
	Others      []plots.Figure
	Pareto      plots.Figure
	Headings    []string // of the table's columns for axes
	Measures    []words.Measure
	PointRows   []pointRow
	Left        int
}

// answerRow is what to take under one condition.
type answerRow struct {
	sweep.Advice
	All    string   // the values of all axes but the first, as JSON
	Said   string   // the row in a sentence
	Values []string // one for each of sweepView.AnswerHeads
	Tone   string
}

type axisRow struct {
	Title, Setting string
	Values         string
}

type pointRow struct {
	Values  []string
	Runs    int
	Sound   bool
	OnFront bool
	Numbers []string // one for each words.Measure
	Broken  string
	Outside string
}

// SweepPage writes the report.html of a sweep: its question and answer, the first measure as a map,
// every measure as curves with their intervals, the Pareto front, and the points.
func SweepPage(w io.Writer, res *sweep.Result) error {
	return execute(w, sweepTemplate, sweepViewOf(res))
}

// WriteSweep writes report.html, sweep.json and sweep.csv into the folder dir of a sweep.
func WriteSweep(dir string, res *sweep.Result) error {
	return writeAll(dir, []file{
		{PageFile, func(w io.Writer) error { return SweepPage(w, res) }},
		{CSVFile, func(w io.Writer) error { return SweepCSV(w, res) }},
		{SweepFile, func(w io.Writer) error { return encode(w, res) }},
	})
}

func sweepViewOf(res *sweep.Result) sweepView {
	v := sweepView{
		frame: newFrame("sweep "+res.Name, pageCSS, overviewCSS), Result: res,
		Badge: sweepBadge(res), Lead: sweepLead(res), Warnings: sweepWarnings(res),
		Seeded: sweepSeeded(res),
	}
	v.Much = "by how much"
	if len(res.Metrics) > 0 {
		v.Much += ", in " + words.LowerFirst(res.Metrics[0].Title)
	}
	v.AnswerHeads, v.AnswerRows, v.RowsLeft = answerRows(res, res.Answer.Rows, func(sweep.Axis) bool { return true })
	v.MeanHeads, v.MeanRows, v.MeansLeft = answerRows(res, res.Answer.Means, func(a sweep.Axis) bool { return !a.Condition })
	if v.Given = jsonOf(res.Command); len(res.Command) == 0 {
		v.Given = jsonOf([]string{res.Name})
	}
	if v.Own = ownNumbers(res); len(v.Own) > 0 {
		v.run(pageJS + sweepJS)
	}
	for _, a := range res.Axes {
		v.AxisRows = append(v.AxisRows, axisRow{a.Title, a.Setting, strings.Join(shown(a.Values), ", ")})
		v.Headings = append(v.Headings, cmp.Or(a.Title, a.Setting))
	}
	if len(res.Axes) == 0 || len(res.Metrics) == 0 || len(res.Points) == 0 {
		return v
	}
	p := plots.Sweep(res)
	v.Map = p.Map(p.Measure(res.Metrics[0].Name))
	v.Pareto = p.Pareto()
	for i, m := range res.Metrics {
		v.Measures = append(v.Measures, p.Measure(m.Name))
		fig := p.Curves(p.Measure(m.Name))
		if i == 0 || m.Name == res.Pareto.X || m.Name == res.Pareto.Y {
			v.Curves = append(v.Curves, fig)
		} else {
			v.Others = append(v.Others, fig)
		}
	}
	points, left := words.Capped(res.Points, pointsMax)
	v.Left = left
	for i := range points {
		v.PointRows = append(v.PointRows, pointRowOf(&points[i], v.Measures))
	}
	return v
}

// sweepBadge says whether a sweep has an answer, and all of its runs.
func sweepBadge(res *sweep.Result) badge {
	b := badge{"answer", "good"}
	if !res.Answer.Conclusive() {
		b = badge{"no answer", "warn"}
	}
	if !res.Complete {
		b = badge{b.Word + ", cut short", "warn"}
	}
	return b
}

// sweepLead is the answer in a sentence or two.
func sweepLead(res *sweep.Result) string {
	return cmp.Or(res.Answer.Sentence, "The numbers do not answer the question.")
}

// answerRows are rows of an answer, under those of the axes that differ.
func answerRows(res *sweep.Result, all []sweep.Advice, apart func(sweep.Axis) bool) (heads []string, rows []answerRow, left int) {
	var told []int
	for i, a := range res.Axes[min(1, len(res.Axes)):] {
		if len(a.Values) > 1 && apart(a) {
			told, heads = append(told, i), append(heads, cmp.Or(a.Title, a.Setting))
		}
	}
	list, left := words.Capped(all, adviceMax)
	for _, r := range list {
		row := answerRow{Advice: r, Tone: map[sweep.Sureness]string{sweep.Sure: "good", sweep.NotSure: "warn"}[r.Sure]}
		for _, i := range told {
			row.Values = append(row.Values, sweep.Shown(r.Under[i]))
		}
		row.All, row.Said = jsonOf(r.Under), rowSaid(res, r)
		rows = append(rows, row)
	}
	return heads, rows, left
}

// shown are values of axes as people read them.
func shown(values []string) (list []string) {
	for _, v := range values {
		list = append(list, sweep.Shown(v))
	}
	return list
}

// rowSaid is a row of the answer in a sentence.
func rowSaid(res *sweep.Result, r sweep.Advice) string {
	var choice []string
	for i, a := range res.Axes[1:] {
		if !a.Condition {
			choice = append(choice, r.Under[i])
		}
	}
	text := "nothing to take: " + r.Says
	if r.Take != "" {
		text = "take " + r.Take + " (" + string(r.Sure) + "): " + r.Says
		if r.Price != "" {
			text += "; the price: " + r.Price
		}
	}
	if len(choice) > 0 {
		return "With " + invariants.List(choice) + " " + text + "."
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func sweepWarnings(res *sweep.Result) (warnings []string) {
	if !res.Complete {
		warnings = append(warnings, "The sweep was stopped before every point was run under every seed; its numbers are of the runs that were made.")
	}
	if res.Seeds == 1 {
		warnings = append(warnings, "Every point was run under one seed, so there are no intervals.")
	}
	unsound := 0
	for i := range res.Points {
		if !res.Points[i].Sound() {
			unsound++
		}
	}
	if unsound > 0 {
		warnings = append(warnings, fmt.Sprintf("At %s of %s a promise was broken; the answer leaves them out.", words.Count(unsound), words.Counted(len(res.Points), "point")))
	}
	return warnings
}

// sweepSeeded says under which seeds the points were run: all, or where the answer was open.
func sweepSeeded(res *sweep.Result) string {
	if res.Added == 0 || len(res.Points) == 0 {
		return seeded(res.Seeds, res.FirstSeed)
	}
	runs := func(a, b sweep.Point) int { return a.Runs - b.Runs }
	least, most := slices.MinFunc(res.Points, runs).Runs, slices.MaxFunc(res.Points, runs).Runs
	text := seeded(max(res.Seeds, least), res.FirstSeed)
	if most > max(res.Seeds, least) {
		text += fmt.Sprintf(", and up to %s where the answer was open", words.Count(most))
	}
	return text
}

// seeded says under which seeds something was run.
func seeded(seeds int, first uint64) string {
	if seeds <= 1 {
		return fmt.Sprintf("seed %d", first)
	}
	return fmt.Sprintf("%s paired seeds, %d to %d", words.Count(seeds), first, first+uint64(seeds)-1)
}

func pointRowOf(point *sweep.Point, measures []words.Measure) pointRow {
	r := pointRow{
		Values: shown(point.Values), Runs: point.Runs, Sound: point.Sound(), OnFront: point.OnFront && point.Sound(),
		Broken: invariants.List(words.BrokenIn(point.Broken, point.Runs)), Outside: invariants.List(words.BrokenIn(point.Outside, point.Runs)),
	}
	for _, m := range measures {
		r.Numbers = append(r.Numbers, m.PlusMinus(point.Estimates[m.Name]))
	}
	return r
}
