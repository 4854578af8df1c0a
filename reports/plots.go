package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/wavetank-sim/wavetank/scenarios"
)

// faintMax is how many jobs besides those in focus have a line in the plot of attempts.
const faintMax = 200

// figure is one plot as the template shows it.
type figure struct {
	Title  string
	Legend []legendEntry
	Scale  *scaleView // of the colours; nil if they are no scale
	SVGs   []template.HTML
	Panels []panelView // in place of SVGs: the same plot several times
	Pairs  bool        // two panels a row
	Notes  []string
	Empty  string // why there is nothing to draw
	Halo   bool   // its texts lie over lines
}

type legendEntry struct {
	Mark string // a class of the style sheet: line, dash, dot, cross, band, hatch, blank
	Name string // the variable of the style sheet that holds the colour
	Text string
}

// chart is a figure that is still to be drawn, once for each size.
type chart struct {
	figure
	label string
	draw  func(size) *plot.Plot
}

// plots are what the charts of one page share.
type plots struct {
	plan      *scenarios.Plan
	res       *scenarios.Result
	focus     focus
	naks      []time.Duration
	rollbacks []time.Duration
	end       float64 // of the time axis, in seconds
	time      unit
}

// figures draws the plots of a run. The same input gives the same bytes.
func figures(plan *scenarios.Plan, res *scenarios.Result, c *collector) []figure {
	end := lastWord(res, c)
	p := &plots{plan, res, c.focus, c.naks, c.rollbacks, end.Seconds(), unitFor(end)}
	charts := []chart{p.attempts(), p.latency(), p.retries()}
	if len(res.Breakers) > 0 {
		charts = append(charts, p.breakers())
	}
	for _, s := range sizes {
		drawn := make([]*plot.Plot, len(charts))
		gutter := vg.Length(0)
		for i, ch := range charts {
			if ch.Empty == "" {
				drawn[i] = ch.draw(s)
				gutter = max(gutter, leftOf(drawn[i], s))
			}
		}
		for i := range charts {
			if drawn[i] != nil {
				charts[i].SVGs = append(charts[i].SVGs, render(drawn[i], s, gutter, charts[i].label))
			}
		}
	}
	out := make([]figure, len(charts))
	for i, ch := range charts {
		out[i] = ch.figure
	}
	return out
}

// lastWord is when the last thing happened that a plot could show, and a little.
func lastWord(res *scenarios.Result, c *collector) time.Duration {
	last := time.Duration(0)
	for _, j := range res.Jobs {
		last = max(last, j.Submitted, j.Settled)
		if n := len(j.Path); n > 0 {
			last = max(last, j.Path[n-1].At)
		}
		if n := len(j.Dispatches); n > 0 {
			last = max(last, j.Dispatches[n-1].At)
		}
	}
	for _, f := range res.Fired {
		last = max(last, f.At, f.Until)
	}
	if n := len(res.Breakers); n > 0 {
		last = max(last, res.Breakers[n-1].At)
	}
	for _, times := range [][]time.Duration{c.naks, c.rollbacks} {
		if n := len(times); n > 0 {
			last = max(last, times[n-1])
		}
	}
	if last <= 0 {
		last = max(res.Virtual, time.Second)
	}
	return last + last/50
}

func (p *plots) start(y string, s size) *plot.Plot {
	out := newPlot("virtual time ("+p.time.name+")", y, s)
	out.X.Tick.Marker = timeTicks{p.time, s.ticks}
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color, grid.Horizontal.Width, grid.Horizontal.Dashes = gridColour, 1, nil
	out.Add(grid, faultMarks{p.res.Fired, p.end})
	return out
}

// finish sets the axes, after the data had their say.
func (p *plots) finish(out *plot.Plot, lo, hi float64) *plot.Plot {
	out.X.Min, out.X.Max = 0, p.end
	out.Y.Min, out.Y.Max = lo, hi
	return out
}

