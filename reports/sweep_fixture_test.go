package reports

import (
	"math"
	"slices"
	"strconv"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// someMetrics are of the kinds that there are: shares, times and counts.
func someMetrics() []campaign.Metric {
	return []campaign.Metric{
		{Name: "stale_exhausted", Title: "Jobs sent back, every pick stale", Unit: "%", Says: "Share of jobs of which at least once every pick of a handling met a worker past its TTL."},
		{Name: "stale_picks", Title: "Stale picks per job", Says: "Picks that met a worker past its TTL, mean of all jobs."},
		{Name: "dispatch_p99_s", Title: "Time to dispatch, p99", Unit: "s", Says: "From a job's submission to its first stored dispatch."},
		{Name: "operations", Title: "Operations per job", Says: "Steps of the run by its jobs."},
		{Name: "dispatch_p50_s", Title: "Time to dispatch, p50", Unit: "s", Says: "The same, the median."},
		{Name: "attempts_burnt", Title: "Attempts burnt per job", Says: "Scheduling attempts beyond the first."},
		{Name: "dead_dispatch", Title: "Jobs dispatched to a dead worker", Unit: "%", Says: "Share of jobs with a dispatch to a worker that was down."},
		{Name: "duplicates", Title: "Jobs dispatched twice", Unit: "%", Says: "Share of jobs of which a stream stored more than one dispatch."},
		{Name: "executed_twice", Title: "Jobs executed twice", Unit: "%", Says: "Share of jobs that workers began more than once."},
		{Name: "retries", Title: "Retries per job", Says: "Messages that schedulers handed back."},
		{Name: "blind_window_s", Title: "Blind window per job", Unit: "s", Says: "Time DISPATCHED or RUNNING to nobody."},
	}
}

// staleSweep is what a sweep over the retries of a dispatch could have found, on a grid of 10 by 5 by
// 3. Its numbers follow a simple model of stale picks.
func staleSweep() *sweep.Result {
	res := &sweep.Result{
		Version: sweep.ResultVersion, Build: "v0.2.0", Name: "stale-worker-retries",
		Question: "How many picks should a dispatch make before a stale worker sends the job back, given how late heartbeats are and how many workers die?",
		Plan:     "version: 1\nname: stale-worker-retries\npreset: documented\ntopology: {schedulers: 2, workers: 10}\nworkload: {jobs: 60, every: 1s}\nseed: 1\n",
		Axes: []sweep.Axis{
			{Setting: "engine.max_dispatch_retries", Title: "picks of a dispatch", Values: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}},
			{Setting: "world.heartbeat_lag", Title: "heartbeat lag (s)", Values: []string{"0s", "5s", "15s", "25s", "35s"}, Condition: true},
			{Setting: "world.dying", Title: "share of workers that die", Values: []string{"0.1", "0.3", "0.5"}, Condition: true},
		},
		Seeds: 20, FirstSeed: 1, Complete: true,
		Pareto: sweep.Pareto{X: "stale_picks", Y: "stale_exhausted"},
		Answer: sweep.Answer{
			Sentence: "Make 5 picks: 1.9 % of the jobs are sent back for stale workers, against 14 % with the documented 3, at 0.2 stale picks more for each job; beyond 5 nothing is gained that the intervals can tell.",
			Evidence: []string{
				"5 against 3: 12.1 points fewer jobs sent back (95 %: 11.4 to 12.8), over 300 paired runs.",
				"6 against 5: 0.4 points fewer (95 %: −0.2 to 1.0).",
				"Two points with a lag of 35 s broke no-dispatch-to-expired-worker and are left out.",
			},
			Also:    []string{"It was measured with engine.stale_retry_jitter=1s, by default 100ms."},
			Take:    []string{"engine.max_dispatch_retries=5", "engine.stale_retry_jitter=1s"},
			Reading: "An interval in brackets is of a difference.",
			Means:   []sweep.Advice{{Under: []string{"", ""}, Take: "5", Sure: sweep.Sure, Metric: "stale_exhausted", Than: "6", Says: "1.9 % rather than 2.1 % at 6, the next best: -0.2 % [-0.3, -0.1]"}},
			Rows: []sweep.Advice{
				{Under: []string{"0s", "0.1"}, Take: "5", Sure: sweep.Sure, Metric: "stale_exhausted", Than: "3", Says: "1.9 % rather than 14 % at 3: -12.1 % [-12.8, -11.4]", Price: "stale picks per job 0.4 rather than 0.2 at 1"},
				{Under: []string{"0s", "0.3"}, Take: "4", Sure: sweep.NotSure, Metric: "stale_exhausted", Than: "3", Says: "2.9 % rather than 14 % at 3: -11.1 % [-11.8, -10.4]; 5 cannot be told from it", Rivals: []string{"5"}, Open: true},
				{Under: []string{"0s", "0.5"}, Sure: sweep.NoSignal, Metric: "stale_exhausted", Says: "no difference beyond noise: -0.4 % [-1, 0.2] at 6 rather than 5", Open: true},
			},
		},
		Notes: []string{
			"The share of jobs sent back was checked against the model at one point: with a share s of listed workers stale and m picks without memory, it is s^m; at m = 3, s = 0.5 that is 12.5 %, and 12.7 ± 0.6 % was measured.",
		},
	}
	res.Metrics = someMetrics()[:7]
	for i, retries := range res.Axes[0].Values {
		m := float64(i + 1)
		for j, lag := range res.Axes[1].Values {
			late := []float64{0, 5, 15, 25, 35}[j]
			for k, dying := range res.Axes[2].Values {
				dead := []float64{.1, .3, .5}[k]
				stale := min(.9, dead*(.25+late/50))
				const jobs = 20 * 60
				sent := 100 * math.Round(jobs*math.Pow(stale, m)) / jobs
				p := sweep.Point{Values: []string{retries, lag, dying}, Runs: 20, Estimates: map[string]sweep.Estimate{}}
				add := func(name string, mean, half float64) {
					p.Estimates[name] = sweep.Estimate{Mean: mean, Low: mean - half, High: mean + half, N: 20}
				}
				wobble := 1 + .03*math.Sin(float64(7*i+3*j+11*k))
				add("stale_exhausted", sent, min(sent, .12+sent*.06))
				add("stale_picks", stale*(1-math.Pow(stale, m))/(1-stale), .01)
				add("dispatch_p99_s", (.02+sent*.11)*wobble, .004+sent*.012)
				add("dispatch_p50_s", (.004+stale*.002*m)*wobble, .0004)
				add("operations", (41+m*stale*2.2)*wobble, .5)
				add("attempts_burnt", stale*m*.2*wobble, .02)
				add("dead_dispatch", 100*dead*.12*wobble, .9)
				if late == 35 && m >= 9 && dead == .5 {
					p.Broken = map[string]int{"no-dispatch-to-expired-worker": 3}
				}
				res.Points = append(res.Points, p)
			}
		}
	}
	markFront(res)
	return res
}

