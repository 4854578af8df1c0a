package reports

import (
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// threeTables are comparisons as they could come out.
func threeTables() []*sweep.Comparison {
	metrics := map[string]campaign.Metric{}
	for _, m := range someMetrics() {
		metrics[m.Name] = m
	}
	table := func(name, title, question, source string, plans []string, columns ...string) *sweep.Comparison {
		c := &sweep.Comparison{
			Version: sweep.ResultVersion, Build: "v0.2.0", Name: name, Title: title, Question: question, Source: source,
			Plans: plans, Seeds: 40, FirstSeed: 1, Complete: true, Notes: []string{},
		}
		for _, column := range columns {
			c.Metrics = append(c.Metrics, metrics[column])
		}
		return c
	}
	row := func(c *sweep.Comparison, name, upside, downside, setting string, numbers ...float64) *sweep.Row {
		r := sweep.Row{Name: name, Upside: upside, Downside: downside, Settings: []string{setting}, Runs: 40 * len(c.Plans), Estimates: map[string]sweep.Estimate{}}
		for i, m := range c.Metrics {
			mean, half := numbers[2*i], numbers[2*i+1]
			r.Estimates[m.Name] = sweep.Estimate{Mean: mean, Low: mean - half, High: mean + half, N: r.Runs}
		}
		c.Rows = append(c.Rows, r)
		return &c.Rows[len(c.Rows)-1]
	}

	order := table("dispatch-order", "Dispatch order", "What may be touched first, the state or the bus?", "Dispatch ordering, alternatives",
		[]string{"publish-failure", "state-write-failure", "publish-ack-lost"}, "duplicates", "executed_twice", "dispatch_p50_s", "blind_window_s", "operations")
	row(order, "State-before-publish + rollback (current)", "Strong replay safety", "A rollback that fails opens a blind window", "engine.dispatch_order=state-first",
		1.25, .35, 1.25, .35, .0083, .0002, .41, .06, 62.4, .8)
	broke := row(order, "Publish-before-state", "Slightly simpler write sequence", "High risk of duplicates under redelivery", "engine.dispatch_order=publish-first",
		6.8, .9, 6.8, .9, .0079, .0002, .39, .05, 60.9, .9)
	broke.Broken = map[string]int{"one-dispatch-per-job": 37, "intent-before-dispatch": 40}
	row(order, "Outbox + relay", "Excellent durability", "More operational overhead", "engine.dispatch_order=outbox",
		0, 0, 0, 0, .112, .003, 0, 0, 81.2, 1.1).Outside = map[string]int{"one-dispatch-per-job": 2}
	order.Notes = []string{"The outbox's relay polls every 100 ms, which is most of its time to dispatch."}

	read := table("state-read", "State-read policy", "May a handling go on that cannot read the state?", "State-read errors, alternatives",
		[]string{"redis-read-error"}, "duplicates", "retries", "dispatch_p99_s")
	row(read, "Fail closed (current)", "No duplicate", "Waits for the store", "engine.read_error=fail-closed", 0, 0, 1.8, .1, 3.2, .4)
	row(read, "Fail open", "Goes on", "Duplicates", "engine.read_error=fail-open", 9.1, 1.2, 0, 0, .4, .1).Broken = map[string]int{"one-dispatch-per-job": 31}

	stale := table("stale-worker", "Stale worker", "How often should a dispatch pick again?", "Stale workers, alternatives", []string{"stale-worker"}, "stale_exhausted", "stale_picks")
	row(stale, "Fixed 3 immediate retries (current)", "Low latency and simple", "Can under-retry", "engine.stale_retry=fixed-retries", 14.1, .7, 1.4, .1)
	row(stale, "More inner retries with tiny jitter", "Better chance to recover", "More CPU and log volume", "engine.stale_retry=jittered-retries", 13.9, .8, 2.9, .2)
	list := []*sweep.Comparison{order, read, stale}
	for _, c := range list {
		for i := range c.Rows {
			beaten(&c.Rows[i], c.Rows)
		}
	}
	return list
}

// beaten notes which others have less than the row, by intervals that do not meet.
func beaten(row *sweep.Row, others []sweep.Row) {
	for metric, e := range row.Estimates {
		for _, other := range others {
			if o, ok := other.Estimates[metric]; ok && o.High < e.Low {
				if row.Beaten == nil {
					row.Beaten = map[string][]string{}
				}
				row.Beaten[metric] = append(row.Beaten[metric], other.Name)
			}
		}
	}
}
