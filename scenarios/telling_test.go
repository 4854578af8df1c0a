package scenarios

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// strikeWord is a fault's own word, as a story has it.
var strikeWord = map[string]string{
	"crash": " crashed", "pause": " was paused", "partition": "a partition cut ", "skew": "a skew put ", "restart": "a restart took ",
	"failover": "a failover put ", "power-loss": "a power loss took ", "kill": " was killed", "refusal": "Redis began to refuse ",
	"fail-before": "(fail-before)", "fail-after": "(fail-after)", "hang": "(hang)", "lose": "(lose)", "late": "(late)", "duplicate": "(duplicate)",
}

var (
	timed = regexp.MustCompile(`^At ([0-9a-zµ.]+) `)
	words = regexp.MustCompile(`[\w-]+`)
	more  = regexp.MustCompile(`; and (\d+) more such violations?`)
)

// Every strike that fired is in the story in the fault's own word, each violation is, and what it depends on; each job is
// submitted, and time never goes back.
func TestEveryScenarioTellsItsStory(t *testing.T) {
	for _, name := range plans.Names() {
		for _, preset := range []string{plans.PresetDocumented, plans.PresetHardened} {
			res := played(t, name, preset)
			require.NotEmpty(t, res.Telling, name)
			assert.True(t, preset != plans.PresetDocumented || len(res.Idle) == 0, "%s: %v", name, res.Idle)
			for _, f := range res.Fired {
				assert.True(t, slices.ContainsFunc(res.Telling, func(s string) bool { return names(s, f) }), "%s, %s: nothing tells of %s at %s of %s\n%s", name, preset, f.Do, f.At, f.Job, told(res))
			}
			of, toldOf := map[string]int{}, map[string]int{}
			for _, v := range res.Violations {
				of[v.Invariant]++
			}
			for _, s := range res.Telling {
				for invariant := range of {
					if strings.Contains(s, " "+invariant+" was ") {
						toldOf[invariant] += 1 + moreSuch(s)
					}
				}
			}
			assert.Equal(t, of, toldOf, "%s, %s: violations, by their invariants\n%s", name, preset, told(res))
			for i, s := range res.Telling { // what a violation depends on is told
				for _, v := range res.Violations {
					if !strings.Contains(s, " "+v.Invariant+" was ") || !strings.Contains(s, v.Message) {
						continue
					}
					for _, step := range v.Steps {
						assert.True(t, slices.ContainsFunc(res.TellingAt[:i+1], func(a ToldAt) bool { return a.Step == step }), "%s, %s: nothing tells of step %d, on which this depends: %s\n%s", name, preset, step, s, told(res))
					}
				}
			}
			for _, j := range res.Jobs { // no job comes from nowhere
				named := func(s string) bool { return timed.MatchString(s) && slices.Contains(words.FindAllString(s, -1), j.ID) }
				if j.Submitted > 0 && slices.ContainsFunc(res.Telling, named) {
					submitted := "At " + at(j.Submitted) + " a client submitted " + j.ID
					assert.True(t, slices.ContainsFunc(res.Telling, func(s string) bool { return strings.HasPrefix(s, submitted) }), "%s, %s: nothing says: %s\n%s", name, preset, submitted, told(res))
				}
			}
			last := time.Duration(0)
			for i, s := range res.Telling {
				when := timed.FindStringSubmatch(s)
				if when == nil {
					assert.GreaterOrEqual(t, i, len(res.Telling)-5, "only the closing has no time: %s", s)
					continue
				}
				at, err := time.ParseDuration(when[1])
				require.NoError(t, err)
				assert.GreaterOrEqual(t, at, last, "%s, %s: %s", name, preset, s)
				last = at
			}
		}
	}
}