// attempts is the plot of every job's attempts over virtual time.
func (p *plots) attempts() chart {
	ch := chart{figure: figure{Title: "Attempts of each job"}, label: "Attempts of each job over virtual time"}
	most, paths := 0, 0
	var faint []scenarios.JobResult
	for _, j := range p.res.Jobs {
		if len(j.Path) == 0 {
			continue
		}
		paths++
		for _, point := range j.Path {
			most = max(most, point.Attempts)
		}
		if _, own := p.focus.colour[j.ID]; !own {
			faint = append(faint, j)
		}
	}
	if paths == 0 {
		ch.Empty = "No job's state was ever written."
		return ch
	}
	ch.label += p.inWords(func(j scenarios.JobResult) string {
		words := "ends at " + count(j.Attempts)
		if j.Blind != nil {
			words += ", blind window " + blindFor(j.Blind)
		}
		return words
	})
	slices.SortStableFunc(faint, func(a, b scenarios.JobResult) int { return cmp.Compare(b.Attempts, a.Attempts) })
	ch.Legend = p.jobLegend("line", len(faint) > 0)
	blind := p.blind()
	for _, b := range blind {
		ch.Legend = append(ch.Legend, legendEntry{"band", fmt.Sprintf("band-%d", b.colour), "blind window of " + b.job})
	}
	if len(faint) > faintMax {
		ch.Notes = append(ch.Notes, fmt.Sprintf("Of %s, the %d with the most attempts are drawn.", counted(len(faint), "other job"), faintMax))
		faint = faint[:faintMax]
	}
	ceiling := p.plan.Engine.MaxSchedulingRetries
	nearCeiling := ceiling > 0 && 2*most >= ceiling
	if nearCeiling {
		ch.Legend = append(ch.Legend, legendEntry{"dash", "bad", fmt.Sprintf("retry ceiling, %d", ceiling)})
	}
	ch.draw = func(s size) *plot.Plot {
		out := p.start("attempts", s)
		out.Add(blind)
		out.Y.Tick.Marker = countTicks{5}
		for _, j := range faint {
			line := steps(p.attemptPoints(j))
			line.Color, line.Width = faintColour, 1
			out.Add(line)
		}
		for _, j := range p.res.Jobs {
			if i, own := p.focus.colour[j.ID]; own && len(j.Path) > 0 {
				points := p.attemptPoints(j)
				line := steps(points)
				line.Color, line.Width, line.Dashes = jobColour(i), 2, jobDashes(i)
				out.Add(line, dots(points[:len(points)-1], jobColour(i), 3))
			}
		}
		top := float64(max(most, 2)) * 1.1
		if nearCeiling {
			top = max(top, float64(ceiling)*1.05)
			out.Add(&plotter.Line{XYs: plotter.XYs{{X: 0, Y: float64(ceiling)}, {X: p.end, Y: float64(ceiling)}},
				LineStyle: draw.LineStyle{Color: limitColour, Width: 1.5, Dashes: []vg.Length{6, 4}}})
		}
		return p.finish(out, 0, top)
	}
	return ch
}

// blind are the blind windows of the jobs in focus.
func (p *plots) blind() (marks blindMarks) {
	for _, j := range p.res.Jobs {
		if i, own := p.focus.colour[j.ID]; own && j.Blind != nil {
			to := p.end
			if !j.Blind.Open {
				to = j.Blind.Closed.Seconds()
			}
			marks = append(marks, blindMark{j.ID, i, j.Blind.Opened.Seconds(), to})
		}
	}
	return marks
}

// attemptPoints are the instants at which the attempts of j changed, and its end.
func (p *plots) attemptPoints(j scenarios.JobResult) plotter.XYs {
	var points plotter.XYs
	for _, point := range j.Path {
		if n := len(points); n > 0 && points[n-1].Y == float64(point.Attempts) {
			continue
		}
		points = append(points, plotter.XY{X: point.At.Seconds(), Y: float64(point.Attempts)})
	}
	end := p.end
	if j.Settled > 0 {
		end = j.Settled.Seconds()
	}
	last := points[len(points)-1]
	return append(points, plotter.XY{X: max(end, last.X), Y: last.Y})
}

// latency is the plot of the time from each job's submission to its first stored dispatch.
func (p *plots) latency() chart {
	ch := chart{figure: figure{Title: "Dispatch latency"}, label: "Dispatch latency of each job, by the virtual time of its submission"}
	lo, hi := math.Inf(1), 0.0
	never := 0
	for _, j := range p.res.Jobs {
		if l := latencyOf(j); l > 0 {
			lo, hi = min(lo, l), max(hi, l)
		} else {
			never++
		}
	}
	if hi == 0 {
		ch.Empty = "No dispatch was ever stored."
		return ch
	}
	ch.label += p.inWords(func(j scenarios.JobResult) string {
		if latencyOf(j) == 0 {
			return "is never dispatched"
		}
		return "takes " + duration(j.Dispatches[0].At-began(j))
	})
	ch.Legend = p.jobLegend("dot", len(p.res.Jobs) > len(p.focus.jobs))
	if never > 0 {
		ch.Legend = append(ch.Legend, legendEntry{"cross", "bad", counted(never, "job") + " never dispatched"})
	}
	ch.Notes = append(ch.Notes, "From a job's submission, where it stands on the time axis, to its first dispatch that a stream stored.")
	per := unitFor(time.Duration(hi * float64(time.Second)))
	name, marker, scale := "latency ("+per.name+")", plot.Ticker(timeTicks{per, 5}), func(v float64) float64 { return v }
	bottom, top := 0.0, hi*1.15
	if hi > 30*lo {
		scale = math.Log10
		bottom, top = scale(lo)-.25, scale(hi)+.25
		name, marker = "latency (log scale)", powerTicks{1 + int((top-bottom)/6)}
	}
	if never > 0 {
		top += (top - bottom) / 12
	}
	ch.draw = func(s size) *plot.Plot {
		out := p.start(name, s)
		out.Y.Tick.Marker = marker
		faint := pixels{seen: map[[2]int]bool{}, x: p.end / s.width, y: (top - bottom) / s.height}
		lost := pixels{seen: map[[2]int]bool{}, x: faint.x, y: faint.y}
		for _, j := range p.res.Jobs {
			at, l := began(j).Seconds(), latencyOf(j)
			if _, own := p.focus.colour[j.ID]; l <= 0 {
				lost.add(at, top-(top-bottom)/24)
			} else if !own {
				faint.add(at, scale(l))
			}
		}
		out.Add(dots(faint.points, faintColour, 2.5))
		for _, j := range p.res.Jobs {
			if i, own := p.focus.colour[j.ID]; own && len(j.Dispatches) > 0 {
				out.Add(dots(plotter.XYs{{X: began(j).Seconds(), Y: scale(latencyOf(j))}}, jobColour(i), 4.5))
			}
		}
		crosses := dots(lost.points, limitColour, 4)
		crosses.Shape = crossGlyph{}
		out.Add(crosses)
		return p.finish(out, bottom, top)
	}
	return ch
}

