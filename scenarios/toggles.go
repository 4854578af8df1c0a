package scenarios

import (
	"fmt"
	"slices"
)

// Toggle is one part of the engine that can be taken away, and what it is worth: with it the scenario
// holds under the preset hardened; without it the invariant is violated there, judged whatever its promise:
// that of some is gone with the part.
type Toggle struct {
	Setting    string `json:"setting"`    // such as engine.fence
	On         string `json:"on"`         // the hardened preset's value
	Off        string `json:"off"`        // the value without it
	Documented string `json:"documented"` // the documented preset's value
	Scenario   string `json:"scenario"`
	Invariant  string `json:"invariant"`
	Says       string `json:"says"`    // what goes wrong without it, in a sentence
	Command    string `json:"command"` // the shell command that shows it: the run is violated
}

// Toggles lists them: first what the hardened preset adds to the documented design, then the parts of
// the documented design.
func Toggles() []Toggle {
	on, documented := settingsOf(PresetHardened), settingsOf(PresetDocumented)
	list := make([]Toggle, len(toggles))
	for i, t := range toggles {
		t.Setting = "engine." + t.Setting
		t.Documented = documented[t.Setting]
		if t.On == "" { // a part that plans turn on themselves says what that is
			t.On = on[t.Setting]
		}
		t.Command = fmt.Sprintf("wavetank run %s --preset %s --set %s=%s --judge %s", t.Scenario, PresetHardened, t.Setting, t.Off, t.Invariant)
		list[i] = t
	}
	return list
}

// settingsOf are the settings of a preset, by name.
func settingsOf(preset string) map[string]string {
	p := Defaults()
	p.Preset, p.Engine = preset, presetSettings(preset)
	values := map[string]string{}
	for _, s := range p.settings() {
		values[s.name] = textOf(s.value)
	}
	return values
}

var toggles = slices.Concat(recoveryToggles, tenantToggles, approvalToggles, policyToggles, outputToggles, sagaToggles, workflowToggles, replayToggles)

var recoveryToggles = []Toggle{
	{Setting: "stale_reason_code", Off: "no_workers", Scenario: "lone-worker", Invariant: "stale-worker-has-its-own-reason",
		Says: "A dispatch that met dead workers alone says that there are none, as if the pool were empty."},
	{Setting: "dlq_order", Off: "state-then-dlq", Scenario: "dlq-write-failure", Invariant: "failed-job-has-dlq-entry",
		Says: "The job is FAILED, the write of its DLQ entry fails, and the redelivery finds a job that is over: nobody hears of it."},
	{Setting: "fence", Off: "false", Scenario: "paused-holder", Invariant: "lock-mutual-exclusion",
		Says: "A replica that was paused past its lock's TTL goes on where it was, and writes over what its successor wrote."},
	{Setting: "epochs", Off: "false", Scenario: "publish-ack-lost", Invariant: "one-dispatch-per-job",
		Says: "The stream has stored a dispatch whose ack was lost, and stores its repetition too."},
	{Setting: "resume_intents", Off: "false", Scenario: "crash-before-publish", Invariant: "every-intent-is-published",
		Says: "A scheduler dies between DISPATCHED and the publish, and the redelivery takes the job for one in flight."},
	{Setting: "refuse_stale_results", Off: "false", Scenario: "stale-result", Invariant: "result-of-current-epoch",
		Says: "A job that was dispatched again ends with the result of the dispatch that was given up."},
	{Setting: "void_intents", Off: "false", Scenario: "cancel-before-publish", Invariant: "no-dispatch-after-end",
		Says: "A publish that is under way when the job is cancelled arrives all the same, and a worker does what nobody wants."},
	{Setting: "retry_unpublished", Off: "false", Scenario: "nats-outage", Invariant: "every-intent-is-published",
		Says: "NATS is away for longer than the dispatch timeout, and a job that no worker was ever given ends TIMEOUT."},
	{Setting: "cancel_notice", Off: "false", Scenario: "cancel-running", Invariant: "cancelled-job-is-told",
		Says: "The worker of a cancelled job works on to its end."},
	{Setting: "sweep_scheduled", Off: "false", Scenario: "scheduled-orphan", Invariant: "every-job-settles",
		Says: "A job stays SCHEDULED when its request has been given up: nobody owns it."},
	{Setting: "recheck_timeouts", Off: "false", Scenario: "timeout-race", Invariant: "timeout-only-when-due",
		Says: "The reconciler times out a job that has ended since it read the list."},
	{Setting: "watch_workers", Off: "false", Scenario: "dead-worker", Invariant: "dead-worker-is-noticed",
		Says: "A job that went to a dead worker stays RUNNING for half an hour, though nobody has heard of the worker all the while."},
	{Setting: "busy_backoff", Off: "false", Scenario: "lock-release-failure", Invariant: "no-message-given-up",
		Says: "A message that meets a lock which nobody gave back uses up its deliveries before the lock expires."},
	{Setting: "snapshot_last_seen", Off: "false", Scenario: "old-snapshot", Invariant: "snapshot-revives-no-worker",
		Says: "A scheduler that starts takes the dead worker of an old snapshot for one that it has just heard of."},
	{Setting: "count_dispatches", Off: "false", Scenario: "equal-load", Invariant: "dispatches-count-as-load",
		Says: "All jobs between two heartbeats go to the worker with the lowest load, or the first by its id; the others are idle."},
	{Setting: "reconciler", Off: "false", Scenario: "dead-worker", Invariant: "every-job-settles",
		Says: "A job stays RUNNING on a worker that is dead."},
	{Setting: "pending_replayer", Off: "false", Scenario: "pending-orphan", Invariant: "every-job-settles",
		Says: "A job stays PENDING whose client stored it and could not publish it."},
	{Setting: "warm_start", Off: "false", Scenario: "cold-start", Invariant: "no-retry-for-want-of-known-workers",
		Says: "A scheduler that starts knows no worker until the heartbeats come, and sends back every job."},
	{Setting: "idempotency_guard", Off: "false", Scenario: "processed-redelivery", Invariant: "processed-message-not-handled-again",
		Says: "A message whose ack was lost is handled again."},
	{Setting: "lock_renewal", Off: "false", Scenario: "long-handling", Invariant: "lock-kept-by-living-holder",
		Says: "A handling that outlasts the lock's TTL goes on without it."},
	{Setting: "lock_release", Off: "unchecked", Scenario: "overstayed-release", Invariant: "lock-released-by-owner-or-expiry",
		Says: "A holder that overstayed deletes the lock of its successor."},
	{Setting: "tick_lock", Off: "until-expiry", Scenario: "deadline-between-ticks", Invariant: "overdue-job-found-within-a-poll",
		Says: "The lock of a tick outlives the next poll, against its own holder too: a job that is overdue is found two polls later."},
	{Setting: "snapshot_lock", Off: "false", Scenario: "snapshot-writers", Invariant: "one-writer-a-tick",
		Says: "Every replica writes the snapshot."},
	{Setting: "terminate_order", Off: "term-first", Scenario: "poison-dlq-failure", Invariant: "terminated-message-has-dlq-entry",
		Says: "A message that nobody can read is ended, the write of its DLQ entry fails, and it is gone."},
	{Setting: "tie_break", Off: "drawn", Scenario: "equal-load", Invariant: "ties-broken-by-worker-id",
		Says: "The same input dispatches differently on each run."},
}
