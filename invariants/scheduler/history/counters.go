package history

// Counters and gauges of the scheduler (Scheduler internals, section 10, and additions of the seeds).
const (
	CounterReceived          = "jobs_received"
	CounterOrphans           = "orphan_replayed"
	CounterDispatched        = "jobs_dispatched"
	CounterDuplicates        = "scheduler_duplicate_publishes_total"
	CounterCompleted         = "jobs_completed"
	CounterRollbacks         = "scheduler_dispatch_rollback_total"
	CounterRollbacksFailed   = "scheduler_dispatch_rollback_failed_total"
	CounterRunningsFailed    = "scheduler_running_write_failed_total"
	CounterLetterWriteFailed = "scheduler_dlq_write_failed_total"
	CounterOutboxVoided      = "scheduler_outbox_voided_total"
	CounterVoids             = "scheduler_intents_voided_total"
	CounterFenced            = "scheduler_fenced_writes_total"
	CounterResumed           = "scheduler_intents_resumed_total"
	CounterReads             = "scheduler_state_reads_total" // of a job for its request
	CounterFailClosed        = "scheduler_state_read_fail_closed_total"
	CounterCached            = "scheduler_state_read_cached_total"
	CounterRedisErrors       = "scheduler_redis_errors_total"
	CounterRenewalsAbandoned = "scheduler_lock_renewal_abandoned_total"
	CounterOutboxRetries     = "scheduler_outbox_retry_total"
	CounterGivenUp           = "scheduler_messages_given_up_total"
	CounterRetries           = "scheduler_retry_total"              // messages that went back for a later retry
	CounterStalePicks        = "scheduler_stale_worker_retry_total" // picks that met a worker past its TTL
	CounterStaleResults      = "scheduler_stale_results_total"
	CounterDenied            = "safety_denied"
	CounterUnavailable       = "safety_unavailable"
	CounterFailOpen          = "cordum_scheduler_input_fail_open_total"
	CounterApprovalsRequired = "scheduler_approvals_required_total"
	CounterApprovalsGranted  = "scheduler_approvals_granted_total"
	CounterApprovalsRefused  = "scheduler_approvals_refused_total"
	CounterChecked           = "output_policy_checked"
	CounterSkipped           = "output_policy_skipped"
	CounterQuarantined       = "output_policy_quarantined"
	CounterLetters           = "dlq_entries_total"
	CounterReplays           = "dlq_replays_total"
	CounterReplaysDenied     = "dlq_replay_denied_total"
	CounterRecorded          = "saga_recorded"
	CounterRolledBack        = "saga_rollback_triggered"
	CounterCompensated       = "saga_compensation_dispatched"
	CounterUncompensated     = "saga_compensation_failed"
	CounterUnreadable        = "saga_unmarshal_error"

	GaugeHandling    = "active_goroutines"
	GaugeRollingBack = "saga_active"
)
