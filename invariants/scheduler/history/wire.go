package history

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/sim"
)

// Names on the wire, from the documentation (Scheduler internals and Dead letters).
const (
	RecordPrefix    = "job:"
	IndexPrefix     = "job:index:"
	DeadlinesKey    = "job:deadlines"
	LockPrefix      = "cordum:scheduler:job:"
	OutboxKey       = "cordum:scheduler:outbox"
	ReconcilerKey   = "cordum:reconciler:default"
	ReplayerKey     = "cordum:replayer:pending"
	WriterKey       = "cordum:scheduler:snapshot:writer"
	PollerKey       = "cordum:wf:delay:poller"
	RunsKey         = "cordum:workflow-engine:reconciler:default"
	LettersKey      = "cordum:dlq:replayer"
	SnapshotKey     = "sys:workers:snapshot"
	ProcessedPrefix = "cordum:bus:processed:"
	InflightPrefix  = "cordum:bus:inflight:"
	DlqPrefix       = "dlq:entry:"
	DlqIndex        = "dlq:index"
	DlqDue          = "dlq:replay:due"
	StreamJobs      = "CORDUM_JOBS"
	StreamSys       = "CORDUM_SYS"
	SubjectSubmit   = "sys.job.submit"
	SubjectResult   = "sys.job.result"
	SubjectCancel   = "sys.job.cancel"
	ConsumerSubmit  = StreamSys + "/scheduler-submit"
	ConsumerResult  = StreamSys + "/scheduler-result"
	ConsumerCancel  = StreamSys + "/scheduler-cancel"
	SubjectBeat     = "sys.heartbeat"
	HeaderJob       = "Job-Id"
	HeaderEpoch     = "Job-Epoch"
	HeaderVoid      = "Job-Void"
	HeaderMessageID = "Nats-Msg-Id" // JetStream's
	ReasonStale     = "stale_worker"
	ReasonNoWorkers = "no_workers"
	ReasonBusy      = "pool_overloaded"
	ReasonTenant    = "tenant_limit"
	ReasonDispatch  = "dispatch_failed"
	ReasonCeiling   = "max_scheduling_retries"
	ReasonNoPool    = "no_pool_mapping"
	ReasonDenied    = "safety_denied"
	ReasonCancelled = "cancelled"
	ReasonTimeout   = "timeout"
	DlqAtomic       = "atomic"
	DlqThenState    = "dlq-then-state"
	KindEffect      = sim.Kind("effect")
	SchedulerNodes  = "scheduler-"
	WorkerNodes     = "worker-"
	KernelNode      = "kernel"
	CallHad         = "Had"      // asks the external system whether the effect of an idempotency key is done
	ApproverNode    = "approver" // approves jobs
	SubmitterNode   = "submitter"
	OperatorNode    = "operator" // decides on dead letters
	StrangerNode    = "stranger" // publishes unreadable messages
	FaultLate       = "late"
)

// EpochOf returns the epoch in a message's header; 0 if there is none.
func EpochOf(c *sim.Change) int64 {
	n, _ := strconv.ParseInt(c.Header[HeaderEpoch], 10, 64)
	return n
}

// ConsumerOf returns the consumer, as stream/durable, that delivers a subject's messages to the schedulers,
// or "".
func ConsumerOf(subject string) string {
	switch subject {
	case SubjectSubmit:
		return ConsumerSubmit
	case SubjectResult:
		return ConsumerResult
	case SubjectCancel:
		return ConsumerCancel
	}
	return ""
}

// Keys of workflows (Scheduler internals, section 8).
const (
	RunPrefix     = "cordum:wf:run:"
	RunLockPrefix = "cordum:wf:run:lock:"
	TimersKey     = "cordum:wf:delay:timers"
	LiveRunsKey   = "cordum:wf:runs"
)

// Names on the wire, from the documentation (Scheduler internals, section 4).
const (
	sagaPrefix      = "saga:"
	RollbacksKey    = "saga:rollbacks"
	stackSuffix     = ":stack"
	AuditKey        = "cordum:audit"
	CompensationIDs = "comp-"
	SagaLetters     = "saga-" // the prefix of the ID of a compensation's dead letter
	SagaDenied      = "saga_compensation_denied"
	SagaUnmarshal   = "saga_unmarshal_failed"
	SagaRefused     = "dispatch_failed"
	StatusFatal     = "FAILED_FATAL"
)

// The names of dead-letter replay on the wire (Dead letters).
const (
	CommittedPrefix  = "cordum:committed:"
	GrowthKey        = "cordum:dlq:growth"
	LabelReplayOf    = "replay_of"
	LabelReplayCount = "replay_count"
)

// Events of the audit trail about approvals.
const (
	AuditApprovalRequired = "approval_required"
	AuditApprovalGranted  = "approval_granted"
)

// Names on the wire of the output policy (Scheduler internals, section 2).
const (
	ScansKey          = "cordum:output:scans"
	CallOutput        = "CheckOutput"
	AuditQuarantined  = "output_quarantined"
	AuditUnscanned    = "output_unscanned"
	AuditRefused      = "dlq_refused"
	OutputAllow       = "ALLOW"
	OutputDeny        = "DENY"
	OutputSkipped     = "SKIPPED" // a recorded lack of an answer
	OutputRedact      = "REDACT"
	ReasonQuarantined = "output_quarantined"
	ReasonOutputDeny  = "output_denied"
)

// TenantPrefix and TenantSuffix enclose a tenant's name in the key of its jobs in flight.
const (
	TenantPrefix  = "cordum:tenant:"
	TenantSuffix  = ":active"
	TenantDefault = "default" // the tenant of a job that names none
)

// SagaOf is the name of the saga of a tenant's workflow: the tenant, then the workflow's ID. For the default
// tenant it is the ID alone, unless that contains a colon.
func SagaOf(tenant, workflow string) string {
	if tenant = cmp.Or(tenant, TenantDefault); tenant == TenantDefault && !strings.Contains(workflow, ":") {
		return workflow
	}
	return url.QueryEscape(tenant) + ":" + workflow
}

// StackKey is the key of a saga's compensations.
func StackKey(saga string) string { return sagaPrefix + saga + stackSuffix }
