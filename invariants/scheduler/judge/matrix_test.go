package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/promises"
	"github.com/wavetank-sim/wavetank/sim"
)

func findRow(t *testing.T, name string) *invariants.Row[config.Config] {
	r := find(name)
	require.NotNil(t, r, name)
	return &r.Row
}

// Each row is of an invariant, names at least one kind in each exception, and says why where nothing helps.
func TestTheMatrixIsComplete(t *testing.T) {
	require.LessOrEqual(t, len(history.Strikes), 25)
	for name, r := range promises.Matrix {
		inv, ok := Find(name)
		require.True(t, ok, name)
		require.NotEqual(t, invariants.Sometimes, inv.Kind, name)
		for _, e := range r.Except {
			assert.NotZero(t, e.By, "%s", name)
			assert.Equal(t, len(e.But) == 0, e.Why != "" && e.Says != "", "%s: %v", name, history.Strikes.List(e.By))
		}
	}
	for _, inv := range All() {
		if inv.Quiet != "" {
			as, ok := Find(inv.Quiet)
			assert.True(t, ok && as.Kind == invariants.Sometimes, "%s: %s", inv.Name, inv.Quiet)
		}
	}
	for _, p := range Promises() {
		assert.Len(t, p.Cells, len(history.Strikes), p.Invariant)
	}
	seen := map[invariants.StrikeKind]bool{}
	for _, k := range history.Strikes {
		assert.False(t, seen[k.Kind] || k.Kind == "" || k.Says == "", "%s", k.Kind)
		seen[k.Kind] = true
	}
}

// A strike is what the injector did, and nothing that came of it.
func TestStrikeOf(t *testing.T) {
	for name, c := range map[string]struct {
		event sim.Event
		kind  invariants.StrikeKind
		is    bool
	}{
		"an error without a fault":    {sim.Event{Kind: sim.KindRedis, Phase: "state_read", Outcome: "EOF"}, "", false},
		"a publish that is refused":   {sim.Event{Kind: sim.KindPublish, Phase: "publish", Fault: "fail-before"}, history.PublishRefused, true},
		"one that hangs":              {sim.Event{Kind: sim.KindPublish, Phase: "publish", Fault: "hang"}, history.PublishRefused, true},
		"one whose answer is lost":    {sim.Event{Kind: sim.KindPublish, Phase: "publish", Fault: "fail-after"}, history.PublishUnanswered, true},
		"a late write":                {sim.Event{Kind: sim.KindRedis, Phase: "result_write", Fault: "late"}, history.WriteLate, true},
		"a read":                      {sim.Event{Kind: sim.KindRedis, Phase: "state_read", Fault: "hang"}, history.ReadFails, true},
		"an operation that is cut":    {sim.Event{Kind: sim.KindRedis, Node: s1, Phase: "state_read", Fault: "partition"}, history.SchedulerAway, true},
		"a worker's":                  {sim.Event{Kind: sim.KindPublish, Node: w1, Phase: "result_publish", Fault: "partition"}, history.WorkerAway, true},
		"a call that is cut":          {sim.Event{Kind: sim.KindCall, Node: s1, Phase: "safety_check", Fault: "partition"}, history.KernelFails, true},
		"a client's operation":        {sim.Event{Kind: sim.KindRedis, Node: "approver", Phase: "replica_read", Fault: "fail-before"}, history.SubmissionFails, true},
		"a crash":                     {sim.Event{Kind: sim.KindControl, Name: "crash", Target: s1}, history.SchedulerCrash, true},
		"a worker's crash":            {sim.Event{Kind: sim.KindControl, Name: "crash", Target: w1}, history.WorkerCrash, true},
		"a client's":                  {sim.Event{Kind: sim.KindControl, Name: "crash", Target: "submitter"}, history.SubmissionFails, true},
		"a restart after a crash":     {sim.Event{Kind: sim.KindControl, Name: "restart", Target: s1}, "", false},
		"a pause":                     {sim.Event{Kind: sim.KindControl, Name: "pause", Target: s1}, history.SchedulerAway, true},
		"a partition":                 {sim.Event{Kind: sim.KindControl, Name: "partition redis", Target: w1}, history.WorkerAway, true},
		"one from the kernel":         {sim.Event{Kind: sim.KindControl, Name: "partition kernel", Target: s1}, history.KernelFails, true},
		"one of heartbeats":           {sim.Event{Kind: sim.KindControl, Name: "partition", Target: w1}, history.HeartbeatLost, true},
		"a restart of nats-server":    {sim.Event{Kind: sim.KindControl, Name: "stop", Target: sim.NATS}, history.NATSAway, true},
		"its power":                   {sim.Event{Kind: sim.KindControl, Name: "power-loss", Target: sim.NATS}, history.NATSPowerLoss, true},
		"a failover":                  {sim.Event{Kind: sim.KindControl, Name: "failover", Target: sim.Redis}, history.RedisFailover, true},
		"a death of Redis":            {sim.Event{Kind: sim.KindControl, Name: "kill", Target: sim.Redis, Changes: []sim.Change{{Key: "job:job-1"}}}, history.RedisDeath, true},
		"one that loses nothing":      {sim.Event{Kind: sim.KindControl, Name: "kill", Target: sim.Redis}, "", false},
		"a clock":                     {sim.Event{Kind: sim.KindControl, Name: "skew", Target: s1}, history.ClockWrong, true},
		"an end that tells of no new": {sim.Event{Kind: sim.KindControl, Name: "resume", Target: s1}, "", false},
	} {
		s, is := history.StrikeOf(&c.event)
		assert.Equal(t, c.is, is, name)
		if is {
			assert.Equal(t, c.kind, s.Kind, name)
		}
	}
}

