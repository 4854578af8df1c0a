package plots

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/wavetank-sim/wavetank/scenarios/samples"
)

// panels are the figures that the documents ask for on a dashboard, from what a Prometheus would have scraped: the
// panels of engine/grafana. Each has two plots, which belong side by side.
func (p *runPlots) panels() []Figure {
	rec := p.res.Samples
	if rec == nil || rec.Scrapes < 2 {
		return nil
	}
	per := fmt.Sprintf("per %s", rec.Interval)
	retries := linesOf("", rec.Increases("scheduler_retry_total", "phase", "reason_code"))
	failClosed := linesOf("fail-closed retries", rec.Increases("scheduler_state_read_fail_closed_total"))
	errors := linesOf("Redis errors", rec.Increases("scheduler_redis_errors_total"))
	latency := linesOf("", means(rec, "scheduler_redis_latency", "operation"))
	ages := linesOf("quantile", rec.Highest("scheduler_heartbeat_age", "quantile"))
	stale := linesOf("stale picks", rec.Increases("scheduler_stale_worker_retry_total"))
	entries := linesOf("", rec.Increases("dlq_entries_total", "reason_code"))
	denied := linesOf("denied", rec.Increases("dlq_replay_denied_total"))
	replays := linesOf("", rec.Increases("dlq_replays_total", "outcome"))
	return []Figure{
		p.panel("Retries by phase and reason", "No message was handed back.", half{"retries " + per, per, retries}, half{"of them after a failed state read", per, failClosed}),
		p.panel("Retries that failed closed, beside Redis", "Redis was not asked.", half{"retries and errors " + per, per, append(failClosed, errors...)}, half{"mean latency of Redis, by operation", "s", latency}),
		p.panel("Ages of heartbeats, beside picks of stale workers", "No worker was known.", half{"age of the last heartbeat", "s", ages}, half{"picks of stale workers " + per, per, stale}),
		p.panel("Growth of the dead-letter queue, and replays", "No dead letter was written, and none was replayed.", half{"new dead letters " + per + ", by reason", per, entries}, half{"outcomes of replays " + per, per, append(replays, denied...)}),
	}
}

// half is one of the plots of a panel.
type half struct {
	title string
	unit  string
	lines []sampled
}

// sampled is a line with a value for each scrape.
type sampled struct {
	name   string
	values []float64
}

// linesOf are lines in the order of their names, without those that never rise above 0.
func linesOf(prefix string, groups map[string][]float64) (lines []sampled) {
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if slices.ContainsFunc(groups[group], func(x float64) bool { return x > 0 }) {
			lines = append(lines, sampled{strings.TrimSpace(prefix + " " + group), groups[group]})
		}
	}
	return lines
}

// means are a histogram's means between each scrape and the one before.
func means(rec *samples.Recording, name, by string) map[string][]float64 {
	sums, counts := rec.Increases(name+"_sum", by), rec.Increases(name+"_count", by)
	for group, values := range sums {
		for i := range values {
			if values[i] /= counts[group][i]; counts[group][i] == 0 {
				values[i] = math.NaN()
			}
		}
	}
	return sums
}

// panel draws two plots side by side, or says why there is nothing to draw.
func (p *runPlots) panel(title, empty string, halves ...half) Figure {
	fig := Figure{Title: title, Empty: empty, Pairs: true}
	for _, h := range halves {
		if len(h.lines) > 0 {
			fig.Empty = ""
		}
	}
	if fig.Empty != "" {
		return fig
	}
	var known []string
	for i := range halves {
		h := &halves[i]
		left := max(0, len(h.lines)-Colours)
		h.lines = h.lines[:len(h.lines)-left]
		for _, l := range h.lines {
			if !slices.Contains(known, l.name) {
				known = append(known, l.name)
			}
		}
		if left > 0 {
			fig.Notes = append(fig.Notes, fmt.Sprintf("%d more lines left out; samples.json has them.", left))
		}
	}
	for i, name := range known {
		fig.Legend = append(fig.Legend, LegendEntry{lineMark(i), fmt.Sprintf("job-%d", i%Colours), name})
	}
	fig.Legend = append(fig.Legend, p.faultLegend()...)
	s := sizes[len(sizes)-1]
	for _, h := range halves {
		drawn := p.half(h, known, s)
		fig.Panels = append(fig.Panels, panelView{h.title, render(drawn, s, leftOf(drawn, s), title+": "+h.title+h.words())})
	}
	return fig
}

func lineMark(i int) string {
	if i == 0 {
		return "line"
	}
	return "dash"
}

// words say what a plot shows to those who do not see it.
func (h *half) words() string {
	var said []string
	for _, l := range h.lines {
		most := 0.0
		for _, x := range l.values {
			if x > most {
				most = x
			}
		}
		said = append(said, fmt.Sprintf("%s up to %.3g", l.name, most))
	}
	if len(said) == 0 {
		return ", nothing"
	}
	return ", " + strings.Join(said, ", ")
}

func (p *runPlots) half(h half, known []string, s size) *plot.Plot {
	out := p.start(h.unit, s)
	most, every, end := 0.0, p.res.Samples.Interval.Seconds(), p.end
	for _, l := range h.lines {
		i := slices.Index(known, l.name)
		end = max(end, float64(len(l.values)-1)*every)
		for _, run := range unbroken(l.values, every) {
			line := &plotter.Line{XYs: run, StepStyle: plotter.PreStep}
			line.Color, line.Width, line.Dashes = jobColour(i%Colours), 2, jobDashes(i)
			out.Add(line)
			for _, point := range run {
				most = max(most, point.Y)
			}
		}
	}
	if most == 0 {
		most = 1
	}
	out.Y.Tick.Marker = unitTicks{plain, 4}
	p.finish(out, 0, most*1.1)
	out.X.Max = end
	return out
}

// unbroken are the points of a line: a value is that of the time since the scrape before. A line breaks where there is
// none.
func unbroken(values []float64, every float64) (runs []plotter.XYs) {
	var run plotter.XYs
	for i, x := range values {
		if math.IsNaN(x) {
			if len(run) > 0 {
				runs = append(runs, run)
			}
			run = nil
			continue
		}
		if len(run) == 0 && i > 0 {
			run = plotter.XYs{{X: float64(i-1) * every, Y: x}}
		}
		run = append(run, plotter.XY{X: float64(i) * every, Y: x})
	}
	if len(run) > 0 {
		runs = append(runs, run)
	}
	return runs
}
