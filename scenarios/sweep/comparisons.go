package sweep

import (
	"embed"
	"fmt"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// cases holds the plans of comparisons that are not named scenarios.
//
//go:embed cases/*.yaml
var cases embed.FS

// comparisonSeeds keeps all three tables within a minute on two cores.
const comparisonSeeds = 30

// Comparisons lists the documentation's tables of alternatives, in the order of its documents. An
// alternative that this build does not have is left out, and a note says so.
func Comparisons() []*Alternatives {
	list := []*Alternatives{
		{
			Name: "dispatch-order", Title: "Dispatch order", Source: "Dispatch ordering, limitations and tradeoffs",
			Question: "Which of state and bus should a dispatch touch first?",
			Plans:    casesOf("state-write-failure", "publish-ack-lost", "rollback-failure", "crash-in-dispatch", "flaky-dispatch"),
			Metrics:  []string{"duplicates", "executed_twice", "timed_out", "unsettled", "blind_window_s", "dispatch_p50_s", "dispatch_p99_s", "attempts_burnt", "state_writes", "operations"},
			Rows: []Row{
				{Name: "State-before-publish + rollback (current)", Upside: "Strong replay safety, explicit rollback metric, predictable state machine.",
					Downside: "Requires robust store writes; a rollback failure creates a blind window.", Settings: []string{"engine.dispatch_order=state-first"}},
				{Name: "Publish-before-state", Upside: "Slightly simpler write sequence.",
					Downside: "High duplicate-dispatch risk under redelivery after partial failures.", Settings: []string{"engine.dispatch_order=publish-first"}},
				{Name: "Outbox + relay + idempotent consumer", Upside: "Excellent cross-system durability and auditability at scale.",
					Downside: "Higher implementation complexity and operational overhead.", Settings: []string{"engine.dispatch_order=outbox", "topology.deduplicate=true"}},
				{Name: "State-before-publish + epochs, resumed (hardened)", Upside: "The stream itself refuses a second dispatch, for as long as it keeps its messages; no rollback.",
					Downside: "Every state write reads first; workers must know epochs.", Settings: []string{"engine.dispatch_order=state-first", "engine.fence=true", "engine.epochs=true", "engine.resume_intents=true"}},
			},
			Notes: []string{
				"The scenarios strike one or two jobs of ten on purpose, so that 10 % of a scenario's jobs is every time; flaky-dispatch fails at random. What strikes a rollback has nothing to strike where there is none.",
				"A job left DISPATCHED to nobody ends in TIMEOUT once the reconciler comes, five minutes later and more. It was never dispatched, so it counts to the end of its run in the times to dispatch.",
				"The last row is not in the document: it is what this build's hardened preset makes of the first.",
			},
		},
		{
			Name: "state-read", Title: "State-read policy", Source: "State-read errors, limitations and tradeoffs",
			Question: "What should a scheduler do when it cannot read a job's state?",
			Plans:    casesOf("redis-read-error", "read-outage", "flickering-reads"),
			Metrics:  []string{"duplicates", "executed_twice", "unsettled", "dispatch_p50_s", "dispatch_p99_s", "attempts_burnt", "retries", "operations"},
			Rows: []Row{
				{Name: "Fail closed on state-read errors (current)", Upside: "Protects correctness by blocking unknown-state dispatch.",
					Downside: "Short-term throughput reduction during store outages.", Settings: []string{"engine.read_error=fail-closed"}},
				{Name: "Fail open on state-read errors", Upside: "Higher apparent availability under store turbulence.",
					Downside: "High risk of duplicate external side effects.", Settings: []string{"engine.read_error=fail-open"}},
				{Name: "Cached-state fallback then dispatch", Upside: "Can reduce outage impact if the cache is fresh and bounded.",
					Downside: "Staleness can reintroduce duplicate-dispatch risk with false confidence.", Settings: []string{"engine.read_error=cached-state"}},
			},
			Notes: []string{"redis-read-error strikes one job of ten on purpose; in read-outage no state can be read for four seconds; in flickering-reads every job is submitted twice, and one read in five fails, and one publish in five."},
		},
		{
			Name: "stale-worker", Title: "Stale-worker retries", Source: "Stale workers, limitations and tradeoffs",
			Question: "How should a dispatch pick again when it met a worker past its TTL?",
			Plans:    casesOf("stale-worker", "dying-workers"),
			Metrics:  []string{"stale_exhausted", "stale_returns", "stale_unnamed", "stale_picks", "stale_held_s", "dispatch_p50_s", "dispatch_p99_s", "attempts_burnt"},
			Rows: []Row{
				{Name: "Fixed 3 immediate retries (current)", Upside: "Low latency and simple behaviour for short stale windows.",
					Downside: "Can under-retry relative to 30s TTL windows and hide the stale-specific root cause.",
					Settings: []string{"engine.stale_worker=fixed-retries", "engine.max_dispatch_retries=3", "engine.stale_reason_code=no_workers"}},
				{Name: "More inner retries with tiny jitter", Upside: "Better chance to recover before outer backoff and queue churn.",
					Downside: "Higher dispatch-path CPU/log volume under sustained stale conditions.",
					Settings: []string{"engine.stale_worker=jittered-retries", "engine.max_dispatch_retries=10", "engine.stale_retry_jitter=100ms", "engine.stale_reason_code=no_workers"}},
				{Name: "Dedicated stale-worker reason + metric", Upside: "Sharper observability and better capacity tuning decisions.",
					Downside: "Extra code path and compatibility work for reason-code consumers.",
					Settings: []string{"engine.stale_worker=fixed-retries", "engine.max_dispatch_retries=3", "engine.stale_reason_code=stale_worker"}},
			},
			Notes: []string{"A return hides a stale worker if its retry event says no_workers: whoever reads it takes a stale registry for a want of workers."},
		},
	}
	for _, a := range list {
		a.Version, a.Seeds, a.FirstSeed = DefinitionVersion, comparisonSeeds, 1
		a.leaveOut()
	}
	return list
}

// leaveOut takes away the alternatives that this build does not know.
func (a *Alternatives) leaveOut() {
	var rows []Row
	for _, row := range a.Rows {
		probe := plans.Defaults()
		var unknown string
		for _, set := range row.Settings {
			if err := probe.Set(set); err != nil {
				unknown = set
			}
		}
		if unknown == "" {
			rows = append(rows, row)
		} else {
			a.Notes = append(a.Notes, fmt.Sprintf("%q is left out: this build has no %s.", row.Name, unknown))
		}
	}
	a.Rows = rows
}

// casesOf reads plans by their names. What they expect is said of other settings, so that every
// promise is judged as it is given.
func casesOf(names ...string) []Case {
	var list []Case
	for _, name := range names {
		text, ok := plans.Source(name)
		if data, err := cases.ReadFile("cases/" + name + ".yaml"); !ok && err == nil {
			text = string(data)
		}
		plan, err := plans.Parse(name+".yaml", []byte(text))
		if err != nil {
			panic(err) // the files are part of the binary
		}
		plan.Expect = plans.Expect{}
		data, err := plans.Marshal(plan)
		if err != nil {
			panic(err)
		}
		list = append(list, Case{Name: name, Plan: string(data)})
	}
	return list
}
