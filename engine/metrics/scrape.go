package metrics

import (
	"context"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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

func (d *dlqDepth) Describe(descs chan<- *prometheus.Desc) { descs <- d.desc }

func (d *dlqDepth) Collect(series chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), depthWithin)
	defer cancel()
	if n, err := d.read(ctx); err == nil {
		series <- prometheus.MustNewConstMetric(d.desc, prometheus.GaugeValue, float64(n))
	}
}

// CircuitState is a collector of safety_circuit_state, which each scrape reads: the state changes with time, and not only
// with a call.
func CircuitState(name string, read func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "safety_circuit_state", ConstLabels: prometheus.Labels{"circuit": name},
		Help: "A circuit by what this replica saw of it last and the time since: 0 closed, 1 half-open, 2 open.",
	}, read)
}

// HeartbeatAges is a collector of the percentiles of the heartbeats' ages, to be put beside the picks of stale workers
// (Stale workers, next step 4). read returns the ages of the workers that the replica knows, the least first; without
// any there are no percentiles.
func HeartbeatAges(read func() []time.Duration) prometheus.Collector {
	return &heartbeatAges{read, prometheus.NewDesc("scheduler_heartbeat_age", "Seconds since the last heartbeat of the workers that this replica knows, by quantile; 1 is the oldest.", []string{"quantile"}, nil)}
}

type heartbeatAges struct {
	read func() []time.Duration
	desc *prometheus.Desc
}

func (h *heartbeatAges) Describe(descs chan<- *prometheus.Desc) { descs <- h.desc }

func (h *heartbeatAges) Collect(series chan<- prometheus.Metric) {
	ages := h.read()
	if len(ages) == 0 {
		return
	}
	for name, q := range map[string]float64{"0.5": 0.5, "0.9": 0.9, "1": 1} {
		nearest := max(0, int(math.Ceil(q*float64(len(ages))))-1)
		series <- prometheus.MustNewConstMetric(h.desc, prometheus.GaugeValue, ages[nearest].Seconds(), name)
	}
}
