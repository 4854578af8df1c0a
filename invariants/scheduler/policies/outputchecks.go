package policies

import (
	"maps"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

// What holds for the output policy (Scheduler internals, section 2).
var outputInvariants = []rule.Rule{
	policyIsAskedAboutTheOutput, resultGoesAsThePolicySays, outputCheckIsOnRecord, quarantinedOnlyWhenBlocked, everyQuarantineIsAudited, blockedOutputEndsQuarantined, everyOutputIsScanned, scansComeInTime, scanIsLeftToItsHolder,
	rule.Situation(rule.Reached(model.ScanDowngraded), "scan-downgraded-a-job", "A scan takes a job from SUCCEEDED to OUTPUT_QUARANTINED.", "Scheduler internals, section 2, phase 2"),
	rule.Situation(rule.Reached(model.OutputFailedOpen), "output-failed-open", "The output policy gives no answer, and the result passes.", "Scheduler internals, section 2, fail-open default"),
	rule.Situation(rule.Reached(model.OutputRedacted), "output-redacted", "A result points to the redacted output instead of the output.", "Scheduler internals, section 2, phase 1"),
	rule.Situation(rule.Reached(model.ScanResumed), "scan-resumed", "The replayer takes up a scan that another process has not finished.", "the hardened scan: what is open is kept"),
}

var policyIsAskedAboutTheOutput = rule.New(invariants.Invariant{
	Name:   "policy-is-asked-about-the-output",
	Says:   "A question to the output policy has the topic, the tenant and the labels of the job's request. A question about a result's metadata names the output that the result names. A question about its content has the content that is stored there.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 2, phases 1 and 2",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Calling: func(s *model.Step, c history.Circuit, _ *model.Leave) {
		j, asked := s.About, history.QuestionOf(s.Event)
		if c != history.CircuitOutput || j == nil || asked == nil {
			return
		}
		t.Exercise()
		field, is, should := "", "", ""
		if j.Request != nil {
			field, is, should = asked.Differs(j.Request)
		}
		switch scans := s.Phase == "output_scan"; {
		case field != "":
			t.Violation(j, "%s asked the output policy at step %d with the %s %s, but the request has %s", invariants.Who(s.Event), invariants.StepNo(s.Step), field, is, should)
		case scans && !asked.WithContent:
			t.Violation(j, "%s asked the output policy at step %d without the content of %q", invariants.Who(s.Event), invariants.StepNo(s.Step), asked.ResultPtr)
		case scans && !f.Outputs.Held(asked.ResultPtr, asked.Content):
			t.Violation(j, "%s asked the output policy at step %d about the content %s, which %q has not held", invariants.Who(s.Event), invariants.StepNo(s.Step), asked.Content, asked.ResultPtr)
		case !scans && !j.Names(s, asked.ResultPtr):
			t.Violation(j, "%s asked the output policy at step %d about the output %q, which no result names that it has in hand", invariants.Who(s.Event), invariants.StepNo(s.Step), asked.ResultPtr)
		}
	}}
})

var outputCheckIsOnRecord = rule.New(invariants.Invariant{
	Name:   "output-check-is-on-record",
	Says:   "The output safety record has the output policy's decision, its reason and the output that it is about. The decision is SKIPPED if the policy gave none. The decision on a result's metadata is in the record together with the job's state. The decision on the content is in it once the scan is no longer kept.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 2: the output safety record",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Output.Enabled {
		return observe.Checker{}
	}
	return observe.Checker{Wrote: func(s *model.Step, _ *model.Write) {
		j := s.About
		if s.Phase != "result_write" || s.Kind == sim.KindLate || j.Mixed || j.State != model.Succeeded && j.State != model.Quarantined {
			return
		}
		t.Exercise()
		a, _ := f.ToldOutput(s)
		if found := j.Out.Found["sync"]; !a.On(&found) {
			t.Violation(j, "%s wrote %s at step %d with the record %s of the output's check, but it was told %s", invariants.Who(s.Event), j.State, invariants.StepNo(s.Step), &found, a.Words())
		}
	}, Ended: func(*invariants.End) {
		for _, j := range f.Order {
			found, there := j.Out.Found["async"]
			switch {
			case there && found.Decision != history.OutputSkipped && !slices.ContainsFunc(j.Out.Scans, func(a model.OutputVerdict) bool { return a.On(&found) }):
				t.Violation(j, "has the record %s of its scan, which nobody was told", &found)
			case !there && j.State == model.Succeeded && j.Out.Scanned() && f.ScanClosed(j):
				t.Violation(j, "is SUCCEEDED%s, and its scan is over, of which there is no record", rule.SinceStep(j))
			}
		}
	}}
})

