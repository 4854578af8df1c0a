package reports

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

func (t *tape) lanes() (laneView, map[int]bool) {
	c := newCollector(t.res, focusOn(t.res))
	for _, e := range t.events {
		c.add(e)
	}
	return lanes(c, t.res)
}

func TestLanesShowTheStepsOfTheJobInQuestion(t *testing.T) {
	tp := publishFailure()
	view, shown := tp.lanes()
	assert.Equal(t, []string{"submitter", "scheduler-1", "scheduler-2", "worker-2"}, view.Nodes, "nodes along the job's way; those without a step are left out")
	for _, e := range tp.events {
		assert.Equal(t, e.Job == "job-3", shown[e.Step], "step %d", e.Step)
	}
	var told, gaps []string
	for _, r := range view.Rows {
		if r.Gap != "" {
			gaps = append(gaps, r.Gap)
			continue
		}
		here := 0
		for i, c := range r.Cells {
			if c.Here {
				here++
				if !c.Minor && !strings.Contains(c.Words, "the ") {
					told = append(told, view.Nodes[i]+" "+c.Words)
				}
				assert.Equal(t, c.Fault == "fail-before", r.Tone == "fault")
			}
		}
		assert.Equal(t, 1, here, "one node a step")
	}
	assert.Equal(t, []string{
		"submitter PENDING", "submitter publishes sys.job.submit",
		"scheduler-2 reads PENDING", "scheduler-2 SCHEDULED, attempts 1", "scheduler-2 DISPATCHED to worker-2",
		"scheduler-2 publishes worker.worker-2.jobs, which is not stored", "scheduler-2 rolls back to SCHEDULED, attempts 2",
		"scheduler-1 reads SCHEDULED, attempts 2", "scheduler-1 SCHEDULED, attempts 3", "scheduler-1 DISPATCHED to worker-2",
		"scheduler-1 publishes worker.worker-2.jobs, which is not stored", "scheduler-1 rolls back to SCHEDULED, attempts 4",
		"scheduler-1 reads SCHEDULED, attempts 4", "scheduler-1 SCHEDULED, attempts 5", "scheduler-1 DISPATCHED to worker-2",
		"scheduler-1 publishes worker.worker-2.jobs", "scheduler-1 RUNNING",
		"worker-2 publishes sys.job.result", "scheduler-2 reads RUNNING, attempts 5", "scheduler-2 SUCCEEDED",
	}, told)
	assert.Equal(t, []string{"… 4.64 s, 102 steps of others …", "… 16.2 s …", "… 2 s …"}, gaps)
}

func TestLanesMarkNodesThatAreGone(t *testing.T) {
	tp := newTape("crash", "", 1)
	tp.submit("job-1")
	tp.control("crash", "scheduler-1")
	tp.res.Fired = []scenarios.FiredFault{{Do: "partition", Node: "scheduler-2", Step: 99, At: tp.now + 1, Until: tp.now + time.Second}}
	tp.try("scheduler-2", "job-1", 1, "")
	tp.wait(2 * time.Second)
	tp.control("restart", "scheduler-1")
	tp.work("worker-2", "scheduler-2", "job-1")
	view, _ := tp.finish(1).lanes()
	for _, r := range view.Rows {
		if r.Gap != "" {
			continue
		}
		one, two := r.Cells[1], r.Cells[2]
		at, err := time.ParseDuration(r.Clock)
		require.NoError(t, err)
		crashed := r.Step >= 3 && at < 2*time.Second
		assert.Equal(t, crashed, strings.Contains(one.Class, "down"), "scheduler-1 at step %d", r.Step)
		assert.Equal(t, crashed && r.Step > 3, strings.Contains(two.Class, "cut"), "scheduler-2 at step %d", r.Step)
		if r.Step == 3 {
			assert.Equal(t, "crashes", one.Words)
			assert.Equal(t, "control", r.Tone)
		}
	}
}

