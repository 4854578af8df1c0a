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
faults: [{at: 20s, do: crash, node: worker-1}]
then: {heal: false}`,
			verdict: Held,
			reason:  "every-job-settles is broken under faults for which nothing is promised",
			told:    []string{"stays open", "dispatched to worker-1, which is dead"},
		},
		"the heal starts a node that goes down after it": {
			plan: `
workload: {jobs: 1}
topology: {schedulers: 1}
faults:
  - {on: {job: 1, phase: submit_ack}, do: lose}
  - {after: {job: 1, phase: state_read, occurrence: 3}, do: crash, node: actor}`,
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
			told:    []string{"publish hung until its deadline", "no dispatch of it was stored; still DISPATCHED", "stays open", "it is DISPATCHED but was never dispatched"},
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
			plan:    "\nworkload: {jobs: 1, work: 24h}",
			verdict: Inconclusive,
			reason:  "job-1 was still under way when the time was over; raise then.settle_within",
			told:    []string{"worker-1 is still executing it"},
		},
		"a fault that fires less often than it should": {
			plan: `
workload: {jobs: 1}
faults: [{on: {job: 1, phase: scheduled_write}, do: fail-before, times: 60}]
engine: {max_deliver: 20}`,
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
			told:    []string{"state_read failed", "one dispatch was stored", "SUCCEEDED"},
		},
		"what the cache knows is too old": {
			plan: `
workload: {jobs: 1, submissions: 2, work: 5s}
topology: {schedulers: 1}
engine: {read_error: cached-state, state_cache_age: 1ms}
faults: [{on: {job: 1, phase: state_read, occurrence: 2}, do: fail-before}]`,
			verdict: Held,
			told:    []string{"state_read failed", "one dispatch was stored", "SUCCEEDED"},
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
			p, err := Parse("plan.yaml", []byte("version: 1\nname: story\npreset: documented"+c.plan+"\n"))
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