// markFront marks the sound points that no other beats under the same conditions.
func markFront(res *sweep.Result) {
	for i := range res.Points {
		a := &res.Points[i]
		a.OnFront = a.Sound()
		for j := range res.Points {
			b := &res.Points[j]
			x, y := a.Estimates[res.Pareto.X].Mean-b.Estimates[res.Pareto.X].Mean, a.Estimates[res.Pareto.Y].Mean-b.Estimates[res.Pareto.Y].Mean
			if b.Sound() && slices.Equal(a.Values[1:], b.Values[1:]) && x >= 0 && y >= 0 && (x > 0 || y > 0) {
				a.OnFront = false
			}
		}
	}
}

// flatSweep is one over as many axes as there are sizes, of one metric.
func flatSweep(sizes ...int) *sweep.Result {
	res := &sweep.Result{
		Version: sweep.ResultVersion, Name: "flat", Question: "Does it matter?", Seeds: 2, FirstSeed: 9, Complete: true,
		Metrics: someMetrics()[:1], Notes: []string{},
	}
	all := [][]string{{}}
	for n, size := range sizes {
		axis := sweep.Axis{Setting: "axis." + strconv.Itoa(n), Title: "axis " + strconv.Itoa(n)}
		var next [][]string
		for v := range size {
			axis.Values = append(axis.Values, strconv.Itoa(v))
		}
		for _, values := range all {
			for _, v := range axis.Values {
				next = append(next, append(append([]string{}, values...), v))
			}
		}
		res.Axes, all = append(res.Axes, axis), next
	}
	for _, values := range all {
		x, _ := strconv.ParseFloat(values[0], 64)
		res.Points = append(res.Points, sweep.Point{Values: values, Runs: 2, Estimates: map[string]sweep.Estimate{res.Metrics[0].Name: {Mean: x, Low: x - 1, High: x + 1, N: 2}}})
	}
	return res
}
