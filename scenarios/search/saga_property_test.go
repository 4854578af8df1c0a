package search

import (
	"context"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// sagaPlans is how many plans TestSagas runs: all 1,000 of the acceptance with
//
//	go test ./scenarios -run 'TestSagas$' -saga.plans=1000
var sagaPlans = flag.Int("saga.plans", 100, "how many random plans TestSagas runs")

// sagaPromises are those that a plan with a saga is judged by, whatever releases them.
var sagaPromises = []string{
	"compensation-recorded-once", "one-compensation-per-key", "compensations-in-lifo-order", "compensation-only-of-succeeded-job",
	"saga-lock-released-by-owner-or-expiry", "every-compensation-accounted-for", "every-job-settles",
}

// sagaStrikes are the steps on the way of a compensation, from the result that it is recorded with.
var sagaStrikes = []string{
	"saga_publish", "saga_publish", "saga_read", "saga_pop", "saga_close", "saga_lock", "saga_unlock",
	"result_write", "result_write", "result_deliver", "result_ack", "reconcile_lock", "reconcile_read", "submit_deliver", "pending_write",
}

// drawSaga draws a small plan in which a saga is rolled back, over crashes and failures at any of its steps.
func drawSaga(t *rapid.T) *plans.Plan {
	p, err := Space{Judged: sagaPromises, Sets: []string{"engine.snapshot_every=5m", "topology.heartbeat_every=20s"}}.start(plans.PresetHardened)
	if err != nil {
		panic(err)
	}
	d := &drawer{t: t, p: p, fixed: map[string]bool{}}
	for _, k := range []plans.Knob{
		{Name: "topology.schedulers", Draws: "2 1"},
		{Name: "topology.workers", Draws: "1 2"},
		{Name: "workload.jobs", Draws: "3 2 4"},
		{Name: "workload.every", Draws: "200ms 1ms 3s"},
		{Name: "workload.work", Draws: "50ms 1ms 2s"},
		{Name: "schedule.strategy", Draws: "latency random"},
		{Name: "engine.poll_interval", Draws: "30s 5s"},
		{Name: "engine.ack_wait", Draws: "10m 30s 5s"},
		{Name: "engine.saga.lock_ttl", Draws: "2m 10s 1s"},
		{Name: "engine.saga.rollback_timeout", Draws: "30s 1s"},
	} {
		d.turn(k)
	}
	d.set("workload.saga", from(d, "jobs of a saga", nth(p.Workload.Jobs), "2"))
	if d.oneIn(4, "of two tenants") {
		d.set("workload.tenants", "2")
	}
	d.set("workload.answer."+nth(d.job("fatal job")), "FAILED_FATAL")
	if d.oneIn(4, "another") {
		d.set("workload.answer."+nth(d.job("another")), "FAILED_FATAL")
	}
	if d.oneIn(3, "slow") {
		d.set("workload.slow."+nth(d.job("slow job")), from(d, "slow", "20s", "2m"))
	}
	if d.oneIn(8, "unreadable") {
		d.set("workload.unreadable", "1")
	}
	if d.oneIn(4, "denied") {
		d.set("kernel.default", "ALLOW")
		d.p.Kernel.Rules = []kernel.Rule{{Labels: "saga_job_id=" + plans.JobID(d.job("denied")), Decision: kernel.Deny, Reason: "it stays"}}
	}
	for range 2 + d.upTo(4, "faults") {
		d.strikeSaga()
	}
	d.finish()
	return p
}

func (d *drawer) strikeSaga() {
	ph := phaseCalled(evenly(d, "phase", sagaStrikes...))
	f := faults.Fault{Do: evenly(d, "effect", faults.FailBefore, faults.FailAfter, faults.Hang, faults.Late, faults.Crash, faults.Crash, faults.Pause)}
	m := &faults.Match{Phase: ph.Name, Occurrence: evenly(d, "occurrence", 0, 0, 2, 3)}
	if !ph.NoJob { // a job meets it again only if it failed
		m.Job, m.Occurrence = d.job("job"), evenly(d, "occurrence", 0, 0, 0, 2)
	}
	switch f.Do {
	case faults.Crash:
		f.After, f.Node, f.RestartIn = m, faults.Actor, evenly(d, "restart in", time.Second, 50*time.Millisecond, time.Minute)
	case faults.Pause:
		f.After, f.Node, f.For = m, faults.Actor, evenly(d, "for", 10*time.Second, 70*time.Second, 150*time.Second)
	default:
		f.On, f.Times = m, evenly(d, "times", 0, 0, 2, 5)
		if f.Do == faults.Late {
			f.For = evenly(d, "for", time.Second, 40*time.Second)
		}
	}
	d.add(f)
}

// Whatever happens to a saga and to who rolls it back: each of its compensations is submitted once for its
// key, or denied, or in the DLQ; and the last recorded comes first.
func TestSagas(t *testing.T) {
	sagas := rapid.Custom(drawSaga)
	reached := map[string]int{}
	for n := range *sagaPlans {
		p := sagas.Example(n)
		res, err := scenarios.Run(context.Background(), p, scenarios.RunOptions{Source: p.Name, Modified: true, Drawn: true})
		require.NoError(t, err)
		if !assert.Equal(t, scenarios.Held, res.Verdict, "plan %d\n%s\n%s", n, explained(res), PlanText(t, p)) {
			continue
		}
		for _, i := range res.Invariants {
			reached[i.Name] += i.Exercised
		}
		for _, f := range res.Fired {
			reached[f.Do]++
		}
	}
	for _, name := range slices.Concat(sagaPromises, []string{"saga-rolled-back", "saga-rollback-resumed", "saga-joined-late", "saga-entry-unreadable", "saga-compensation-denied", "crash", "pause"}) {
		assert.Positive(t, reached[name], name)
	}
	t.Logf("%d plans: %v", *sagaPlans, reached)
}

// Without one of the parts that sagas are hardened with, such plans show what is lost.
func TestSagasShowWhatAToggleIsFor(t *testing.T) {
	sagas := rapid.Custom(drawSaga)
	for _, toggle := range plans.Toggles() {
		if !strings.HasPrefix(toggle.Setting, "engine.saga.") {
			continue
		}
		t.Run(toggle.Setting, func(t *testing.T) {
			for n := range 60 {
				p := sagas.Example(n)
				require.NoError(t, p.Set(toggle.Setting+"="+toggle.Off))
				p.Expect.Violates = []string{toggle.Invariant}
				if len(breaks(t, p, toggle.Invariant)) > 0 {
					return
				}
			}
			assert.Fail(t, "no plan breaks "+toggle.Invariant)
		})
	}
}
