package metrics

import (
	"context"
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
