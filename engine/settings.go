package engine

import (
	"time"

	"github.com/faultline-sim/faultline/engine/job"
)

// DispatchOrder says which of the two systems a dispatch touches first (seed 000).
type DispatchOrder string

// The dispatch orders of seed 000.
const (
	StateFirst   DispatchOrder = "state-first"   // DISPATCHED, then publish, with rollback (documented)
	PublishFirst DispatchOrder = "publish-first" // publish, then DISPATCHED: duplicates under redelivery

	// Outbox writes DISPATCHED and the message into Redis in one MULTI; relays publish it, at least
	// once. Let the outbox run empty before another order takes its place.
	Outbox DispatchOrder = "outbox"
)

// ReadError says what a handling does when the job's state cannot be read (seed 001).
type ReadError string

// The state-read policies of seed 001.
const (
	FailClosed ReadError = "fail-closed" // retry later, never dispatch (documented)
	FailOpen   ReadError = "fail-open"   // go on as if the job were new: duplicates

	// CachedState goes by what this replica last read or wrote of the job, if that is not too old, and
	// fails closed otherwise. Another replica may have moved the job since: duplicates.
	CachedState ReadError = "cached-state"
)

// StaleWorker says how a dispatch picks again when it met a worker past its TTL (seed 002).
type StaleWorker string

// The stale-worker policies of seed 002.
const (
	FixedRetries    StaleWorker = "fixed-retries"    // at once (documented)
	JitteredRetries StaleWorker = "jittered-retries" // each after a drawn wait, with the job's lock held
)

// Settings are the scheduler's knobs. The names are the seeds' own, in the spelling of YAML; the
// tags carry what `faultline list settings` prints and what a plan is checked against.
// [Documented] and [Hardened] are complete sets; the zero value is not.
type Settings struct {
	DispatchOrder   DispatchOrder `yaml:"dispatch_order" json:"dispatch_order" oneof:"state-first,publish-first,outbox" doc:"which of state and bus a dispatch touches first (seed 000)"`
	OutboxPoll      time.Duration `yaml:"outbox_poll" json:"outbox_poll" min:"10ms" max:"1h" doc:"with outbox, how often a relay looks for entries that are due, and how long a new entry is left to its writer (seed 000)"`
	ReadError       ReadError     `yaml:"read_error" json:"read_error" oneof:"fail-closed,fail-open,cached-state" doc:"what to do when the job's state cannot be read (seed 001)"`
	StateCacheAge   time.Duration `yaml:"state_cache_age" json:"state_cache_age" min:"1ms" max:"24h" doc:"with cached-state, how long a replica goes by what it last read or wrote of a job (seed 001)"`
	StateCacheSize  int           `yaml:"state_cache_size" json:"state_cache_size" min:"1" max:"10000000" doc:"with cached-state, how many jobs a replica remembers (seed 001)"`
	StaleWorker     StaleWorker   `yaml:"stale_worker" json:"stale_worker" oneof:"fixed-retries,jittered-retries" doc:"how a dispatch picks again after a stale worker: at once, or after a drawn wait (seed 002)"`
	StaleReasonCode string        `yaml:"stale_reason_code" json:"stale_reason_code" oneof:"no_workers,stale_worker" doc:"reason code when every pick met a stale worker (seed 002)"`

	MaxDispatchRetries   int           `yaml:"max_dispatch_retries" json:"max_dispatch_retries" min:"1" max:"1000" doc:"picks in one handling before a stale worker sends the job back (seed 002)"`
	StaleRetryJitter     time.Duration `yaml:"stale_retry_jitter" json:"stale_retry_jitter" min:"1ms" max:"1m" doc:"with jittered-retries, the wait before each re-pick, drawn from [0, this) (seed 002)"`
	MaxSchedulingRetries int           `yaml:"max_scheduling_retries" json:"max_scheduling_retries" min:"2" max:"10000" doc:"attempts before FAILED and the DLQ (seed 003)"`
	BackoffBase          time.Duration `yaml:"backoff_base" json:"backoff_base" min:"1ms" max:"1h" doc:"first delay of the exponential back-off (seed 003)"`
	BackoffMax           time.Duration `yaml:"backoff_max" json:"backoff_max" min:"1ms" max:"24h" doc:"longest delay of the exponential back-off (seed 003)"`
	BackoffJitter        time.Duration `yaml:"backoff_jitter" json:"backoff_jitter" min:"0s" max:"1h" doc:"jitter added to a back-off, drawn from [0, this) (seed 003)"`

	RetryDelayBusy      time.Duration `yaml:"retry_delay_busy" json:"retry_delay_busy" min:"1ms" max:"1h" doc:"delay when the job's lock is busy (seed 003)"`
	RetryDelayStore     time.Duration `yaml:"retry_delay_store" json:"retry_delay_store" min:"1ms" max:"1h" doc:"delay after a store failure (seeds 001, 003)"`
	RetryDelayNoWorkers time.Duration `yaml:"retry_delay_no_workers" json:"retry_delay_no_workers" min:"1ms" max:"1h" doc:"delay when no worker can take the job (seed 003)"`

	StoreOpTimeout     time.Duration `yaml:"store_op_timeout" json:"store_op_timeout" min:"1ms" max:"10m" doc:"deadline of one Redis operation (seed 003)"`
	PublishTimeout     time.Duration `yaml:"publish_timeout" json:"publish_timeout" min:"1ms" max:"10m" doc:"deadline of one JetStream publish (the client library's default)"`
	JobLockTTL         time.Duration `yaml:"job_lock_ttl" json:"job_lock_ttl" min:"10ms" max:"24h" doc:"TTL of cordum:scheduler:job:<id>, renewed every third of it (seed 003)"`
	MaxRenewalFailures int           `yaml:"max_renewal_failures" json:"max_renewal_failures" min:"1" max:"1000" doc:"consecutive renewal failures before renewal stops (seed 003)"`

	WorkerTTL     time.Duration `yaml:"worker_ttl" json:"worker_ttl" min:"10ms" max:"24h" doc:"how long a worker counts as alive after a heartbeat (seed 002)"`
	RegistrySweep time.Duration `yaml:"registry_sweep" json:"registry_sweep" min:"10ms" max:"24h" doc:"how often the registry evicts workers past their TTL; until then a snapshot still lists them"`

	AckWait    time.Duration `yaml:"ack_wait" json:"ack_wait" min:"1s" max:"24h" doc:"JetStream redelivers what is not acknowledged within this (seed 003)"`
	MaxDeliver int           `yaml:"max_deliver" json:"max_deliver" min:"1" max:"100000" doc:"deliveries before JetStream gives a message up (seed 003)"`
	FetchWait  time.Duration `yaml:"fetch_wait" json:"fetch_wait" min:"1s" max:"10m" doc:"how long one pull request waits for messages"`
	Handlers   int           `yaml:"handlers" json:"handlers" min:"1" max:"1024" doc:"messages of one kind that a replica handles at once"`

	DLQEntryTTL time.Duration `yaml:"dlq_entry_ttl" json:"dlq_entry_ttl" min:"1s" max:"8760h" doc:"TTL of dlq:entry:<jobID> (seed 004)"`
}

// Documented is the design as the seeds describe it, caveats included.
func Documented() Settings {
	return Settings{
		DispatchOrder:        StateFirst,
		OutboxPoll:           time.Second,
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
	}
}

// Hardened is Documented with the seeds' "next steps".
func Hardened() Settings {
	s := Documented()
	s.StaleReasonCode = job.ReasonStaleWorker // seed 002, next step 2
	return s
}
