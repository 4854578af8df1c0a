package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// Config holds the facts of a plan that judging needs. A field's name is that of its setting: WorkerTTL is
// worker_ttl. The tag of a group has the prefix of its settings' names, and the names that differ; "-" marks
// fields that are no settings. A word, a number or a duration that is zero takes the documented value. A
// switch is off unless it is set.
type Config struct {
	DispatchOrder        string                  // "state-first", "publish-first" or "outbox" (Dispatch ordering)
	ReadError            string                  // "fail-closed", "fail-open" or "cached-state" (State-read errors)
	StaleWorker          string                  // "fixed-retries" or "jittered-retries" (Stale workers)
	TickLock             string                  // "until-expiry", "renewed" or "released" (Scheduler internals)
	StaleReasonCode      string                  // "no_workers" or "stale_worker" (Stale workers)
	DLQOrder             string                  // "state-then-dlq", "dlq-then-state" or "atomic" (Dead letters)
	MaxDispatchRetries   int                     // picks in one handling (Stale workers)
	MaxSchedulingRetries int                     // attempts before FAILED (Scheduler internals)
	MaxDeliver           int                     // deliveries before JetStream gives a message up (Scheduler internals)
	MaxRenewalFailures   int                     // in a row, before a lock's renewal stops (Scheduler internals)
	WorkerTTL            time.Duration           // how long a worker counts as alive after a heartbeat (Stale workers)
	RegistrySweep        time.Duration           // how often workers past their TTL are evicted
	JobLockTTL           time.Duration           // (Scheduler internals)
	PublishTimeout       time.Duration           // for one publish (the client library's default)
	RetryDelayBusy       time.Duration           // after a job's lock was found busy (Scheduler internals)
	RetryDelayStore      time.Duration           // after a store failure, or when a run's lock is busy (State-read errors and Scheduler internals)
	RetryDelayPublish    time.Duration           // after a failed publish that was no dispatch (Scheduler internals)
	RetryDelayNoWorkers  time.Duration           // when there is no worker (Scheduler internals)
	BackoffBase          time.Duration           // the first delay (Scheduler internals)
	BackoffMax           time.Duration           // the longest delay (Scheduler internals)
	BackoffJitter        time.Duration           // the most that is added by chance (Scheduler internals)
	AckWait              time.Duration           // before JetStream redelivers what is not acknowledged (Scheduler internals)
	FanOut               bool                    `setting:"-"` // dispatches go to topics, whose subjects name no epoch
	Deduplicate          bool                    `setting:"-"` // workers, and the sink of their effects, refuse an idempotency key that is done (Dead letters)
	RedisSynced          bool                    `setting:"-"` // Redis answers once it has a write on the disk (its option appendfsync always)
	SyncAlways           bool                    `setting:"-"` // nats-server acknowledges once the data is on the disk (its option sync_always)
	Ledger               bool                    `setting:"-"` // the schedulers can ask the external system which idempotency keys are done (Dead letters)
	Outages              time.Duration           `setting:"-"` // the total time for which the plan's faults may keep a message from being handled
	Jobs, Runs, Cancels  int                     `setting:"-"` // jobs, workflow runs and cancellations whose clients retry until they are stored
	Submissions          int                     `setting:"-"` // how often each job is submitted, if more than once
	Asked                AskedConfig             `setting:"-"`
	Workers              map[string]WorkerConfig `setting:"-"` // by ID; nothing is judged of other workers
	HeartbeatEvery       time.Duration           `setting:"-"` // how often each worker sends a heartbeat
	HeartbeatLag         time.Duration           `setting:"-"` // how long a heartbeat may be under way
	PendingAge           time.Duration           // before the replayer handles a PENDING job (Scheduler internals)
	InflightTTL          time.Duration           // of the mark of a message that is being handled (Scheduler internals)

	PollInterval        time.Duration // of reconciler and replayer (Scheduler internals)
	BatchSize           int           // jobs that they read at once (Scheduler internals)
	MaxIterations       int           // batches in one tick (Scheduler internals)
	StoreOpTimeout      time.Duration // for one operation on Redis (Scheduler internals)
	DispatchTimeout     time.Duration // (Dispatch ordering)
	TopicTimeouts       string        // timeouts of single topics, as topic=duration joined by commas
	RunningTimeout      time.Duration // (Scheduler internals)
	IntentAge           time.Duration // before the replayer publishes again
	ScheduledAge        time.Duration // before it handles a SCHEDULED job
	DLQEntryTTL         time.Duration // of a dead letter (Dead letters)
	SnapshotLockTTL     time.Duration // (Scheduler internals)
	SnapshotEvery       time.Duration // between two writes of a replica (Scheduler internals)
	SnapshotReadTimeout time.Duration // how long a starting replica waits for it (Scheduler internals)

	Fence              bool // what the hardened preset adds, each under its own name
	Epochs             bool
	ResumeIntents      bool
	RefuseStaleResults bool
	VoidIntents        bool
	RetryUnpublished   bool
	CancelNotice       bool
	KeepCancellations  bool
	ConfirmAcks        bool
	WaitReplica        bool
	SweepScheduled     bool
	RecheckTimeouts    bool
	BusyBackoff        bool
	EvenBackoff        bool
	WatchWorkers       bool
	SnapshotLastSeen   bool
	CountDispatches    bool
	Reconciler         bool // parts of the documented design
	PendingReplayer    bool
	IdempotencyGuard   bool

	Executions map[string]Execution `setting:"-"` // for jobs whose executions the plan describes; nil if it is not known what workers do

	Routing   RoutingConfig  `setting:"-"`
	Tenants   TenantConfig   `Limit:"tenant_limit" Reserve:"tenant_reserve"`
	Approvals ApprovalConfig `setting:"policy." Kernel:"-" Looks:"-" Bind:"bind_approvals" TTL:"approval_ttl"`
	Policy    PolicyConfig   `setting:"policy." Kernel:"-" FailBudget:"circuit_fail_budget" OpenFor:"circuit_open_for" HalfOpenMax:"circuit_half_open_max" CloseAfter:"circuit_close_after"`
	Output    OutputConfig   `setting:"output."`
	Saga      SagaConfig     `setting:"saga."`
	Workflow  WorkflowConfig `setting:"workflow."`
	Replay    ReplayConfig   `setting:"replay." Wanted:"-" Rules:"-" Kernel:"-" Decides:"-" Operators:"-" Errands:"-" Mended:"-" Denied:"-"`

	topics     map[string]time.Duration // parsed from TopicTimeouts
	configured bool                     // by [Configure]: a zero is a value
}

