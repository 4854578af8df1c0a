package campaign

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
)

// Metric describes one of the numbers that [Measure] computes.
type Metric struct {
	Name  string `json:"name"`  // snake_case, with the unit last
	Title string `json:"title"` // for a heading or an axis
	Unit  string `json:"unit"`  // "s", "%", or "" for a count; percentages are from 0 to 100
	Says  string `json:"says"`  // one sentence

	Neutral bool `json:"neutral,omitempty"` // less is not better
	Harm    bool `json:"harm,omitempty"`    // it counts jobs that end badly, or are done twice
}

// measure computes a metric from the submitted jobs of a run. There is at least one.
type measure struct {
	Metric
	take func(res *scenarios.Result, jobs []scenarios.JobResult) float64
}

var measures = []measure{
	{Metric{Name: "stale_exhausted", Title: "Jobs sent back for stale workers", Unit: "%", Says: "Share of jobs of which at least once every pick of a handling met a worker past its TTL, so that the request went back."},
		share(func(j *scenarios.JobResult) bool { return j.StaleExhausted > 0 })},
	{Metric{Name: "stale_returns", Title: "Returns for stale workers per job", Says: "How often a job's request went back because every pick met a worker past its TTL, mean of all jobs."},
		mean(func(j *scenarios.JobResult) float64 { return float64(j.StaleExhausted) })},
	{Metric{Name: "stale_picks", Title: "Stale picks per job", Says: "Picks that met a worker past its TTL, mean of all jobs; each is a line in the log."},
		mean(func(j *scenarios.JobResult) float64 { return float64(j.StalePicks) })},
	{Metric{Name: "stale_held_s", Title: "Time held over stale picks per job", Unit: "s", Says: "From a handling's first stale pick to its last, or to the dispatch, mean of all jobs: so long its message, its lock and its handler wait."},
		mean(func(j *scenarios.JobResult) float64 { return j.StaleHeld.Seconds() })},
	{Metric{Name: "stale_unnamed", Title: "Returns that hide a stale worker per job", Says: "Returns for stale workers whose retry event gives another reason, mean of all jobs."},
		staleUnnamed},
	{Metric{Name: "dispatch_p50_s", Title: "Time to dispatch, p50", Unit: "s", Says: "From a job's submission to its first stored dispatch, the median of a run's jobs; a job without one counts to the end of the run, which is a lower bound."},
		func(res *scenarios.Result, jobs []scenarios.JobResult) float64 {
			return quantile(timesToDispatch(res, jobs), 0.50)
		}},
	{Metric{Name: "dispatch_p99_s", Title: "Time to dispatch, p99", Unit: "s", Says: "From a job's submission to its first stored dispatch, the 99th percentile of a run's jobs by nearest rank: of fewer than 100 jobs it is the slowest."},
		func(res *scenarios.Result, jobs []scenarios.JobResult) float64 {
			return quantile(timesToDispatch(res, jobs), 0.99)
		}},
	{Metric{Name: "attempts_burnt", Title: "Attempts burnt per job", Says: "Scheduling attempts beyond the first, mean of all jobs."},
		mean(func(j *scenarios.JobResult) float64 { return float64(max(0, j.Attempts-1)) })},
	{Metric{Name: "retries", Title: "Retries per job", Says: "Messages that schedulers handed back to be redelivered later, requests and results, mean of all jobs."},
		func(res *scenarios.Result, jobs []scenarios.JobResult) float64 {
			return counted(res, "scheduler_retry_total") / float64(len(jobs))
		}},
	{Metric{Name: "dead_dispatch", Title: "Jobs dispatched to a dead worker", Unit: "%", Says: "Share of jobs with a dispatch to a worker that was down, or went down before the job ended.", Harm: true},
		share(func(j *scenarios.JobResult) bool { return j.ToDead })},
	{Metric{Name: "blind_window_s", Title: "Blind window per job", Unit: "s", Says: "Time DISPATCHED or RUNNING to nobody, the last such window of each job, mean of all jobs; one that is open counts to the end of the run, which is a lower bound."},
		func(res *scenarios.Result, jobs []scenarios.JobResult) float64 {
			return mean(func(j *scenarios.JobResult) float64 { return blind(res, j).Seconds() })(res, jobs)
		}},
	{Metric{Name: "duplicates", Title: "Jobs dispatched twice", Unit: "%", Says: "Share of jobs of which a stream stored more than one dispatch.", Harm: true},
		share(func(j *scenarios.JobResult) bool { return len(j.Dispatches) > 1 })},
	{Metric{Name: "repair_s", Title: "Time to repair", Unit: "s", Says: "From a job's failure to the success of one of its replays, mean of those that were repaired; none where nothing was."},
		func(res *scenarios.Result, _ []scenarios.JobResult) float64 { return repairsOf(res).time() }},
	{Metric{Name: "unrepaired", Title: "Failures left undone", Unit: "%", Says: "Share of the jobs that failed or timed out whose effect was not had by the end of the run, by themselves or by a replay."},
		func(res *scenarios.Result, _ []scenarios.JobResult) float64 { return repairsOf(res).stayed() }},
	{Metric{Name: "double_effects", Title: "Double effects", Says: "Effects that workers had beyond the first of a job, its replays included: second tickets, mails and payments.", Harm: true},
		func(res *scenarios.Result, _ []scenarios.JobResult) float64 { return float64(repairsOf(res).double) }},
	{Metric{Name: "replays_denied", Title: "Replays denied", Says: "Replays that the safety kernel denied.", Neutral: true},
		func(res *scenarios.Result, _ []scenarios.JobResult) float64 {
			return counted(res, "dlq_replay_denied_total")
		}},
	{Metric{Name: "executed_twice", Title: "Jobs executed twice", Unit: "%", Says: "Share of jobs that workers began more than once: a second mail, ticket or payment unless its sink deduplicates.", Harm: true},
		share(func(j *scenarios.JobResult) bool { return j.Executions > 1 })},
	{Metric{Name: "failed", Title: "Jobs failed", Unit: "%", Says: "Share of jobs that ended FAILED.", Harm: true},
		share(func(j *scenarios.JobResult) bool { return scheduler.State(j.State) == scheduler.Failed })},
	{Metric{Name: "timed_out", Title: "Jobs timed out", Unit: "%", Says: "Share of jobs that ended in TIMEOUT.", Harm: true},
		share(func(j *scenarios.JobResult) bool { return scheduler.State(j.State) == scheduler.Timeout })},
	{Metric{Name: "false_timeout", Title: "Jobs timed out although executed", Unit: "%", Says: "Share of jobs that ended in TIMEOUT although a worker had begun them: their work is done, or will be, and nobody takes its result.", Harm: true},
		share(func(j *scenarios.JobResult) bool {
			return scheduler.State(j.State) == scheduler.Timeout && j.Executions > 0
		})},
	{Metric{Name: "unsettled", Title: "Jobs not settled", Unit: "%", Says: "Share of jobs that were in no terminal state when the run's time was over.", Harm: true},
		share(func(j *scenarios.JobResult) bool { return !scheduler.Terminal(j.State) })},
	{Metric{Name: "state_writes", Title: "State writes per job", Says: "State changes that were stored, mean of all jobs."},
		mean(func(j *scenarios.JobResult) float64 { return float64(len(j.Path)) })},
	{Metric{Name: "operations", Title: "Operations per job", Says: "Steps of the run by its jobs: every command, publish, delivery and timer of every node, heartbeats included."},
		func(res *scenarios.Result, jobs []scenarios.JobResult) float64 {
			return float64(res.Steps) / float64(len(jobs))
		}},
}

