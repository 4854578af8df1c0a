package reports

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

func TestSweepAnswersItsQuestion(t *testing.T) {
	page := sweepHTML(t, staleSweep())
	header, _, _ := strings.Cut(page, "</header>")
	said := text(header)
	for _, want := range []string{
		"How many picks should a dispatch make", "answer Make 5 picks: 1.9 % of the jobs", "engine.max_dispatch_retries=5", "5 against 3: 12.1 points fewer",
		"points 150 each under 20 paired seeds, 1 to 20", "2 of 150 points broke a promise and are out of the question.",
		"heartbeat lag (s), world.heartbeat_lag 0s, 5s, 15s, 25s, 35s",
	} {
		assert.Contains(t, said, want)
	}
	assert.Contains(t, text(sectionOf(t, page, "notes")), "it is s^m; at m = 3, s = 0.5 that is 12.5 %")
	assert.Contains(t, text(sectionOf(t, page, "notes")), "name: stale-worker-retries")

	silent := flatSweep(2)
	silent.Complete, silent.Seeds = false, 1
	said = text(sweepHTML(t, silent))
	assert.Contains(t, said, "no answer The numbers do not answer the question.")
	assert.Contains(t, said, "The sweep was stopped before")
	assert.Contains(t, said, "under one seed, so there are no intervals")
}

func TestHeatmapHasAPanelForEachValueOfTheThirdAxis(t *testing.T) {
	section := sectionOf(t, sweepHTML(t, staleSweep()), "map")
	assert.Equal(t, 3, strings.Count(section, "<svg "))
	said := text(section)
	for _, want := range []string{
		"Jobs sent back, every pick stale (%)", "a promise was broken there", "share of workers that die: 0.5",
		"picks of a dispatch", "heartbeat lag (s)", " 47.5 ", " 35s ", " 0 10 20 30 40 50 ",
	} {
		assert.Contains(t, said, want)
	}
	assert.Contains(t, section, "var(--hatch)")
	assert.Contains(t, section, "var(--heat-8)")
	assert.NotRegexp(t, `<svg[^>]*>(?s:.*?)#[0-9A-F]{6}(?s:.*?)</svg>`, section, "all colours are the page's")
	assert.NotContains(t, section, "currentColor")

	one := sectionOf(t, sweepHTML(t, flatSweep(4, 3)), "map")
	assert.Equal(t, len(sizes), strings.Count(one, "<svg "), "a single map is drawn for each width")
	assert.NotContains(t, sweepHTML(t, flatSweep(4)), `id="map"`, "one axis has no map")
}

func TestHeatmapOfManyCellsLeavesValuesOut(t *testing.T) {
	section := sectionOf(t, sweepHTML(t, flatSweep(80, 90)), "map")
	assert.Contains(t, text(section), "Where a cell is too small for its value")
	assert.Less(t, strings.Count(section, "<text"), 400, "labels of the axes, thinned")
}

func TestHeatmapTurnsWhereItsColumnsWouldBeNarrow(t *testing.T) {
	p := newSweepPlots(flatSweep(20, 3))
	h := heatmap{first: p.axes[0], second: p.axes[1]}
	for i := range 20 {
		h.cells = append(h.cells, []cell{{value: float64(i), known: true, sound: true}, {}, {}})
	}
	turned := h.turned()
	assert.Len(t, turned.cells, 3)
	assert.InDelta(t, 7, turned.cells[0][7].value, 0)
	wide, _ := h.draw(sizes[0], []heatmap{h}, "")
	narrow, _ := h.draw(sizes[1], []heatmap{h}, "")
	assert.Regexp(t, `axis 0(?s:.*)axis 1`, wide)
	assert.Regexp(t, `axis 1(?s:.*)axis 0`, narrow, "the axis with fewer values lies across")
}

