package plots

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// grid is a sweep over as many axes as there are sizes, of which nothing was measured.
func grid(sizes ...int) *sweep.Result {
	res := &sweep.Result{Metrics: []campaign.Metric{{Name: "m", Title: "Measure"}}}
	for n, size := range sizes {
		axis := sweep.Axis{Setting: "axis." + strconv.Itoa(n), Title: "axis " + strconv.Itoa(n)}
		for v := range size {
			axis.Values = append(axis.Values, strconv.Itoa(v))
		}
		res.Axes = append(res.Axes, axis)
	}
	return res
}

func TestPanelsThatDifferInOneValueStandSideBySide(t *testing.T) {
	pairs := func(sizes ...int) bool {
		p := Sweep(grid(sizes...))
		return inPairs(p.panels)
	}
	assert.True(t, pairs(2, 2, 2))
	assert.True(t, pairs(2, 2, 3, 2))
	assert.False(t, pairs(2, 2, 2, 3))
	assert.False(t, pairs(2, 2, 4))
	assert.False(t, pairs(2, 2, 3))
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
	v := valuesOf(grid(60).Axes[0])
	ticks := valueTicks{v, style, 300}.Ticks(0, 59)
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
	assert.Equal(t, "one two\nthree", wrapped("one two three", style, wider*style.Width("one two ")))
}

func TestLabelsOfAFrontCoverNothing(t *testing.T) {
	points := []frontPoint{{0, 1, "a", 0}, {0, 1, "b", 0}, {2, 0, "c", 0}, {1, .5, "d", 0}}
	assert.Equal(t, []frontPoint{{0, 1, "a and 1 more", 0}, {1, .5, "d", 0}, {2, 0, "c", 0}}, merged(points))
}

func TestLettersTellWhatIsLittleFromNothing(t *testing.T) {
	assert.Equal(t, "<0.1", lettering(.04, 1))
	assert.Equal(t, "0", lettering(0, 1))
}

// Colours tell means apart only if intervals do.
func TestColoursOfNoiseAreAlike(t *testing.T) {
	levels := func(low, high float64) []int {
		res := grid(2)
		for i, mean := range []float64{8.57, 8.73} {
			res.Points = append(res.Points, sweep.Point{Values: []string{strconv.Itoa(i)}, Runs: 9, Estimates: map[string]sweep.Estimate{"m": {Mean: mean, Low: mean - low, High: mean + high, N: 9}}})
		}
		p := Sweep(res)
		m := p.Map(p.Measure("m"))
		cells := m.Tables[0].Rows[0].Cells
		return []int{cells[0].Level, cells[1].Level, len(m.Notes)}
	}
	noise := levels(4.4, 4.4)
	assert.Equal(t, noise[0], noise[1])
	assert.Equal(t, 2, noise[2], "a note says so")
	apart := levels(.01, .01)
	assert.Less(t, apart[0], apart[1])
	assert.Equal(t, 1, apart[2])
}

// A name that there is no room for at the end of its curve is in the legend alone, and whole.
func TestNamesOfCurvesAreNotCut(t *testing.T) {
	drawn := func(values ...string) Figure {
		res := grid(1, len(values))
		res.Axes[1].Values = values
		for _, v := range values {
			res.Points = append(res.Points, sweep.Point{Values: []string{"0", v}, Runs: 2, Estimates: map[string]sweep.Estimate{"m": {Mean: 1, Low: 1, High: 1, N: 2}}})
		}
		p := Sweep(res)
		return p.Curves(p.Measure("m"))
	}
	assert.Contains(t, drawn("5s", "lag").SVGs[0], ">lag<")
	const long = "lognormal:median=5s:p99=30s"
	fig := drawn("5s", long)
	assert.NotContains(t, fig.SVGs[0], "lognormal")
	assert.Equal(t, long, fig.Legend[1].Text)
}
