package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// A worker that takes up the published intent of another handling was picked back then.
func TestAResumedIntentIsJudgedByItsPick(t *testing.T) {
	s := newStory().beat(w1, s1).submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).publishFails(s1, job1, w1).unlock(s1, job1)
	s.wait(time.Hour).lock(s2, job1).read(s2, job1).publishes(s2, job1, w1, 1)
	r := s.judge(hardened)
	assert.Equal(t, 2, outcomeOf(r, "no-dispatch-to-expired-worker").Exercised)
	assert.Empty(t, outcomeOf(r, "no-dispatch-to-expired-worker").Violations)
	assert.Equal(t, 1, outcomeOf(r, "intent-resumed").Exercised)
}

// A job goes to the worker with the lowest load, be there one worker of that load or several.
func TestTheLeastLoadedGetsTheJob(t *testing.T) {
	said := func(cfg config.Config, to string) (list []string) {
		s := newStory().beats(w2, 1, s1).beats(w1, 3, s1).submit(job1).dispatched(s1, job1, to)
		for _, v := range outcomeOf(s.judge(cfg), "ties-broken-by-worker-id").Violations {
			list = append(list, v.Message)
		}
		return list
	}
	for _, cfg := range []config.Config{{}, {CountDispatches: true}} {
		assert.Empty(t, said(cfg, w2))
		if is := said(cfg, w1); assert.Len(t, is, 1) {
			assert.Contains(t, is[0], "scheduler-1 dispatched it to worker-1 at step 8; worker-2 had the load 1, and that one 3")
		}
	}
}

// Where the stream holds a dispatch already, its worker is nobody's choice any more.
func TestWhatTheStreamSaysIsNoChoice(t *testing.T) {
	cfg := hardened
	cfg.DispatchOrder, cfg.CountDispatches = "publish-first", true
	judge := func(invariant string, before, after func(*story)) int {
		s := newStory().beats(w2, 1, s1).beats(w1, 1, s1).submit(job1).submit(job2)
		before(s)
		s.begins(s1, job1)
		after(s)
		return len(outcomeOf(s.minted(s1, job1, w2, 1).judge(cfg), invariant).Violations)
	}
	nothing := func(*story) {}
	earlier := func(s *story) { s.begins(s2, job1).publishes(s2, job1, w2, 1).unlock(s2, job1) }
	other := func(s *story) { s.dispatchedAt(s1, job2, w2, 1) }
	stores := func(s *story) { s.publishes(s1, job1, w2, 1) }
	refused := func(s *story) { s.refused(s1, job1, w1, 1) }
	assert.Equal(t, 1, judge("ties-broken-by-worker-id", nothing, stores))
	assert.Zero(t, judge("ties-broken-by-worker-id", earlier, refused))
	assert.Positive(t, judge("dispatches-count-as-load", other, stores))
	with := func(s *story) { other(s); earlier(s) }
	assert.Equal(t, judge("dispatches-count-as-load", other, stores)-1, judge("dispatches-count-as-load", with, refused))
}

// A replica whose picks may have met a worker past its TTL sends the job back for that, though it knows another that is alive.
func TestAStaleWorkerIsNoWantOfKnownOnes(t *testing.T) {
	broken := func(ago time.Duration) int {
		s := newStory().snapshots(s2, heard{worker: w1, ago: 10 * time.Second}, heard{worker: w2, ago: ago}).starts(s1).wait(10 * time.Second)
		s.submit(job1).begins(s1, job1).unlock(s1, job1)
		return len(outcomeOf(s.judge(hardened), "no-retry-for-want-of-known-workers").Violations)
	}
	assert.Equal(t, 1, broken(10*time.Second))
	assert.Zero(t, broken(25*time.Second), "it is past its TTL by the pick")
	assert.Equal(t, 1, broken(35*time.Second), "it was by the start, so that the replica does not know it")
}

// A replica that has read the snapshot, and was not told the time, starts cold.
func TestASnapshotWithoutTheTimeTellsNothing(t *testing.T) {
	s := newStory().snapshots(s2, heard{worker: w1, ago: 10 * time.Second})
	s.add(s1, sim.KindStart, "", "", "", "")
	s.add(s1, sim.KindRedis, "get", history.SnapshotKey, "", "snapshot_read")
	s.beats(w2, 0, s1).submit(job1).dispatched(s1, job1, w1)
	assert.NotEmpty(t, outcomeOf(s.judge(hardened), "no-dispatch-to-expired-worker").Violations)
}

// When a snapshot is written says nothing of when its writer heard of whom: it may have been on its way for long.
func TestALateSnapshotIsAsOldAsItSays(t *testing.T) {
	s := newStory().snapshots(s2, heard{worker: w1, ago: 10 * time.Second}).arrives(40 * time.Second).starts(s1)
	s.submit(job1).begins(s1, job1).unlock(s1, job1)
	assert.Empty(t, outcomeOf(s.judge(hardened), "no-retry-for-want-of-known-workers").Violations, "nobody has heard of it for longer than its TTL")

	s = newStory().snapshots(s2, heard{worker: w1, ago: 10 * time.Second}).arrives(40 * time.Second).starts(s1)
	s.submit(job1).dispatched(s1, job1, w1)
	assert.NotEmpty(t, outcomeOf(s.judge(hardened), "snapshot-revives-no-worker").Violations)
}

// A worker is met as a stale one from its TTL on, until the next sweep.
func TestAStaleWorkerIsListedForATime(t *testing.T) {
	broken := func(silent time.Duration, picks float64) int {
		s := newStory().beats(w1, 0, s1).wait(silent).submit(job1).begins(s1, job1).unlock(s1, job1)
		return len(outcomeOf(s.counted(map[string]float64{history.CounterStalePicks: picks}).judge(config.Config{}), "stale-worker-is-picked-again").Violations)
	}
	assert.Equal(t, 1, broken(20*time.Second, 3), "it is alive")
	assert.Zero(t, broken(31*time.Second, 3))
	assert.Equal(t, 1, broken(31*time.Second, 6), "of one handling")
	assert.Zero(t, broken(40*time.Second, 3))
	assert.Equal(t, 1, broken(42*time.Second, 3), "it was swept out")
}

// Where another worker is past its TTL, or will soon be, there is no telling which one a pick meets.
func TestALiveWorkerIsFoundWhereNoneIsStale(t *testing.T) {
	broken := func(silent time.Duration) int {
		s := newStory().beats(w1, 0, s1).wait(silent).beats(w2, 1, s1).submit(job1).begins(s1, job1).unlock(s1, job1)
		return len(outcomeOf(s.judge(config.Config{}), "live-worker-is-found").Violations)
	}
	assert.Equal(t, 1, broken(20*time.Second))
	assert.Zero(t, broken(30*time.Second))
	assert.Zero(t, broken(40*time.Second))
	assert.Equal(t, 1, broken(42*time.Second), "it was swept out")
}
