package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/reports/lasting"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/diff"
)

// drawing is both runs over one axis of time, in one of two sizes: CSS shows the one that fits the window.
type drawing struct {
	Class         string
	Width, Height float64
	Lines         []line
	Bands         []band
	Dots          []dot
	Labels        []label
}

type line struct {
	Class          string
	X1, Y1, X2, Y2 float64
}

type band struct {
	Class, Title        string
	X, Y, Width, Height float64
}

// dot is a step, or the end of a run.
type dot struct {
	Class, Title, Href string
	X, Y, R            float64
}

type label struct {
	Class, Text string
	X, Y        float64
}

// The heights of the drawing. Both runs are one lane up to the parting.
const (
	drawingHeight = 218
	ticksAt       = 14
	topLane       = 78
	middleLane    = 122
	bottomLane    = 166
	laneReach     = 20 // of a fault that lasts and of a violation, above and below its lane
)

// drawingsOf draws two runs. The numbers of the sentences of story, which is from the parting on, stand at their dots; rows link
// to a step of A, and to one of B.
func drawingsOf(d *diff.Difference, story []diff.Told, rows [2]func(step int) string) []drawing {
	m := marks{d: d, rows: rows}
	m.collect(story)
	return []drawing{m.draw("wide", 1088, 64), m.draw("narrow", 344, 34)}
}

// marks is what there is to draw.
type marks struct {
	d     *diff.Difference
	rows  [2]func(step int) string
	list  []mark
	times []time.Duration // the instants, in their order
	units []float64       // where they are: quiet stretches are folded
}

// mark is a step of a run, with all that is told of it.
type mark struct {
	of      string // A, B or both, whose story tells of it
	side    int    // 0 is A
	lane    float64
	step    int
	at      time.Duration
	until   time.Duration // of a fault that lasts
	class   string
	says    []string
	numbers []string
}

// markClasses are those of the style sheet, by what a reader looks for first.
var markClasses = []string{"told", "parted", "struck", "violation"}