// What a strike hit is released, and nothing else.
func TestAStrikeReachesWhatItHit(t *testing.T) {
	reached := func(s *story, job string) invariants.Kinds {
		j := NewJudge(hardened)
		for i := range s.events {
			j.Observe(&s.events[i])
		}
		return j.Facts.Jobs[job].Struck
	}
	const job2 = "job-2"
	s := newStory().submit(job1).submit(job2).lock(s1, job1).read(s1, job1).fails().injected()
	assert.Equal(t, history.StrikesOf(history.ReadFails), reached(s, job1))
	assert.Zero(t, reached(s, job2), "an operation of one job")

	s = newStory()
	calm(s)
	s.submit(job2).dispatched(s1, job2, w2).control("crash", w1)
	assert.Zero(t, reached(s, job2), "another's worker")
	s.control("crash", w2)
	assert.Equal(t, history.StrikesOf(history.WorkerCrash), reached(s, job2))
	s.control("pause", s2).submit("job-3")
	assert.Equal(t, history.StrikesOf(history.SchedulerAway), reached(s, "job-3"), "it could be the paused one's to handle")
	s.control("resume", s2).wait(hardened.WithDefaults().AckWait).submit("job-4")
	assert.Zero(t, reached(s, "job-4"), "it came later")
	s.control("failover", sim.Redis)
	assert.Equal(t, history.StrikesOf(history.RedisFailover), reached(s, "job-4"), "a server is everybody's who is not finished")

	s = newStory()
	calm(s)
	s.ack(s1, job1, "submit_ack").of(1).ack(s2, job1, "result_ack").of(2)
	dispatch := len(s.events)
	s.ack(w1, job1, "job_ack").of(1)
	for verb, node := range map[string]string{"stop": sim.NATS, "failover": sim.Redis, "skew": s1, "crash": w1, "pause": s2} {
		over := *s
		assert.Zero(t, reached(over.control(verb, node), job1), "%s of %s: it was finished", verb, node)
	}
	forgets := *s
	forgets.control("failover", sim.Redis).last().Changes = []sim.Change{{Key: history.ProcessedPrefix + history.StreamSys + ":1", Gone: true}}
	assert.Equal(t, history.StrikesOf(history.RedisFailover), reached(&forgets, job1), "the guard of its request was changed back")
	waits := *s
	waits.events = s.events[:dispatch:dispatch]
	assert.Equal(t, history.StrikesOf(history.WorkerCrash), reached(waits.control("crash", w1), job1), "its worker has yet to acknowledge it")
	assert.Equal(t, history.StrikesOf(history.RedisFailover), reached(s.failover(), job1), "its record was changed back")
}

