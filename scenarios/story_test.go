package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// storiesFile has the story of each case. Whoever changes it reads it.
const storiesFile = "testdata/stories.txt"

// Each case is one way in which a job can fare.
func TestStories(t *testing.T) {
	cases := map[string]struct {
		plan    string
		verdict Verdict // "" is Held
		reason  string
	}{
		"a worker dies over a job and comes back": {
			plan: `
workload: {jobs: 1, work: 1m}
topology: {workers: 1}
faults: [{at: 20s, do: crash, node: worker-1, restart_in: 5s}]`,
		},
		"a job that the safety kernel throttles": {
			plan: `
workload: {jobs: 1}
kernel: {default: THROTTLE, then: [{at: 12s, default: ALLOW}]}`,
		},
		"a job that the safety kernel throttles to the end": {
			plan: `
preset: hardened
workload: {jobs: 1}
kernel: {default: THROTTLE}`,
			reason: "hold. 1 job is still throttled by the safety kernel",
		},
		"a job that the safety kernel denies": {
			plan: `
workload: {jobs: 3, tenants: 3}
kernel: {default: ALLOW, rules: [{tenant: tenant-2, decision: DENY, reason: tenant-2 has not paid}]}`,
		},
		"the safety kernel is away": {
			plan: `
about: [3]
workload: {jobs: 4}
topology: {schedulers: 1}
kernel: {default: ALLOW}
engine: {policy: {circuit_fail_budget: 1}}
faults: [{at: 2300ms, do: crash, node: kernel, restart_in: 20s}]`,
		},
		"the safety kernel is away, and jobs go on": {
			plan: `
about: [3]
workload: {jobs: 4}
kernel: {default: ALLOW}
engine: {policy: {fail_mode: open}}
faults: [{at: 2300ms, do: crash, node: kernel, restart_in: 20s}]`,
		},
		"somebody approves what has changed": {
			plan: `
workload: {jobs: 1, approve: {1: 10s}, change: {1: 5s}}
kernel: {default: REQUIRE_APPROVAL}`,
		},
		"an output is redacted": {
			plan: `
workload: {jobs: 1}
engine: {output: {enabled: true}}
kernel: {default: ALLOW, output: [{job_id: job-1, sync: true, decision: REDACT, redacted_ptr: "{result_ptr}:redacted", reason: it holds a secret}]}`,
		},
		"a request that was processed comes again": {
			plan: `
workload: {jobs: 1}
faults: [{on: {job: 1, phase: submit_ack}, do: lose}]`,
		},
		"a reconciler rolls back what a replayer could not": {
			plan: `
preset: hardened
engine: {confirm_acks: false}
workload: {jobs: 2, every: 1ms}
topology: {schedulers: 1, workers: 1}
faults: [{after: {job: 1, phase: dispatched_write}, do: restart, node: nats, for: 6m}]`,
			reason: "Broken, but not promised: overdue-job-found-within-a-poll (not under these faults)",
		},
		"a result comes before its dispatch": {
			plan: `
workload: {jobs: 1}
faults: [{on: {job: 1, phase: publish}, do: fail-after}]`,
		},
		"pauses, partitions and skews that overlap": {
			plan: `
workload: {jobs: 1}
topology: {schedulers: 2}
faults:
  - {at: 3s, do: pause, node: scheduler-1, for: 10s}
  - {at: 5s, do: pause, node: scheduler-1, for: 1s}
  - {at: 6s, do: pause, node: scheduler-2, for: 1s}
  - {at: 14s, do: partition, node: scheduler-1, from: redis, for: 2s}
  - {at: 15s, do: partition, node: scheduler-1, from: redis, for: 4s}
  - {at: 15500ms, do: partition, node: scheduler-1, from: nats, for: 1s}
  - {at: 20s, do: skew, node: scheduler-1, by: 1h, for: 10s}
  - {at: 25s, do: skew, node: scheduler-1, by: 2h, for: 10s}`,
		},
		"a run of a workflow": {
			plan: `
workload: {jobs: 2, runs: 1, steps: 2}`,
		},
		"two runs of a workflow": {
			plan: `
workload: {jobs: 1, runs: 2, steps: 2}`,
		},
		"a run's holder is paused, and fenced": {
			plan: `
preset: hardened
workload: {jobs: 1, runs: 1, steps: 2}
faults: [{after: {phase: run_read, occurrence: 3}, do: pause, node: actor, for: 45s}]`,
		},
		"a saga's stack holds an entry that nobody can read": {
			plan: `
workload: {jobs: 2, saga: 2, answer: {2: FAILED_FATAL}, unreadable: 1}`,
		},
		"a run, and jobs that violations name": {
			plan: `
workload: {jobs: 20, runs: 1, steps: 2}
faults: [{on: {phase: publish}, do: fail-after}]`,
			reason: "Broken, but not promised: one-dispatch-per-job (not under these faults)",
		},
		"a worker dies after its work is done": {
			plan: `
workload: {jobs: 1}
topology: {workers: 1}
faults: [{after: {job: 1, phase: result_publish}, do: crash, node: actor, restart_in: 5s}]`,
		},
		"a worker dies right after it began a job": {
			plan: `
preset: hardened
workload: {jobs: 1, work: 2s}
faults: [{after: {job: 1, phase: effect}, do: crash, node: actor, restart_in: 10s}]`,
			reason: "Broken, but not promised: one-execution-per-dispatch (not under these faults)",
		},
		"a worker dies over jobs that the story does not follow": {
			plan: `
preset: hardened
about: [1]
workload: {jobs: 10, work: 2s}
faults: [{at: 4s, do: crash, node: worker-3, restart_in: 10s}]`,
			reason: "Broken, but not promised: one-execution-per-dispatch (not under these faults)",
		},
		"a submission that a client does not try again": {
			plan: `
workload: {jobs: 3, tries: 1}
faults: [{on: {job: 2, phase: submit_write}, do: fail-before}]`,
			reason: "hold. 1 job was never stored: job-2",
		},
		"a worker that stays dead": {
			plan: `
workload: {jobs: 1, work: 1m}
topology: {workers: 1}
engine: {reconciler: false}
faults: [{at: 20s, do: crash, node: worker-1}]
then: {heal: false}`,
			reason: "Broken, but not promised: every-job-settles (not under these faults)",
		},
		"a worker that stays dead, and a reconciler": {
			plan: `
workload: {jobs: 1, work: 1m}
topology: {workers: 1}
engine: {tick_lock: renewed}
faults: [{at: 20s, do: crash, node: worker-1}]
then: {heal: false}`,
		},
		"the heal starts a node that goes down after it": {
			plan: `
workload: {jobs: 1}
topology: {schedulers: 1}
faults:
  - {on: {job: 1, phase: submit_ack}, do: lose}
  - {after: {job: 1, phase: processed_read, occurrence: 3}, do: crash, node: actor}`,
		},
		"a fault at the very end of the window": {
			plan: `
workload: {jobs: 1}
faults: [{at: 10s, do: partition, node: worker-1, from: heartbeats, for: 5s}]`,
		},
		"a request is given up": {
			plan: `
workload: {jobs: 1}
engine: {pending_replayer: false}
faults: [{on: {job: 1, phase: state_read}, do: fail-before, times: 100}]`,
		},
		"a rollback fails": {
			plan: `
workload: {jobs: 1}
faults:
  - {on: {job: 1, phase: publish}, do: hang}
  - {on: {job: 1, phase: rollback_write}, do: fail-before}`,
		},
		"a rollback fails, and the topic has a timeout of its own": {
			plan: `
workload: {jobs: 1}
engine: {tick_lock: renewed, topic_timeouts: job.default=30s}
faults:
  - {on: {job: 1, phase: publish}, do: fail-before}
  - {on: {job: 1, phase: rollback_write}, do: fail-before}`,
		},
		"a rollback fails, and there is no reconciler": {
			plan: `
workload: {jobs: 1}
engine: {reconciler: false}
faults:
  - {on: {job: 1, phase: publish}, do: hang}
  - {on: {job: 1, phase: rollback_write}, do: fail-before}`,
		},
		"a later handling resumes an intent": {
			plan: `
preset: hardened
workload: {jobs: 1}
faults: [{after: {job: 1, phase: dispatched_write}, do: crash, node: actor, restart_in: 30s}]`,
		},
		"a replayer takes up a job that was never submitted": {
			plan: `
workload: {jobs: 1, tries: 1}
faults: [{on: {job: 1, phase: submit_publish}, do: fail-before}]`,
		},
		"a cancellation comes before the dispatch": {
			plan: `
preset: hardened
workload: {jobs: 1, cancel: {1: 500ms}}
faults: [{on: {job: 1, phase: publish}, do: late, for: 20s}]`,
		},
		"a worker is told that its job is cancelled": {
			plan: `
preset: hardened
workload: {jobs: 1, work: 5m, cancel: {1: 10s}}`,
		},
		"a worker executes what was cancelled": {
			plan: `
workload: {jobs: 1, cancel: {1: 500ms}}
faults: [{on: {job: 1, phase: publish}, do: late, for: 20s}]`,
		},
		"a worker is not told and goes on": {
			plan: `
workload: {jobs: 1, work: 1m, cancel: {1: 10s}}`,
		},
		"a late write is refused": {
			plan: `
preset: hardened
workload: {jobs: 1}
faults: [{on: {job: 1, phase: dispatched_write}, do: late, for: 10s}]`,
		},
		"a late result is refused": {
			plan: `
preset: hardened
workload: {jobs: 1}
faults: [{on: {job: 1, phase: result_write}, do: late, for: 90s}]`,
		},
		"a late write takes a job out of its end": {
			plan: `
workload: {jobs: 1}
faults: [{on: {job: 1, phase: dispatched_write}, do: late, for: 10s}]`,
		},
		"a late result is written twice": {
			plan: `
workload: {jobs: 1}
faults: [{on: {job: 1, phase: result_write}, do: late, for: 90s}]`,
		},
		"a late write would come after the end of the run": {
			plan: `
workload: {jobs: 1}
faults: [{on: {job: 1, phase: result_write}, do: late, for: 2h}]`,
			verdict: Inconclusive,
			reason:  "late on result_write of job 1, by 2h0m0s: it had not arrived when the run ended",
		},
		"a late write comes while the run may wait for it": {
			plan: `
workload: {jobs: 1}
faults: [{on: {job: 1, phase: result_write}, do: late, for: 2h}]
then: {settle_within: 3h}`,
		},
		"the holder of a job's lock is paused": {
			plan: `
preset: hardened
workload: {jobs: 1}
faults: [{after: {job: 1, phase: lock_acquire}, do: pause, node: actor, for: 2m}]`,
		},
		"a worker is paused over a job": {
			plan: `
workload: {jobs: 1, work: 30s}
topology: {workers: 1}
faults: [{at: 10s, do: pause, node: worker-1, for: 40s}]`,
		},
		"a client is cut off": {
			plan: `
workload: {jobs: 1, tries: 100}
faults: [{at: 2100ms, do: partition, node: submitter, from: redis, for: 30s}]`,
		},
		"schedulers are cut off from NATS": {
			plan: `
workload: {jobs: 1}
topology: {schedulers: 1}
faults: [{after: {job: 1, phase: scheduled_write}, do: pause, node: actor, for: 2s}, {at: 3s, do: partition, node: scheduler-1, from: nats, for: 20s}]`,
		},
		"what became of the others": {
			plan: `
about: [1]
workload: {jobs: 6, every: 5s, work: 3m, cancel: {5: 10s}, deadline: {4: 10s}}
faults: [{on: {job: 2, phase: publish}, do: fail-before}, {on: {job: 3, phase: state_read}, do: fail-before, times: 100}]
engine: {pending_replayer: false}`,
		},
		"a deadline passes": {
			plan: `
workload: {jobs: 1, work: 5m, deadline: {1: 10s}}`,
		},
		"another handling meets the lock while the publish is under way": {
			plan: `
workload: {jobs: 1, submissions: 2}
faults: [{on: {job: 1, phase: publish}, do: hang}]`,
		},
		"work that outlasts the run": {
			plan:    "\nworkload: {jobs: 1, work: 24h}\nengine: {running_timeout: 48h}",
			verdict: Inconclusive,
			reason:  "job-1 was still under way when the time was over; raise then.settle_within",
		},
		"a fault that fires less often than it should": {
			plan: `
workload: {jobs: 1}
faults: [{on: {job: 1, phase: scheduled_write}, do: fail-before, times: 60}]
engine: {max_deliver: 20, pending_replayer: false}`,
			verdict: Inconclusive,
			reason:  "occurrences 1 to 60: only 20 of 60 times",
		},
		"a job in the outbox of the dead": {
			plan: `
workload: {jobs: 1}
topology: {schedulers: 1}
engine: {dispatch_order: outbox}
faults: [{after: {job: 1, phase: dispatched_write}, do: crash, node: actor}]
then: {heal: false}`,
			verdict: Inconclusive,
			reason:  "no scheduler was left that could go on",
		},
		"a relay dies over an entry": {
			plan: `
workload: {jobs: 1}
engine: {dispatch_order: outbox}
faults: [{after: {job: 1, phase: outbox_claim}, do: crash, node: actor, restart_in: 5s}]`,
		},
		"a relay cannot take out what it published": {
			plan: `
workload: {jobs: 1, work: 5s}
engine: {dispatch_order: outbox}
faults: [{on: {job: 1, phase: outbox_remove}, do: hang}]`,
			reason: "one-dispatch-per-job",
		},
		"a consumer refuses the copy": {
			plan: `
workload: {jobs: 1, work: 5s}
topology: {deduplicate: true}
engine: {dispatch_order: outbox}
faults: [{on: {job: 1, phase: outbox_remove}, do: hang}]`,
			reason: "one-dispatch-per-job",
		},
		"no relay can read what is due": {
			plan: `
workload: {jobs: 1}
engine: {dispatch_order: outbox}
faults:
  - {on: {phase: outbox_read}, do: fail-before, times: 20}
  - {on: {job: 1, phase: publish}, do: fail-before}`,
		},
		"the cache knows that the job is in flight": {
			plan: `
workload: {jobs: 1, submissions: 2, work: 5s}
topology: {schedulers: 1}
engine: {read_error: cached-state}
faults: [{on: {job: 1, phase: state_read, occurrence: 2}, do: fail-before}]`,
		},
		"what the cache knows is too old": {
			plan: `
workload: {jobs: 1, submissions: 2, work: 5s}
topology: {schedulers: 1}
engine: {read_error: cached-state, state_cache_age: 1ms}
faults: [{on: {job: 1, phase: state_read, occurrence: 2}, do: fail-before}]`,
		},
		"a heartbeat comes while a dispatch waits to pick again": {
			plan: `
workload: {jobs: 1, every: 43s}
topology: {schedulers: 1, workers: 1, heartbeat_every: 45s}
engine: {stale_worker: jittered-retries, max_dispatch_retries: 100, stale_retry_jitter: 500ms, registry_sweep: 1m}`,
		},
		"no worker is known": {
			plan: `
workload: {jobs: 1, every: 43s}
topology: {workers: 1}
faults: [{at: 3s, do: crash, node: worker-1, restart_in: 50s}]`,
		},
		"a tenant has no slot left": {
			plan: `
about: [2]
preset: hardened
workload: {jobs: 2, work: 5s}
engine: {tenant_limit: 1}`,
		},
		"a replayer's lock is held": {
			plan: `
about: [2]
workload: {jobs: 2, every: 20s, tries: 1}
faults: [{on: {job: 2, phase: submit_publish}, do: fail-before}]`,
		},
		"a result of an older epoch": {
			plan: `
preset: hardened
workload: {jobs: 1, work: 10s}
engine: {resume_intents: false}
faults: [{on: {job: 1, phase: publish}, do: fail-after}]`,
		},
		"a result has no legal status": {
			plan: `
workload: {jobs: 1, answer: {1: NONSENSE}}`,
		},
		"two handlings count at once": {
			plan: `
workload: {jobs: 2, every: 20µs}
engine: {tenant_limit: 1}
seed: 2`,
			reason: "Broken, but not promised: tenant-limit-held (not with these settings)",
		},
		"the stream has forgotten the message id": {
			plan: `
workload: {jobs: 1, work: 5m}
engine: {publish_dedup: message-id, backoff_base: 150s, backoff_max: 150s}
faults: [{on: {job: 1, phase: publish}, do: fail-after}]`,
			reason: "Broken, but not promised: one-dispatch-per-job (not under these faults)",
		},
		"a rollback goes no further": {
			plan: `
preset: hardened
workload: {jobs: 3, saga: 3, answer: {3: FAILED_FATAL}}
faults: [{on: {job: 2, phase: saga_publish}, do: fail-before}]`,
		},
		"the reconciler comes for a job that is over": {
			plan: `
preset: hardened
workload: {jobs: 1, every: 15s, work: 50s}
engine: {poll_interval: 1m, running_timeout: 40s}
faults: [{after: {phase: reconcile_read, occurrence: 2}, do: pause, node: actor, for: 20s}]`,
		},
		"more is violated than the plan expects": {
			plan: `
workload: {jobs: 1, submissions: 2, work: 5s}
engine: {read_error: fail-open}
faults: [{on: {job: 1, phase: state_read, occurrence: 2}, do: fail-before}]
expect: {violates: [one-dispatch-per-job]}`,
			verdict: Violated,
			reason:  "documented-transitions-only",
		},
	}
	var golden strings.Builder
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			p, err := plans.Parse("plan.yaml", []byte("version: 1\nname: story\n"+preset(c.plan)+c.plan+"\n"))
			require.NoError(t, err)
			res, err := Run(context.Background(), p, RunOptions{Source: "plan.yaml"})
			require.NoError(t, err)
			assert.Equal(t, cmp.Or(c.verdict, Held), res.Verdict, "%s", told(res))
			assert.Contains(t, res.Reason, c.reason)
			fmt.Fprintf(&golden, "== %s\n%s\n\n%s\n\n", name, strings.TrimSpace(c.plan), strings.Join(res.Telling, "\n"))
		})
	}
	if *update {
		require.NoError(t, os.WriteFile(storiesFile, []byte(golden.String()), 0o644))
		return
	}
	want, err := os.ReadFile(storiesFile)
	require.NoError(t, err)
	assert.Equal(t, string(want), golden.String(), "if the change is meant, `go test ./scenarios -run TestStories -update` notes it")
}

