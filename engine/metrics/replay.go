package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Replay are the collectors of dead-letter triage and replay (Dead letters, next step 3: growth and denial
// rate, and not the depth alone).
type Replay struct {
	Entries *prometheus.CounterVec // reason_code; entries that were written
	Replays *prometheus.CounterVec // outcome; entries that came to a replay_status
	Denied  *prometheus.CounterVec // reason_code; replays that were denied
	Alert   prometheus.Gauge       // 1 for as long as the queue grows too fast
}

func newReplay() Replay {
	vec := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	return Replay{
		Entries: vec("dlq_entries_total", "Entries written to the dead-letter queue.", "reason_code"),
		Replays: vec("dlq_replays_total", "Dead letters that came to a replay status, by it.", "outcome"),
		Denied:  vec("dlq_replay_denied_total", "Replays of dead letters that were denied.", "reason_code"),
		Alert: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "dlq_growth_alert", Help: "1 for as long as more entries came within replay.growth_window than replay.growth_alert.",
		}),
	}
}

func (r *Replay) collectors() []prometheus.Collector {
	return []prometheus.Collector{r.Entries, r.Replays, r.Denied, r.Alert}
}

// depthWithin bounds the question for the depth of the queue, which a scrape waits for.
const depthWithin = time.Second

// DLQDepth is a collector of dlq_depth. No one replica keeps count of the queue, so that each scrape reads how many
// entries it has; while that cannot be read, there is no dlq_depth.
func DLQDepth(read func(ctx context.Context) (int64, error)) prometheus.Collector {
	return &dlqDepth{read, prometheus.NewDesc("dlq_depth", "Entries in the dead-letter queue.", nil, nil)}
}

type dlqDepth struct {
	read func(ctx context.Context) (int64, error)
	desc *prometheus.Desc
}

// Describe is of prometheus.Collector.
func (d *dlqDepth) Describe(descs chan<- *prometheus.Desc) { descs <- d.desc }

// Collect is of prometheus.Collector.
func (d *dlqDepth) Collect(series chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), depthWithin)
	defer cancel()
	if n, err := d.read(ctx); err == nil {
		series <- prometheus.MustNewConstMetric(d.desc, prometheus.GaugeValue, float64(n))
	}
}