func TestLanesKeepWhatSurroundsViolationsAndFaults(t *testing.T) {
	tp := newTape("long", "", 1)
	tp.submit("job-1")
	for range 2000 {
		tp.redis("scheduler-1", "job-1", "lock_renew", "evalsha")
	}
	middle := tp.redisFault("job-1")
	for range 2000 {
		tp.redis("scheduler-1", "job-1", "lock_renew", "evalsha")
	}
	tp.res.Violations = []scenarios.Violation{{Invariant: "x", Promised: true, Step: len(tp.events) - 100, Job: "job-1"}}
	view, shown := tp.finish(1).lanes()
	assert.Len(t, shown, rowsMax)
	for _, anchor := range []int{middle, len(tp.events) - 100} {
		for step := anchor - contextRows; step <= anchor+contextRows; step++ {
			assert.True(t, shown[step], "step %d, near %d", step, anchor)
		}
		assert.False(t, shown[anchor-contextRows-1])
	}
	assert.True(t, shown[1] && shown[300], "the beginning fills what room is left")
	assert.Contains(t, view.Notes, "400 of 4,003 steps shown: those around violations and faults, those that the story tells, then the earliest. trace.jsonl has them all.")
	assert.Equal(t, "… 94 later steps left out …", view.Rows[len(view.Rows)-1].Gap)
}

func (t *tape) redisFault(job string) int {
	e := t.step(sim.Event{Node: "scheduler-1", Kind: sim.KindRedis, Name: "hgetall", Job: job, Phase: "state_read", Fault: "fail-before", Outcome: "refused"})
	t.res.Fired = append(t.res.Fired, scenarios.FiredFault{Do: "fail-before", Step: e.Step, At: e.At})
	return e.Step
}

func TestLanesStayBoundedHoweverMuchGoesWrong(t *testing.T) {
	tp := newTape("storm", "", 30)
	for range 30_000 {
		step := tp.redisFault("job-1")
		tp.res.Violations = append(tp.res.Violations, scenarios.Violation{Step: step, Promised: true, Job: "job-1"})
	}
	c := newCollector(tp.res, focusOn(tp.finish().res))
	for _, e := range tp.events {
		c.add(e)
		require.LessOrEqual(t, len(c.rows), rowsMax+2*anchorsMax*(1+2*contextRows))
	}
	_, shown := lanes(c, tp.res)
	assert.Len(t, shown, rowsMax)
}

func TestLanesCapTheirColumns(t *testing.T) {
	tp := newTape("wide", "", 1)
	tp.submit("job-1")
	for n := 64; n > 0; n-- {
		for range 1 + n%3 {
			tp.redis(fmt.Sprintf("scheduler-%d", n), "job-1", "lock_acquire", "set")
		}
	}
	tp.step(sim.Event{Kind: "effect", Name: "x", Job: "job-1"})
	view, _ := tp.finish(1).lanes()
	assert.Len(t, view.Nodes, lanesMax+1)
	assert.Equal(t, elsewhere, view.Nodes[lanesMax])
	assert.Equal(t, []string{"scheduler-2", "scheduler-5"}, view.Nodes[:2], "the busiest, by number")
	last := view.Rows[len(view.Rows)-1].Cells[lanesMax]
	assert.True(t, last.Here && last.Other)
	assert.Equal(t, "harness", last.Node)
}

// What repeats is on the page, and on paper one row stands for it. What the story tells of stays.
func TestLanesFoldOnPaperWhatRepeats(t *testing.T) {
	for told, want := range map[bool][]string{
		false: {"… the last 2 steps come again 4 times, with other numbers, until 4ms …"},
		true:  nil, // it comes only once again before, and after
	} {
		tp := newTape("loop", "", 1)
		tp.submit("job-1")
		for i := range 5 {
			node := fmt.Sprintf("scheduler-%d", 1+i%2)
			tp.redis(node, "job-1", "lock_acquire", "set")
			tp.redis(node, "job-1", "lock_renew", "evalsha")
			if told && i == 2 {
				tp.res.TellingAt = append(tp.res.TellingAt, scenarios.ToldAt{Step: len(tp.events)})
			}
		}
		tp.redis("scheduler-1", "job-1", "lock_release", "del")
		view, shown := tp.finish(1).lanes()
		var folded []string
		again := 0
		for _, r := range view.Rows {
			if r.Paper {
				folded = append(folded, r.Gap)
			} else if r.Again {
				again++
			}
		}
		assert.Equal(t, want, folded)
		assert.Equal(t, 8*len(want), again)
		assert.Len(t, shown, len(tp.events), "all are on the page")
	}
}

