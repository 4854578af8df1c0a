package metrics

import "github.com/prometheus/client_golang/prometheus"

// Replay are the collectors of dead-letter triage and replay (seed 004, next step 3: growth and denial
// rate, and not the depth alone).
type Replay struct {
	Entries *prometheus.CounterVec // reason_code; entries that were written
	Replays *prometheus.CounterVec // outcome; entries that came to a replay_status
	Denied  *prometheus.CounterVec // reason_code; replays that were denied
	Depth   prometheus.Gauge       // entries in dlq:index, at this replica's last tick
	Alert   prometheus.Gauge       // 1 for as long as the queue grows too fast
}

func newReplay() Replay {
	vec := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	return Replay{
		Entries: vec("dlq_entries_total", "Entries written to the dead-letter queue.", "reason_code"),
		Replays: vec("dlq_replays_total", "Dead letters that came to a replay status, by it.", "outcome"),
		Denied:  vec("dlq_replay_denied_total", "Replays of dead letters that were denied.", "reason_code"),
		Depth:   gauge("dlq_depth", "Entries in the dead-letter queue, at this replica's last tick."),
		Alert:   gauge("dlq_growth_alert", "1 for as long as more entries came within replay.growth_window than replay.growth_alert."),
	}
}

func (r *Replay) collectors() []prometheus.Collector {
	return []prometheus.Collector{r.Entries, r.Replays, r.Denied, r.Depth, r.Alert}
}
