package scenarios

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a result tells is what the trace shows: each case is one way in which a job can fare.
func TestStories(t *testing.T) {
	for name, c := range map[string]struct {
		plan    string
		verdict Verdict
		reason  string
		told    []string // in this order, somewhere in the story or among what did not settle
		never   string
	}{
		"a worker dies over a job and comes back": {
			plan: `
workload: {jobs: 1, work: 1m}
topology: {workers: 1}
faults: [{at: 20s, do: crash, node: worker-1, restart_in: 5s}]`,
			verdict: Held,
			told:    []string{"one dispatch was stored", "workers executed it 2 times", "SUCCEEDED", "blind window lasted from 20s to 25s", "1 job went to a worker that was dead, or died over it"},
		},
		"a job that the safety kernel throttles": {
			plan: `
workload: {jobs: 1}
kernel: {default: THROTTLE, then: [{at: 12s, default: ALLOW}]}`,
			verdict: Held,
			told:    []string{"the safety kernel throttled it 2 times, first at 2.", "one dispatch was stored, at 12."},
		},
		"a job that the safety kernel throttles to the end": {
			plan: `
preset: hardened
workload: {jobs: 1}
kernel: {default: THROTTLE}`,
			verdict: Held,
			reason:  "hold; 1 job is still throttled by the safety kernel",
			told:    []string{"the safety kernel throttled it", "still PENDING", "the safety kernel throttles it; it is asked again from time to time (engine.policy.throttle_delay)"},
		},
		"a job that the safety kernel denies": {
			plan: `
workload: {jobs: 3, tenants: 3}
kernel: {default: ALLOW, rules: [{tenant: tenant-2, decision: DENY, reason: tenant-2 has not paid}]}`,
			verdict: Held,
			told:    []string{"job-2 was submitted at ", "; DENIED at 2.4", "(safety_denied: tenant-2 has not paid)."},
		},
		"the safety kernel is away": {
			plan: `
about: [3]
workload: {jobs: 4}
topology: {schedulers: 1}
kernel: {default: ALLOW}
engine: {policy: {circuit_fail_budget: 1}}
faults: [{at: 2300ms, do: crash, node: kernel, restart_in: 20s}]`,
			verdict: Held,
			told: []string{
				"job-3 was submitted at 2.6", "; it was put off 6 times from 2.6", " to 27.6", ", as the safety kernel's circuit was open; one dispatch was stored, at 32.6",
				"The other 3 jobs were dispatched once each, at the first attempt, and succeeded. 2 of them waited for an answer of the safety kernel, for up to 31.4",
			},
		},
		"the safety kernel is away, and jobs go on": {
			plan: `
about: [3]
workload: {jobs: 4}
kernel: {default: ALLOW}
engine: {policy: {fail_mode: open}}
faults: [{at: 2300ms, do: crash, node: kernel, restart_in: 20s}]`,
			verdict: Held,
			told:    []string{"; it went on at 2.6", " without a decision of the safety kernel; one dispatch was stored", "and succeeded. 2 of them went on without a decision of the safety kernel."},
		},
		"somebody approves what has changed": {
			plan: `
workload: {jobs: 1, approve: {1: 10s}, change: {1: 5s}}
kernel: {default: REQUIRE_APPROVAL}`,
			verdict: Held,
			told:    []string{"its approval was refused at 13.2", ": the request had changed since the approver looked at it; still APPROVAL_REQUIRED"},
		},
		"an output is redacted": {
			plan: `
workload: {jobs: 1}
engine: {output: {enabled: true}}
kernel: {default: ALLOW, output: [{job_id: job-1, sync: true, decision: REDACT, redacted_ptr: "{result_ptr}:redacted", reason: it holds a secret}]}`,
			verdict: Held,
			told:    []string{"; its output was redacted at 2.2", ": it holds a secret; SUCCEEDED at 2.2"},
		},
		"a result comes before its dispatch": {
			plan: `
workload: {jobs: 1}
faults: [{on: {job: 1, phase: publish}, do: fail-after}]`,
			verdict: Held,
			told:    []string{"; its result came while it was SCHEDULED and was handed back ", ", first at 2.2", "; 2 dispatches were stored"},
		},
		"a run of a workflow": {
			plan: `
workload: {jobs: 2, runs: 1, steps: 2}`,
			verdict: Held,
			told:    []string{"run-1 was started at 2.2", "; SUCCEEDED at ", "The 2 jobs that clients submitted were dispatched once each", "run-1-s1-1, step of run-1, was submitted at ", "run-1-s2-1, step of run-1, "},
		},
		"a run, and jobs that violations name": {
			plan: `
workload: {jobs: 20, runs: 1, steps: 2}
faults: [{on: {phase: publish}, do: fail-after}]`,
			verdict: Held,
			reason:  "one-dispatch-per-job is broken",
			told: []string{
				"run-1 was started at ", "job-1 was submitted at ", "2 dispatches were stored", "job-6 was submitted at ", "Of the other 14 jobs, ",
				"run-1-s1-1, step of run-1, was submitted at ", "run-1-s2-1, step of run-1, ",
			},
		},
		"a worker dies after its work is done": {
			plan: `
workload: {jobs: 1}
topology: {workers: 1}
faults: [{after: {job: 1, phase: result_publish}, do: crash, node: actor, restart_in: 5s}]`,
			verdict: Held,
			told:    []string{"SUCCEEDED"},
			never:   "blind window",
		},
		"a worker that stays dead": {
			plan: `
workload: {jobs: 1, work: 1m}
topology: {workers: 1}
engine: {reconciler: false}
faults: [{at: 20s, do: crash, node: worker-1}]
then: {heal: false}`,
			verdict: Held,
			reason:  "every-job-settles is broken under faults for which these settings promise nothing",
			told:    []string{"stays open", "dispatched to worker-1, which is dead"},
		},
		"a worker that stays dead, and a reconciler": {
			plan: `
workload: {jobs: 1, work: 1m}
topology: {workers: 1}
engine: {tick_lock: renewed}
faults: [{at: 20s, do: crash, node: worker-1}]
then: {heal: false}`,
			verdict: Held,
			told:    []string{"one dispatch was stored", "TIMEOUT at 30m30", "(timeout)", "Its blind window lasted from 20s to 30m30", ": 30m10", ", detected after the running timeout (30m) plus 28s, counted from the start of RUNNING."},
		},
		"the heal starts a node that goes down after it": {
			plan: `
workload: {jobs: 1}
topology: {schedulers: 1}
faults:
  - {on: {job: 1, phase: submit_ack}, do: lose}
  - {after: {job: 1, phase: processed_read, occurrence: 3}, do: crash, node: actor}`,
			verdict: Held,
			told:    []string{"SUCCEEDED"},
		},
		"a fault at the very end of the window": {
			plan: `
workload: {jobs: 1}
faults: [{at: 10s, do: partition, node: worker-1, from: heartbeats, for: 5s}]`,
			verdict: Held,
			told:    []string{"SUCCEEDED"},
		},
		"a request is given up": {
			plan: `
workload: {jobs: 1}
engine: {pending_replayer: false}
faults: [{on: {job: 1, phase: state_read}, do: fail-before, times: 100}]`,
			verdict: Held,
			told:    []string{"state_read failed 100 times", "still PENDING", "its request was given up after 100 deliveries"},
		},
		"a rollback fails": {
			plan: `
workload: {jobs: 1}
faults:
  - {on: {job: 1, phase: publish}, do: hang}
  - {on: {job: 1, phase: rollback_write}, do: fail-before}`,
			verdict: Held,
			told:    []string{"publish hung until its deadline", "no dispatch of it was stored; TIMEOUT", "blind window lasted", "detected after the dispatch timeout (5m) plus"},
		},
		"a rollback fails, and the topic has a timeout of its own": {
			plan: `
workload: {jobs: 1}
engine: {tick_lock: renewed, topic_timeouts: job.default=30s}
faults:
  - {on: {job: 1, phase: publish}, do: fail-before}
  - {on: {job: 1, phase: rollback_write}, do: fail-before}`,
			verdict: Held,
			told:    []string{"no dispatch of it was stored; TIMEOUT", ", detected after its topic's dispatch timeout (30s) plus 28s."},
		},
		"a rollback fails, and there is no reconciler": {
			plan: `
workload: {jobs: 1}
engine: {reconciler: false}
faults:
  - {on: {job: 1, phase: publish}, do: hang}
  - {on: {job: 1, phase: rollback_write}, do: fail-before}`,
			verdict: Held,
			told:    []string{"no dispatch of it was stored; still DISPATCHED", "stays open", "it is DISPATCHED but was never dispatched"},
		},
		"a later handling resumes an intent": {
			plan: `
preset: hardened
workload: {jobs: 1}
faults: [{after: {job: 1, phase: dispatched_write}, do: crash, node: actor, restart_in: 30s}]`,
			verdict: Held,
			told:    []string{"one dispatch was stored", "a later handling resumed its intent at 1m30", "SUCCEEDED", "blind window lasted"},
		},
		"a replayer takes up a job that was never submitted": {
			plan: `
workload: {jobs: 1, tries: 1}
faults: [{on: {job: 1, phase: submit_publish}, do: fail-before}]`,
			verdict: Held,
			told:    []string{"job-1 was stored at 2.2", "and never submitted", "submit_publish failed", "one dispatch was stored", "SUCCEEDED"},
		},
		"a cancellation comes before the dispatch": {
			plan: `
preset: hardened
workload: {jobs: 1, cancel: {1: 500ms}}
faults: [{on: {job: 1, phase: publish}, do: late, for: 20s}]`,
			verdict: Held,
			told:    []string{"publish timed out for its caller", "its cancellation was asked for at 2.7", "its dispatch was declared void", "no dispatch of it was stored", "CANCELLED", "(cancelled)", "publish arrived late and was refused at 22.2"},
			never:   "executed it",
		},
		"a worker is told that its job is cancelled": {
			plan: `
preset: hardened
workload: {jobs: 1, work: 5m, cancel: {1: 10s}}`,
			verdict: Held,
			told:    []string{"its cancellation was asked for at 12.2", "CANCELLED at 12.2", "its worker was told that it is cancelled", "the run took 12.2"},
			never:   "failed",
		},
		"a worker executes what was cancelled": {
			plan: `
workload: {jobs: 1, cancel: {1: 500ms}}
faults: [{on: {job: 1, phase: publish}, do: late, for: 20s}]`,
			verdict: Held,
			told:    []string{"CANCELLED at 2.7", "publish arrived late and was applied at 22.2", "one dispatch was stored", "worker-1 began to execute it at 22.2", "although it was CANCELLED."},
		},
		"a worker is not told and goes on": {
			plan: `
workload: {jobs: 1, work: 1m, cancel: {1: 10s}}`,
			verdict: Held,
			told:    []string{"CANCELLED at 12.2", "worker-1 executed it to the end, at 1m2.2", "although it was CANCELLED."},
		},
		"a late write is refused": {
			plan: `
preset: hardened
workload: {jobs: 1}
faults: [{on: {job: 1, phase: dispatched_write}, do: late, for: 10s}]`,
			verdict: Held,
			told:    []string{"dispatched_write timed out for its caller at 2.2", "one dispatch was stored", "SUCCEEDED at 3.2", "; its dispatched_write arrived late and was refused at 12.2"},
			never:   ", then",
		},
		"a late result is refused": {
			plan: `
preset: hardened
workload: {jobs: 1}
faults: [{on: {job: 1, phase: result_write}, do: late, for: 90s}]`,
			verdict: Held,
			told:    []string{"result_write timed out for its caller at 2.2", "SUCCEEDED at 3.2", "; its result_write arrived late and was refused at 1m32.2"},
			never:   ", then",
		},
		"a late write takes a job out of its end": {
			plan: `
workload: {jobs: 1}
faults: [{on: {job: 1, phase: dispatched_write}, do: late, for: 10s}]`,
			verdict: Held,
			told:    []string{"dispatched_write timed out for its caller", "SUCCEEDED at 3.2", ", then DISPATCHED at 12.2", "by its late dispatched_write, then TIMEOUT at 6m", "(timeout)"},
		},
		"a late result is written twice": {
			plan: `
workload: {jobs: 1}
faults: [{on: {job: 1, phase: result_write}, do: late, for: 90s}]`,
			verdict: Held,
			told:    []string{"result_write timed out for its caller", "SUCCEEDED at 3.2", ", then SUCCEEDED at 1m32.2", "by its late result_write."},
		},
		"a late write would come after the end of the run": {
			plan: `
workload: {jobs: 1}
faults: [{on: {job: 1, phase: result_write}, do: late, for: 2h}]`,
			verdict: Inconclusive,
			reason:  "late on result_write of job 1, by 2h0m0s: it had not arrived when the run ended",
			told:    []string{"result_write timed out for its caller", "SUCCEEDED"},
		},
		"a late write comes while the run may wait for it": {
			plan: `
workload: {jobs: 1}
faults: [{on: {job: 1, phase: result_write}, do: late, for: 2h}]
then: {settle_within: 3h}`,
			verdict: Held,
			told:    []string{"SUCCEEDED at 3.2", ", then SUCCEEDED at 2h0m2.2"},
		},
		"the holder of a job's lock is paused": {
			plan: `
preset: hardened
workload: {jobs: 1}
faults: [{after: {job: 1, phase: lock_acquire}, do: pause, node: actor, for: 2m}]`,
			verdict: Held,
			told:    []string{"scheduler-2 was paused from 2.2", " to 2m2.2", "its scheduled_write was refused at 2m2.2", ": the lock was no longer its writer's", "SUCCEEDED"},
		},
		"a worker is paused over a job": {
			plan: `
workload: {jobs: 1, work: 30s}
topology: {workers: 1}
faults: [{at: 10s, do: pause, node: worker-1, for: 40s}]`,
			verdict: Held,
			told:    []string{"one dispatch was stored", "worker-1 was paused from 10s to 50s", "SUCCEEDED at 50"},
		},
		"a client is cut off": {
			plan: `
workload: {jobs: 1, tries: 100}
faults: [{at: 2100ms, do: partition, node: submitter, from: redis, for: 30s}]`,
			verdict: Held,
			told:    []string{"its submit_write was cut off from Redis", " times, first at 2.2", "one dispatch was stored", "SUCCEEDED"},
		},
		"schedulers are cut off from NATS": {
			plan: `
workload: {jobs: 1}
topology: {schedulers: 1}
faults: [{after: {job: 1, phase: scheduled_write}, do: pause, node: actor, for: 2s}, {at: 3s, do: partition, node: scheduler-1, from: nats, for: 20s}]`,
			verdict: Held,
			told:    []string{"scheduler-1 was paused", "its publish was cut off from NATS at ", "SUCCEEDED"},
		},
		"what became of the others": {
			plan: `
about: [1]
workload: {jobs: 6, every: 5s, work: 3m, cancel: {5: 10s}, deadline: {4: 10s}}
faults: [{on: {job: 2, phase: publish}, do: fail-before}, {on: {job: 3, phase: state_read}, do: fail-before, times: 100}]
engine: {pending_replayer: false}`,
			verdict: Held,
			told:    []string{"Of the other 5 jobs, 1 was dispatched once, at the first attempt, and succeeded; 1 succeeded after more than one attempt or dispatch; 1 ended CANCELLED; 1 ended TIMEOUT; 1 is still PENDING."},
		},
		"a deadline passes": {
			plan: `
workload: {jobs: 1, work: 5m, deadline: {1: 10s}}`,
			verdict: Held,
			told:    []string{"TIMEOUT at 30.0", "(timeout)"},
		},
		"another handling meets the lock while the publish is under way": {
			plan: `
workload: {jobs: 1, submissions: 2}
faults: [{on: {job: 1, phase: publish}, do: hang}]`,
			verdict: Held,
			told:    []string{"one dispatch was stored", "SUCCEEDED"},
			never:   "blind window",
		},
		"work that outlasts the run": {
			plan:    "\nworkload: {jobs: 1, work: 24h}\nengine: {running_timeout: 48h}",
			verdict: Inconclusive,
			reason:  "job-1 was still under way when the time was over; raise then.settle_within",
			told:    []string{"worker-1 is still executing it"},
		},
		"a fault that fires less often than it should": {
			plan: `
workload: {jobs: 1}
faults: [{on: {job: 1, phase: scheduled_write}, do: fail-before, times: 60}]
engine: {max_deliver: 20, pending_replayer: false}`,
			verdict: Inconclusive,
			reason:  "occurrences 1 to 60: only 20 of 60 times",
			told:    []string{"its request was given up after 20 deliveries"},
		},
		"a job in the outbox of the dead": {
			plan: `
workload: {jobs: 1}
topology: {schedulers: 1}
engine: {dispatch_order: outbox}
faults: [{after: {job: 1, phase: dispatched_write}, do: crash, node: actor}]
then: {heal: false}`,
			verdict: Violated,
			reason:  "every-job-settles is violated",
			told:    []string{"no dispatch of it was stored; still DISPATCHED", "its dispatch waits in the outbox"},
			never:   "blind window",
		},
		"a relay dies over an entry": {
			plan: `
workload: {jobs: 1}
engine: {dispatch_order: outbox}
faults: [{after: {job: 1, phase: outbox_claim}, do: crash, node: actor, restart_in: 5s}]`,
			verdict: Held,
			told:    []string{"one dispatch was stored, at 1m", "SUCCEEDED"},
			never:   "blind window",
		},
		"a relay cannot take out what it published": {
			plan: `
workload: {jobs: 1, work: 5s}
engine: {dispatch_order: outbox}
faults: [{on: {job: 1, phase: outbox_remove}, do: hang}]`,
			verdict: Held,
			reason:  "one-dispatch-per-job",
			told:    []string{"outbox_remove hung until its deadline", "2 dispatches were stored", "workers executed it 2 times", "SUCCEEDED"},
		},
		"a consumer refuses the copy": {
			plan: `
workload: {jobs: 1, work: 5s}
topology: {deduplicate: true}
engine: {dispatch_order: outbox}
faults: [{on: {job: 1, phase: outbox_remove}, do: hang}]`,
			verdict: Held,
			reason:  "one-dispatch-per-job",
			told:    []string{"2 dispatches were stored", "SUCCEEDED"},
			never:   "executed it",
		},
		"no relay can read what is due": {
			plan: `
workload: {jobs: 1}
engine: {dispatch_order: outbox}
faults:
  - {on: {phase: outbox_read}, do: fail-before, times: 20}
  - {on: {job: 1, phase: publish}, do: fail-before}`,
			verdict: Held,
			told:    []string{"publish failed", "one dispatch was stored, at 11", "SUCCEEDED"},
		},
		"the cache knows that the job is in flight": {
			plan: `
workload: {jobs: 1, submissions: 2, work: 5s}
topology: {schedulers: 1}
engine: {read_error: cached-state}
faults: [{on: {job: 1, phase: state_read, occurrence: 2}, do: fail-before}]`,
			verdict: Held,
			told:    []string{"one dispatch was stored", "state_read failed", "SUCCEEDED"},
		},
		"what the cache knows is too old": {
			plan: `
workload: {jobs: 1, submissions: 2, work: 5s}
topology: {schedulers: 1}
engine: {read_error: cached-state, state_cache_age: 1ms}
faults: [{on: {job: 1, phase: state_read, occurrence: 2}, do: fail-before}]`,
			verdict: Held,
			told:    []string{"one dispatch was stored", "state_read failed", "SUCCEEDED"},
		},
		"a heartbeat comes while a dispatch waits to pick again": {
			plan: `
workload: {jobs: 1, every: 43s}
topology: {schedulers: 1, workers: 1, heartbeat_every: 45s}
engine: {stale_worker: jittered-retries, max_dispatch_retries: 100, stale_retry_jitter: 500ms, registry_sweep: 1m}`,
			verdict: Held,
			told:    []string{"met a stale worker; one dispatch was stored", "with attempts 1", "SUCCEEDED"},
		},
		"more is violated than the plan expects": {
			plan: `
workload: {jobs: 1, submissions: 2, work: 5s}
engine: {read_error: fail-open}
faults: [{on: {job: 1, phase: state_read, occurrence: 2}, do: fail-before}]
expect: {violates: [one-dispatch-per-job]}`,
			verdict: Violated,
			reason:  "documented-transitions-only",
			told:    []string{"2 dispatches were stored"},
			never:   "as the plan expects",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse("plan.yaml", []byte("version: 1\nname: story\n"+preset(c.plan)+c.plan+"\n"))
			require.NoError(t, err)
			res, err := Run(context.Background(), p, RunOptions{Source: "plan.yaml"})
			require.NoError(t, err)
			text := strings.Join(res.Telling, "\n")
			for _, u := range res.Unsettled {
				text += "\n" + u.Reason
			}
			assert.Equal(t, c.verdict, res.Verdict, "%s\n%s", res.Reason, text)
			assert.Contains(t, res.Reason, c.reason)
			rest := text
			for _, s := range c.told {
				i := strings.Index(rest, s)
				require.GreaterOrEqual(t, i, 0, "%q in\n%s", s, text)
				rest = rest[i:]
			}
			if c.never != "" {
				assert.NotContains(t, text+res.Reason, c.never)
			}
		})
	}
}

// preset gives a plan the documented preset, if it has none.
func preset(plan string) string {
	if strings.Contains(plan, "preset:") {
		return ""
	}
	return "preset: documented"
}