func TestFocusFallsOnTheHurtAndTheNamed(t *testing.T) {
	tp := newTape("many", "", 40).finish(1, 2, 3, 4, 5, 6, 7, 8)
	tp.res.Violations = []scenarios.Violation{
		{Job: "job-30"}, {Job: "job-20", Promised: true}, {Job: "job-21", Promised: true}, {Job: "job-22", Promised: true}, {Job: ""}, {Job: "nobody"},
	}
	f := focusOn(tp.res)
	assert.Equal(t, []string{"job-1", "job-2", "job-3", "job-20", "job-21", "job-22"}, f.jobs)
	assert.Equal(t, 6, f.left)
	assert.False(t, f.sample)

	tp.res.Cause = &why.Cause{Job: "job-21", Path: []why.Point{{Says: "At 1s scheduler-2 wrote DISPATCHED for job-25, to worker-1."}, {Says: "At 2s x was violated: job-21: beside job-26."}}}
	assert.Equal(t, []string{"job-1", "job-2", "job-3", "job-21", "job-25", "job-26"}, focusOn(tp.res).jobs, "the page explains the violation by these")

	f = focusOn(newTape("calm", "", 3).finish().res)
	assert.Equal(t, []string{"job-1"}, f.jobs)
	assert.True(t, f.sample)
	assert.Empty(t, focusOn(newTape("none", "", 0).finish().res).jobs)
}

func TestRetriesAndRollbacksCountWhatWasApplied(t *testing.T) {
	tp := newTape("count", "", 1)
	tp.submit("job-1")
	tp.try("scheduler-1", "job-1", 1, faults.FailBefore)
	tp.write("scheduler-1", "job-1", "rollback_write", "SCHEDULED", 9, faults.FailBefore, "refused")
	tp.write("scheduler-1", "job-1", "rollback_write", "SCHEDULED", 3, faults.FailAfter, "refused")
	for _, fault := range []string{"", "lose", "fail-before", "hang", "fail-after"} {
		tp.step(sim.Event{Node: "scheduler-1", Kind: sim.KindNak, Job: "job-1", Phase: "submit_nak", Fault: fault})
	}
	c := newCollector(tp.finish(1).res, focusOn(tp.res))
	for _, e := range tp.events {
		c.add(e)
	}
	assert.Len(t, c.naks, 3, "one of the handling, one plain, one whose sender saw an error")
	assert.Len(t, c.rollbacks, 2)
}

// A row is there for each step that a violation depends on, whoever's it is, and however many steps there are.
func TestLanesShowWhatViolationsDependOn(t *testing.T) {
	for _, scenario := range []string{"breaker-storm", "saga-crash", "publish-ack-lost"} {
		plan, err := plans.Load(scenario)
		require.NoError(t, err)
		var trace bytes.Buffer
		res, err := scenarios.Run(t.Context(), plan, scenarios.RunOptions{Source: scenario, Trace: &trace})
		require.NoError(t, err)
		c := newCollector(res, focusOn(res))
		for e, err := range Trace(&trace) {
			require.NoError(t, err)
			c.add(e)
		}
		_, shown := lanes(c, res)
		for _, v := range res.Violations {
			assert.NotEmpty(t, v.Steps, "%s: %s", scenario, v.Message)
			for _, step := range v.Steps {
				assert.True(t, shown[step], "%s: step %d of %s", scenario, step, v.Message)
			}
		}
	}
}
