package plots

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// labelRunesMax is where the label of a value is cut off in a plot.
const labelRunesMax = 18

// values are those of one axis of a sweep, and where they are on the axis of a plot.
type values struct {
	sweep.Axis
	at      []float64
	toScale bool // the distances mean something
}

// valuesOf places the values of an axis: numbers and durations to scale, if none would be too close to
// its neighbour, and all else at equal distances.
func valuesOf(a sweep.Axis) values {
	v := values{Axis: a}
	for i := range a.Values {
		v.at = append(v.at, float64(i))
	}
	real := make([]float64, 0, len(a.Values))
	for _, s := range a.Values {
		x, ok := quantity(s)
		if !ok {
			return v
		}
		real = append(real, x)
	}
	if len(real) < 2 {
		return v
	}
	nearest := math.Inf(1)
	for i := range real[1:] {
		nearest = min(nearest, real[i+1]-real[i])
	}
	if span := real[len(real)-1] - real[0]; nearest > 0 && nearest >= span/float64(2*len(real)) {
		v.at, v.toScale = real, true
	}
	return v
}

// quantity reads a number, or a duration in seconds.
func quantity(s string) (float64, bool) {
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		return x, !math.IsNaN(x) && !math.IsInf(x, 0)
	}
	d, err := time.ParseDuration(s)
	return d.Seconds(), err == nil
}

// Name is the axis' title without its unit, as the values have theirs; a value that has none keeps it.
func (v values) Name() string {
	name, unit, found := strings.Cut(strings.TrimSuffix(v.Title, ")"), " (")
	if v.Title == "" {
		return v.Setting
	}
	if !found || len(v.Values) > 0 && !strings.HasSuffix(v.Values[0], unit) {
		return v.Title
	}
	return name
}

// title is what stands at the axis of a plot.
func (v values) title() string {
	if v.Title == "" {
		return v.Setting
	}
	return v.Title
}

// label is a value as a plot shows it.
func label(value string) string { return words.Cut(value, labelRunesMax) }

// valueTicks are the ticks of an axis at its values. Labels that would run into one another are left
// out.
type valueTicks struct {
	values
	style draw.TextStyle
	room  vg.Length // of the axis' data
}

func (t valueTicks) Ticks(lo, hi float64) []plot.Tick {
	free := vg.Length(math.Inf(-1))
	var ticks []plot.Tick
	for i, at := range t.at {
		tick := plot.Tick{Value: at, Label: label(t.Values[i])}
		half := t.style.Width(tick.Label) / 2
		middle := vg.Length((at-lo)/(hi-lo)) * t.room
		if middle-half < free {
			tick.Label = ""
		} else {
			free = middle + half + 5
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// wider is how much wider a browser's font may be than the one that text is measured with.
const wider = 1.2

// wrapped breaks words into lines that are no longer than room, as far as they can be.
func wrapped(words string, style draw.TextStyle, room vg.Length) string {
	var lines []string
	for _, word := range strings.Fields(words) {
		if n := len(lines); n > 0 && wider*style.Width(lines[n-1]+" "+word) <= room {
			lines[n-1] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return strings.Join(lines, "\n")
}

// points finds the points of a sweep by their values.
type points map[string]*sweep.Point

func pointsOf(res *sweep.Result) points {
	all := points{}
	for i := range res.Points {
		all[strings.Join(res.Points[i].Values, "\x00")] = &res.Points[i]
	}
	return all
}

// find returns nil if there is no such point.
func (p points) find(values ...string) *sweep.Point { return p[strings.Join(values, "\x00")] }

// panel is one combination of the values of the axes that a plot itself does not show.
type panel struct {
	Title string
	rest  []string
}

// panelsMax is how many panels a figure has.
const panelsMax = 12

// panelsOf are the combinations of the values of axes that are shown, and how many are not: if there
// are too many, those that are shown are spread evenly over all.
func panelsOf(axes []values) (list []panel, left int) {
	list = []panel{{}}
	for _, axis := range axes {
		var next []panel
		for _, p := range list {
			for _, value := range axis.Values {
				title := axis.Name() + ": " + value
				if p.Title != "" {
					title = p.Title + ", " + title
				}
				next = append(next, panel{title, append(slices.Clone(p.rest), value)})
			}
		}
		list = next
	}
	all := len(list)
	list = spread(list, panelsMax)
	return list, all - len(list)
}

// within says which panel a figure of several is about.
func within(p panel) string {
	if p.Title == "" {
		return ""
	}
	return ", at " + p.Title
}

// spread picks at most limit items evenly, the first and the last among them.
func spread[T any](items []T, limit int) []T {
	if len(items) <= limit {
		return items
	}
	picked := make([]T, limit)
	for i := range picked {
		picked[i] = items[i*(len(items)-1)/(limit-1)]
	}
	return picked
}
