package plots

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/samples"
)

func TestALineOfScrapesBreaksWhereThereIsNone(t *testing.T) {
	nan := math.NaN()
	assert.Equal(t, []plotter.XYs{{{X: 0, Y: 1}, {X: 15, Y: 2}}, {{X: 30, Y: 3}, {X: 45, Y: 3}}}, unbroken([]float64{1, 2, nan, 3, nan}, 15, 100))
	assert.Empty(t, unbroken([]float64{nan, nan}, 15, 100))
}

// The last scrape is after the end of the run. What it counts is drawn as it is, up to where the axis ends.
func TestALineOfScrapesEndsWithTheAxis(t *testing.T) {
	assert.Equal(t, []plotter.XYs{{{X: 0, Y: 0}, {X: 8.4, Y: 2}}}, unbroken([]float64{0, 2}, 15, 8.4))
	assert.Equal(t, []plotter.XYs{{{X: 0, Y: 0}, {X: 15, Y: 1}, {X: 20, Y: 3}}}, unbroken([]float64{0, 1, 3, 7}, 15, 20))
	assert.Equal(t, []plotter.XYs{{{X: 0, Y: 0}, {X: 15, Y: 1}}}, unbroken([]float64{0, 1, 3}, 15, 15))
}

// Each panel shows its own metrics, by its own labels, and says why there is nothing to draw where they count nothing.
func TestPanelsAreThoseOfTheDocuments(t *testing.T) {
	series := func(name, values string, labels ...string) samples.Series {
		s := samples.Series{Name: name, Labels: map[string]string{"instance": "scheduler-1"}}
		for i := 0; i < len(labels); i += 2 {
			s.Labels[labels[i]] = labels[i+1]
		}
		require.NoError(t, s.Values.UnmarshalText([]byte(values)))
		return s
	}
	legends := func(rec *samples.Recording) map[string][]string {
		said := map[string][]string{}
		for _, f := range Run(&plans.Plan{}, &scenarios.Result{Virtual: time.Minute, Samples: rec}, Traced{})[3:] {
			said[f.Title] = []string{f.Empty}
			for at := &f; at != nil; at = at.Under {
				for n, l := range at.Legend {
					said[f.Title] = append(said[f.Title], l.Text)
					assert.Equal(t, fmt.Sprintf("job-%d", n), l.Name, "no two lines of a plot are alike")
				}
			}
			assert.Equal(t, f.Empty == "", len(f.SVGs) > 0, f.Title)
		}
		return said
	}
	assert.Empty(t, legends(nil))
	assert.Equal(t, map[string][]string{
		"Retries by phase and reason":                                        {"No message was handed back."},
		"Retries that failed closed and errors of Redis, beside its latency": {"No state read failed, and no operation on Redis."},
		"Picks of stale workers, beside the ages of heartbeats":              {"No pick met a stale worker."},
		"Growth of the dead-letter queue, beside the rate of denied replays": {"No dead letter was written."},
	}, legends(&samples.Recording{Interval: samples.Interval, Scrapes: 3, Series: []samples.Series{series("dlq_entries_total", "0x2", "reason_code", "timeout")}}))
	assert.Equal(t, map[string][]string{
		"Retries by phase and reason":                                        {"", "publish dispatch_failed", "state_read"},
		"Retries that failed closed and errors of Redis, beside its latency": {"", "fail-closed retries", "failed on Redis: read", "latency of a read"},
		"Picks of stale workers, beside the ages of heartbeats":              {"", "picks of stale workers", "age: 50th percentile", "age: oldest"},
		"Growth of the dead-letter queue, beside the rate of denied replays": {"", "timeout", "denied"},
	}, legends(&samples.Recording{Interval: samples.Interval, Scrapes: 3, Series: []samples.Series{
		series("scheduler_retry_total", "_x1 1x1", "phase", "publish", "reason_code", "dispatch_failed", "topic", "a"),
		series("scheduler_retry_total", "_x1 1 2", "phase", "state_read", "reason_code", "", "topic", "b"),
		series("scheduler_state_read_fail_closed_total", "0 1x1", "topic", "a"),
		series("scheduler_redis_errors_total", "0 1x1", "operation", "read"),
		series("scheduler_redis_latency_sum", "0 1x1", "operation", "read"),
		series("scheduler_redis_latency_count", "0 2x1", "operation", "read"),
		series("scheduler_heartbeat_age", "1 2 3", "quantile", "0.5"),
		series("scheduler_heartbeat_age", "1 2 9", "quantile", "1"),
		series("scheduler_stale_worker_retry_total", "_x2 3", "topic", "a", "worker", "worker-1"),
		series("dlq_entries_total", "0 4x1", "reason_code", "timeout"),
		series("dlq_replays_total", "0 1x1", "outcome", "denied"),
		series("dlq_replays_total", "0 1x1", "outcome", "replayed"),
	}}))
}

// A panel tells of what its axis has room for, and not of what was counted later.
func TestAPanelEndsWithItsAxis(t *testing.T) {
	p := &runPlots{res: &scenarios.Result{Samples: &samples.Recording{Interval: 15 * time.Second}}, end: 20}
	panel := func(values ...float64) chart {
		return p.panel("Retries", "Nothing was retried.", panelPlot{"retries", false, linesOf("retries", map[string][]float64{"": values})})
	}
	assert.Equal(t, "Retries; retries up to 3", panel(0, 2, 3, 9).label, "the axis ends before the third scrape, which counts what came before")
	assert.Equal(t, "Nothing was retried before these plots end.", panel(0, 0, 0, 9).Empty)
	assert.Equal(t, "Nothing was retried.", panel(0, 0, 0, 0).Empty)
}