// configSetting is a setting that judging needs.
type configSetting struct {
	name  string
	index []int // of its field in Config
}

// configSettings lists the settings that judging needs.
var configSettings = func() (list []configSetting) {
	wordEnd := regexp.MustCompile(`([a-z])([A-Z])|([A-Z])([A-Z][a-z])`)
	var walk func(t reflect.Type, prefix string, index []int, names reflect.StructTag)
	walk = func(t reflect.Type, prefix string, index []int, names reflect.StructTag) {
		for i := range t.NumField() {
			f, at := t.Field(i), append(slices.Clone(index), i)
			name := cmp.Or(names.Get(f.Name), strings.ToLower(wordEnd.ReplaceAllString(f.Name, "${1}${3}_${2}${4}")))
			switch own := f.Tag.Get("setting"); {
			case own == "-" || name == "-" || !f.IsExported():
			case f.Type.Kind() == reflect.Struct:
				walk(f.Type, own, at, f.Tag)
			default:
				list = append(list, configSetting{prefix + name, at})
			}
		}
	}
	walk(reflect.TypeFor[Config](), "", nil, "")
	return list
}()

// Configure returns the Config for runs with those settings. settings is a struct, such as an engine's, whose
// fields have the settings' names in their yaml tags. It is an error if a setting that judging needs is
// missing or of another kind.
func Configure(settings any) (c Config, err error) {
	given := reflect.ValueOf(settings)
	known, ok := namesKnown.Load(given.Type())
	if !ok {
		known, _ = namesKnown.LoadOrStore(given.Type(), named(given.Type(), "", nil))
	}
	for _, s := range configSettings {
		index, ok := known.(map[string][]int)[s.name]
		if !ok {
			return c, fmt.Errorf("judging needs the setting %s, and there is none", s.name)
		}
		to, from := reflect.ValueOf(&c).Elem().FieldByIndex(s.index), given.FieldByIndex(index)
		if from.Kind() != to.Kind() {
			return c, fmt.Errorf("judging needs the setting %s as %s, and it is %s", s.name, to.Kind(), from.Kind())
		}
		to.Set(from.Convert(to.Type()))
	}
	c.configured = true
	return c, nil
}

