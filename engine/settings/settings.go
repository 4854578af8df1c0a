package settings

import (
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// DispatchOrder says which of the two systems a dispatch touches first (Dispatch ordering).
type DispatchOrder string

// The dispatch orders of Dispatch ordering.
const (
	StateFirst   DispatchOrder = "state-first"   // DISPATCHED, then publish, with rollback (documented)
	PublishFirst DispatchOrder = "publish-first" // publish, then DISPATCHED: duplicates under redelivery

	// Outbox writes DISPATCHED and the message into Redis in one MULTI; relays publish it, at least
	// once. Let the outbox run empty before another order takes its place.
	Outbox DispatchOrder = "outbox"
)

// PublishDedup says what keeps the stream from storing a dispatch without an epoch twice. With epochs the
// publish is a compare-and-set, for which there is no window.
type PublishDedup string

// What keeps the stream from storing a dispatch twice.
const (
	NoDedup PublishDedup = "none" // nothing (documented)

	// MessageID names the job as the message's id, which the stream remembers for its duplicate window: two
	// minutes, unless its operator says otherwise. Within it no other dispatch of the job is stored, to
	// whichever worker, and the publish is confirmed all the same.
	MessageID PublishDedup = "message-id"
)

// ReadError says what a handling does when the job's state cannot be read (State-read errors).
type ReadError string

// The state-read policies of State-read errors.
const (
	FailClosed ReadError = "fail-closed" // retry later, never dispatch (documented)
	FailOpen   ReadError = "fail-open"   // go on as if the job were new: duplicates

	// CachedState goes by what this replica last read or wrote of the job, if that is not too old, and
	// fails closed otherwise. Another replica may have moved the job since: duplicates.
	CachedState ReadError = "cached-state"
)

// StaleWorker says how a dispatch picks again when it met a worker past its TTL (Stale workers).
type StaleWorker string

// The stale-worker policies of Stale workers.
const (
	FixedRetries    StaleWorker = "fixed-retries"    // at once (documented)
	JitteredRetries StaleWorker = "jittered-retries" // each after a drawn wait, with the job's lock held
)

// DLQOrder says which comes first when a job fails: its FAILED state or its entry in the dead-letter
// queue (Dead letters).
type DLQOrder string

// The orders of Dead letters.
const (
	StateThenDLQ DLQOrder = "state-then-dlq" // FAILED, then the entry, then its place in the index (documented): a failure in between loses what comes after it
	DLQThenState DLQOrder = "dlq-then-state" // the entry, then FAILED: an entry may be of a job that goes on after all; for keys in different slots, which this engine does not take (see Config.Redis)
	AtomicDLQ    DLQOrder = "atomic"         // both in one MULTI
)

// TickLock says what becomes of the lock of a reconciler's or replayer's tick once the tick is over
// (Scheduler internals, section 8, lock-hold pattern).
type TickLock string

// What becomes of a tick's lock.
const (
	UntilExpiry TickLock = "until-expiry" // it is held until it expires, against its own holder too (documented): one tick every second poll, or every third if the lock outlives that by a hair
	Renewed     TickLock = "renewed"      // likewise, but its holder may tick again: one tick a poll; a replica that seems cut off leaves it to others, and rests for two polls
	Released    TickLock = "released"     // it is given back: another replica ticks within the same poll
)

// LockRelease says how a job's lock is given back (Scheduler internals, section 8).
type LockRelease string

// How a lock is given back.
const (
	OwnerChecked LockRelease = "owner-checked" // only if it is still ours (documented)
	Unchecked    LockRelease = "unchecked"     // by a plain DEL: whoever overstayed deletes its successor's
)

// TerminateOrder says what comes first when a message can never be handled: its DLQ entry or its end
// (Scheduler internals, section 9, DLQ-first termination).
type TerminateOrder string

// The orders of Scheduler internals.
const (
	DLQFirst  TerminateOrder = "dlq-first"  // the entry, then Term (documented)
	TermFirst TerminateOrder = "term-first" // Term, then the entry: a failure between the two loses the message
)

// TieBreak says which of several equally loaded workers a job goes to.
type TieBreak string

// How ties are broken.
const (
	ByWorkerID TieBreak = "worker-id" // the first by its id
	Drawn      TieBreak = "drawn"     // any, as from a walk over a map: the same input dispatches differently on each run
)

// TopicTimeouts are dispatch timeouts of single topics, as topic=duration joined by commas:
// "job.fast=20s,job.slow=10m" (Dispatch ordering, next step 3).
type TopicTimeouts string

// Settings are the scheduler's knobs. The names are the specification's own, in the spelling of YAML; the
// tags carry what `wavetank list settings` prints and what a plan is checked against.
// [Documented] and [Hardened] are complete sets; the zero value is not.
type Settings struct {
	DispatchOrder   DispatchOrder `yaml:"dispatch_order" json:"dispatch_order" oneof:"state-first,publish-first,outbox" doc:"what a dispatch writes first: the job's state, the message on the bus, or an entry of an outbox (Dispatch ordering)"`
	OutboxPoll      time.Duration `yaml:"outbox_poll" json:"outbox_poll" min:"10ms" max:"1h" doc:"with outbox, how often a relay looks for entries that are due, and how long the relay leaves a new entry to its writer (Dispatch ordering)"`
	PublishDedup    PublishDedup  `yaml:"publish_dedup" json:"publish_dedup" oneof:"none,message-id" doc:"without epochs, what keeps the stream from storing a dispatch twice: none: nothing does; message-id: the job's id as Nats-Msg-Id does, within the stream's duplicate window"`
	ReadError       ReadError     `yaml:"read_error" json:"read_error" oneof:"fail-closed,fail-open,cached-state" doc:"what to do when the job's state cannot be read (State-read errors)"`
	StateCacheAge   time.Duration `yaml:"state_cache_age" json:"state_cache_age" min:"1ms" max:"24h" doc:"with cached-state, how long a replica relies on what it last read or wrote of a job (State-read errors)"`
	StateCacheSize  int           `yaml:"state_cache_size" json:"state_cache_size" min:"1" max:"10000000" doc:"with cached-state, how many jobs a replica remembers (State-read errors)"`
	StaleWorker     StaleWorker   `yaml:"stale_worker" json:"stale_worker" oneof:"fixed-retries,jittered-retries" doc:"when a dispatch picks again after a stale worker: at once, or after a drawn wait (Stale workers)"`
	StaleReasonCode string        `yaml:"stale_reason_code" json:"stale_reason_code" oneof:"no_workers,stale_worker" doc:"the reason code if every pick met a stale worker (Stale workers)"`

	MaxDispatchRetries   int           `yaml:"max_dispatch_retries" json:"max_dispatch_retries" min:"1" max:"1000" doc:"how many picks one handling makes, if all meet stale workers, before it sends the job back (Stale workers)"`
	StaleRetryJitter     time.Duration `yaml:"stale_retry_jitter" json:"stale_retry_jitter" min:"1ms" max:"1m" doc:"with jittered-retries, the wait before each re-pick, drawn from [0, this) (Stale workers)"`
	MaxSchedulingRetries int           `yaml:"max_scheduling_retries" json:"max_scheduling_retries" min:"2" max:"10000" doc:"attempts before FAILED and the DLQ (Scheduler internals)"`
	BackoffBase          time.Duration `yaml:"backoff_base" json:"backoff_base" min:"1ms" max:"1h" doc:"first delay of the exponential back-off (Scheduler internals)"`
	BackoffMax           time.Duration `yaml:"backoff_max" json:"backoff_max" min:"1ms" max:"24h" doc:"longest delay of the exponential back-off (Scheduler internals)"`
	BackoffJitter        time.Duration `yaml:"backoff_jitter" json:"backoff_jitter" min:"0s" max:"1h" doc:"jitter added to a back-off, drawn from [0, this) (Scheduler internals)"`

	RetryDelayBusy      time.Duration `yaml:"retry_delay_busy" json:"retry_delay_busy" min:"1ms" max:"1h" doc:"delay when the job's lock is busy (Scheduler internals)"`
	RetryDelayStore     time.Duration `yaml:"retry_delay_store" json:"retry_delay_store" min:"1ms" max:"1h" doc:"delay after a store failure (State-read errors and Scheduler internals)"`
	RetryDelayPublish   time.Duration `yaml:"retry_delay_publish" json:"retry_delay_publish" min:"1ms" max:"1h" doc:"delay after a failed publish that is not a dispatch, such as a void or a cancel notice (Scheduler internals)"`
	RetryDelayNoWorkers time.Duration `yaml:"retry_delay_no_workers" json:"retry_delay_no_workers" min:"1ms" max:"1h" doc:"delay when there is no worker for the job; when the pool is busy, the back-off applies (Scheduler internals)"`

	StoreOpTimeout     time.Duration `yaml:"store_op_timeout" json:"store_op_timeout" min:"1ms" max:"10m" doc:"deadline of one Redis operation (Scheduler internals)"`
	PublishTimeout     time.Duration `yaml:"publish_timeout" json:"publish_timeout" min:"1ms" max:"10m" doc:"deadline of one JetStream publish (the client library's default), and, with confirm_acks, of one ack"`
	JobLockTTL         time.Duration `yaml:"job_lock_ttl" json:"job_lock_ttl" min:"10ms" max:"24h" doc:"TTL of cordum:scheduler:job:<id>, which is renewed at every third of it (Scheduler internals)"`
	MaxRenewalFailures int           `yaml:"max_renewal_failures" json:"max_renewal_failures" min:"1" max:"1000" doc:"consecutive renewal failures before renewal stops (Scheduler internals)"`

	WorkerTTL     time.Duration `yaml:"worker_ttl" json:"worker_ttl" min:"10ms" max:"24h" doc:"how long a worker counts as alive after a heartbeat (Stale workers)"`
	RegistrySweep time.Duration `yaml:"registry_sweep" json:"registry_sweep" min:"10ms" max:"24h" doc:"how often the registry evicts workers past their TTL; until then a snapshot still lists them"`

	AckWait    time.Duration `yaml:"ack_wait" json:"ack_wait" min:"1s" max:"24h" doc:"JetStream redelivers a message that is not acknowledged within this time (Scheduler internals)"`
	MaxDeliver int           `yaml:"max_deliver" json:"max_deliver" min:"1" max:"100000" doc:"deliveries before JetStream gives a message up (Scheduler internals)"`
	FetchWait  time.Duration `yaml:"fetch_wait" json:"fetch_wait" min:"1s" max:"10m" doc:"how long one pull request waits for messages"`
	Handlers   int           `yaml:"handlers" json:"handlers" min:"1" max:"1024" doc:"messages of one kind that a replica handles at once"`

	DLQEntryTTL time.Duration `yaml:"dlq_entry_ttl" json:"dlq_entry_ttl" min:"1s" max:"8760h" doc:"TTL of dlq:entry:<jobID> (Dead letters)"`
	DLQOrder    DLQOrder      `yaml:"dlq_order" json:"dlq_order" oneof:"state-then-dlq,dlq-then-state,atomic" doc:"what is written first when a job fails: FAILED, its DLQ entry, or both in one write (Dead letters)"`

	// What the hardened preset adds. Each is a toggle of its own.
	Fence              bool `yaml:"fence" json:"fence" doc:"a state write is a compare-and-set: it succeeds only under the job's own lock, and only over the version that was read; a write of the snapshot, too, succeeds only under its writer's lock and only over an older snapshot"`
	Epochs             bool `yaml:"epochs" json:"epochs" doc:"writing DISPATCHED mints an epoch, and the publish is a compare-and-set on it: the stream stores at most one dispatch of an epoch"`
	ResumeIntents      bool `yaml:"resume_intents" json:"resume_intents" doc:"a failed publish of a dispatch is not rolled back: the redelivery and the replayer repeat it"`
	RefuseStaleResults bool `yaml:"refuse_stale_results" json:"refuse_stale_results" doc:"with epochs, a result of an older epoch than the record's is ignored"`
	VoidIntents        bool `yaml:"void_intents" json:"void_intents" doc:"with epochs, a void takes the place of a job's dispatch in the stream, so that no late publish follows: when the job ends while DISPATCHED (in publish-first order, while SCHEDULED), and when it leaves a dead worker"`
	RetryUnpublished   bool `yaml:"retry_unpublished" json:"retry_unpublished" doc:"with resume_intents, void_intents, recheck_timeouts and sweep_scheduled, a job whose dispatch was not published by its dispatch timeout goes back to SCHEDULED and not to TIMEOUT; this counts an attempt"`
	CancelNotice       bool `yaml:"cancel_notice" json:"cancel_notice" doc:"the worker of a cancelled job is told"`
	KeepCancellations  bool `yaml:"keep_cancellations" json:"keep_cancellations" doc:"a cancellation that comes before its job's record is stored where the record will be, and the job is cancelled before it is scheduled; a cancellation that no scheduler answers comes again after job_lock_ttl and not after ack_wait"`
	ConfirmAcks        bool `yaml:"confirm_acks" json:"confirm_acks" doc:"for up to ack_wait, an ack is sent again until nats-server confirms it, and a scheduler's nak or term is tried again until it is sent; otherwise a message whose answer fails comes again after ack_wait; a simulated worker also remembers what it has executed, and reports that again rather than execute it again (the worker of the scheduler program always does)"`
	WaitReplica        bool `yaml:"wait_replica" json:"wait_replica" doc:"once a replica of Redis has been seen, a dispatch is published and a message is acknowledged only when the replicas have what was written for it (WAIT), so that a failover loses nothing that nobody will send again"`
	SweepScheduled     bool `yaml:"sweep_scheduled" json:"sweep_scheduled" doc:"the replayer also takes up jobs that stay SCHEDULED"`
	RecheckTimeouts    bool `yaml:"recheck_timeouts" json:"recheck_timeouts" doc:"the reconciler reads a job again, under the job's lock, before it times the job out; with reconciler, a scheduler that handles the request of a job past its deadline also times the job out"`
	WatchWorkers       bool `yaml:"watch_workers" json:"watch_workers" doc:"a job that is RUNNING times out once its worker has sent no heartbeat for the dispatch timeout, even if the running timeout is longer"`
	BusyBackoff        bool `yaml:"busy_backoff" json:"busy_backoff" doc:"when a message meets a busy lock, a failure of the store or the stream, or a safety kernel that throttles, its delay doubles with each delivery, from retry_delay_busy, retry_delay_store or policy.throttle_delay up to backoff_max; a message that can never be handled has such a delay, from 5s, while it cannot be put into the DLQ"`
	EvenBackoff        bool `yaml:"even_backoff" json:"even_backoff" doc:"the attempts of a job last equally long, whatever the cause: if it finds no worker, its delay doubles with each attempt, from retry_delay_no_workers up to backoff_max; a failed publish that is rolled back counts two attempts, and waits for each of them; a publish that gets no answer is given up after backoff_max, and counts an attempt"`
	SnapshotLastSeen   bool `yaml:"snapshot_last_seen" json:"snapshot_last_seen" doc:"a worker from the snapshot counts as last seen when the snapshot's writer last heard of it, by the clock of Redis; otherwise it counts as seen now"`

	CountDispatches bool `yaml:"count_dispatches" json:"count_dispatches" doc:"a worker's load is what its last heartbeat said, plus what this replica has dispatched to it since; otherwise every job between two heartbeats goes to the same worker"`

	// Parts of the documented design that can be taken away, to see what they are for.
	Reconciler       bool           `yaml:"reconciler" json:"reconciler" doc:"time out jobs that stay DISPATCHED or RUNNING, or are past their deadline (Scheduler internals)"`
	PendingReplayer  bool           `yaml:"pending_replayer" json:"pending_replayer" doc:"take up jobs that stay PENDING, or that are approved and wait (Scheduler internals)"`
	WarmStart        bool           `yaml:"warm_start" json:"warm_start" doc:"fill the registry from sys:workers:snapshot at start (Scheduler internals)"`
	IdempotencyGuard bool           `yaml:"idempotency_guard" json:"idempotency_guard" doc:"skip messages that are known to have been handled, and note which messages are in flight (Scheduler internals)"`
	LockRenewal      bool           `yaml:"lock_renewal" json:"lock_renewal" doc:"renew a job's lock every third of its TTL (Scheduler internals)"`
	LockRelease      LockRelease    `yaml:"lock_release" json:"lock_release" oneof:"owner-checked,unchecked" doc:"how a job's lock is given back (Scheduler internals)"`
	TickLock         TickLock       `yaml:"tick_lock" json:"tick_lock" oneof:"until-expiry,renewed,released" doc:"what happens to the reconciler's and the replayer's lock after a tick: it stays until it expires, is renewed, or is released (Scheduler internals)"`
	SnapshotLock     bool           `yaml:"snapshot_lock" json:"snapshot_lock" doc:"one replica at a time writes the snapshot (Scheduler internals)"`
	TerminateOrder   TerminateOrder `yaml:"terminate_order" json:"terminate_order" oneof:"dlq-first,term-first" doc:"what comes first for a message that can never be handled: its DLQ entry or its termination (Scheduler internals)"`
	TieBreak         TieBreak       `yaml:"tie_break" json:"tie_break" oneof:"worker-id,drawn" doc:"how to choose between workers with the same load: the first by its id, or a draw"`

	PollInterval    time.Duration `yaml:"poll_interval" json:"poll_interval" min:"100ms" max:"1h" doc:"how often reconciler and replayer tick; their locks' TTL is twice this (Scheduler internals)"`
	DispatchTimeout time.Duration `yaml:"dispatch_timeout" json:"dispatch_timeout" min:"1s" max:"720h" doc:"how long a job may stay DISPATCHED (Dispatch ordering)"`
	TopicTimeouts   TopicTimeouts `yaml:"topic_timeouts" json:"topic_timeouts" like:"job.fast=20s,job.slow=10m" doc:"dispatch timeouts of single topics, such as job.fast=20s,job.slow=10m (Dispatch ordering, next step 3)"`
	RunningTimeout  time.Duration `yaml:"running_timeout" json:"running_timeout" min:"1s" max:"720h" doc:"how long a job may stay RUNNING (Scheduler internals)"`
	BatchSize       int           `yaml:"batch_size" json:"batch_size" min:"1" max:"100000" doc:"jobs that the reconciler and the replayer read at once (Scheduler internals)"`
	MaxIterations   int           `yaml:"max_iterations" json:"max_iterations" min:"1" max:"100000" doc:"batches in one tick (Scheduler internals)"`
	MaxRetries      int           `yaml:"max_retries" json:"max_retries" min:"1" max:"100" doc:"how often one tick tries to time out one job (Scheduler internals)"`
	PendingAge      time.Duration `yaml:"pending_age" json:"pending_age" min:"1s" max:"24h" doc:"how long a job stays PENDING, or approved, before the replayer takes it up (Scheduler internals)"`
	ScheduledAge    time.Duration `yaml:"scheduled_age" json:"scheduled_age" min:"1s" max:"24h" doc:"with sweep_scheduled, how long a job stays SCHEDULED before the replayer takes it up"`
	IntentAge       time.Duration `yaml:"intent_age" json:"intent_age" min:"1s" max:"24h" doc:"with resume_intents, how long a job stays DISPATCHED before the replayer publishes it again"`

	TenantLimit   int  `yaml:"tenant_limit" json:"tenant_limit" min:"0" max:"1000000" doc:"jobs that a tenant may have DISPATCHED or RUNNING at once; 0 is no limit (Scheduler internals, section 5, reason codes)"`
	TenantReserve bool `yaml:"tenant_reserve" json:"tenant_reserve" doc:"with tenant_limit, a job takes a slot of its tenant in the write of DISPATCHED; otherwise the jobs in flight are counted before that write, and replicas that count at the same time exceed the limit"`

	SnapshotEvery       time.Duration `yaml:"snapshot_every" json:"snapshot_every" min:"100ms" max:"1h" doc:"how often a replica writes sys:workers:snapshot (Scheduler internals)"`
	SnapshotLockTTL     time.Duration `yaml:"snapshot_lock_ttl" json:"snapshot_lock_ttl" min:"10ms" max:"1h" doc:"TTL of cordum:scheduler:snapshot:writer (Scheduler internals)"`
	SnapshotReadTimeout time.Duration `yaml:"snapshot_read_timeout" json:"snapshot_read_timeout" min:"1ms" max:"1m" doc:"how long a start waits for the snapshot (Scheduler internals)"`
	InflightTTL         time.Duration `yaml:"inflight_ttl" json:"inflight_ttl" min:"1s" max:"24h" doc:"TTL of cordum:bus:inflight:<stream>:<seq> (Scheduler internals); that of cordum:bus:processed is ack_wait"`

	Policy   Policy   `yaml:"policy" json:"policy" doc:"settings of the safety kernel, its circuit breaker and approvals (Scheduler internals, sections 1 and 6)"`
	Output   Output   `yaml:"output" json:"output" doc:"settings of the output policy (Scheduler internals, sections 2 and 6)"`
	Saga     Saga     `yaml:"saga" json:"saga" doc:"settings of compensations and rollbacks"`
	Workflow Workflow `yaml:"workflow" json:"workflow" doc:"settings of workflow runs"`
	Replay   Replay   `yaml:"replay" json:"replay" doc:"settings of the triage and the replay of dead letters (Dead letters)"`
}

// Documented is the design as the specification describes it, caveats included.
func Documented() Settings {
	return Settings{
		DispatchOrder:        StateFirst,
		OutboxPoll:           time.Second,
		PublishDedup:         NoDedup,
		ReadError:            FailClosed,
		StateCacheAge:        30 * time.Second,
		StateCacheSize:       10_000,
		StaleWorker:          FixedRetries,
		StaleReasonCode:      "no_workers",
		MaxDispatchRetries:   3,
		StaleRetryJitter:     100 * time.Millisecond,
		MaxSchedulingRetries: 50,
		BackoffBase:          time.Second,
		BackoffMax:           30 * time.Second,
		BackoffJitter:        500 * time.Millisecond,
		RetryDelayBusy:       500 * time.Millisecond,
		RetryDelayStore:      time.Second,
		RetryDelayPublish:    2 * time.Second,
		RetryDelayNoWorkers:  2 * time.Second,
		StoreOpTimeout:       2 * time.Second,
		PublishTimeout:       5 * time.Second,
		JobLockTTL:           60 * time.Second,
		MaxRenewalFailures:   3,
		WorkerTTL:            30 * time.Second,
		RegistrySweep:        10 * time.Second,
		AckWait:              10 * time.Minute,
		MaxDeliver:           100,
		FetchWait:            30 * time.Second,
		Handlers:             8,
		DLQEntryTTL:          30 * 24 * time.Hour,
		DLQOrder:             StateThenDLQ,
		Reconciler:           true,
		PendingReplayer:      true,
		WarmStart:            true,
		IdempotencyGuard:     true,
		LockRenewal:          true,
		LockRelease:          OwnerChecked,
		TickLock:             UntilExpiry,
		SnapshotLock:         true,
		TerminateOrder:       DLQFirst,
		TieBreak:             ByWorkerID,
		PollInterval:         30 * time.Second,
		DispatchTimeout:      300 * time.Second,
		RunningTimeout:       30 * time.Minute, // the specification names no number; three times AckWait, and more than a worker's longest job here
		BatchSize:            200,
		MaxIterations:        100,
		MaxRetries:           3,
		PendingAge:           2 * time.Minute,
		ScheduledAge:         2 * time.Minute,
		IntentAge:            30 * time.Second,
		SnapshotEvery:        5 * time.Second,
		SnapshotLockTTL:      10 * time.Second,
		SnapshotReadTimeout:  5 * time.Second,
		InflightTTL:          2 * time.Minute,
		Policy:               documentedPolicy(),
		Output:               documentedOutput(),
		Saga:                 documentedSaga(),
		Workflow:             documentedWorkflow(),
		Replay:               documentedReplay(),
	}
}

// Hardened is Documented with the specification's "next steps", and with what simulation taught.
func Hardened() Settings {
	s := Documented()
	s.StaleReasonCode = job.ReasonStaleWorker // Stale workers, next step 2
	s.DLQOrder = AtomicDLQ
	s.TickLock = Renewed
	s.Fence = true
	s.Epochs = true
	s.ResumeIntents = true
	s.RefuseStaleResults = true
	s.VoidIntents = true
	s.RetryUnpublished = true
	s.CancelNotice = true
	s.KeepCancellations = true
	s.ConfirmAcks = true
	s.WaitReplica = true
	s.SweepScheduled = true
	s.RecheckTimeouts = true
	s.WatchWorkers = true
	s.BusyBackoff = true
	s.EvenBackoff = true
	s.SnapshotLastSeen = true
	s.CountDispatches = true
	s.TenantReserve = true
	s.Policy = hardenedPolicy()
	s.Output = hardenedOutput()
	s.Saga = hardenedSaga()
	s.Workflow = hardenedWorkflow()
	return s
}