// moreSuch is how many more violations a sentence counts than the one it tells.
func moreSuch(sentence string) int {
	m := more.FindStringSubmatch(sentence)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// names says whether the sentence tells of the strike, or counts it with others.
func names(sentence string, f FiredFault) bool {
	if word := strikeWord[f.Do]; word == "" || !strings.Contains(sentence, word) {
		return false
	}
	several := strings.Contains(sentence, "; the same fault struck ")
	return several && strings.Contains(sentence, f.Phase) ||
		strings.HasPrefix(sentence, "At "+at(f.At)+" ") && strings.Contains(sentence, f.Phase) && strings.Contains(sentence, f.Job)
}

// Of a fault that struck again, the first is told, and the others are counted: not those of another fault that says the same.
func TestWhatAFaultDidIsCounted(t *testing.T) {
	fired := FiredFault{Fault: "fail-before on publish", Job: "job-1", At: time.Second, Says: "the publish of job-1 failed"}
	other := fired
	other.Job, other.At = "job-2", 2*time.Second
	same := fired
	same.Number = 1
	res := &Result{Fired: []FiredFault{fired, same, other}}
	of := &Violation{Job: "job-1"}
	assert.Equal(t, "the publish of job-1 failed, and the same fault struck 1 more time, the last at 2s, 2 jobs in all", res.Did(0, of))
	assert.Equal(t, "the publish of job-1 failed", res.Did(1, of))
	assert.Empty(t, res.Did(2, of))
	res.Fired[2].Says = "the publish of job-2 failed"
	assert.Equal(t, "the publish of job-2 failed, and the same fault had struck 1 time before, 2 jobs in all", res.Did(0, &Violation{Job: "job-2"}))
}

// A restart of nats-server takes its clients' connections with it; the story says who had theirs again, and when.
func TestTheStoryTellsWhoConnectedAgain(t *testing.T) {
	p, err := plans.Load("nats-restart")
	require.NoError(t, err)
	res, err := Run(t.Context(), p, RunOptions{})
	require.NoError(t, err)
	assert.Contains(t, res.Telling, "At 6.224s scheduler-1, scheduler-2, a client, worker-1, worker-2 and worker-3 connected to NATS again, the first at 6.131s.")
}

// A sentence is of the violation's job if it names that, one that the message names, or what one of these was submitted for or has
// submitted: a compensation, a replay, a run's step.
func TestWhoseASentenceIs(t *testing.T) {
	res := &Result{
		Jobs:    []JobResult{{ID: "job-1"}, {ID: "job-2"}, {ID: "job-3"}},
		Runs:    []*RunResult{{ID: "run-1"}, {ID: "run-2"}},
		Derived: []*DerivedJob{{JobResult: JobResult{ID: "comp-a"}, Of: "job-3"}, {JobResult: JobResult{ID: "comp-a-replay-1"}, Of: "comp-a"}, {JobResult: JobResult{ID: "run-1-s1-1"}, Of: "run-1"}, {JobResult: JobResult{ID: "run-1-s2-1"}, Of: "run-1"}},
	}
	for _, c := range []struct {
		job, message, sentence string
		others                 bool
	}{
		{"job-3", "was lost", "scheduler-1 wrote SUCCEEDED for job-3.", false},
		{"job-3", "was lost", "scheduler-1 wrote SUCCEEDED for job-1.", true},
		{"job-3", "was lost with job-1", "scheduler-1 wrote SUCCEEDED for job-1.", false},
		{"job-3", "was lost", "scheduler-1 submitted comp-a-replay-1.", false},
		{"job-3", "was lost", "Redis was killed.", false},
		{"run-1", "is not over", "scheduler-1 started run-2.", true},
		{"run-1", "is not over", "scheduler-1 wrote FAILED for run-1-s1-1.", false},
		{"run-1-s2-1", "began twice", "run-1 SUCCEEDED.", false},
		{"run-1-s2-1", "began twice", "scheduler-1 wrote FAILED for run-1-s1-1.", true},
		{"", "the count is 3, with job-2", "Redis was killed.", true},
		{"", "the count is 3", "scheduler-1 wrote FAILED for job-1.", false},
	} {
		assert.Equal(t, c.others, res.ofOthers(&Violation{Job: c.job, Message: c.message}, c.sentence), "%s: %s", c.job, c.sentence)
	}
}