var namesKnown sync.Map // reflect.Type to the result of named

// named returns the indices of the fields of a struct, and of the structs in it, by their names.
func named(t reflect.Type, prefix string, index []int) map[string][]int {
	at := map[string][]int{}
	for i := range t.NumField() {
		f, fieldAt := t.Field(i), append(slices.Clone(index), i)
		name := prefix + f.Tag.Get("yaml")
		at[name] = fieldAt
		if f.Type.Kind() == reflect.Struct {
			maps.Copy(at, named(f.Type, name+".", fieldAt))
		}
	}
	return at
}

// documentedConfig has the values of the documented design, except switches.
var documentedConfig = Config{
	DispatchOrder: "state-first", ReadError: "fail-closed", StaleWorker: "fixed-retries", TickLock: "until-expiry", StaleReasonCode: "no_workers", DLQOrder: "state-then-dlq",
	MaxDispatchRetries: 3, MaxSchedulingRetries: 50, MaxDeliver: 100, MaxRenewalFailures: 3, BatchSize: 200, MaxIterations: 100,
	WorkerTTL: 30 * time.Second, RegistrySweep: 10 * time.Second, JobLockTTL: time.Minute, PublishTimeout: 5 * time.Second, StoreOpTimeout: 2 * time.Second,
	RetryDelayBusy: 500 * time.Millisecond, RetryDelayStore: time.Second, RetryDelayPublish: 2 * time.Second, RetryDelayNoWorkers: 2 * time.Second, BackoffBase: time.Second, BackoffMax: 30 * time.Second, BackoffJitter: 500 * time.Millisecond, AckWait: 10 * time.Minute, InflightTTL: 2 * time.Minute, PendingAge: 2 * time.Minute, IntentAge: 30 * time.Second, ScheduledAge: 2 * time.Minute, DLQEntryTTL: 30 * 24 * time.Hour,
	PollInterval: 30 * time.Second, DispatchTimeout: 5 * time.Minute, RunningTimeout: 30 * time.Minute, SnapshotLockTTL: 10 * time.Second, SnapshotEvery: 5 * time.Second, SnapshotReadTimeout: 5 * time.Second,
	Policy: PolicyConfig{FailMode: failModeClosed, Timeout: 2 * time.Second, FailBudget: 3, OpenFor: 30 * time.Second, OpenDelay: 5 * time.Second, ThrottleDelay: 5 * time.Second, HalfOpenMax: 3, CloseAfter: 2},
	Output: OutputConfig{CheckTimeout: 2 * time.Second, ScanTimeout: 30 * time.Second},
	Saga:   SagaConfig{LockTTL: 2 * time.Minute, RollbackTimeout: 30 * time.Second}, Workflow: WorkflowConfig{RunLockTTL: 30 * time.Second},
}

// WithDefaults returns the Config with the values of the documented design in place of zeros, unless [Configure] made it.
func (c Config) WithDefaults() Config {
	for _, s := range configSettings {
		if v := reflect.ValueOf(&c).Elem().FieldByIndex(s.index); v.IsZero() && !c.configured {
			v.Set(reflect.ValueOf(documentedConfig).FieldByIndex(s.index))
		}
	}
	c.topics = map[string]time.Duration{}
	for part := range strings.SplitSeq(c.TopicTimeouts, ",") {
		topic, text, _ := strings.Cut(strings.TrimSpace(part), "=")
		if d, err := time.ParseDuration(strings.TrimSpace(text)); err == nil {
			c.topics[strings.TrimSpace(topic)] = d
		}
	}
	return c
}

// TimeoutOf is how long a job of the topic may stay DISPATCHED.
func (c *Config) TimeoutOf(topic string) time.Duration {
	if d, ok := c.topics[topic]; ok {
		return d
	}
	return c.DispatchTimeout
}