func TestPanelsAreCapped(t *testing.T) {
	page := sweepHTML(t, flatSweep(2, 2, 6, 7))
	section := sectionOf(t, page, "map")
	assert.Equal(t, panelsMax, strings.Count(section, "<svg "))
	assert.Contains(t, text(section), "30 more maps left out")
	assert.Contains(t, section, "<h4>axis 2: 0, axis 3: 0</h4>")
	assert.Contains(t, section, "<h4>axis 2: 5, axis 3: 6</h4>", "the last is among those that are shown")
	assert.Contains(t, text(sectionOf(t, sweepHTML(t, flatSweep(2, 9)), "curves")), "Of 9 values of axis 1, 6 are drawn")
}

func TestPanelsThatDifferInOneValueStandSideBySide(t *testing.T) {
	pairs := func(sizes ...int) bool {
		p := newSweepPlots(flatSweep(sizes...))
		return inPairs(p.panels)
	}
	assert.True(t, pairs(2, 2, 2))
	assert.True(t, pairs(2, 2, 3, 2))
	assert.False(t, pairs(2, 2, 2, 3))
	assert.False(t, pairs(2, 2, 4))
	assert.False(t, pairs(2, 2, 3))
	assert.Contains(t, sweepHTML(t, flatSweep(2, 2, 3, 2)), `<div class="panels pairs">`)
}

func TestCurvesNameTheirLines(t *testing.T) {
	section := sectionOf(t, sweepHTML(t, staleSweep()), "curves")
	said := text(section)
	for _, want := range []string{"heartbeat lag: 0s 5s 15s 25s 35s 95 % confidence a promise was broken there", "picks of a dispatch", "5 other measures", "Time to dispatch, p99 (s)"} {
		assert.Contains(t, said, want)
	}
	for i := range 5 {
		assert.Contains(t, section, "var(--job-"+strconv.Itoa(i)+")")
		assert.Contains(t, section, "var(--band-"+strconv.Itoa(i)+")")
	}
	before, _, _ := strings.Cut(section, "<details>")
	assert.Equal(t, 2, strings.Count(before, "<figure>"), "what the question and its trade-off are about; the others on demand")
}

func TestUnmeasuredPointsAreLeftOut(t *testing.T) {
	res := flatSweep(3, 2)
	name := res.Metrics[0].Name
	res.Points[0].Estimates = nil
	res.Points[1].Estimates = map[string]sweep.Estimate{name: {Mean: math.NaN(), N: 2}}
	res.Points[2].Estimates = map[string]sweep.Estimate{name: {Mean: 4, Low: math.NaN(), High: math.NaN(), N: 1}}
	res.Points[3].Estimates = map[string]sweep.Estimate{name: {}}
	page := sweepHTML(t, res)
	structure(t, page)
	assert.Contains(t, text(sectionOf(t, page, "map")), "not measured")
	assert.NotContains(t, page, "NaN")
	for i := range res.Points {
		res.Points[i].Estimates = nil
	}
	assert.Contains(t, text(sweepHTML(t, res)), "It was not measured at any point.")
}

func TestFrontsAreThoseOfEachCondition(t *testing.T) {
	section := sectionOf(t, sweepHTML(t, staleSweep()), "front")
	assert.Equal(t, 3, strings.Count(section, "<svg "), "a panel for each share of dying workers")
	said := text(section)
	assert.Contains(t, said, "Stale picks per job against jobs sent back, every pick stale")
	assert.Contains(t, said, "the front at heartbeat lag 0s 5s 15s 25s 35s")
	assert.Contains(t, said, "under the same conditions no other sound one is better")
	assert.Contains(t, said, "Labels of the front are its values of picks of a dispatch.")
	assert.Contains(t, section, "On the front: 1 at 0.025 and 2.5")

	free := staleSweep()
	for i := range free.Axes {
		free.Axes[i].Condition = false
	}
	section = sectionOf(t, sweepHTML(t, free), "front")
	assert.Equal(t, len(sizes), strings.Count(section, "<svg "))
	assert.Contains(t, text(section), "picks of a dispatch · heartbeat lag · share of workers that die")
	assert.Contains(t, text(sectionOf(t, sweepHTML(t, flatSweep(3)), "front")), "no two measures that pull against each other")
}

