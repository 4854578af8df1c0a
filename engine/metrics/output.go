package metrics

import "github.com/prometheus/client_golang/prometheus"

// Output are the collectors of the output policy (Scheduler internals, section 10).
type Output struct {
	Checked     *prometheus.CounterVec   // topic; checks and scans that the policy answered
	Quarantined *prometheus.CounterVec   // topic; jobs that it took to OUTPUT_QUARANTINED
	Skipped     *prometheus.CounterVec   // topic; checks and scans without an answer: the result passed
	Latency     *prometheus.HistogramVec // topic, phase (sync or async); of one of them, answered or not
}

func newOutput() (o Output, all []prometheus.Collector) {
	o = Output{
		Checked:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "output_policy_checked", Help: "Results that the output policy answered about, once for their metadata and once for their content."}, []string{"topic"}),
		Quarantined: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "output_policy_quarantined", Help: "Jobs that the output policy took to OUTPUT_QUARANTINED."}, []string{"topic"}),
		Skipped:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "output_policy_skipped", Help: "Results that passed as the output policy gave no answer."}, []string{"topic"}),
		Latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "output_check_latency", Help: "Seconds that the output policy took over one result, by the phase: sync or async.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}, []string{"topic", "phase"}),
	}
	return o, []prometheus.Collector{o.Checked, o.Quarantined, o.Skipped, o.Latency}
}