// LeavesTimeToResume says whether an intent is resumed before its dispatch times out, even after a tick or
// two without effect. The lock of a process that died while it handled the job is in the way until it
// expires.
func (c *Config) LeavesTimeToResume() bool {
	shortest := c.DispatchTimeout
	for _, d := range c.topics {
		shortest = min(shortest, d)
	}
	return shortest > max(c.IntentAge, c.JobLockTTL)+5*c.PollInterval
}

// BusyPatience is how long a message lasts that finds its job's lock busy at every delivery.
func (c *Config) BusyPatience() time.Duration { return c.patience(c.RetryDelayBusy) }

// Outlasts says whether such a patience is longer than the plan's faults keep messages away, and longer than
// half an hour.
func (c *Config) Outlasts(patience time.Duration) bool {
	return patience > max(30*time.Minute, c.Outages)
}

// TerminatePatience is how long a message lasts that can never be handled, if its DLQ entry cannot be written
// (Scheduler internals, section 9: NakWithDelay(5s)), whether it is sent back or left to AckWait.
func (c *Config) TerminatePatience() time.Duration {
	return min(c.patience(5*time.Second), time.Duration(c.MaxDeliver-1)*c.AckWait)
}

// CancelAckWait is the time after which an unanswered cancellation is redelivered.
func (c *Config) CancelAckWait() time.Duration {
	if !c.KeepCancellations {
		return c.AckWait
	}
	return min(c.AckWait, max(c.JobLockTTL, 30*time.Second))
}

// patience is how long a message lasts that is delayed at every delivery, by base or by increasing delays
// from base on.
func (c *Config) patience(base time.Duration) (total time.Duration) {
	delay := base
	for range c.MaxDeliver - 1 {
		total += min(delay, max(c.BackoffMax, base))
		if c.BusyBackoff && delay < c.BackoffMax {
			delay *= 2
		}
	}
	return total
}

// RetryBudget is the least time for which a job is tried until it has used up its attempts, provided that each
// attempt is followed by its back-off, and that only the replayer resumes the job earlier (Dead letters, retry
// ceiling before DLQ).
func (c *Config) RetryBudget() (total time.Duration) {
	most := c.BackoffMax
	if c.SweepScheduled {
		most = min(most, c.ScheduledAge)
	}
	if c.ResumeIntents {
		most = min(most, c.IntentAge)
	}
	delay := min(c.BackoffBase, c.RetryDelayNoWorkers, c.RetryDelayStore, c.RetryDelayBusy)
	for range c.MaxSchedulingRetries - 1 {
		total += min(delay, most)
		if delay < most {
			delay *= 2
		}
	}
	return total
}

// LongestTry bounds how long a job is tried whose request is sent back after each attempt. Two attempts take
// at most three times the longest delay, even if a publish fails and is resumed before the next attempt.
func (c *Config) LongestTry() time.Duration {
	return time.Duration(c.MaxSchedulingRetries) * max(c.BackoffMax, c.RetryDelayNoWorkers) * 3 / 2
}

// handBack is the delay of a message that a stopping scheduler sends back before it has begun to handle it.
const handBack = 500 * time.Millisecond

// UnfiledDelay is the delay, at the first delivery, of a message that can never be handled and whose DLQ
// entry cannot be written (Scheduler internals, section 9).
const UnfiledDelay = 5 * time.Second

// Span is the least and the most time that something takes. The zero value is unknown.
type Span struct{ Least, Most time.Duration }

// ShortestDelay is the shortest delay of a message that is sent back.
func (c *Config) ShortestDelay() time.Duration {
	return min(handBack, c.BackoffBase, c.BackoffMax, c.RetryDelayBusy, c.RetryDelayStore, c.RetryDelayPublish, c.RetryDelayNoWorkers, c.Policy.ThrottleDelay, c.Policy.OpenDelay)
}

// longestDelay is the longest: that of a handling that has used up two attempts.
func (c *Config) longestDelay() time.Duration {
	return max(handBack, UnfiledDelay, 2*c.BackoffMax, 2*c.RetryDelayNoWorkers, c.RetryDelayBusy, c.RetryDelayStore, c.RetryDelayPublish, c.Policy.ThrottleDelay, c.Policy.OpenDelay)
}

// AnyDelay is the delay of a message that is sent back for whatever reason.
func (c *Config) AnyDelay() Span { return Span{c.ShortestDelay(), c.longestDelay()} }