// A strike on one scheduler of two reaches what that scheduler has to do with.
func TestAStrikeOnOneSchedulerOfTwo(t *testing.T) {
	const job2 = "job-2"
	away, crash, tick, none := history.StrikesOf(history.SchedulerAway), history.StrikesOf(history.SchedulerCrash), history.StrikesOf(history.TickFails), invariants.Kinds(0)
	for name, c := range map[string]struct {
		tell       func(*story)
		first, two invariants.Kinds // that reach the job that scheduler-1 handles, and the one that nobody has
	}{
		"an idle one":                {func(s *story) { s.control("pause", s2) }, none, none},
		"who handles a job":          {func(s *story) { s.control("pause", s1) }, away, none},
		"who had handled it":         {func(s *story) { s.unlock(s1, job1).ack(s1, job1, "submit_ack").of(1).control("pause", s1) }, none, none},
		"who holds a tick's lock":    {func(s *story) { s.reconciles(s2).control("pause", s2) }, tick, tick},
		"who writes the snapshot":    {func(s *story) { s.ticks(s2, history.WriterKey, "snapshot_lock", time.Minute).control("pause", s2) }, none, none},
		"who takes a tick's lock":    {func(s *story) { s.control("partition nats", s2).reconciles(s2).op(s2, "", "timeout_scan") }, tick, tick},
		"whose wrong clock ticks":    {func(s *story) { s.control("skew", s2).reconciles(s2).op(s2, "", "timeout_scan") }, history.StrikesOf(history.ClockWrong), history.StrikesOf(history.ClockWrong)},
		"who handles one thereafter": {func(s *story) { s.control("pause", s2).wait(time.Minute).control("resume", s2).lock(s2, job2) }, none, away},
		"who handles one long after": {func(s *story) {
			s.control("pause", s2).wait(time.Minute).control("resume", s2).wait(time.Hour).lock(s2, job2)
		}, none, none},
		"who was paused for a moment": {func(s *story) {
			s.control("pause", s2).wait(time.Millisecond).control("resume", s2).wait(time.Second).lock(s2, job2)
		}, none, none},
		"who is paused again meanwhile": {func(s *story) {
			s.control("pause", s2).control("pause", s2).control("resume", s2).wait(time.Hour).pull(s2).lock(s2, job2)
		}, none, away},
		"the last one":                  {func(s *story) { s.control("crash", s2).control("crash", s1) }, crash, crash},
		"the last one but a paused one": {func(s *story) { s.control("pause", s2).control("crash", s1) }, away | crash, away | crash},
		"who has asked for messages":    {func(s *story) { s.pull(s2).control("crash", s2) }, none, crash},
	} {
		s := newStory().starts(s1).starts(s2).submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).of(1).lock(s1, job1).submit(job2)
		c.tell(s)
		j := NewJudge(hardened)
		for i := range s.events {
			j.Observe(&s.events[i])
		}
		assert.Equal(t, c.first, j.Facts.Jobs[job1].Struck, "%s: the job in hand", name)
		assert.Equal(t, c.two, j.Facts.Jobs[job2].Struck, "%s: the other job", name)
	}
}

// A call of the safety kernel that fails reaches its job; enough of them reach all, as a circuit may open.
func TestACircuitIsEverybodys(t *testing.T) {
	const job2 = "job-2"
	kernel := history.StrikesOf(history.KernelFails)
	for name, c := range map[string]struct {
		fail       int
		apart      time.Duration
		first, two invariants.Kinds
	}{
		"one":       {1, 0, kernel, 0},
		"too few":   {2, time.Second, kernel, 0},
		"enough":    {3, time.Second, kernel, kernel},
		"far apart": {3, 2 * time.Minute, kernel, kernel},
	} {
		s := newStory().starts(s1).starts(s2).submit(job1).submit(job2)
		for range c.fail {
			s.wait(c.apart).calls(s1, job1).last().Fault = "fail-before"
		}
		s.submit("job-3")
		j := NewJudge(hardened)
		for i := range s.events {
			j.Observe(&s.events[i])
		}
		assert.Equal(t, c.first, j.Facts.Jobs[job1].Struck, "%s: the job that was asked about", name)
		assert.Equal(t, c.two, j.Facts.Jobs[job2].Struck, "%s: another", name)
		assert.Equal(t, c.two, j.Facts.Jobs["job-3"].Struck, "%s: one that comes then", name)
	}
}

// A client that has yet to start is not struck by a crash or a pause.
func TestAClientThatIsNotThereIsNotStruck(t *testing.T) {
	for _, there := range []bool{true, false} {
		s := newStory().starts(s1).starts(s2)
		if there {
			s.starts("submitter")
		}
		s.control("pause", "submitter").submit(job1)
		j := NewJudge(hardened)
		for i := range s.events {
			j.Observe(&s.events[i])
		}
		assert.Equal(t, there, j.Facts.Jobs[job1].Struck != 0)
	}
}

