package reports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// pageFor runs a bundled scenario and makes its page.
func pageFor(t *testing.T, scenario string, change ...func(*plans.Plan)) string {
	t.Helper()
	plan, err := plans.Load(scenario)
	require.NoError(t, err)
	for _, change := range change {
		change(plan)
	}
	var trace, page bytes.Buffer
	res, err := scenarios.Run(t.Context(), plan, scenarios.RunOptions{Source: scenario, Trace: &trace})
	require.NoError(t, err)
	require.NoError(t, Page(&page, plan, res, Trace(&trace)))
	return page.String()
}

func TestAPageSaysWhyAJobWasDenied(t *testing.T) {
	page := pageFor(t, "policy-denied")
	assert.Contains(t, text(sectionOf(t, page, "story")), "wrote DENIED for job-4 (safety_denied: nor that one).")
	assert.Contains(t, text(sectionOf(t, page, "jobs")), "DENIED: nor that one")
	lanes := text(sectionOf(t, page, "lanes"))
	assert.Contains(t, lanes, "asks the kernel: DENY, nor that one")
	assert.Contains(t, lanes, "DENIED: nor that one")
	assert.Contains(t, text(page), "3 workers, a safety kernel (ALLOW but for 2 rules) and 6 jobs (one every 200 ms)")
}

func TestAPageOfRunsShowsTheirSteps(t *testing.T) {
	page := pageFor(t, "workflow-undone")
	jobs := text(sectionOf(t, page, "jobs"))
	assert.Contains(t, jobs, "run-1 FAILED step s2: run-1-s2-2 is FAILED (dispatch_failed) 4 2.21")
	assert.Contains(t, jobs, "run-1-s2-1 step of run-1 FAILED dispatch_failed 1 1 1 5.0")
	assert.Contains(t, jobs, "compensation of run-1-s1-1 SUCCEEDED 1 1 1 30.0")
	assert.Contains(t, text(page), "Jobs 8")
	assert.Contains(t, text(page), "and 1 run of 4 steps")
	lanes := text(sectionOf(t, page, "lanes"))
	assert.Contains(t, lanes, "The steps of run-1-s1-1, run-1-s2-1, run-1-s3-1, run-1-s2-2")
	assert.Contains(t, lanes, "run-1 RUNNING: s1 SUBMITTED, s2 PENDING")
	assert.Contains(t, lanes, "run-1 FAILED: s1 SUCCEEDED, s2 FAILED")
	assert.NotContains(t, lanes, "job-1 ")
	assert.Contains(t, page, "RUNNING to FAILED: 2 times.")
	assert.Contains(t, page, "run-1-s2-2 ends at 1", "in the plot of attempts")
}

func TestAPageShowsReplaysAsJobs(t *testing.T) {
	page := pageFor(t, "replay")
	assert.Contains(t, text(sectionOf(t, page, "jobs")), "job-3-replay-1 replay 1 of job-3 SUCCEEDED 1 1 1 1m30")
	assert.Contains(t, page, "job-3-replay-1 takes ")
}

func TestAPageShowsWhatAFailoverTook(t *testing.T) {
	page := pageFor(t, "redis-failover", func(p *plans.Plan) { p.Faults[1].Lag = 3 * time.Second })
	jobs := text(sectionOf(t, page, "jobs"))
	assert.Contains(t, jobs, "job-3 no record 0 1 1 8.0")
	assert.Contains(t, jobs, "Did not settle: Redis lost its record")
	assert.Contains(t, jobs, "RUNNING 1 no record")
	assert.Contains(t, text(sectionOf(t, page, "lanes")), "redis fails over, and loses its last writes")
	assert.Contains(t, page, "SUCCEEDED to RUNNING: 1 time. RUNNING to no record: 1 time.")
}

func TestWhatHappenedComesBeforeWhatHeld(t *testing.T) {
	page := publishFailure().page()
	var at []int
	for _, id := range []string{"story", "violations", "faults", "jobs", "lanes", "plots", "invariants"} {
		at = append(at, strings.Index(page, `<h2 id="`+id+`"`))
	}
	assert.Positive(t, at[0])
	assert.True(t, slices.IsSorted(at), "%v", at)
}

func TestViolationsOfOneInvariantAreOneCard(t *testing.T) {
	tp := ackLost(true)
	violated := map[string]bool{}
	for _, v := range tp.res.Violations {
		violated[v.Invariant] = true
	}
	for range 20 {
		tp.res.Violations = append(tp.res.Violations, tp.res.Violations[0])
	}
	section := sectionOf(t, tp.page(), "violations")
	assert.Equal(t, len(violated), strings.Count(section, `<li class="bad">`)+strings.Count(section, `<li class="warn">`))
	assert.Contains(t, section, "<summary>20 more violations of it</summary>")
	assert.Equal(t, len(violated), strings.Count(section, `class="says"`), "what each invariant says, once")
}

// The lanes have a row for each step that the story tells of, and say what it tells of none.
func TestTheLanesShowWhatTheStoryTells(t *testing.T) {
	for _, scenario := range []string{"paused-holder", "saga-expired-lock", "poison-outage"} {
		plan, err := plans.Load(scenario)
		require.NoError(t, err)
		res, err := scenarios.Run(t.Context(), plan, scenarios.RunOptions{Source: scenario})
		require.NoError(t, err)
		page := pageFor(t, scenario)
		require.NotEmpty(t, res.TellingAt)
		for i, told := range res.TellingAt {
			if told.Step > 0 {
				assert.Contains(t, page, fmt.Sprintf(`<tr id="step-%d"`, told.Step), res.Telling[i])
			}
		}
	}
	lanes := text(sectionOf(t, pageFor(t, "paused-holder"), "lanes"))
	assert.Contains(t, lanes, "At 4m32.018s the lock of job-3 ran out; scheduler-2 had taken it at 3m32.018s.")
	assert.NotContains(t, lanes, "the pause of scheduler-2 was over", "it has a row")
}

// The lanes of a run have a link a step, and whoever goes by the keyboard need not pass them all.
func TestTheLanesCanBeSkipped(t *testing.T) {
	lanes := sectionOf(t, publishFailure().page(), "lanes")
	skip := strings.Index(lanes, `<a class="skip" href="#plots">Skip the lanes</a>`)
	assert.Positive(t, skip)
	assert.Less(t, skip, strings.Index(lanes, "<table"))
}

// An invariant that was not exercised is said to have had nothing to judge only if that is why.
func TestWhyAnInvariantWasNotExercised(t *testing.T) {
	for change, want := range map[string]map[string]string{
		"seed=1":                 {"dispatches-count-as-load": onDemand, "no-dispatch-after-failed-read": idleRun},
		"schedule.steps_max=100": {"every-job-settles": endedSoon, "dispatches-count-as-load": onDemand},
	} {
		plan, err := plans.Load("calm")
		require.NoError(t, err)
		require.NoError(t, plan.Set(change))
		res, err := scenarios.Run(t.Context(), plan, scenarios.RunOptions{Source: "calm"})
		require.NoError(t, err)
		for name, why := range want {
			i := res.Invariant(name)
			assert.Equal(t, why, whyIdle(res, &i), "%s: %s", change, name)
		}
	}
}
