package metrics_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/metrics"
)

func TestNamesAndLabels(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := metrics.New(reg)
	require.NoError(t, err)
	for _, c := range []*prometheus.CounterVec{
		m.JobsReceived, m.JobsDispatched, m.Rollbacks, m.RollbacksFailed, m.StateReadsFailClosed, m.RunningWritesFailed, m.DLQWritesFailed,
	} {
		c.WithLabelValues("job.default").Inc()
	}
	m.JobsCompleted.WithLabelValues("job.default", "SUCCEEDED").Inc()
	m.StaleWorkerRetries.WithLabelValues("job.default", "worker-1").Inc()
	m.Retries.WithLabelValues("job.default", "publish", "dispatch_failed").Inc()
	m.DispatchLatency.WithLabelValues("job.default").Observe(1)

	families, err := reg.Gather()
	require.NoError(t, err)
	got := map[string]string{}
	for _, f := range families {
		labels := ""
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels += l.GetName() + " "
		}
		got[f.GetName()] = f.GetType().String() + " " + labels
	}
	assert.Equal(t, map[string]string{
		"jobs_received":                            "COUNTER topic ",
		"jobs_dispatched":                          "COUNTER topic ",
		"jobs_completed":                           "COUNTER status topic ",
		"dispatch_latency":                         "HISTOGRAM topic ",
		"job_lock_wait":                            "HISTOGRAM ",
		"dlq_growth_alert":                         "GAUGE ",
		"active_goroutines":                        "GAUGE ",
		"scheduler_dispatch_rollback_total":        "COUNTER topic ",
		"scheduler_dispatch_rollback_failed_total": "COUNTER topic ",
		"scheduler_state_read_fail_closed_total":   "COUNTER topic ",
		"scheduler_stale_worker_retry_total":       "COUNTER topic worker ",
		"scheduler_retry_total":                    "COUNTER phase reason_code topic ",
		"scheduler_running_write_failed_total":     "COUNTER topic ",
		"scheduler_dlq_write_failed_total":         "COUNTER topic ",
		"scheduler_lock_renewal_abandoned_total":   "COUNTER ",
		"saga_recorded":                            "COUNTER ",
		"saga_rollback_triggered":                  "COUNTER ",
		"saga_compensation_dispatched":             "COUNTER ",
		"saga_compensation_failed":                 "COUNTER ",
		"saga_rollback_duration":                   "HISTOGRAM ",
		"saga_active":                              "GAUGE ",
		"saga_unmarshal_error":                     "COUNTER ",
	}, got)
}

func TestExpectedCountersBeginAt0(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := metrics.New(reg)
	require.NoError(t, err)
	m.Expect([]string{"job.default", "job.gpu"}, []string{"timeout", "denied"}, []string{"replayed"})
	families, err := reg.Gather()
	require.NoError(t, err)
	series := map[string]int{}
	for _, f := range families {
		for _, s := range f.GetMetric() {
			assert.Zero(t, s.GetCounter().GetValue())
		}
		series[f.GetName()] = len(f.GetMetric())
	}
	for name, n := range map[string]int{
		"jobs_received": 2, "jobs_dispatched": 2, "jobs_completed": 12, "orphan_replayed": 2, "safety_denied": 2,
		"scheduler_dispatch_rollback_total": 2, "scheduler_dispatch_rollback_failed_total": 2, "scheduler_state_read_fail_closed_total": 2,
		"scheduler_state_reads_total": 4, "dlq_entries_total": 2, "dlq_replay_denied_total": 2, "dlq_replays_total": 1, "scheduler_redis_errors_total": 3,
	} {
		assert.Equal(t, n, series[name], name)
	}
}

func TestDLQDepthIsWhatAScrapeReads(t *testing.T) {
	depth, failure := int64(0), error(nil)
	reg := prometheus.NewRegistry()
	reg.MustRegister(metrics.DLQDepth(func(context.Context) (int64, error) { return depth, failure }))
	for _, depth = range []int64{0, 7, 3} {
		families, err := reg.Gather()
		require.NoError(t, err)
		require.Len(t, families, 1)
		assert.Equal(t, "dlq_depth", families[0].GetName())
		assert.InDelta(t, depth, families[0].GetMetric()[0].GetGauge().GetValue(), 0)
	}
	failure = errors.New("no Redis")
	families, err := reg.Gather()
	require.NoError(t, err)
	assert.Empty(t, families, "what is not known is not 0")
}

func TestHeartbeatAgesAreThoseOfTheNearestWorker(t *testing.T) {
	var ages []time.Duration
	reg := prometheus.NewRegistry()
	reg.MustRegister(metrics.HeartbeatAges(func() []time.Duration { return ages }))
	families, err := reg.Gather()
	require.NoError(t, err)
	assert.Empty(t, families, "it knows no worker")
	for n, want := range map[int]map[string]float64{
		1: {"0.5": 1, "0.9": 1, "1": 1}, 2: {"0.5": 1, "0.9": 2, "1": 2}, 10: {"0.5": 5, "0.9": 9, "1": 10},
	} {
		ages = nil
		for i := range n {
			ages = append(ages, time.Duration(i+1)*time.Second)
		}
		families, err := reg.Gather()
		require.NoError(t, err)
		got := map[string]float64{}
		for _, m := range families[0].GetMetric() {
			got[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
		}
		assert.Equal(t, want, got)
	}
}

func TestSecondRegistrationFailsAndLeavesTheFirst(t *testing.T) {
	reg := prometheus.NewRegistry()
	_, err := metrics.New(reg)
	require.NoError(t, err)
	_, err = metrics.New(reg)
	assert.ErrorContains(t, err, "a registerer of its own")
	_, err = metrics.New(prometheus.WrapRegistererWith(prometheus.Labels{"replica": "2"}, prometheus.NewRegistry()))
	assert.NoError(t, err)
}

func TestWithoutRegisterer(t *testing.T) {
	m, err := metrics.New(nil)
	require.NoError(t, err)
	m.RenewalsAbandoned.Inc()
}