func (m *marks) collect(story []diff.Told) {
	before, _ := words.Capped(m.d.Before, tellingMax)
	for i := range before {
		m.tell(&before[i], "")
	}
	for i := range story {
		m.tell(&story[i], strconv.Itoa(i+1))
	}
	if p := m.d.Parting; p != nil {
		for side, at := range []*diff.Point{p.A, p.B} {
			if at != nil {
				m.add(mark{side: side, step: at.Step, at: at.At, class: "parted", says: []string{"Here they part. " + at.Says}})
			}
		}
	}
	for side, s := range []*diff.Side{&m.d.A, &m.d.B} {
		fired, _ := words.Capped(s.Fired, faultsMax)
		for _, f := range fired {
			m.add(mark{side: side, step: f.Step, at: f.At, until: lasting.UntilOf(&f, s.Virtual), class: "struck", says: []string{"Fault: " + f.Fault}})
		}
		broken, _ := words.Capped(s.Violations, violationsMax)
		for _, v := range broken {
			m.add(mark{side: side, step: v.Step, at: v.At, class: "violation", says: []string{v.Invariant + ": " + clip(v.Message)}})
		}
	}
	slices.SortStableFunc(m.list, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
	m.fold()
}

// tell adds a sentence that tells of an instant, of each run that has it.
func (m *marks) tell(t *diff.Told, number string) {
	for side, when := range []*diff.Moment{t.A, t.B} {
		if when == nil || when.At == 0 {
			continue
		}
		own := mark{of: t.Of(), side: side, step: when.Step, at: when.At, class: "told"}
		if number != "" {
			own.numbers = []string{number}
		}
		if when.Violates == "" { // or the violation says it
			own.says = []string{said(t)}
		}
		m.add(own)
	}
}

// add joins what is told of one step.
func (m *marks) add(next mark) {
	next.lane, next.of = m.lane(&next), cmp.Or(next.of, letters[next.side])
	for i := range m.list {
		old := &m.list[i]
		if old.lane != next.lane || old.step != next.step || old.at != next.at {
			continue
		}
		old.says = union(old.says, next.says)
		old.numbers = union(old.numbers, next.numbers)
		old.until = max(old.until, next.until)
		if slices.Index(markClasses, next.class) > slices.Index(markClasses, old.class) {
			old.class = next.class
		}
		return
	}
	m.list = append(m.list, next)
}

func union(a, b []string) []string {
	return append(a, slices.DeleteFunc(slices.Clone(b), func(s string) bool { return slices.Contains(a, s) })...)
}

// said is the sentence without its instant, which stands beside it.
func said(t *diff.Told) string {
	return clip(strings.TrimPrefix(t.Says, "At "+words.Instant(t.At())+" "))
}

// lane is the one in the middle for what is of the way that both runs have in common.
func (m *marks) lane(k *mark) float64 {
	p := m.d.Parting
	switch {
	case p == nil || k.step > 0 && k.step < p.Step || k.step == 0 && k.at < p.At():
		return middleLane
	case k.side == 0:
		return topLane
	}
	return bottomLane
}

// fold lays the instants out along the axis: a stretch of time in which nothing is told counts by its logarithm.
func (m *marks) fold() {
	m.times = []time.Duration{0}
	for i := range m.list {
		k := &m.list[i]
		m.times = append(m.times, k.at, max(k.at, k.until))
	}
	m.times = append(m.times, m.d.A.Virtual, m.d.B.Virtual)
	slices.Sort(m.times)
	m.times = slices.Compact(m.times)
	m.units = []float64{0}
	for i := 1; i < len(m.times); i++ {
		between := float64(m.times[i]-m.times[i-1]) / float64(200*time.Microsecond) // about what a call takes
		m.units = append(m.units, m.units[i-1]+math.Log2(1+between))
	}
}

func (m *marks) draw(class string, width, gutter float64) drawing {
	out := drawing{Class: class, Width: width, Height: drawingHeight}
	all := max(m.units[len(m.units)-1], 1)
	x := func(at time.Duration) float64 {
		i, _ := slices.BinarySearch(m.times, at)
		return tenth(gutter + 6 + m.units[i]/all*(width-gutter-20))
	}
	m.rails(&out, x)
	m.ticks(&out, x, gutter)
	free := map[float64]float64{} // of each row of numbers, from where on
	for i := range m.list {
		k := &m.list[i]
		at, y := x(k.at), k.lane
		title := words.Instant(k.at)
		if k.step > 0 {
			title += fmt.Sprintf(", step %d", k.step)
		}
		title += ": " + strings.Join(k.says, "\n")
		if k.until > k.at {
			out.Bands = append(out.Bands, band{"fault", title + "\nIt lasts until " + words.Instant(k.until) + ".", at, y - laneReach, max(x(k.until)-at, 1), 2 * laneReach})
		}
		if k.class == "violation" {
			out.Lines = append(out.Lines, line{"broken", at, y - laneReach, at, y + laneReach})
		}
		radius := 4.5
		if k.class != "told" {
			radius = 6
		}
		href := m.rows[k.side](k.step)
		if href == "" && k.class == "parted" {
			href = "#parting"
		}
		out.Dots = append(out.Dots, dot{k.class + " " + k.of, title, href, at, y, radius})
		if numbers := strings.Join(k.numbers, ","); numbers != "" {
			out.number(numbers, at, y, free)
		}
	}
	return out
}

// ticks writes times above the lanes, where there is room.
func (m *marks) ticks(out *drawing, x func(time.Duration) float64, gutter float64) {
	var times []time.Duration
	var places []float64
	for i := range m.list {
		at, n := x(m.list[i].at), len(places)
		if (n == 0 || at-places[n-1] >= 74) && at > gutter+24 && at < out.Width-24 {
			times, places = append(times, m.list[i].at), append(places, at)
		}
	}
	for i, text := range words.Instants(times) {
		out.Lines = append(out.Lines, line{"tick", places[i], ticksAt + 6, places[i], drawingHeight})
		out.Labels = append(out.Labels, label{"time", text, places[i], ticksAt})
	}
}

// number writes a number away from the middle: at a height at which there is room, or not at all.
func (out *drawing) number(text string, x, y float64, free map[float64]float64) {
	half := 3.5*float64(len(text)) + 2
	for _, away := range []float64{13, 26, 39} {
		at := y - away
		if y > middleLane {
			at = y + away + 8
		}
		if x-half >= free[at] {
			free[at] = x + half
			out.Labels = append(out.Labels, label{"number", text, x, at})
			return
		}
	}
}

// rails are the lanes themselves, with their names, the parting, and the ends of the runs.
func (m *marks) rails(out *drawing, x func(time.Duration) float64) {
	lanes := [2]float64{topLane, bottomLane}
	p := m.d.Parting
	var parted float64
	if p == nil {
		lanes, parted = [2]float64{middleLane, middleLane}, x(max(m.d.A.Virtual, m.d.B.Virtual))
	} else {
		parted = x(p.At())
		out.Lines = append(out.Lines, line{"rail both", parted, topLane, parted, bottomLane})
	}
	from := x(0)
	if parted > from {
		out.Bands = append(out.Bands, band{"alike", "Both are the same.", from, middleLane - 10, parted - from, 20})
		out.Lines = append(out.Lines, line{"rail both", from, middleLane, parted, middleLane})
		out.Labels = append(out.Labels, label{"lane", "both", 6, middleLane + 5})
	}
	for i, s := range []*diff.Side{&m.d.A, &m.d.B} {
		end := x(s.Virtual)
		if p != nil {
			out.Labels = append(out.Labels, label{"lane", letters[i], 6, lanes[i] + 5})
			out.Lines = append(out.Lines, line{"rail " + letters[i], parted, lanes[i], end, lanes[i]})
		}
		out.Lines = append(out.Lines, line{"rail both", end, lanes[i] - 9, end, lanes[i] + 9})
	}
}

var letters = [2]string{"A", "B"}

func tenth(v float64) float64 { return math.Round(10*v) / 10 }