func TestLabelsOfAFrontCoverNothing(t *testing.T) {
	points := []frontPoint{{0, 1, "a", 0}, {0, 1, "b", 0}, {2, 0, "c", 0}, {1, .5, "d", 0}}
	assert.Equal(t, []frontPoint{{0, 1, "a and 1 more", 0}, {1, .5, "d", 0}, {2, 0, "c", 0}}, merged(points))
}

func TestTableOfPointsIsCapped(t *testing.T) {
	section := sectionOf(t, sweepHTML(t, flatSweep(30, 40)), "points")
	assert.Equal(t, pointsMax+1, strings.Count(section, "<tr"))
	assert.Contains(t, text(section), "700 more points left out; sweep.csv and sweep.json have them all.")
	section = sectionOf(t, sweepHTML(t, staleSweep()), "points")
	assert.Contains(t, text(section), "broken: no-dispatch-to-expired-worker in 3 of 20 runs")
	assert.Contains(t, text(section), "2.50 ± 0.27")
}

func TestSweepCSVReadsBack(t *testing.T) {
	res := staleSweep()
	res.Points[0].Values[0] = `a "quoted", value` + "\n" + "of two lines"
	delete(res.Points[1].Estimates, res.Metrics[0].Name)
	out := written(t, func(w io.Writer) error { return SweepCSV(w, res) })
	assert.Contains(t, out, "\r\n")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+len(res.Points)*len(res.Metrics))
	assert.Equal(t, []string{"engine.max_dispatch_retries", "world.heartbeat_lag", "world.dying", "runs", "sound", "on_front", "metric", "unit", "n", "mean", "low", "high"}, rows[0])
	assert.Equal(t, []string{"a \"quoted\", value\nof two lines", "0s", "0.1", "20", "true", "true", "stale_exhausted", "%", "20", "2.5", "2.23", "2.77"}, rows[1])
	assert.Equal(t, []string{"0", "", "", ""}, rows[1+len(res.Metrics)][8:], "what was not measured has no number")
	mean, err := strconv.ParseFloat(rows[3][9], 64)
	require.NoError(t, err)
	assert.Equal(t, res.Points[0].Estimates[res.Metrics[2].Name].Mean, mean, "to full precision") //nolint:testifylint // exactly
	unsound := 0
	for _, row := range rows[1:] {
		if row[4] == "false" {
			unsound++
		}
	}
	assert.Equal(t, 2*len(res.Metrics), unsound)
}

func TestWriteSweepWritesItsData(t *testing.T) {
	dir, res := t.TempDir(), staleSweep()
	require.NoError(t, WriteSweep(dir, res))
	assert.Equal(t, []string{PageFile, CSVFile, SweepFile}, names(t, dir))
	data, err := os.ReadFile(filepath.Join(dir, SweepFile))
	require.NoError(t, err)
	var back sweep.Result
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, *res, back)
	require.NoError(t, WriteSweep(dir, res), "over those of an earlier sweep")
}

