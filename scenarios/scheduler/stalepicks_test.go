package scheduler

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/sim"
)

// picker is one process that picks workers, by its metrics.
type picker struct {
	*stalePicks
	t       *testing.T
	process *picking
	metrics *metrics.Metrics
}

func (s *picker) start() {
	s.process = s.stalePicks.process("scheduler-1", prometheus.NewRegistry(), sim.Rand{})
	var err error
	s.metrics, err = metrics.New(s.process)
	require.NoError(s.t, err)
}

// stale has the process meet a stale worker at a step of the job; a step without a phase is a timer's.
func (s *picker) stale(at time.Duration, job string, p phase.Phase, picks int) {
	s.metrics.StaleWorkerRetries.WithLabelValues("job.default", "worker-1").Add(float64(picks))
	s.step(at, job, p)
}

func (s *picker) step(at time.Duration, job string, p phase.Phase) {
	e := &sim.Event{At: at, Node: "scheduler-1", Kind: sim.KindRedis, Job: job, Phase: string(p), Outcome: sim.OutcomeOK}
	if p == phase.Pick {
		e.Kind, e.Job, e.Phase = sim.KindTimer, "", ""
		s.process.drawing = job
	}
	s.observe(e)
}

func TestStalePicksAreReadFromTheMetric(t *testing.T) {
	s := &picker{stalePicks: newStalePicks(3), t: t}
	s.start()
	s.stale(1*time.Second, "job-1", phase.ScheduledWrite, 1)
	s.stale(2*time.Second, "job-2", phase.ScheduledWrite, 1)
	s.stale(3*time.Second, "job-1", phase.Pick, 1)
	s.step(4*time.Second, "", phase.Pick) // a timer of something else
	s.stale(5*time.Second, "", phase.Pick, 1)
	s.step(6*time.Second, "job-1", phase.LockRelease)
	s.stale(10*time.Second, "job-1", phase.ScheduledWrite, 1)
	s.step(10500*time.Millisecond, "job-1", phase.Publish)
	s.step(11*time.Second, "job-3", phase.Publish)
	assert.Equal(t, map[string]*StaleJob{"job-1": {4, 1, 4500 * time.Millisecond}, "job-2": {1, 0, 0}}, s.byJob, "only the first handling met three; held is to the last stale pick, or to the publish")
}

func TestACrashEndsAHandling(t *testing.T) {
	s := &picker{stalePicks: newStalePicks(3), t: t}
	s.start()
	s.stale(1*time.Second, "job-1", phase.ScheduledWrite, 1)
	s.stale(2*time.Second, "job-1", phase.Pick, 1)
	s.stale(2*time.Second, "job-2", phase.ScheduledWrite, 1)
	s.start() // whose redeliveries meet no stale worker, or meet one again
	s.step(60*time.Second, "job-1", phase.Publish)
	s.stale(60*time.Second, "job-2", phase.ScheduledWrite, 1)
	s.step(61*time.Second, "job-2", phase.Publish)
	assert.Equal(t, map[string]*StaleJob{"job-1": {2, 0, time.Second}, "job-2": {2, 0, time.Second}}, s.byJob, "the outage between is nobody's handling")
}