// inWords says of each job in focus what a plot shows of it, for those who do not see the plot.
func (p *plots) inWords(say func(scenarios.JobResult) string) string {
	var words []string
	for _, j := range p.res.Jobs {
		if _, own := p.focus.colour[j.ID]; own {
			words = append(words, j.ID+" "+say(j))
		}
	}
	if len(words) == 0 {
		return "."
	}
	return ": " + list(words) + "."
}

// latencyOf is in seconds; 0 if no dispatch was stored.
func latencyOf(j scenarios.JobResult) float64 {
	if len(j.Dispatches) == 0 {
		return 0
	}
	return max(j.Dispatches[0].At-began(j), 1).Seconds()
}

// began is when the job was submitted, or stored if it never was.
func began(j scenarios.JobResult) time.Duration {
	if j.Submitted == 0 && len(j.Path) > 0 {
		return j.Path[0].At
	}
	return j.Submitted
}

// retries is the plot of retries and rollbacks, counted up over virtual time.
func (p *plots) retries() chart {
	ch := chart{figure: figure{Title: "Retries and rollbacks, counted up"}, label: "Retries and rollbacks over virtual time, counted up"}
	ch.Legend = []legendEntry{
		{"line", "retry", counted(len(p.naks), "retry", "retries") + " (a message handed back)"},
		{"dash", "rollback", counted(len(p.rollbacks), "rollback") + " (DISPATCHED back to SCHEDULED)"},
	}
	ch.Legend = append(ch.Legend, p.faultLegend()...)
	if len(p.naks)+len(p.rollbacks) == 0 {
		ch.Legend = nil
		ch.Empty = "No message was handed back, and no dispatch was rolled back."
		return ch
	}
	ch.label += ": " + ch.Legend[0].Text + ", " + ch.Legend[1].Text + "."
	ch.draw = func(s size) *plot.Plot {
		out := p.start("count", s)
		out.Y.Tick.Marker = countTicks{5}
		retries := steps(p.countUp(p.naks, s))
		retries.Color, retries.Width = retryColour, 2
		rollbacks := steps(p.countUp(p.rollbacks, s))
		rollbacks.Color, rollbacks.Width, rollbacks.Dashes = backColour, 2, []vg.Length{6, 3}
		out.Add(retries, rollbacks)
		return p.finish(out, 0, float64(max(len(p.naks), len(p.rollbacks), 2))*1.1)
	}
	return ch
}

// countUp is how many of times have passed at each of them, one point a pixel.
func (p *plots) countUp(times []time.Duration, s size) plotter.XYs {
	points := plotter.XYs{{X: 0, Y: 0}}
	pixel := p.end / s.width
	for i, at := range times {
		point := plotter.XY{X: at.Seconds(), Y: float64(i + 1)}
		if n := len(points); n > 1 && int(points[n-1].X/pixel) == int(point.X/pixel) {
			points[n-1].Y = point.Y
			continue
		}
		points = append(points, point)
	}
	return append(points, plotter.XY{X: p.end, Y: float64(len(times))})
}

func (p *plots) jobLegend(mark string, others bool) []legendEntry {
	var legend []legendEntry
	for i, id := range p.focus.jobs {
		m := mark
		if mark == "line" && i > 0 {
			m = "dash"
		}
		legend = append(legend, legendEntry{m, fmt.Sprintf("job-%d", i), id})
	}
	if others {
		legend = append(legend, legendEntry{mark, "faint", "other jobs"})
	}
	return append(legend, p.faultLegend()...)
}

func (p *plots) faultLegend() []legendEntry {
	var instants, spans bool
	for _, f := range p.res.Fired {
		_, lasts := endOf(f, p.end)
		spans, instants = spans || lasts, instants || !lasts
	}
	var legend []legendEntry
	if instants {
		legend = append(legend, legendEntry{"fault-line", "fault", "fault"})
	}
	if spans {
		legend = append(legend, legendEntry{"band", "band", "fault that lasts"})
	}
	return legend
}
