package reports

import (
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// quietNight is a campaign that found nothing.
func quietNight() *campaign.Result {
	res := &campaign.Result{
		Version: campaign.ResultVersion, Build: "v0.2.0",
		Spec: campaign.Spec{
			Version: campaign.SpecVersion, Name: "fuzz", Seed: 20261121, Runs: 12_000,
			Drawn: &campaign.Drawn{Presets: []string{"documented", "hardened"}},
		},
		Complete: true, Runs: 12_000, Steps: 9_184_022, Virtual: 311*24*time.Hour + 5*time.Hour,
		Verdicts:   map[scenarios.Verdict]int{scenarios.Held: 10_391, scenarios.Inconclusive: 1_609},
		Conclusive: 10_391,
		Digest:     "4be1c07d22f09a53", Bound: 3.0 / 12_000, Findings: []campaign.Finding{},
		Reasons: map[string]int{
			"a fault did not fire as it should: fail-before on job N's rollback_write": 1_204,
			"job-N had not settled when its time was up":                               398,
			"the run used up its steps":                                                7,
		},
	}
	row := func(name, kind string, exercised, outside int) {
		res.Invariants = append(res.Invariants, campaign.Coverage{Name: name, Kind: kind, Exercised: exercised, Outside: outside})
	}
	row("events-agree-with-servers", "always", 12_000, 0)
	row("one-dispatch-per-job", "always", 11_023, 214)
	row("intent-before-dispatch", "always", 10_046, 0)
	row("documented-transitions-only", "always", 9_012, 0)
	row("attempts-never-past-ceiling", "always", 0, 0)
	row("lock-mutual-exclusion", "always", 8_807, 0)
	row("counters-equal-trace", "eventually", 7_368, 0)
	row("every-job-settles", "eventually", 5_414, 98)
	row("rollback-failed", "sometimes", 3_460, 0)
	row("lock-overstayed", "sometimes", 31, 0)
	row("result-for-ended-job", "sometimes", 0, 0)
	row("deliveries-exhausted", "sometimes", 0, 0)
	for n, effect := range []string{"fail-before", "fail-after", "hang"} {
		for m, phase := range []string{"state_read", "scheduled_write", "dispatched_write", "publish", "rollback_write", "running_write", "lock_acquire", "lock_renew",
			"lock_release", "submit_ack", "submit_nak", "result_write", "result_publish", "job_ack", "dlq_write", "failed_write", "pending_write", "heartbeat"} {
			c := campaign.Coverage{Name: effect + " " + phase, Drawn: 1_900 - 300*n - 70*m, Exercised: 1_300 - 200*n - 50*m}
			switch {
			case n == 2 || m%4 == 3 || m > 9:
				c.Drawn, c.Exercised = 0, 0
			case m == 6:
				c.Exercised = 0
			}
			res.Faults = append(res.Faults, c)
		}
	}
	for n, name := range []string{"engine.dispatch_order", "engine.read_error", "engine.backoff_base", "engine.worker_ttl", "engine.ack_wait", "topology.schedulers",
		"topology.workers", "world.heartbeat_lag", "workload.jobs", "schedule.strategy", "then.heal"} {
		c := campaign.Coverage{Name: name}
		if n%3 != 1 {
			c.Drawn = 6_000 - 450*n
		}
		res.Settings = append(res.Settings, c)
	}
	return res
}

const foundPlan = `version: 1
name: found
preset: documented
topology: {schedulers: 1, workers: 1}
workload: {jobs: 1}
faults:
  - on: {job: 1, phase: publish}
    do: fail-after
expect:
  violates: [one-dispatch-per-job]
seed: 4711
`

// badNight is one that found a broken promise, a panic, and a run that would not repeat itself.
func badNight() *campaign.Result {
	res := quietNight()
	res.Spec.Drawn.Sets = []string{"engine.dispatch_order=publish-first", "workload.jobs=4"}
	res.Bound, res.Complete = 0, false
	res.Verdicts = map[scenarios.Verdict]int{scenarios.Held: 9_973, scenarios.Inconclusive: 1_609, scenarios.Violated: 412}
	res.Contained, res.Unexamined = 6, 3
	res.Conclusive = 9_973 + 412
	for i := range res.Invariants {
		if res.Invariants[i].Name == "one-dispatch-per-job" {
			res.Invariants[i].Broken = 409
		}
		if res.Invariants[i].Name == "documented-transitions-only" {
			res.Invariants[i].Broken = 3
		}
	}
	res.Findings = []campaign.Finding{
		{
			Invariant: "one-dispatch-per-job", Cause: "fail-after on publish, engine.dispatch_order=publish-first",
			Story: "The publish of job-1 is stored although scheduler-1 sees an error; it rolls back and publishes again, so that two dispatches of job-1 are stored and worker-1 executes it twice.",
			File:  "findings/one-dispatch-per-job-8c1f03d2.yaml", Plan: foundPlan, Replay: "wavetank run findings/one-dispatch-per-job-8c1f03d2.yaml",
			First: 17, Runs: 409, Verdict: scenarios.Violated, Digest: "77ab01c2d3e4f506", Step: 31, Jobs: 1, Faults: 1, Schedulers: 1, Workers: 1, Tries: 143,
		},
		{
			Invariant: string(campaign.Panicked), Cause: "crash of a worker",
			Story: "The code under test panicked at step 212.",
			File:  "findings/no-panic-1b9e77aa.yaml", Plan: foundPlan, Replay: "wavetank run findings/no-panic-1b9e77aa.yaml",
			First: 903, Runs: 6, Step: 212, Jobs: 1, Faults: 1, Schedulers: 2, Workers: 1, Tries: 61,
			Detail: "panic: runtime error: index out of range [3] with length 3\n\ngoroutine 71 [running]:\ngithub.com/wavetank-sim/wavetank/engine/routing.(*Picker).pick(0xc0001b2000, {0xc000310a80, 0x3, 0x4})\n\t/src/engine/routing/pick.go:88 +0x2f4\n" +
				strings.Repeat("github.com/wavetank-sim/wavetank/engine.(*Engine).handle(0xc0001b2000)\n\t/src/engine/handle.go:140 +0x91c\n", 12),
		},
		{
			Invariant: "documented-transitions-only", Cause: "hang on state_read",
			Story: "RUNNING goes back to PENDING at step 88.", File: "findings/documented-transitions-only-55d0aa10.yaml", Plan: foundPlan,
			Replay: "wavetank run findings/documented-transitions-only-55d0aa10.yaml",
			First:  5_120, Runs: 3, Verdict: scenarios.Violated, Digest: "0102030405060708", Step: 88, Jobs: 4, Faults: 5, Schedulers: 2, Workers: 3, Flaky: true,
		},
	}
	return res
}