func TestScaleHasRoundBoundsAroundEverything(t *testing.T) {
	assert.Equal(t, []float64{0, 10, 20, 30, 40, 50}, scaleFor(0, 47.5, false).edges)
	assert.Equal(t, []float64{.2, .4, .6, .8, 1, 1.2, 1.4}, scaleFor(.3, 1.3, false).edges)
	assert.Equal(t, []float64{.001, .01, .1, 1, 10, 100}, scaleFor(.004, 60, true).edges)
	assert.Equal(t, []float64{.01, .03, .1, .3, 1, 3, 10}, scaleFor(.01, 9, true).edges)
	assert.Equal(t, 1, scaleFor(3, 3, false).bins())
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(0, 1e6).Draw(t, "lo")
		hi := lo*1.0002 + rapid.Float64Range(1e-6, 1e6).Draw(t, "span")
		s := scaleFor(lo, hi, rapid.Bool().Draw(t, "powers") && lo > 1e-9)
		require.LessOrEqual(t, s.bins(), heatMax)
		require.LessOrEqual(t, s.edges[0], lo+1e-6*hi)
		require.GreaterOrEqual(t, s.edges[s.bins()], hi-1e-6*hi)
		for i := range s.bins() {
			require.Less(t, s.edges[i], s.edges[i+1])
			require.Less(t, s.level(i), heatMax)
			require.NotEqual(t, s.label(i), s.label(i+1), "bounds that read the same")
		}
		require.Equal(t, s.bins()-1, s.bin(math.Inf(1)))
		require.Equal(t, 0, s.bin(math.Inf(-1)))
	})
}

func TestValuesStandToScaleIfTheyCan(t *testing.T) {
	for _, c := range []struct {
		values  []string
		want    []float64
		toScale bool
	}{
		{[]string{"1", "2", "3", "10"}, []float64{1, 2, 3, 10}, false},
		{[]string{"0s", "5s", "15s", "25s", "35s"}, []float64{0, 5, 15, 25, 35}, true},
		{[]string{"500ms", "1s", "1m"}, []float64{0, 1, 2}, false},
		{[]string{"state-first", "outbox"}, []float64{0, 1}, false},
		{[]string{"3", "2"}, []float64{0, 1}, false},
		{[]string{"7"}, []float64{0}, false},
	} {
		v := valuesOf(sweep.Axis{Values: c.values})
		if !c.toScale {
			for i := range c.values {
				c.want[i] = float64(i)
			}
		}
		assert.Equal(t, c.toScale, v.toScale, "%v", c.values)
		assert.Equal(t, c.want, v.at, "%v", c.values)
	}
	name := func(title, value string) string {
		return valuesOf(sweep.Axis{Setting: "a.b", Title: title, Values: []string{value}}).Name()
	}
	assert.Equal(t, "heartbeat lag", name("heartbeat lag (s)", "5s"), "the value has the unit")
	assert.Equal(t, "share (%)", name("share (%)", "5"))
	assert.Equal(t, "a.b", name("", "5"))
}

func TestLabelsOfTicksDoNotRunIntoOneAnother(t *testing.T) {
	style := newPlot("", "", sizes[0]).X.Tick.Label
	v := valuesOf(flatSweep(60).Axes[0])
	ticks := valueTicks{v, style, 300, true}.Ticks(0, 59)
	require.Len(t, ticks, 60)
	labelled := 0
	for _, tick := range ticks {
		if tick.Label != "" {
			labelled++
		}
	}
	assert.Less(t, labelled, 25)
	assert.Equal(t, "0", ticks[0].Label)
	assert.Equal(t, "a-very-long-value…", label("a-very-long-value-of-a-setting"))
	assert.Equal(t, "one two\nthree", wrapped("one two three", style, style.Width("one two ")))
}

