package invariants

import (
	"strings"
	"time"
)

// Config holds the facts of a plan that judging needs, under the names of the settings that they are
// of. A word, a number or a duration that is zero takes the documented value; a switch is off unless
// it is set.
type Config struct {
	DispatchOrder        string        // "state-first", "publish-first" or "outbox" (seed 000)
	StaleWorker          string        // "fixed-retries" or "jittered-retries" (seed 002)
	TickLock             string        // "until-expiry", "renewed" or "released" (seed 003)
	StaleReasonCode      string        // "no_workers" or "stale_worker" (seed 002)
	DLQOrder             string        // "state-then-dlq", "dlq-then-state" or "atomic" (seed 004)
	MaxDispatchRetries   int           // picks in one handling (seed 002)
	MaxSchedulingRetries int           // attempts before FAILED (seed 003)
	MaxDeliver           int           // deliveries before JetStream gives a message up (seed 003)
	MaxRenewalFailures   int           // in a row, before a lock's renewal stops (seed 003)
	WorkerTTL            time.Duration // how long a worker counts as alive after a heartbeat (seed 002)
	RegistrySweep        time.Duration // how often workers past their TTL are evicted
	JobLockTTL           time.Duration // (seed 003)
	PublishTimeout       time.Duration // of one publish (the client library's default)
	RetryDelayBusy       time.Duration // when a job's lock is busy (seed 003)
	BackoffMax           time.Duration // the longest delay (seed 003)
	AckWait              time.Duration // before JetStream delivers again what is not acknowledged (seed 003)
	Outages              time.Duration // for how long the plan's faults may keep a message from being handled, taken together
	PendingAge           time.Duration // before the replayer takes up a PENDING job (seed 003)

	PollInterval    time.Duration // of reconciler and replayer (seed 003)
	BatchSize       int           // jobs that they read at once (seed 003)
	MaxIterations   int           // batches in one tick (seed 003)
	StoreOpTimeout  time.Duration // of one operation on Redis (seed 003)
	DispatchTimeout time.Duration // (seed 000)
	TopicTimeouts   string        // those of single topics, as topic=duration joined by commas
	RunningTimeout  time.Duration // (seed 003)
	IntentAge       time.Duration // before the replayer publishes again
	SnapshotLockTTL time.Duration // (seed 003)

	Fence              bool // what the hardened preset adds, each under its own name
	Epochs             bool
	ResumeIntents      bool
	RefuseStaleResults bool
	VoidIntents        bool
	RetryUnpublished   bool
	CancelNotice       bool
	SweepScheduled     bool
	RecheckTimeouts    bool
	BusyBackoff        bool
	WatchWorkers       bool
	SnapshotLastSeen   bool
	CountDispatches    bool
	Reconciler         bool // parts of the documented design
	PendingReplayer    bool
	IdempotencyGuard   bool

	Routing RoutingConfig
	Tenants TenantConfig

	Approvals ApprovalConfig
	Policy    PolicyConfig
	Output    OutputConfig
	Saga      SagaConfig
	Workflow  WorkflowConfig
	Replay    ReplayConfig

	topics map[string]time.Duration // TopicTimeouts
}

func (c Config) withDefaults() Config {
	word := func(s *string, documented string) {
		if *s == "" {
			*s = documented
		}
	}
	number := func(n *int, documented int) {
		if *n == 0 {
			*n = documented
		}
	}
	wait := func(d *time.Duration, documented time.Duration) {
		if *d == 0 {
			*d = documented
		}
	}
	word(&c.DispatchOrder, "state-first")
	word(&c.StaleWorker, "fixed-retries")
	word(&c.StaleReasonCode, "no_workers")
	word(&c.TickLock, "until-expiry")
	word(&c.DLQOrder, "state-then-dlq")
	number(&c.MaxDispatchRetries, 3)
	number(&c.MaxSchedulingRetries, 50)
	number(&c.MaxDeliver, 100)
	number(&c.MaxRenewalFailures, 3)
	number(&c.BatchSize, 200)
	number(&c.MaxIterations, 100)
	wait(&c.WorkerTTL, 30*time.Second)
	wait(&c.RegistrySweep, 10*time.Second)
	wait(&c.JobLockTTL, 60*time.Second)
	wait(&c.PublishTimeout, 5*time.Second)
	wait(&c.RetryDelayBusy, 500*time.Millisecond)
	wait(&c.BackoffMax, 30*time.Second)
	wait(&c.AckWait, 10*time.Minute)
	wait(&c.PendingAge, 2*time.Minute)
	wait(&c.PollInterval, 30*time.Second)
	wait(&c.StoreOpTimeout, 2*time.Second)
	wait(&c.DispatchTimeout, 300*time.Second)
	wait(&c.RunningTimeout, 30*time.Minute)
	wait(&c.IntentAge, 30*time.Second)
	wait(&c.SnapshotLockTTL, 10*time.Second)
	c.Policy.withDefaults()
	c.topics = map[string]time.Duration{}
	for part := range strings.SplitSeq(c.TopicTimeouts, ",") {
		topic, text, _ := strings.Cut(strings.TrimSpace(part), "=")
		if d, err := time.ParseDuration(strings.TrimSpace(text)); err == nil {
			c.topics[strings.TrimSpace(topic)] = d
		}
	}
	return c
}

// dispatchTimeout is how long a job of the topic may stay DISPATCHED.
func (c *Config) dispatchTimeout(topic string) time.Duration {
	if d, ok := c.topics[topic]; ok {
		return d
	}
	return c.DispatchTimeout
}

// leavesTimeToResume says whether an intent is taken up again, even after a tick or two that came to
// nothing, before its dispatch times out. The lock of who died over it is in the way until it expires.
func (c *Config) leavesTimeToResume() bool {
	shortest := c.DispatchTimeout
	for _, d := range c.topics {
		shortest = min(shortest, d)
	}
	return shortest > max(c.IntentAge, c.JobLockTTL)+5*c.PollInterval
}

// busyPatience is how long a message stays about that finds its job's lock busy at every delivery.
func (c *Config) busyPatience() time.Duration { return c.patience(c.RetryDelayBusy) }

// outlasts says whether such a patience is longer than whatever the faults of the plan keep away, and half an hour.
func (c *Config) outlasts(patience time.Duration) bool {
	return patience > max(30*time.Minute, c.Outages)
}

// terminatePatience is how long a message stays about that can never be handled, if no DLQ entry of it can be
// written (seed 003, section 9: NakWithDelay(5s)), be it sent back or left to AckWait.
func (c *Config) terminatePatience() time.Duration {
	return min(c.patience(5*time.Second), time.Duration(c.MaxDeliver-1)*c.AckWait)
}

// patience is how long a message stays about that is delayed by base, or from base on, at every delivery.
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