// Violations that depend on other steps are others: the story has the first ones of each, and counts the rest.
func TestViolationsThatDifferAreTold(t *testing.T) {
	res := &Result{}
	for i, window := range []int{10, 10, 10, 10, 10, 20, 30, 40, 50} {
		step := 100 + i
		res.Violations = append(res.Violations, Violation{Invariant: "probes", Promised: true, Step: step, At: time.Duration(step) * time.Second, Message: fmt.Sprint("probe ", step), Steps: []int{step, window}})
	}
	var told []string
	lines, needed := broke(res)
	for _, l := range lines {
		told = append(told, strings.TrimPrefix(l.text, "probes was violated: "))
	}
	assert.Equal(t, []string{"probe 100", "probe 101", "probe 102", "probe 105", "probe 106; and 4 more such violations, the last at 1m48s"}, told)
	assert.Contains(t, needed, 30)
	assert.NotContains(t, needed, 40)
}

// preset gives a plan the documented preset, if it has none.
func preset(plan string) string {
	if strings.Contains(plan, "preset:") {
		return ""
	}
	return "preset: documented"
}

// A failover is told as such: what it takes back is no write, by a writer without a name.
func TestWhatAFailoverTakesBackIsNotWritten(t *testing.T) {
	p, err := plans.Load(filepath.Join(witnessPlans, "every-run-settles-redis-failover.yaml"))
	require.NoError(t, err)
	res, err := Run(t.Context(), p, RunOptions{})
	require.NoError(t, err)
	said := strings.Join(res.Telling, "\n")
	assert.Contains(t, said, "scheduler-1 wrote run-1: s3 SUCCEEDED, s4 SUBMITTED.")
	assert.NotRegexp(t, `(?m)^At \S+  `, said)
}
