package whatif

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

// Of many changes one is told as a whole, which is about the job.
func TestOneOfManyChangesIsTold(t *testing.T) {
	lost, kept := &sim.Event{Kind: sim.KindControl, Name: "power-loss", Outcome: sim.OutcomeOK}, &sim.Event{Kind: sim.KindControl, Name: "power-loss", Outcome: sim.OutcomeOK}
	for i, job := range []string{"job-1", "job-16", "job-6", "job-2", "job-3", "job-4"} {
		lost.Changes = append(lost.Changes, sim.Change{Stream: "CORDUM_JOBS", Seq: uint64(i + 1), Subject: "worker.worker-1.jobs", Header: map[string]string{"Job-Id": job}, Gone: true})
	}
	const one = " 6 changes, one of them CORDUM_JOBS seq 3 on worker.worker-1.jobs Job-Id: job-6 gone"
	assert.Equal(t, "control power-loss: ok, with"+one, pointOf(lost, kept, "job-6", "job-1").Says)
	assert.Equal(t, "control power-loss: ok, without"+one, pointOf(kept, lost, "job-6", "job-1").Says)
	assert.Contains(t, pointOf(lost, kept).Says, "one of them CORDUM_JOBS seq 1 ")
}

// A path has a sentence a step, and none of what becomes of other jobs.
func TestAPathHasASentenceAStep(t *testing.T) {
	for name, steps := range map[string]int{"publish-ack-lost": 6, "saga-crash": 6, "tenant-limit": 5} {
		t.Run(name, func(t *testing.T) {
			b := &bench{ctx: context.Background(), plan: load(t, name), say: func(string) {}}
			v, phases, err := b.ownRun("")
			require.NoError(t, err)
			list := path(b.upTo, v, phases, nil, nil, nil)
			assert.Len(t, list, steps)
			seen := map[int]bool{}
			for _, at := range list {
				assert.False(t, seen[at.Step], "step %d", at.Step)
				seen[at.Step] = at.Step > 0
				assert.NotContains(t, at.Says, "wrote SUCCEEDED for comp-", "the compensation of another job")
			}
			for _, step := range v.Steps {
				assert.True(t, seen[step], "the violation hangs on step %d", step)
			}
		})
	}
}

// However many violations come before it, the path ends in the one that is explained.
func TestAPathEndsInItsViolation(t *testing.T) {
	p := load(t, "calm", "engine.dispatch_order=publish-first", "workload.jobs=8", "workload.every=1s")
	for job := 1; job <= 6; job++ { // a lost ack releases the promise
		p.Faults = append(p.Faults, faults.Fault{On: &faults.Match{Job: job, Phase: "publish", Occurrence: 1}, Do: faults.FailAfter})
	}
	p.Faults = append(p.Faults, faults.Fault{On: &faults.Match{Job: 8, Phase: "dispatched_write", Occurrence: 1}, Do: faults.FailBefore})
	b := &bench{ctx: context.Background(), plan: p, say: func(string) {}}
	v, phases, err := b.ownRun("")
	require.NoError(t, err)
	assert.True(t, v.Promised)
	assert.Equal(t, "job-8", v.Job)
	list := path(b.upTo, v, phases, nil, nil, nil)
	assert.Contains(t, list[len(list)-1].Says, v.Invariant+" was violated: "+v.Message)
}

// What a violation depends on and no sentence tells, its event tells: as many of these as there is room for.
func TestAPathHasTheEventsThatAreUntold(t *testing.T) {
	b := &bench{ctx: context.Background(), plan: load(t, "publish-ack-lost"), say: func(string) {}}
	v, phases, err := b.ownRun("")
	require.NoError(t, err)
	for n := range 8 {
		var untold []*sim.Event
		for i := range n {
			untold = append(untold, &sim.Event{Step: 10 + i, At: time.Duration(i), Node: "scheduler-1", Kind: sim.KindRedis, Phase: "replay_lock", Outcome: "ok"})
		}
		list := path(b.upTo, v, phases, nil, nil, untold)
		assert.LessOrEqual(t, len(list), pathMost)
		told := 0
		for _, at := range list {
			if strings.Contains(at.Says, "replay_lock") {
				told++
			}
		}
		assert.Equal(t, min(n, pathMost-2), told)
		assert.Contains(t, list[len(list)-1].Says, v.Message)
	}
}

// A fault that struck several jobs is told by what it did to the violation's.
func TestAStrikeIsToldByTheViolationsJob(t *testing.T) {
	c := explained(t, "cached-state-stale")
	assert.Equal(t, "job-4", c.Job)
	assert.Contains(t, c.Brief(), "the publish of job-4 by")
	assert.Contains(t, c.Brief(), "the state_read of job-4 by")
}

// The path names what a reader looks for: that the circuit was half-open, how long a lock lasts that nobody gave back, and the crash
// that a rollback ended with, though it struck another job. It leaves out what another job lost, and a pause that nothing hangs on.
func TestThePathNamesWhatAReaderLooksFor(t *testing.T) {
	for name, c := range map[string]struct{ has, lacks string }{
		"breaker-storm":        {has: "for scheduler-3 the safety circuit was half-open"},
		"lock-release-failure": {has: "found the lock of job-3 held by itself since 2.618s (TTL 1m)"},
		"nats-power-cut":       {has: "the dispatch of job-6 was lost", lacks: "of job-3 was lost"},
		"saga-crash":           {has: "scheduler-1 crashed, right after the saga_publish of job-3"},
		"saga-expired-lock":    {has: "scheduler-1 was paused for 3m, right after the saga_pop", lacks: "paused for 1m"},
	} {
		var told strings.Builder
		for _, at := range pathOf(t, load(t, name)) {
			told.WriteString(at.Says + "\n")
		}
		assert.Contains(t, told.String(), c.has, name)
		if c.lacks != "" {
			assert.NotContains(t, told.String(), c.lacks, name)
		}
	}
}

// pathOf is the path alone, for which nobody has to know what would have prevented the violation.
func pathOf(t *testing.T, p *plans.Plan) []why.Point {
	t.Helper()
	b := &bench{ctx: context.Background(), plan: p, most: stepsMostQuick, say: func(string) {}}
	v, phases, err := b.ownRun("")
	require.NoError(t, err)
	c := &why.Cause{Invariant: v.Invariant}
	given, _ := b.changes()
	require.NoError(t, b.blame(c, given, nil, true))
	needed, spared := b.strikes(c)
	events, err := b.eventsAt(untold(b.upTo, v))
	require.NoError(t, err)
	return path(b.upTo, v, phases, needed, spared, events)
}