// Infrastructure is the delay of a message that is sent back for a failure of the infrastructure, at its nth
// delivery. base is the documented delay.
func (c *Config) Infrastructure(base time.Duration, delivery uint64) Span {
	if c.BusyBackoff {
		base = doubled(base, max(base, c.BackoffMax), times(delivery))
	}
	return Span{base, base}
}

// KernelBackoff is the delay of a request at its nth delivery if the safety kernel gave no answer (Scheduler
// internals, section 6, fail-closed).
func (c *Config) KernelBackoff(delivery uint64) Span {
	return c.jittered(c.BackoffBase, c.BackoffMax, times(delivery), 0)
}

// times is how many deliveries came before this one.
func times(delivery uint64) int { return int(max(delivery, 1)) - 1 }

// Backoff is how long a job stays away after a handling that found the attempts found and left the attempts
// left (Scheduler internals, section 5).
func (c *Config) Backoff(found, left int) Span {
	return c.jittered(c.BackoffBase, c.BackoffMax, found, left)
}

// BackoffForWorkers is the same if there is no worker. Without even_backoff it is a flat delay (Scheduler
// internals, section 7).
func (c *Config) BackoffForWorkers(found, left int) Span {
	if !c.EvenBackoff {
		return Span{c.RetryDelayNoWorkers, c.RetryDelayNoWorkers}
	}
	return c.jittered(c.RetryDelayNoWorkers, max(c.BackoffMax, c.RetryDelayNoWorkers), found, left)
}

// jittered is the back-off after found attempts. With even_backoff, a handling that cost several attempts
// waits for each of them.
func (c *Config) jittered(base, most time.Duration, found, left int) Span {
	delay := doubled(base, most, found)
	s := Span{delay, min(delay+c.BackoffJitter, most)}
	for n := found + 1; n < left && c.EvenBackoff; n++ {
		s.Least += doubled(base, most, n)
		s.Most += doubled(base, most, n)
	}
	return s
}

func doubled(base, most time.Duration, times int) time.Duration {
	for ; times > 0 && base < most; times-- {
		base *= 2
	}
	return min(base, most)
}

// AskedConfig is what the clients of a plan are to store. The zero value judges none of it.
type AskedConfig struct {
	Request func(client, job string) *history.Request           // what the client is to submit; nil for nothing
	Run     func(id string, began time.Time) *history.RunRecord // the run as it is to be started in a world that began then; nil for none
	Reason  func(job string) (reason string, cancelled bool)    // of the job's cancellation
}

// Execution is what a plan says of the executions of a job. The zero value has its effect, and reports
// SUCCEEDED.
type Execution struct {
	Answer    string  // the status that is reported after the effect; "" is SUCCEEDED
	Fails     Outcome // the report of executions that fail, of the job or of a replay of it; zero if none fails
	Committed bool    // they have their effect all the same
	Succeeds  bool    // and they succeed later
}

// Outcome is the end of an execution as its worker reports it.
type Outcome struct{ Status, ReasonCode, Reason string }

func (o Outcome) String() string {
	if o.ReasonCode == "" && o.Reason == "" {
		return o.Status
	}
	return fmt.Sprintf("%s (reason_code %q, reason %q)", o.Status, o.ReasonCode, o.Reason)
}

// Execution is what the plan says of a job's executions. A replay, recognized by its name, fails as the job
// that it replays.
func (c *Config) Execution(job string) Execution {
	original, _, _ := strings.Cut(job, "-replay-")
	x := c.Executions[original]
	x.Answer = c.Executions[job].Answer
	return x
}

// WorkerConfig is what a worker is to report in its heartbeats (Scheduler internals, section 5).
type WorkerConfig struct {
	Node         string // where it runs
	Pool         string
	Topics       []string // the topics that it takes jobs from; nil is its own subject
	Labels       map[string]string
	Capabilities []string
	MaxParallel  int // jobs that it executes at once
	CPU, GPU     int // percentage of its machine that a job takes
}

// RoutingConfig says which pools there are. The zero value judges no pool.
type RoutingConfig struct {
	Topics map[string][]string // the pools that serve a topic
	Offers map[string][]string // what a pool offers to jobs that require it
}

