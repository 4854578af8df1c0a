package metrics

import (
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// UnknownTopic is the topic label of what happens to a job before its topic is known: a result
// does not carry it, the record does.
const UnknownTopic = "unknown"

// What the cached state decides when a job's state cannot be read.
const (
	DecisionSkip    = "skip"    // in flight or over: the request is a no-op
	DecisionProceed = "proceed" // not dispatched yet, as far as the replica knows
)

// Metrics are the collectors of one scheduler.
type Metrics struct {
	JobsReceived    *prometheus.CounterVec   // topic; handled requests, redeliveries and what the replayer takes up included
	JobsDispatched  *prometheus.CounterVec   // topic; publishes that the stream confirmed, and stored
	JobsCompleted   *prometheus.CounterVec   // topic, status; writes of a terminal state
	StaleJobs       *prometheus.GaugeVec     // state; jobs that the last tick found past their timeout or deadline, if it was this replica's
	OrphansReplayed *prometheus.CounterVec   // topic; jobs that the replayer took up, as nobody was at them, and scheduled (Scheduler internals, section 3)
	DispatchLatency *prometheus.HistogramVec // topic; from the start of a handling, or from the DISPATCHED that it resumes, to the confirmed publish
	JobLockWait     prometheus.Histogram     // of one attempt to take a job's lock
	Active          prometheus.Gauge         // active_goroutines: those that handle a message; Scheduler internals gives the name alone

	Rollbacks            *prometheus.CounterVec // topic; publishes that failed and called for a rollback (Dispatch ordering)
	RollbacksFailed      *prometheus.CounterVec // topic; rollbacks that could not be written (Dispatch ordering, next step 1)
	StateReadsFailClosed *prometheus.CounterVec // topic; handlings put off because the state was unknown (State-read errors, next step 1)
	StateReadsCached     *prometheus.CounterVec // topic, decision; failed reads of which the cache decided: DecisionSkip or DecisionProceed (State-read errors)
	StaleWorkerRetries   *prometheus.CounterVec // topic, worker; picks of a worker past its TTL (Stale workers, next step 3)
	Retries              *prometheus.CounterVec // topic, phase; retry events (Dispatch ordering, next step 2)
	OutboxRetries        *prometheus.CounterVec // phase; outbox entries that a relay left for later (Dispatch ordering)
	OutboxVoided         *prometheus.CounterVec // topic; outbox entries that were not published, as their jobs had moved on (Dispatch ordering)
	DuplicatePublishes   *prometheus.CounterVec // topic; dispatches that the stream confirmed and did not store, as it remembers their message id
	FencedWrites         *prometheus.CounterVec // topic, phase; state writes that the fence stopped
	IntentsResumed       *prometheus.CounterVec // topic; dispatches of an earlier handling that a later one saw published
	IntentsVoided        *prometheus.CounterVec // topic; dispatches whose place in the stream was taken, as their jobs ended before
	StaleResults         *prometheus.CounterVec // topic; results of an older epoch than the record's, which were ignored
	RunningWritesFailed  *prometheus.CounterVec // topic; dispatched jobs whose RUNNING could not be written
	DLQWritesFailed      *prometheus.CounterVec // topic; failed jobs whose DLQ entry could not be written (Dead letters)
	MessagesGivenUp      *prometheus.CounterVec // consumer; messages whose last delivery failed (Scheduler internals, section 9: MaxDeliver)
	RenewalsAbandoned    prometheus.Counter     // locks left to expire under their holder (Scheduler internals, section 8)

	Policy
	Approvals
	Output Output
	Saga   Saga

	Replay Replay // dead-letter triage and replay

	byTopic []*prometheus.CounterVec // those whose one label is the topic
}

// New registers the collectors with reg, which may be nil: they then count unseen.
func New(reg prometheus.Registerer) (*Metrics, error) {
	var all []prometheus.Collector
	var byTopic []*prometheus.CounterVec
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		all = append(all, c)
		if slices.Equal(labels, []string{"topic"}) {
			byTopic = append(byTopic, c)
		}
		return c
	}
	m := &Metrics{
		JobsReceived:   counters("jobs_received", "Job requests handled, redeliveries and what the replayer takes up included.", "topic"),
		JobsDispatched: counters("jobs_dispatched", "Dispatches that the stream confirmed.", "topic"),
		JobsCompleted:  counters("jobs_completed", "Jobs that reached a terminal state.", "topic", "status"),
		StaleJobs: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "stale_jobs", Help: "Jobs past their timeout or deadline at this replica's last tick; 0 if another replica ticked.",
		}, []string{"state"}),
		OrphansReplayed: counters("orphan_replayed", "Jobs that the replayer took up, as nobody was at them, and scheduled.", "topic"),
		DispatchLatency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "dispatch_latency", Help: "Seconds from the start of a handling, or from the DISPATCHED that it resumes, to the confirmed dispatch.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}, []string{"topic"}),
		JobLockWait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "job_lock_wait", Help: "Seconds that one attempt to take a job's lock took.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 13),
		}),
		Active: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "active_goroutines", Help: "Goroutines that handle a message, one for each; go_goroutines counts all.",
		}),
		Rollbacks:            counters("scheduler_dispatch_rollback_total", "Failed publishes that called for a rollback to SCHEDULED.", "topic"),
		RollbacksFailed:      counters("scheduler_dispatch_rollback_failed_total", "Rollbacks that failed: the job may stay DISPATCHED to nobody.", "topic"),
		StateReadsFailClosed: counters("scheduler_state_read_fail_closed_total", "Handlings put off because the job's state could not be read.", "topic"),
		StateReadsCached:     counters("scheduler_state_read_cached_total", "Failed reads of a job's state after which the cached state decided, by the decision.", "topic", "decision"),
		StaleWorkerRetries:   counters("scheduler_stale_worker_retry_total", "Picks of a worker past its TTL.", "topic", "worker"),
		Retries:              counters("scheduler_retry_total", "Messages sent back for a later retry, by the phase that failed and the reason.", "topic", "phase", "reason_code"),
		OutboxRetries:        counters("scheduler_outbox_retry_total", "Outbox entries left for a later poll, by the phase that failed.", "phase"),
		OutboxVoided:         counters("scheduler_outbox_voided_total", "Outbox entries that were not published, as their jobs had moved on.", "topic"),
		DuplicatePublishes:   counters("scheduler_duplicate_publishes_total", "Dispatches that the stream confirmed and did not store, as it remembers their message id.", "topic"),
		FencedWrites:         counters("scheduler_fenced_writes_total", "State writes that were not made, as the record or the lock was no longer what their writer knew.", "topic", "phase"),
		IntentsResumed:       counters("scheduler_intents_resumed_total", "Dispatches of an earlier handling that a later one published, or found published.", "topic"),
		IntentsVoided:        counters("scheduler_intents_voided_total", "Dispatches that can no longer be published, as their jobs ended before.", "topic"),
		StaleResults:         counters("scheduler_stale_results_total", "Results of an older epoch, which were ignored.", "topic"),
		RunningWritesFailed:  counters("scheduler_running_write_failed_total", "Dispatched jobs whose RUNNING state could not be written.", "topic"),
		DLQWritesFailed:      counters("scheduler_dlq_write_failed_total", "Failed jobs whose DLQ entry could not be written.", "topic"),
		MessagesGivenUp:      counters("scheduler_messages_given_up_total", "Messages whose last delivery failed, so that none follows.", "consumer"),
		RenewalsAbandoned: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scheduler_lock_renewal_abandoned_total", Help: "Job locks whose renewal was given up.",
		}),
	}
	m.Policy = newPolicy(counters)
	m.Approvals = newApprovals(counters)
	var saga []prometheus.Collector
	m.Saga, saga = newSaga()
	all = append(all, saga...)
	var output []prometheus.Collector
	m.Output, output = newOutput()
	all = append(all, output...)
	m.Replay = newReplay()
	m.byTopic = byTopic
	if reg == nil {
		return m, nil
	}
	all = append(append(all, m.SafetyCircuitState), m.Replay.collectors()...)
	all = append(all, m.StaleJobs, m.DispatchLatency, m.JobLockWait, m.Active, m.RenewalsAbandoned)
	if err := register(reg, all); err != nil {
		return nil, err
	}
	return m, nil
}

// register registers all of them, or none.
func register(reg prometheus.Registerer, all []prometheus.Collector) error {
	for i, c := range all {
		if err := reg.Register(c); err != nil {
			for _, done := range all[:i] {
				reg.Unregister(done)
			}
			return fmt.Errorf("metrics: %w; give each engine of a process a registerer of its own, as from prometheus.WrapRegistererWith", err)
		}
	}
	return nil
}

// Expect lets the counters of the topics begin at 0, and not with their first event, which a rate would miss: those
// of which nothing but the topic, and how a job ended, must be known.
func (m *Metrics) Expect(topics []string) {
	for _, topic := range topics {
		for _, c := range m.byTopic {
			c.WithLabelValues(topic)
		}
		for _, s := range job.States {
			if s.Terminal() {
				m.JobsCompleted.WithLabelValues(topic, string(s))
			}
		}
	}
}