// Metrics lists the metrics of Measure. For each, less is better, unless it is neutral.
func Metrics() []Metric {
	list := make([]Metric, len(measures))
	for i, m := range measures {
		list[i] = m.Metric
	}
	return list
}

// Measure computes the metrics of one run. It ignores jobs whose submissions were never stored. A run with no
// other jobs has no measures.
func Measure(res *scenarios.Result) Measures {
	jobs := slices.DeleteFunc(slices.Clone(res.Jobs), func(j scenarios.JobResult) bool { return j.Submitted == 0 })
	taken := Measures{}
	if len(jobs) == 0 {
		return taken
	}
	for _, m := range measures {
		if v := m.take(res, jobs); !math.IsNaN(v) {
			taken[m.Name] = v
		}
	}
	return taken
}

// mean returns a function that averages of over the jobs.
func mean(of func(*scenarios.JobResult) float64) func(*scenarios.Result, []scenarios.JobResult) float64 {
	return func(_ *scenarios.Result, jobs []scenarios.JobResult) float64 {
		sum := 0.0
		for i := range jobs {
			sum += of(&jobs[i])
		}
		return sum / float64(len(jobs))
	}
}

// share returns a function for the percentage of jobs for which is is true.
func share(is func(*scenarios.JobResult) bool) func(*scenarios.Result, []scenarios.JobResult) float64 {
	return mean(func(j *scenarios.JobResult) float64 {
		if is(j) {
			return 100
		}
		return 0
	})
}

// timesToDispatch lists how long each job waited for its first dispatch, in seconds and in ascending order.
func timesToDispatch(res *scenarios.Result, jobs []scenarios.JobResult) []float64 {
	times := make([]float64, len(jobs))
	for i, j := range jobs {
		at := res.Virtual
		if len(j.Dispatches) > 0 {
			at = j.Dispatches[0].At
		}
		times[i] = (at - j.Submitted).Seconds()
	}
	slices.Sort(times)
	return times
}

// quantile returns a quantile of sorted numbers, by nearest rank.
func quantile(sorted []float64, q float64) float64 {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// blind is how long the job was DISPATCHED or RUNNING without a worker.
func blind(res *scenarios.Result, j *scenarios.JobResult) time.Duration {
	switch {
	case j.Blind == nil:
		return 0
	case j.Blind.Open:
		return res.Virtual - j.Blind.Opened
	}
	return j.Blind.Closed - j.Blind.Opened
}

// counted sums the schedulers' counters with that name and at least these labels, each as label="value".
func counted(res *scenarios.Result, name string, labels ...string) (sum float64) {
	for series, n := range res.Counters { // the sum of whole numbers does not depend on their order
		of, having, _ := strings.Cut(series, "{")
		if of == name && !slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(having, l) }) {
			sum += n
		}
	}
	return sum
}

// staleUnnamed compares the number of messages that went back because every pick was stale with the number
// whose reason says so.
func staleUnnamed(res *scenarios.Result, jobs []scenarios.JobResult) float64 {
	returns := 0
	for _, j := range jobs {
		returns += j.StaleExhausted
	}
	named := counted(res, "scheduler_retry_total", `reason_code="`+scheduler.ReasonStaleWorker+`"`)
	return max(0, float64(returns)-named) / float64(len(jobs))
}
