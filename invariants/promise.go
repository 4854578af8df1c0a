package invariants

import (
	"math/bits"
	"slices"
	"strings"
	"time"
)

// setting is something that a scheduler can be set to, as promises speak of it.
type setting struct {
	name string // as a plan spells it, with its value if that is no yes
	on   func(*Config) bool
}

// cover takes faults out of what releases a promise: where all of its settings are on, the scheduler
// has something to set against them.
type cover struct {
	class    class
	settings []setting
}

func covers(c class, settings ...setting) cover { return cover{c, settings} }

func (c *cover) on(cfg *Config) bool {
	return !slices.ContainsFunc(c.settings, func(s setting) bool { return !s.on(cfg) })
}

func (c *cover) String() string {
	names := make([]string, len(c.settings))
	for i, s := range c.settings {
		names[i] = s.name
	}
	return strings.Join(names, " and ")
}

// The settings that promises depend on.
var (
	withFence         = setting{"fence", func(c *Config) bool { return c.Fence }}
	withEpochs        = setting{"epochs", func(c *Config) bool { return c.Epochs }}
	withResume        = setting{"resume_intents", func(c *Config) bool { return c.ResumeIntents }}
	withRefusal       = setting{"refuse_stale_results", func(c *Config) bool { return c.RefuseStaleResults }}
	withVoid          = setting{"void_intents", func(c *Config) bool { return c.VoidIntents }}
	withRetry         = setting{"retry_unpublished", func(c *Config) bool { return c.RetryUnpublished }}
	withNotice        = setting{"cancel_notice", func(c *Config) bool { return c.CancelNotice }}
	withSweep         = setting{"sweep_scheduled", func(c *Config) bool { return c.SweepScheduled }}
	withRecheck       = setting{"recheck_timeouts", func(c *Config) bool { return c.RecheckTimeouts }}
	withBusyBackoff   = setting{"busy_backoff", func(c *Config) bool { return c.BusyBackoff }}
	withWatch         = setting{"watch_workers", func(c *Config) bool { return c.WatchWorkers }}
	withLastSeen      = setting{"snapshot_last_seen", func(c *Config) bool { return c.SnapshotLastSeen }}
	withCounting      = setting{"count_dispatches", func(c *Config) bool { return c.CountDispatches }}
	withReconciler    = setting{"reconciler", func(c *Config) bool { return c.Reconciler }}
	withReplayer      = setting{"pending_replayer", func(c *Config) bool { return c.PendingReplayer }}
	withExpiringTicks = setting{"tick_lock=until-expiry", func(c *Config) bool { return c.TickLock == "until-expiry" }}
	withRenewedTicks  = setting{"tick_lock=renewed", func(c *Config) bool { return c.TickLock == "renewed" }}
	withReleasedTicks = setting{"tick_lock=released", func(c *Config) bool { return c.TickLock == "released" }}
	withWholeTicks    = setting{"ticks of 200 jobs at least", func(c *Config) bool { return c.BatchSize*c.MaxIterations >= 200 }}
	withStaleReason   = setting{"stale_reason_code=stale_worker", func(c *Config) bool { return c.StaleReasonCode == reasonStale }}
	withAtomicDLQ     = setting{"dlq_order=atomic", func(c *Config) bool { return c.DLQOrder == dlqAtomic }}
	withDLQThenState  = setting{"dlq_order=dlq-then-state", func(c *Config) bool { return c.DLQOrder == dlqThenState }}
	withOutbox        = setting{"dispatch_order=outbox", func(c *Config) bool { return c.DispatchOrder == "outbox" }}
	withStateFirst    = setting{"dispatch_order=state-first", func(c *Config) bool { return c.DispatchOrder == "state-first" }}
	withIntentFirst   = setting{"an intent before each dispatch", func(c *Config) bool { return c.DispatchOrder != "publish-first" }}
	withTimeToResume  = setting{"a dispatch timeout that leaves time for it", func(c *Config) bool { return c.leavesTimeToResume() }}
	withPatience      = setting{"deliveries that outlast a lock", func(c *Config) bool { return c.busyPatience() > 2*c.JobLockTTL }}
	withLongPatience  = setting{"deliveries that outlast every outage, and half an hour", func(c *Config) bool { return c.outlasts(c.busyPatience()) }}
	withDLQPatience   = setting{"deliveries that outlast every outage, and half an hour", func(c *Config) bool { return c.outlasts(c.terminatePatience()) }}
	withDeliveries    = setting{"twice as many deliveries as attempts", func(c *Config) bool { return c.MaxDeliver >= 2*c.MaxSchedulingRetries }}
	withLongLocks     = setting{"a job_lock_ttl of 1s at least", func(c *Config) bool { return c.JobLockTTL >= time.Second }}
)

// outside is what releases the promise under these settings.
func (inv *Invariant) outside(cfg *Config) class {
	released := inv.releases
	for i := range inv.covered {
		if c := &inv.covered[i]; c.on(cfg) {
			released &^= c.class
		}
	}
	return released
}

// losses are the classes of what servers held and lost. They are left to [Explain]: they release nearly everything,
// and happen rarely.
var losses = []struct {
	class class
	what  string
}{
	{dataLost, "A failover of Redis to a replica that is behind"},
	{tailLost, "A power loss of nats-server that takes a message of that job"},
	{placeReused, "A message of that job in the place of one that went with nats-server's power"},
}

// promise says in words what an invariant is promised under, given what releases it, and which
// settings cover for what.
func promise(releases class, covered []cover) string {
	prefix := ""
	for _, l := range losses {
		releases &^= l.class
	}
	if releases&unprovided != 0 {
		with := without(unprovided, covered)
		if with == "" {
			return "not under these settings"
		}
		prefix, releases = "with "+with+", ", releases&^unprovided
	}
	if releases == 0 {
		return prefix + "under every fault"
	}
	var always []string
	var sometimes [][]string // by what covers for them
	var by []string
	for _, c := range each(releases) {
		said, w := classes[bit(c)].words, without(c, covered)
		i := slices.Index(by, w)
		switch {
		case w == "":
			always = append(always, said)
			continue
		case i < 0:
			i, by, sometimes = len(by), append(by, w), append(sometimes, nil)
		}
		sometimes[i] = append(sometimes[i], said)
	}
	if len(always) == 0 && len(by) == 1 {
		return prefix + "with " + by[0] + ", under every fault; otherwise unless " + strings.Join(sometimes[0], "; or ")
	}
	for i, w := range by {
		always = append(always, "without "+w+", "+strings.Join(sometimes[i], "; or "))
	}
	return prefix + "unless " + strings.Join(always, "; or ")
}

// without names the settings that cover for c.
func without(c class, covered []cover) string {
	var names []string
	for i := range covered {
		if covered[i].class&c != 0 {
			names = append(names, covered[i].String())
		}
	}
	return strings.Join(names, " or ")
}

// each lists the classes in a set.
func each(set class) (list []class) {
	for ; set != 0; set &= set - 1 {
		list = append(list, 1<<bits.TrailingZeros64(uint64(set)))
	}
	return list
}