var resultGoesAsThePolicySays = rule.New(invariants.Invariant{
	Name:   "result-goes-as-the-policy-says",
	Says:   "Each time that a replica handles a result, it writes the output policy's decision on the result's metadata, with the output about which it asked. It writes SUCCEEDED if the policy allows the result, or gives no answer because the call failed or an open circuit stopped it. It writes SUCCEEDED with the redacted output if the policy redacts the result. It writes OUTPUT_QUARANTINED if the policy blocks the result, or redacts it without a redacted output, and also if a scan of the output blocks it. The reason code is then output_denied if the policy denied the result, and output_quarantined otherwise.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 2, phases 1 and 2",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Output.Enabled {
		return observe.Checker{}
	}
	coded := func(s *model.Step, decision, code string) {
		if s.About.ReasonCode != code {
			t.Violation(s.About, "%s wrote OUTPUT_QUARANTINED at step %d with the reason code %q, but the output policy told it %s, which is %s", invariants.Who(s.Event), invariants.StepNo(s.Step), s.About.ReasonCode, decision, code)
		}
	}
	return observe.Checker{Wrote: func(s *model.Step, _ *model.Write) {
		j := s.About
		if a := j.Out.ToldOfContent(invariants.Process(s.Node, s.Incarnation)); s.Phase == "output_write" && s.Kind != sim.KindLate && a.Blocks(true) {
			t.Exercise()
			coded(s, a.Decision, a.Code())
		}
		if s.Phase != "result_write" || s.Kind == sim.KindLate || j.Mixed || j.State != model.Succeeded && j.State != model.Quarantined {
			return
		}
		t.Exercise()
		a, asked := f.ToldOutput(s)
		switch blocks := a.Blocks(false); {
		case !asked && !f.Refused(s, history.CircuitOutput):
			t.Violation(j, "%s wrote %s at step %d, although it had not asked the output policy, and no circuit kept it from that", invariants.Who(s.Event), j.State, invariants.StepNo(s.Step))
		case !asked && j.State == model.Quarantined:
			t.Violation(j, "%s wrote OUTPUT_QUARANTINED at step %d, although it had not asked the output policy", invariants.Who(s.Event), invariants.StepNo(s.Step))
		case blocks != (j.State == model.Quarantined):
			t.Violation(j, "%s wrote %s at step %d, although it was told %s at step %d", invariants.Who(s.Event), j.State, invariants.StepNo(s.Step), &a, invariants.StepNo(a.Step))
		case a.Decision == history.OutputRedact && !blocks && j.Out.Ptr != a.Ptr:
			t.Violation(j, "%s wrote SUCCEEDED at step %d with the output %s, but the redacted one is %s", invariants.Who(s.Event), invariants.StepNo(s.Step), j.Out.Ptr, a.Ptr)
		case a.Asked != nil && (a.Decision != history.OutputRedact || blocks) && j.Out.Ptr != a.Asked.ResultPtr:
			t.Violation(j, "%s wrote %s at step %d with the output %q, but had asked about %q", invariants.Who(s.Event), j.State, invariants.StepNo(s.Step), j.Out.Ptr, a.Asked.ResultPtr)
		case blocks:
			coded(s, a.Decision, a.Code())
		}
	}}
})

var quarantinedOnlyWhenBlocked = rule.New(invariants.Invariant{
	Name:   "quarantined-only-when-blocked",
	Says:   "A scheduler writes OUTPUT_QUARANTINED only over DISPATCHED, RUNNING or SUCCEEDED, and only once the output policy has blocked the result. The reason ends with the reason that the policy gave the writer.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 2: already transitioned, skip",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		j := s.About
		if j.State != model.Quarantined {
			return
		}
		t.Exercise()
		switch {
		case !w.From.InFlight() && w.From != model.Succeeded:
			t.Violation(j, "%s wrote OUTPUT_QUARANTINED over %s at step %d (%s)", invariants.Who(s.Event), w.From, invariants.StepNo(s.Step), s.Phase)
		case !j.Out.Blocked:
			t.Violation(j, "%s wrote OUTPUT_QUARANTINED at step %d (%s), but the output policy has not blocked it", invariants.Who(s.Event), invariants.StepNo(s.Step), s.Phase)
		case s.Kind != sim.KindLate && !j.Mixed && !j.Out.Tells(s, j.Reason):
			t.Violation(j, "%s wrote OUTPUT_QUARANTINED at step %d (%s) for the reason %q, which the output policy has not told it", invariants.Who(s.Event), invariants.StepNo(s.Step), s.Phase, j.Reason)
		}
	}}
})