// A strike that lasts reaches what appears until it is over, and its aftermath.
func TestAWindowCloses(t *testing.T) {
	for _, c := range []struct {
		node, begins, ends string
		kind               invariants.StrikeKind // "" for what nobody goes by
	}{
		{sim.NATS, "stop", "start", history.NATSAway},
		{sim.Redis, "failover", "", history.RedisFailover},
		{s1, "skew", "set clock", history.ClockWrong},
		{w1, "skew", "set clock", ""},
		{s1, "partition nats", "heal nats", history.SchedulerAway},
		{s1, "crash", "restart", history.SchedulerCrash},
	} {
		s := newStory().control(c.begins, c.node).submit(job1)
		if c.ends != "" {
			s.wait(time.Hour).submit("job-2").control(c.ends, c.node)
		}
		s.wait(40 * time.Minute).submit("job-3")
		j := NewJudge(hardened)
		for i := range s.events {
			j.Observe(&s.events[i])
		}
		assert.Equal(t, history.StrikesOf(c.kind), j.Facts.Jobs[job1].Struck, "%s of %s", c.begins, c.node)
		if c.ends != "" {
			assert.Equal(t, history.StrikesOf(c.kind), j.Facts.Jobs["job-2"].Struck, "%s of %s lasts", c.begins, c.node)
		}
		assert.Zero(t, j.Facts.Jobs["job-3"].Struck, "%s of %s is long over", c.begins, c.node)
	}
}

// A family is told by a phase's name.
func TestEveryFamilyHasKinds(t *testing.T) {
	for _, do := range []faults.Effect{faults.FailBefore, faults.FailAfter, faults.Hang, faults.Late} {
		for _, phase := range []string{"publish", "rollback_write", "state_read", "lock_renew", "dlq_write", "processed_read", "reconcile_lock", "approve_publish"} {
			name := history.OperationStrike(do, faults.FamilyOf(phase)).String()
			assert.NotEmpty(t, strings.TrimSpace(name), phase)
		}
	}
	assert.Equal(t, history.WriteRefused, history.OperationStrike(faults.Hang, faults.FamilyOf("saga_pop")))
	assert.Equal(t, history.TickFails, history.OperationStrike(faults.Hang, faults.FamilyOf("poll_lock")))
	assert.Equal(t, history.LockFails, history.OperationStrike(faults.Late, faults.FamilyOf("run_renew")))
	assert.Equal(t, history.AckLost, history.OperationStrike(faults.Lose, faults.FamilyOf("result_nak")))
}