// TenantConfig are the settings of tenants on which promises depend.
type TenantConfig struct {
	Limit   int  // tenant_limit; 0 is none
	Reserve bool // tenant_reserve
}

// ApprovalConfig are the settings of approvals on which promises depend.
type ApprovalConfig struct {
	Kernel bool          // there is a safety kernel, which may require approvals
	Bind   bool          // bind_approvals
	TTL    time.Duration // approval_ttl

	Looks map[string]time.Duration // how long the approver looks at a job before the approval
}

// PolicyConfig are the settings of the input policy on which promises depend. The zero value is for a world
// without a safety kernel.
type PolicyConfig struct {
	Kernel        bool          // there is a safety kernel
	FailMode      string        // "closed" or "open" (Scheduler internals, section 6, as the rest)
	Timeout       time.Duration // of one call
	FailBudget    int           // consecutive failures that open the circuit
	OpenFor       time.Duration // how long the circuit stays open
	OpenDelay     time.Duration // before a job is handled again that an open circuit has put off
	ThrottleDelay time.Duration // before a throttled job is asked about again
	HalfOpenMax   int           // probes in half-open
	CloseAfter    int           // successful probes that close the circuit
	SharedBreaker bool          // all replicas count in one key
	SharedProbes  bool          // and their probes, too
}

// OutputConfig are the settings of the output policy on which promises depend.
type OutputConfig struct {
	Enabled      bool
	DurableScans bool
	CheckTimeout time.Duration // of a call about a result's metadata
	ScanTimeout  time.Duration // of one about an output (Scheduler internals)
}

// SagaConfig are the settings of sagas on which promises depend.
type SagaConfig struct {
	AtomicRecord    bool
	Peek            bool
	DurableRollback bool
	LockTTL         time.Duration
	RollbackTimeout time.Duration // for one rollback (Scheduler internals)
}

// WorkflowConfig are the settings of workflows on which promises depend.
type WorkflowConfig struct {
	RunLockTTL  time.Duration // (Scheduler internals)
	DurableFrom time.Duration // a delay of at least this length survives its replica
	DelayPoll   time.Duration // between two checks for delays that nobody has fired

	StrictRunLock bool
	FenceRuns     bool
	DurableTimers bool
	DelayPoller   bool
	RunReconciler bool
}

// ReplayConfig are the settings of replay on which promises depend.
type ReplayConfig struct {
	Enabled        bool          // the schedulers triage and replay
	Wanted         bool          // or a plan has a triage policy, so that they should
	KeepKey        bool          // settings, each under its own name
	CheckCommitted bool          //
	CheckPolicy    bool          //
	Atomic         bool          //
	CarryCount     bool          //
	Triage         bool          //
	Rules          []ReplayRule  // of the triage policy; the first that matches counts
	MaxReplays     int           // if no rule says how many
	BackoffBase    time.Duration // before the first replay of a job, and doubled for each; also the most that is added by chance
	BackoffMax     time.Duration // the longest delay
	GrowthAlert    int           // more new entries than this
	GrowthWindow   time.Duration // within this time are too many
	Kernel         bool          // a safety kernel decides, and no job runs without its decision

	Decides   map[string][]string // by job: the replay statuses in which somebody will decide on its dead letter, once in each
	Operators map[string][]string // by job: the groups of the person who decides, if not every group
	Errands   map[string][]string // by job: what that person is to do, in the plan's words
	Mended    string              // the payload that the person gives
	Denied    string              // the reason for which the person denies a replay
}

// ReplayRule is a rule of a triage policy.
type ReplayRule struct {
	ReasonCode string
	LastCause  string // "" is any
	Action     string
	MaxReplays int    // 0 is that of the settings
	Owner      string // the group of those who mend, or replay after review; "" is anybody
	Approvers  string // the group of those who approve; likewise
}

// ThrottledFor is the longest time until the request of a throttled job is handled again. Meanwhile another
// process may have the job's lock.
func (c *Config) ThrottledFor() time.Duration {
	delay := c.Policy.ThrottleDelay
	if c.BusyBackoff {
		delay = max(delay, c.BackoffMax)
	}
	return delay + c.JobLockTTL
}

// What happens to a job while the safety kernel cannot be reached.
const (
	failModeClosed = "closed"
	FailModeOpen   = "open"
)