var everyQuarantineIsAudited = rule.New(invariants.Invariant{
	Name:   "every-quarantine-is-audited",
	Says:   "The write of OUTPUT_QUARANTINED also adds exactly one event of the quarantine to the audit trail.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 2: DLQ + audit event",
	Needs:  []string{"quarantined-only-when-blocked"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, _ *model.Write) {
		j := s.About
		if j.State != model.Quarantined {
			return
		}
		t.Exercise()
		events := 0
		for _, e := range f.Trail(s, j.ID) {
			if e.Kind == history.AuditQuarantined {
				events++
			}
		}
		if events != 1 {
			t.Violation(j, "%s wrote OUTPUT_QUARANTINED at step %d (%s), and the audit trail has %s of it",
				invariants.Who(s.Event), invariants.StepNo(s.Step), s.Phase, invariants.CountOf(events, "event", "events"))
		}
	}}
})

var blockedOutputEndsQuarantined = rule.New(invariants.Invariant{
	Name:   "blocked-output-ends-quarantined",
	Says:   "A job whose output the policy has blocked does not stay SUCCEEDED.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 2, output decisions",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ended: func(*invariants.End) {
		for _, j := range f.Order {
			a := j.Out.Blocking
			if a == nil {
				continue
			}
			t.Exercise()
			if j.State == model.Succeeded {
				t.Violation(j, "is SUCCEEDED%s, although the output policy told %s %s at step %d", rule.SinceStep(j), a.Process, a, invariants.StepNo(a.Step))
			}
		}
	}}
})

var everyOutputIsScanned = rule.New(invariants.Invariant{
	Name:   "every-output-is-scanned",
	Says:   "The output of every SUCCEEDED job is scanned: the output policy has answered about its content.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 2, phase 2; hardened, a scan outlives the process that is to do it, and an answer that does not come",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Output.Enabled {
		return observe.Checker{}
	}
	return observe.Checker{Ended: func(*invariants.End) {
		for _, j := range f.Order {
			if j.State != model.Succeeded || j.Out.Ptr == "" {
				continue
			}
			t.Exercise()
			if !j.Out.Scanned() {
				t.Violation(j, "is SUCCEEDED%s, and nobody has had an answer about the content of its output %s", rule.SinceStep(j), j.Out.Ptr)
			}
		}
	}}
})

// scansAtOnce is how many scans a replica does at once. If there are more, some wait.
const scansAtOnce = 64

var scansComeInTime = rule.New(invariants.Invariant{
	Name:   "scans-come-in-time",
	Says:   "A process that has written SUCCEEDED begins to scan the output within scan_timeout, while the process lives. If nobody has taken up a kept scan for two scan_timeouts and a job_lock_ttl, the replayer takes it up within three ticks. A tick counts only if nothing strikes it and Redis tells it what is due.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 2, phase 2; hardened, a scan outlives the process that is to do it",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Output.Enabled {
		return observe.Checker{}
	}
	patience := 2*f.Config.Output.ScanTimeout + f.Config.JobLockTTL
	begins := func(id string) {
		t.Exercise()
		sc := f.Outputs.Soon[id]
		if f.Late(sc, f.Config.Output.ScanTimeout+model.Doubt) && f.ScansAtOnce() < scansAtOnce {
			t.Violation(f.Job(id), "became SUCCEEDED at %s, and %s has not begun to scan its output for %s", sc.Since, sc.Process, (f.At - sc.Since).Truncate(time.Millisecond))
		}
	}
	return observe.Checker{Scanning: func(s *model.Step) {
		begins(s.About.ID)
	}, Listed: func(_ *model.Step, k *model.Tick) {
		if k != &f.Ticks.Replayer || len(f.Outputs.Kept) > min(scansAtOnce, f.Config.BatchSize) {
			return
		}
		for _, id := range slices.Sorted(maps.Keys(f.Outputs.Kept)) {
			since := f.Outputs.Kept[id]
			if k.PassedOver(max(since+patience, f.Outputs.Unlisted)) {
				t.Violation(f.Job(id), "its scan was open at %s, and nobody has taken it up for %s", since, (f.At - since).Truncate(time.Millisecond))
			}
		}
	}, Ended: func(*invariants.End) {
		for _, id := range slices.Sorted(maps.Keys(f.Outputs.Soon)) {
			begins(id)
		}
	}}
})

var scanIsLeftToItsHolder = rule.New(invariants.Invariant{
	Name:   "scan-is-left-to-its-holder",
	Says:   "A process that writes SUCCEEDED or takes up a kept scan holds the scan for two scan_timeouts and a job_lock_ttl. Redis records that nobody else is to take up the scan before then.",
	Kind:   invariants.Always,
	Source: "the hardened scan: what is open is kept, and left to who has it",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{ScanLeft: func(s *model.Step, id string, lasts time.Duration) {
		t.Exercise()
		if should := 2*f.Config.Output.ScanTimeout + f.Config.JobLockTTL; lasts < should-model.Doubt {
			t.Violation(f.Job(id), "%s has its scan since step %d (%s), and others may take it up after %s; that should be %s", invariants.Who(s.Event), invariants.StepNo(s.Step), s.Phase, lasts, should)
		}
	}}
})