// A fault that releases a promise no longer does where a setting has something to set against it, and
// does so again without that setting.
func TestSettingsWithdrawReleases(t *testing.T) {
	overstayed := func(write func(*story)) func(*story) {
		return func(s *story) {
			s.submit(job1).begins(s1, job1).stalls(s1).wait(61*time.Second).dispatched(s2, job1, w1)
			write(s)
		}
	}
	for name, c := range map[string]struct {
		invariant string
		without   config.Config
		story     func(*story)
	}{
		"fence, terminal-states-final": {"terminal-states-final", with(func(c *config.Config) { c.Fence = false }), overstayed(func(s *story) {
			s.executed(w1, job1).completed(s2, job1, "SUCCEEDED").write(s1, job1, "dispatched_write", "DISPATCHED")
		})},
		"fence, documented-transitions-only": {"documented-transitions-only", with(func(c *config.Config) { c.Fence = false }), overstayed(func(s *story) {
			s.scheduled(s1, job1, "scheduled_write")
		})},
		"fence and epochs, lock-mutual-exclusion": {"lock-mutual-exclusion", with(func(c *config.Config) { c.Fence = false }), overstayed(func(s *story) {
			s.scheduled(s1, job1, "scheduled_write")
		})},
		"epochs, one-dispatch-per-job": {"one-dispatch-per-job", with(func(c *config.Config) { c.Epochs = false }), func(s *story) {
			s.submit(job1).begins(s1, job1).publishes(s1, job1, w1, 1).fails().unlock(s1, job1).begins(s1, job1).publishes(s1, job1, w1, 1)
		}},
		"reconciler, a dead worker": {"every-job-settles", with(func(c *config.Config) { c.Reconciler = false }), func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).control("crash", w1)
		}},
		"sweep_scheduled, a request given up": {"every-job-settles", with(func(c *config.Config) { c.SweepScheduled, c.BusyBackoff = false, false }), func(s *story) {
			s.submit(job1).lock(s1, job1).read(s1, job1).fails().scheduled(s1, job1, "scheduled_write").unlock(s1, job1).message(s1, job1, "submit_nak", sim.KindNak, 100)
		}},
		"fence, a write from the past": {"every-job-settles", with(func(c *config.Config) { c.Fence = false }), func(s *story) {
			s.submit(job1).scheduled(s1, job1, "scheduled_write").late()
		}},
		"dlq_order=atomic, a crash before the entry": {"failed-job-has-dlq-entry", with(func(c *config.Config) { c.DLQOrder = "state-then-dlq" }), func(s *story) {
			s.submit(job1).begins(s1, job1).write(s1, job1, "failed_write", "FAILED").control("crash", s1)
		}},
		"resume_intents, a crash before the publish": {"every-intent-is-published", with(func(c *config.Config) { c.ResumeIntents = false }), func(s *story) {
			s.starts(s2).submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).control("crash", s1).wait(6*time.Minute).timesOut(s2, job1)
		}},
		"time to resume": {"every-intent-is-published", with(func(c *config.Config) { c.TopicTimeouts, c.RetryUnpublished = "job.default=20s", false }), func(s *story) {
			s.starts(s2).submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).control("crash", s1).wait(6*time.Minute).timesOut(s2, job1)
		}},
		"retry_unpublished, a publish that fails for longer than the timeout": {"every-intent-is-published", with(func(c *config.Config) { c.RetryUnpublished = false }), func(s *story) {
			s.submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).add(s1, sim.KindPublish, "", epochSubject(w1, job1, 1), job1, "publish").fails().
				unlock(s1, job1).wait(6*time.Minute).timesOut(s2, job1)
		}},
		"fence, a void without the lock": {"lock-mutual-exclusion", with(func(c *config.Config) { c.Fence = false }), overstayed(func(s *story) {
			s.wait(10*time.Second).voids(s1, job1, w1, 1)
		})},
		"void_intents, a publish that comes late": {"no-dispatch-after-end", with(func(c *config.Config) { c.VoidIntents = false }), func(s *story) {
			s.submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).unlock(s1, job1).cancelled(s2, job1).publishes(s1, job1, w1, 1).late()
		}},
		"refuse_stale_results": {"result-of-current-epoch", with(func(c *config.Config) { c.RefuseStaleResults = false }), func(s *story) {
			s.submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).publishes(s1, job1, w1, 1).fails().unlock(s1, job1).answers(w1, job1, 1).
				begins(s1, job1).minted(s1, job1, w2, 2).unlock(s1, job1).message(s2, job1, "result_deliver", sim.KindDeliver, 1).of(2).
				lock(s2, job1).write(s2, job1, "result_write", "SUCCEEDED")
		}},
		"recheck_timeouts": {"timeout-only-when-due", with(func(c *config.Config) { c.RecheckTimeouts = false }), func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).timesOut(s2, job1)
		}},
		"recheck_timeouts, and what else an old list does": {"terminal-states-final", with(func(c *config.Config) { c.RecheckTimeouts = false }), func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).stalls(s2).executed(w1, job1).completed(s2, job1, "SUCCEEDED").timesOut(s2, job1)
		}},
		"busy_backoff": {"no-message-given-up", with(func(c *config.Config) { c.BusyBackoff = false }), func(s *story) {
			s.submit(job1).lock(s1, job1).releases(s1, job1).fails().
				message(s1, job1, "submit_deliver", sim.KindDeliver, 100).at1().message(s1, job1, "submit_nak", sim.KindNak, 100).at1()
		}},
		"cancel_notice": {"cancelled-job-is-told", with(func(c *config.Config) { c.CancelNotice = false }), func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).cancelled(s2, job1)
		}},
		"void_intents, a publish ahead of its intent": {"cancelled-job-is-told", with(func(c *config.Config) { c.DispatchOrder, c.VoidIntents = "publish-first", false }), func(s *story) {
			s.submit(job1).begins(s1, job1).publishes(s1, job1, w1, 1).unlock(s1, job1).cancelled(s2, job1)
		}},
		"resume_intents, a publish that was stored and taken back": {"cancelled-job-is-told", with(func(c *config.Config) { c.ResumeIntents = false }), func(s *story) {
			s.submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).publishes(s1, job1, w1, 1).fails().scheduled(s1, job1, "rollback_write").unlock(s1, job1).
				cancelled(s2, job1)
		}},
		"snapshot_last_seen": {"snapshot-revives-no-worker", with(func(c *config.Config) { c.SnapshotLastSeen = false }), func(s *story) {
			s.snapshots(s2, heard{worker: w1, ago: time.Minute}).starts(s1).submit(job1).dispatched(s1, job1, w1)
		}},
		"fence, a snapshot of a writer that overstayed": {"one-writer-a-tick", with(func(c *config.Config) { c.Fence = false }), func(s *story) {
			s.ticks(s1, history.WriterKey, "snapshot_lock", 10*time.Second).stalls(s1).wait(11 * time.Second).writesSnapshot(s2).snapshots(s1)
		}},
		"tick_lock":  {"overdue-job-found-within-a-poll", with(func(c *config.Config) { c.TickLock = "until-expiry" }), overdue},
		"reconciler": {"overdue-job-found-within-a-poll", with(func(c *config.Config) { c.Reconciler = false }), overdue},
		"batch_size": {"overdue-job-found-within-a-poll", with(func(c *config.Config) { c.BatchSize, c.MaxIterations = 1, 3 }), overdue},
		"stale_reason_code": {"stale-worker-has-its-own-reason", with(func(c *config.Config) { c.StaleReasonCode = "no_workers" }), func(s *story) {
			s.submit(job1).counted(map[string]float64{history.CounterStalePicks: 3})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			c.story(s)
			full, less := outcomeOf(s.injected().judge(hardened), c.invariant), outcomeOf(s.judge(c.without), c.invariant)
			require.NotEmpty(t, full.Violations)
			assert.Positive(t, full.Promised, full.Violations[0].Message)
			assert.Zero(t, less.Promised)
			assert.Positive(t, less.Unpromised)
			assert.NotEqual(t, full.Promise, less.Promise, "a report tells the promise of its own settings")
		})
	}
}

