package plots

import (
	"fmt"
	"html/template"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// drawnText is a line of text in an SVG.
type drawnText struct {
	words   string
	colour  string
	rotated bool
	box     vg.Rectangle // as the text runs, and as high as its capitals
}

var linesOfSVG = regexp.MustCompile(`<(/?)g(?: transform="(rotate)?[^"]*")?>|<text x="([^"]+)" y="([^"]+)"[^>]*fill:var\(--([^)]+)\)">([^<]*)<`)

// textsOf are the texts of an SVG, whose letters are as wide as gonum's.
func textsOf(t *testing.T, svg template.HTML) (list []drawnText) {
	t.Helper()
	style, rotated := newPlot("", "", sizes[0]).X.Tick.Label, false
	for _, m := range linesOfSVG.FindAllStringSubmatch(string(svg), -1) {
		if m[6] == "" {
			rotated = m[2] != ""
			continue
		}
		x, err := strconv.ParseFloat(m[3], 64)
		require.NoError(t, err)
		y, err := strconv.ParseFloat(m[4], 64)
		require.NoError(t, err)
		at := vg.Point{X: vg.Length(x), Y: -vg.Length(y)}
		list = append(list, drawnText{m[6], m[5], rotated, vg.Rectangle{Min: at, Max: at.Add(vg.Point{X: style.Width(m[6]), Y: .75 * style.Font.Size})}})
	}
	require.NotEmpty(t, list)
	return list
}

// sizeOf is how wide and how high an SVG is.
func sizeOf(t *testing.T, svg template.HTML) (width, height vg.Length) {
	t.Helper()
	_, err := fmt.Sscanf(regexp.MustCompile(`viewBox="[^"]+"`).FindString(string(svg)), `viewBox="0 0 %g %g"`, &width, &height)
	require.NoError(t, err)
	return width, height
}

// labelled are the labels in a plot that are not of its axes. None lies over another, and none leaves the plot.
func labelled(t *testing.T, svg template.HTML) (list []drawnText) {
	t.Helper()
	width, height := sizeOf(t, svg)
	for _, text := range textsOf(t, svg) {
		if !strings.HasPrefix(text.colour, "job-") {
			continue
		}
		for _, other := range list {
			beside := text.box.Min.X >= other.box.Max.X || other.box.Min.X >= text.box.Max.X
			assert.True(t, beside || text.box.Min.Y >= other.box.Max.Y || other.box.Min.Y >= text.box.Max.Y, "%s lies over %s", text.words, other.words)
		}
		assert.True(t, text.box.Min.X >= 0 && text.box.Max.X <= width && text.box.Min.Y >= 0 && text.box.Max.Y <= height, "%s leaves the plot", text.words)
		list = append(list, text)
	}
	return list
}

// measured adds a point of one measure or more to a sweep.
func measured(res *sweep.Result, values []string, means ...float64) {
	point := sweep.Point{Values: values, Runs: 2, OnFront: true, Estimates: map[string]sweep.Estimate{}}
	for i, mean := range means {
		point.Estimates[res.Metrics[i].Name] = sweep.Estimate{Mean: mean, Low: mean, High: mean, N: 2}
	}
	res.Points = append(res.Points, point)
}

// twoMeasures is a sweep of as many points as there are means of both.
func twoMeasures(title string, means ...[2]float64) *SweepPlots {
	res := grid(len(means))
	res.Metrics = []campaign.Metric{{Name: "x", Title: title}, {Name: "y", Title: title}}
	res.Pareto.X, res.Pareto.Y = "x", "y"
	for i, at := range means {
		measured(res, []string{strconv.Itoa(i)}, at[0], at[1])
	}
	return Sweep(res)
}

// What a plot measures stands beside it whole, on as many lines as it takes.
func TestALongHeadingIsNotCut(t *testing.T) {
	const heading = "The mean of all that was measured from the first to the last"
	require.Len(t, heading, 60)
	p := twoMeasures(heading, [2]float64{0, 1}, [2]float64{1, 0})
	for name, fig := range map[string]Figure{"curves": p.Curves(p.Measure("y")), "front": p.Pareto()} {
		require.Len(t, fig.SVGs, len(sizes), name)
		for _, svg := range fig.SVGs {
			_, height := sizeOf(t, svg)
			var lines []string
			for _, text := range textsOf(t, svg) {
				if text.rotated {
					lines = append(lines, text.words)
					assert.True(t, text.box.Min.X >= 0 && text.box.Max.X <= height, "%s: %q is cut", name, text.words)
				}
			}
			assert.Greater(t, len(lines), 1, name)
			assert.Equal(t, heading, strings.Join(lines, " "), name)
		}
	}
}

func TestNamesOfCurvesThatEndAtOneMeanAreApart(t *testing.T) {
	for _, means := range [][]float64{{1, 1, 1, 1, 1}, {.5, .5, .5, .5, .5, 1}, {0, 0, 0, 0, 0, 1}} {
		res := grid(2, len(means))
		for i, mean := range means {
			for _, first := range res.Axes[0].Values {
				measured(res, []string{first, res.Axes[1].Values[i]}, mean)
			}
		}
		p := Sweep(res)
		for _, svg := range p.Curves(p.Measure("m")).SVGs {
			assert.Len(t, labelled(t, svg), len(means))
		}
	}
}

func TestNamesOfPointsThatCrowdAreApart(t *testing.T) {
	means := [][2]float64{{0, 1}, {1, 0}}
	for i := range 10 {
		means = append(means, [2]float64{.5 + .002*float64(i), .5 - .002*float64(i)})
	}
	fig := twoMeasures("Measure", means...).Pareto()
	for _, svg := range fig.SVGs {
		found := labelled(t, svg)
		assert.Greater(t, len(found), 3, "some have room")
		assert.Less(t, len(found), len(means), "and not all")
	}
	assert.Contains(t, strings.Join(fig.Notes, " "), "too close for a label each")
}
