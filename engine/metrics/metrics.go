package metrics

import (
	"fmt"
	"reflect"

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

// The outcomes of StateReads.
const (
	ReadDone         = "done" // a job without a record included
	ReadFailedClosed = "fail_closed"
)

// Why an approval does not count.
const (
	RefusedChanged = "changed" // the request is not the one that was approved
	RefusedExpired = "expired" // it is older than policy.approval_ttl
)

// The circuits.
const (
	CircuitSafety = "safety"
	CircuitOutput = "output"
)

// The operations of RedisErrors and RedisLatency.
const (
	OperationLock  = "lock"
	OperationRead  = "read"
	OperationWrite = "write"
)

// What safety_circuit_state says of a circuit.
const (
	CircuitClosed   = 0
	CircuitHalfOpen = 1
	CircuitOpen     = 2
)

// Metrics are the collectors of one scheduler. The tags of a field are the metric's name, its labels, what a scrape
// says of it, and of a histogram the bound of the first bucket, which the others double, and how many there are.
type Metrics struct {
	JobsReceived    *prometheus.CounterVec   `name:"jobs_received" labels:"topic" help:"Job requests handled, redeliveries and what the replayer takes up included."`
	JobsDispatched  *prometheus.CounterVec   `name:"jobs_dispatched" labels:"topic" help:"Dispatches that the stream confirmed."`
	JobsCompleted   *prometheus.CounterVec   `name:"jobs_completed" labels:"topic,status" help:"Jobs that reached a terminal state, as Redis confirmed."`
	StaleJobs       *prometheus.GaugeVec     `name:"stale_jobs" labels:"state" help:"Jobs past their timeout or deadline at this replica's last tick; 0 if another replica ticked."`
	OrphansReplayed *prometheus.CounterVec   `name:"orphan_replayed" labels:"topic" help:"Jobs that the replayer took up, as nobody was at them, and scheduled."`
	DispatchLatency *prometheus.HistogramVec `name:"dispatch_latency" labels:"topic" help:"Seconds from the start of a handling, or from the DISPATCHED that it resumes, to the confirmed dispatch." first:"0.001" buckets:"14"`
	JobLockWait     prometheus.Histogram     `name:"job_lock_wait" help:"Seconds that one attempt to take a job's lock took." first:"0.0005" buckets:"13"`
	Active          prometheus.Gauge         `name:"active_goroutines" help:"Goroutines that handle a message, one for each; go_goroutines counts all."`

	Rollbacks            *prometheus.CounterVec `name:"scheduler_dispatch_rollback_total" labels:"topic" help:"Failed publishes that called for a rollback to SCHEDULED."`
	RollbacksFailed      *prometheus.CounterVec `name:"scheduler_dispatch_rollback_failed_total" labels:"topic" help:"Rollbacks that failed: the job may stay DISPATCHED to nobody."`
	StateReadsFailClosed *prometheus.CounterVec `name:"scheduler_state_read_fail_closed_total" labels:"topic" help:"Handlings put off because the job's state could not be read."`
	StateReads           *prometheus.CounterVec `name:"scheduler_state_reads_total" labels:"topic,outcome" help:"Reads of a job's state for its request, by the outcome: done, or fail_closed if the request was put off. What the cached state decided, or failed open, is not among them."`
	StateReadsCached     *prometheus.CounterVec `name:"scheduler_state_read_cached_total" labels:"topic,decision" help:"Failed reads of a job's state after which the cached state decided, by the decision."`
	StaleWorkerRetries   *prometheus.CounterVec `name:"scheduler_stale_worker_retry_total" labels:"topic,worker" help:"Picks of a worker past its TTL."`
	Retries              *prometheus.CounterVec `name:"scheduler_retry_total" labels:"topic,phase,reason_code" help:"Messages sent back for a later retry, by the phase that failed and the reason."`
	OutboxRetries        *prometheus.CounterVec `name:"scheduler_outbox_retry_total" labels:"phase" help:"Outbox entries left for a later poll, by the phase that failed."`
	OutboxVoided         *prometheus.CounterVec `name:"scheduler_outbox_voided_total" labels:"topic" help:"Outbox entries that were not published, as their jobs had moved on."`
	DuplicatePublishes   *prometheus.CounterVec `name:"scheduler_duplicate_publishes_total" labels:"topic" help:"Dispatches that the stream confirmed and did not store, as it remembers their message id."`
	FencedWrites         *prometheus.CounterVec `name:"scheduler_fenced_writes_total" labels:"topic,phase" help:"State writes that were not made, as the record or the lock was no longer what their writer knew."`
	IntentsResumed       *prometheus.CounterVec `name:"scheduler_intents_resumed_total" labels:"topic" help:"Dispatches of an earlier handling that a later one published, or found published."`
	IntentsVoided        *prometheus.CounterVec `name:"scheduler_intents_voided_total" labels:"topic" help:"Dispatches that can no longer be published, as their jobs ended before."`
	StaleResults         *prometheus.CounterVec `name:"scheduler_stale_results_total" labels:"topic" help:"Results of an older epoch, which were ignored."`
	RunningWritesFailed  *prometheus.CounterVec `name:"scheduler_running_write_failed_total" labels:"topic" help:"Dispatched jobs whose RUNNING state could not be written."`
	DLQWritesFailed      *prometheus.CounterVec `name:"scheduler_dlq_write_failed_total" labels:"topic" help:"Failed jobs whose DLQ entry could not be written."`
	MessagesGivenUp      *prometheus.CounterVec `name:"scheduler_messages_given_up_total" labels:"consumer" help:"Messages whose last delivery failed, so that none follows."`
	RenewalsAbandoned    prometheus.Counter     `name:"scheduler_lock_renewal_abandoned_total" help:"Job locks whose renewal was given up."`

	RedisErrors  *prometheus.CounterVec   `name:"scheduler_redis_errors_total" labels:"operation" help:"Operations on Redis that failed: state reads, state writes and takings of locks."`
	RedisLatency *prometheus.HistogramVec `name:"scheduler_redis_latency" labels:"operation" help:"Seconds that such an operation took, whatever came of it." first:"0.0005" buckets:"14"`

	Policy
	Approvals
	Output Output
	Saga   Saga
	Replay Replay

	byTopic []*prometheus.CounterVec // those whose one label is the topic
}

// Policy are the collectors of the input policy (Scheduler internals, sections 6 and 10).
type Policy struct {
	SafetyDenied      *prometheus.CounterVec `name:"safety_denied" labels:"topic" help:"Jobs that the safety kernel denied."`
	SafetyUnavailable *prometheus.CounterVec `name:"safety_unavailable" labels:"topic" help:"Questions to the safety kernel without an answer: it failed, or the circuit is open."`
	InputFailOpen     *prometheus.CounterVec `name:"cordum_scheduler_input_fail_open_total" labels:"topic" help:"Jobs that went on without a decision, as the safety kernel could not be reached."`
}

// Approvals are the collectors of approvals (Scheduler internals, section 1, approval flow).
type Approvals struct {
	ApprovalsRequired *prometheus.CounterVec `name:"scheduler_approvals_required_total" labels:"topic" help:"Jobs that were parked until somebody approves them."`
	ApprovalsGranted  *prometheus.CounterVec `name:"scheduler_approvals_granted_total" labels:"topic" help:"Jobs that went on as they had been approved."`
	ApprovalsRefused  *prometheus.CounterVec `name:"scheduler_approvals_refused_total" labels:"topic,reason" help:"Requests with an approval that does not count, by the reason."`
}

// Output are the collectors of the output policy (Scheduler internals, section 10).
type Output struct {
	Checked     *prometheus.CounterVec   `name:"output_policy_checked" labels:"topic" help:"Results that the output policy answered about, once for their metadata and once for their content."`
	Quarantined *prometheus.CounterVec   `name:"output_policy_quarantined" labels:"topic" help:"Jobs that the output policy took to OUTPUT_QUARANTINED."`
	Skipped     *prometheus.CounterVec   `name:"output_policy_skipped" labels:"topic" help:"Results that passed as the output policy gave no answer."`
	Latency     *prometheus.HistogramVec `name:"output_check_latency" labels:"topic,phase" help:"Seconds that the output policy took over one result, by the phase: sync or async." first:"0.001" buckets:"16"`
}

// Saga are the collectors of sagas (Scheduler internals, section 10).
type Saga struct {
	Recorded   prometheus.Counter   `name:"saga_recorded" help:"Compensations recorded for jobs that succeeded."`
	Triggered  prometheus.Counter   `name:"saga_rollback_triggered" help:"Rollbacks that got their saga's lock."`
	Dispatched prometheus.Counter   `name:"saga_compensation_dispatched" help:"Compensations submitted, as the stream confirmed."`
	Failed     prometheus.Counter   `name:"saga_compensation_failed" help:"Compensations whose submission failed."`
	Duration   prometheus.Histogram `name:"saga_rollback_duration" help:"Seconds that a rollback took." first:"0.005" buckets:"14"`
	Active     prometheus.Gauge     `name:"saga_active" help:"Rollbacks under way."`
	Unreadable prometheus.Counter   `name:"saga_unmarshal_error" help:"Entries of a saga's stack that could not be read."`
}

// Replay are the collectors of dead-letter triage and replay (Dead letters, next step 3: growth and denial
// rate, and not the depth alone).
type Replay struct {
	Entries *prometheus.CounterVec `name:"dlq_entries_total" labels:"reason_code" help:"Entries written to the dead-letter queue, as Redis confirmed."`
	Replays *prometheus.CounterVec `name:"dlq_replays_total" labels:"outcome" help:"Dead letters that came to a replay status, by it."`
	Denied  *prometheus.CounterVec `name:"dlq_replay_denied_total" labels:"reason_code" help:"Replays of dead letters that were denied, by the policy or by a person."`
	Alert   prometheus.Gauge       `name:"dlq_growth_alert" help:"1 for as long as more entries came within replay.growth_window than replay.growth_alert."`
}

// New registers the collectors with reg, which may be nil: they then count unseen.
func New(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{}
	var all []prometheus.Collector
	all, m.byTopic = build(reflect.ValueOf(m).Elem())
	if reg == nil {
		return m, nil
	}
	for i, c := range all {
		if err := reg.Register(c); err != nil {
			for _, done := range all[:i] {
				reg.Unregister(done)
			}
			return nil, fmt.Errorf("metrics: %w; give each engine of a process a registerer of its own, as from prometheus.WrapRegistererWith", err)
		}
	}
	return m, nil
}

// Expect lets counters begin at 0, and not with their first event, which a rate would miss: those of which nothing
// but the topic, and how a job or a read ended, must be known, and those of dead letters.
func (m *Metrics) Expect(topics, reasonCodes, replayStatuses []string) {
	for _, code := range reasonCodes {
		m.Replay.Entries.WithLabelValues(code)
		m.Replay.Denied.WithLabelValues(code)
	}
	for _, status := range replayStatuses {
		m.Replay.Replays.WithLabelValues(status)
	}
	for _, operation := range []string{OperationLock, OperationRead, OperationWrite} {
		m.RedisErrors.WithLabelValues(operation)
	}
	for _, topic := range topics {
		for _, outcome := range []string{ReadDone, ReadFailedClosed} {
			m.StateReads.WithLabelValues(topic, outcome)
		}
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