// What the documented design promises, it promises whatever part of it is taken away.
func TestPartsTakenAwayAreMissed(t *testing.T) {
	for name, c := range map[string]struct {
		invariant string
		cfg       config.Config
		story     func(*story)
	}{
		"a lock for one poll":  {"one-writer-a-tick", config.Config{}, func(s *story) { s.reconciles(s1).wait(31 * time.Second).reconciles(s1) }},
		"a lock is given back": {"one-writer-a-tick", config.Config{}, func(s *story) { s.reconciles(s1).wait(time.Second).reconciles(s2) }},
		"no writer's lock":     {"one-writer-a-tick", config.Config{}, func(s *story) { s.snapshots(s1) }},
		"no guard": {"processed-message-not-handled-again", config.Config{}, func(s *story) {
			s.submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).at1().dispatched(s1, job1, w1).at1().lost()
			s.message(s2, job1, "submit_deliver", sim.KindDeliver, 2).at1().lock(s2, job1).read(s2, job1).unlock(s2, job1).ack(s2, job1, "submit_ack").at1()
		}},
		"no replayer": {"every-job-settles", config.Config{}, func(s *story) {
			s.write("submitter", job1, "submit_write", "PENDING", "attempts", "0")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			c.story(s)
			assert.Positive(t, outcomeOf(s.judge(c.cfg), c.invariant).Promised)
		})
	}
}

// The words of a promise name the settings that it depends on, and those of a report their outcome.
func TestPromiseNamesItsSettings(t *testing.T) {
	promised := func(name string) string {
		inv, ok := Find(name)
		require.True(t, ok)
		return inv.Promise
	}
	assert.Regexp(t, "^with cancel_notice and an intent before each dispatch, or with cancel_notice and epochs and void_intents, under every fault(?: but [a-z, -]+)?; under ", promised("cancelled-job-is-told"))
	assert.Regexp(t, "^under every fault; under write-unanswered only with recheck_timeouts; under write-late, scheduler-away only with fence and recheck_timeouts; under lock-fails only with fence; under ", promised("terminal-states-final"))
	assert.Equal(t, "with read_error=fail-closed, under every fault", promised("no-dispatch-after-failed-read"))
	assert.Equal(t, "under every fault", promised("told-worker-stops"))
	report := newStory().judge(config.Config{})
	assert.Equal(t, "not under these settings", outcomeOf(report, "cancelled-job-is-told").Promise)
	for _, o := range report.Invariants {
		list := strings.Split(strings.TrimPrefix(o.Promise, "unless struck by "), ", ")
		assert.Len(t, slices.Compact(slices.Sorted(slices.Values(list))), len(list), "%s names each strike once: %s", o.Name, o.Promise)
	}
	assert.Equal(t, "unless struck by nats-power-loss", outcomeOf(newStory().judge(hardened), "one-dispatch-per-job").Promise)
}
