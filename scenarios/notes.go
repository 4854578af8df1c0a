package scenarios

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

// What happens to a job other than a failure of its own operations: a fence stops a write, the safety kernel
// does not answer, an approval does not count, an output is redacted.

// Reasons for which an approval did not count.
const (
	refusedLook    = "the request had changed since the approver looked at it"
	refusedAnother = "it was of another request"
	refusedOld     = "it was too old"
)

// noted notes what no single operation of a job shows.
func (r *run) noted(e *sim.Event) {
	if f := r.judge.Facts.Fenced; f.Step == e.Step {
		r.fenced(e, f)
	}
	if x := r.judge.Facts.Rescued; x.Step == e.Step {
		r.record.rescued(e, x)
	}
	for _, id := range r.system.Refused() {
		j := r.record.job(id)
		tell(&j.moments, e, refusedApproval, refusedLook, "", 0)
	}
	if e.Kind == sim.KindControl && e.Name == actors.PolicyChange {
		r.policyChanged(e)
	}
	if what, saga := history.KeyOf(e.Target); what == history.SagaLock && e.Phase == "saga_lock" && len(e.Changes) > 0 {
		r.beganRollback(e, saga)
	}
	j := r.record.job(e.Job)
	switch {
	case j == nil:
	case e.Phase == "lock_acquire":
		j.stale, j.asked, j.unanswered = false, false, false
	case e.Phase == "replay_read" && !j.replayed:
		r.late(j)
	case e.Phase == "tenant_read" && e.Name == "scard" && history.AnswerOf(e) == history.Done:
		f := r.judge.Facts
		of := f.Jobs[e.Job]
		tell(&j.moments, e, counted, count(len(f.Active(of.TenantOf(), of)), "job")+" of "+of.TenantOf(), "", 0)
		j.last().quiet = true
	case e.Phase == "safety_check":
		j.asked, j.unanswered = true, history.AnswerOf(e).Failed()
	case e.Phase == "submit_nak" && (j.State == "" || j.State == "PENDING") && r.plan.Kernel.On():
		if open := !j.asked && r.judge.CircuitOpen(e.Node); open || j.unanswered {
			why := "the safety kernel did not answer"
			if open {
				why = "the safety kernel's circuit was open"
			}
			j.putOff = e.At
			tell(&j.moments, e, putOff, why, "", 0)
		}
	case e.Phase == "submit_ack" && j.State == "APPROVAL_REQUIRED" && j.approvals > 0:
		j.approvals--
		why := refusedAnother
		if c := &r.judge.Facts.Jobs[e.Job].Consent; r.plan.Engine.Policy.BindApprovals && c.Granted(c.Waits) != nil {
			why = refusedOld // by the clock of the node that handled it
		}
		tell(&j.moments, e, refusedApproval, why, "", 0)
	}
}

// policyChanged tells the safety kernel's new policy.
func (r *run) policyChanged(e *sim.Event) {
	r.record.policy++
	p := r.plan.Kernel.Policies()[r.record.policy]
	words := "default " + p.Default
	if n := len(p.Rules); n > 0 {
		words += ", " + count(n, "rule")
	}
	if n := len(p.Output); n > 0 {
		words += ", " + count(n, "output rule")
	}
	words = hashes.ReplaceAllString(words+" ("+p.Snapshot()+")", "$1")
	tell(&r.record.derived.trail, e, otherPolicy, words, "", 0)
}

// beganRollback tells for which job a saga is rolled back. That is the last job that failed for good by a
// write of the node that begins the rollback, or else the last that failed for good.
func (r *run) beganRollback(e *sim.Event, saga string) {
	of, last, own := "", 0, false
	look := func(id string, moments []moment) {
		about := r.judge.Facts.Jobs[id]
		for _, m := range moments {
			mine := m.node == e.Node
			if m.says == wrote && m.a == "FAILED" && about.Saga.Fatal && about.Saga.ID == saga && (mine && !own || mine == own && m.step > last) {
				of, last, own = id, m.step, mine
			}
		}
	}
	for _, j := range r.record.jobs {
		look(j.ID, j.moments)
	}
	for _, j := range r.record.derived.jobs {
		look(j.ID, j.moments)
	}
	if of == "" {
		return
	}
	m := moment{at: e.At, step: e.Step, node: e.Node, says: rollsBack, a: "the saga " + saga, of: of}
	trail := &r.record.derived.trail
	if slices.ContainsFunc(*trail, func(o moment) bool { return o.says == rollsBack && o.a == m.a }) {
		m.b = " again"
	}
	*trail = append(*trail, m)
}

// fenced tells that a node gave up a state write because of what it read in e.
func (r *run) fenced(e *sim.Event, f model.Fenced) {
	j := r.record.job(f.Job)
	if j == nil {
		return
	}
	why := "the record had moved on"
	if l := r.record.locks[history.LockPrefix+j.ID]; l.holder != e.Node || l.until <= e.At {
		why = "the lock was no longer its own"
	}
	tell(&j.moments, e, fenced, f.Phase, why, 0)
}

// rescued tells that a rescue resumed a job or a run.
func (r *record) rescued(e *sim.Event, x model.Rescue) {
	if j := r.job(x.Job); j != nil {
		tell(&j.moments, e, rescued, x.By, "", 0)
		m := j.last()
		for _, o := range j.moments { // the moment belongs before what it did until its write
			if o.says == took && o.step == x.Lock {
				m.at, m.step, m.shownAt = o.at, o.step, e.Step
			}
		}
	}
	for _, run := range r.runs {
		if run.ID == x.Job {
			tell(&run.moments, e, rescued, x.By, "", 0)
		}
	}
}

// judgedOutput notes a finding of the output policy.
func (r *record) judgedOutput(f *history.Fact) {
	j := r.job(f.Job)
	finding, err := history.Read[history.OutputFinding](f.Change.Value)
	if j == nil || err != nil || finding.Decision != history.OutputRedact {
		return
	}
	why := finding.Reason
	if why != "" {
		why = ": " + why
	}
	j.tellOnce(f.Event, redacted, why)
	if n := len(j.moments); n > 1 && j.moments[n-1].says == redacted && j.moments[n-2].step == f.Step { // the finding led to the state
		j.moments[n-2], j.moments[n-1] = j.moments[n-1], j.moments[n-2]
	}
}

// waited is how long the job was put off because the safety kernel did not answer: from its submission until
// it went on.
func (j *jobRecord) waited(end time.Duration) time.Duration {
	if j.putOff == 0 {
		return 0
	}
	for _, p := range j.Path {
		if p.At > j.putOff {
			return p.At - j.Submitted
		}
	}
	return end - j.Submitted
}

// metStale tells that picks for the job met a stale worker.
func (r *record) metStale(e *sim.Event, id string, n int) {
	if j := r.job(id); j != nil {
		j.stale = true
		tell(&j.moments, e, metStale, count(n, "pick"), "", 0)
	}
}