func TestNumbersAreShortAndInAUnitThatFits(t *testing.T) {
	seconds := campaign.Metric{Title: "Time", Unit: "s"}
	for _, c := range []struct {
		most float64
		e    sweep.Estimate
		want string
	}{
		{12, sweep.Estimate{Mean: 12.35, Low: 12.1, High: 12.6, N: 3}, "12.35 ± 0.25"},
		{.0123, sweep.Estimate{Mean: .0123, Low: .0122, High: .0124, N: 3}, "12.30 ± 0.10"},
		{2e-6, sweep.Estimate{Mean: 2e-6, Low: 2e-6, High: 2e-6, N: 3}, "2"},
		{1e6, sweep.Estimate{Mean: 1250000, Low: 1200000, High: 1300000, N: 3}, "1,250,000 ± 50,000"},
		{48, sweep.Estimate{Mean: 48.63997, Low: 48.63988, High: 48.64006, N: 3}, "48.64"},
		{1, sweep.Estimate{Mean: 1.1, Low: 0, High: 4.34, N: 3}, "1.1 (0.0 to 4.3)"},
		{486, sweep.Estimate{Mean: 486.89, Low: 486.63, High: 487.15, N: 3}, "486.9 ± 0.3"},
		{1, sweep.Estimate{Mean: -.5, Low: -.7, High: -.3, N: 3}, "−0.50 ± 0.20"},
		{1, sweep.Estimate{}, ""},
	} {
		assert.Equal(t, c.want, measureOf(seconds, c.most).plusMinus(c.e))
	}
	assert.Equal(t, "Time (ms)", measureOf(seconds, .5).Heading())
	assert.Equal(t, "Jobs", measureOf(campaign.Metric{Title: "Jobs"}, .5).Heading())
	for v, want := range map[float64]string{0: "0", .025: "0.025", 41.26: "41.3", 999.7: "1,000", 1234.5: "1,234", -3: "−3", math.Inf(1): "–"} {
		assert.Equal(t, want, number(v))
	}
	assert.Equal(t, "0.0", fixed(-.01, 1), "no negative nothing")
	assert.Equal(t, "<0.1", lettering(.04, 1))
	assert.Equal(t, "0", lettering(0, 1))
}

func TestAxesOfCurvesFitTheirNumbers(t *testing.T) {
	times := measure{campaign.Metric{Unit: "s"}, "s", 1}
	y := axisFor(times, .002, 90)
	assert.True(t, y.log)
	assert.Equal(t, []string{"0.01", "0.1", "1", "10", "100"}, labels(y.marker.Ticks(y.bottom, y.top)))
	assert.InDelta(t, y.bottom, y.of(0), 0, "nothing is at the bottom of a log scale")
	y = axisFor(measure{campaign.Metric{Unit: "%"}, "%", 1}, .002, 90)
	assert.False(t, y.log, "shares are compared by difference")
	assert.Zero(t, y.bottom)
	lo, hi := spanOf(40, 50)
	assert.InDelta(t, 38, lo, 1e-9)
	assert.InDelta(t, 51, hi, 1e-9)
}

// A plot of a poor sweep must not fall over: gonum/plot panics on ranges that are none.
func TestSweepsOfAnyNumbersAreDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		res := flatSweep(rapid.IntRange(1, 3).Draw(t, "first"), rapid.IntRange(1, 2).Draw(t, "second"))
		res.Metrics = someMetrics()[2:4]
		res.Pareto = sweep.Pareto{X: res.Metrics[0].Name, Y: res.Metrics[1].Name}
		number := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 100), rapid.Float64Range(0, 1e-9), rapid.Float64())
		for i := range res.Points {
			for _, m := range res.Metrics {
				mean := number.Draw(t, "mean")
				res.Points[i].Estimates[m.Name] = sweep.Estimate{Mean: mean, Low: mean - number.Draw(t, "low"), High: mean + number.Draw(t, "high"), N: rapid.IntRange(0, 2).Draw(t, "n")}
			}
			res.Points[i].OnFront = rapid.Bool().Draw(t, "front")
			if rapid.Bool().Draw(t, "broken") {
				res.Points[i].Broken = map[string]int{"x": 1}
			}
		}
		structure(t, sweepHTML(t, res))
	})
}

func TestAScaleOfNumbersFarApart(t *testing.T) {
	for _, ends := range [][2]float64{{-math.MaxFloat64, math.MaxFloat64}, {-math.MaxFloat64, 3}, {0, math.MaxFloat64}, {1e308, 1.7e308}} {
		s := scaleFor(ends[0], ends[1], false)
		assert.Positive(t, s.bins(), "%v", ends)
		assert.NotPanics(t, func() { s.label(s.bins()) }, "%v", ends)
	}
}
