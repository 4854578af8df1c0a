package metrics

import "github.com/prometheus/client_golang/prometheus"

// Saga are the collectors of sagas (Scheduler internals, section 10).
type Saga struct {
	Recorded   prometheus.Counter   // compensations recorded
	Triggered  prometheus.Counter   // rollbacks begun: those that got their lock
	Dispatched prometheus.Counter   // compensations submitted, as the stream confirmed
	Failed     prometheus.Counter   // compensations whose submission failed
	Duration   prometheus.Histogram // seconds that a rollback took
	Active     prometheus.Gauge     // rollbacks under way
	Unreadable prometheus.Counter   // entries of a stack that could not be read
}

func newSaga() (Saga, []prometheus.Collector) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	s := Saga{
		Recorded:   counter("saga_recorded", "Compensations recorded for jobs that succeeded."),
		Triggered:  counter("saga_rollback_triggered", "Rollbacks that got their saga's lock."),
		Dispatched: counter("saga_compensation_dispatched", "Compensations submitted, as the stream confirmed."),
		Failed:     counter("saga_compensation_failed", "Compensations whose submission failed."),
		Unreadable: counter("saga_unmarshal_error", "Entries of a saga's stack that could not be read."),
		Active:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "saga_active", Help: "Rollbacks under way."}),
		Duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "saga_rollback_duration", Help: "Seconds that a rollback took.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 14),
		}),
	}
	return s, []prometheus.Collector{s.Recorded, s.Triggered, s.Dispatched, s.Failed, s.Duration, s.Active, s.Unreadable}
}
