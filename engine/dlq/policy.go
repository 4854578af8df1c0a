package dlq

import (
	"cmp"
	"fmt"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// PolicyVersion is the format that this build reads.
const PolicyVersion = "v1"

// maxReplaysLimit bounds max_replays: what fails ten times is not transient.
const maxReplaysLimit = 10

// ExponentialJitter is the back-off of Dead letters: each wait twice as long as the one before, up to a cap,
// plus a drawn part.
const ExponentialJitter = "exponential_jitter"

// Policy is a triage policy, as its YAML file has it (Dead letters).
type Policy struct {
	Version string `yaml:"version" json:"version" like:"v1" doc:"the format"`
	Rules   []Rule `yaml:"dlq_rules" json:"dlq_rules" doc:"what becomes of dead letters; the first that matches counts, and one that none is about has the default of its class"`
}

// Rule says what becomes of the entries that it matches.
type Rule struct {
	Match         Match  `yaml:"match" json:"match" doc:"which dead letters it is about"`
	Action        Action `yaml:"action" json:"action" oneof:"auto_replay,quarantine,require_approval,manual_review" doc:"what becomes of them; require_approval: they are replayed once somebody approves; quarantine and manual_review: not by themselves"`
	MaxReplays    int    `yaml:"max_replays,omitempty" json:"max_replays,omitempty" min:"1" max:"10" doc:"with auto_replay and require_approval: of one job, over all its replays; without, what engine.replay.max_replays says"`
	Backoff       string `yaml:"backoff,omitempty" json:"backoff,omitempty" like:"exponential_jitter" doc:"with auto_replay: how long a replay waits; exponential_jitter is the only way there is, and how it is without"`
	Owner         string `yaml:"owner,omitempty,nonempty" json:"owner,omitempty" like:"platform" doc:"who is to mend it, or to look at it"`
	ApproverGroup string `yaml:"approver_group,omitempty,nonempty" json:"approver_group,omitempty" like:"platform-governance" doc:"with require_approval: who is to approve"`
}

// Match selects entries.
type Match struct {
	ReasonCode string `yaml:"reason_code" json:"reason_code" like:"timeout" doc:"their reason code; denied is about safety_denied too"`
	LastCause  string `yaml:"last_cause,omitempty" json:"last_cause,omitempty" like:"no_workers" doc:"with max_scheduling_retries: what their last attempt met, which is no_workers, stale_worker, pool_overloaded, tenant_limit or dispatch_failed; without, any of these"`
}

// Decision is what triage makes of an entry, and why.
type Decision struct {
	Action        Action
	MaxReplays    int // 0 is what the settings say
	Owner         string
	ApproverGroup string
	Class         string
	Rule          int    // the rule that matched, from 1; 0 is the default of the class
	Why           string // in a sentence
}

// matches says whether a rule is about an entry that triage knows by that code. Dead letters writes denied for what the engine calls
// safety_denied: in a second look, exact is false, and the rule is about both.
func (m *Match) matches(e *Entry, code string, exact bool) bool {
	if m.LastCause != "" && m.LastCause != e.LastCause {
		return false
	}
	return m.ReasonCode == code || !exact && m.ReasonCode == codeDenied && code == job.ReasonSafetyDenied
}

// Decide triages an entry. A nil policy has no rules. An entry about a message, and not about a job, has
// nothing that could be replayed, whatever a rule says, nor is a step of a run replayed.
func (p *Policy) Decide(e *Entry) Decision {
	switch {
	case e.Status == StatusTerminated:
		return Decision{Action: Quarantine, Class: e.class().Name, Why: "It is about a message that is no job, so there is nothing to replay."}
	case e.Run != "":
		return Decision{Action: ManualReview, Class: e.class().Name, Why: stepOf(e.Run)}
	case e.Mismatch != "":
		return p.ofMismatch(e)
	}
	return p.ofFailure(e)
}

// class is that of what an entry is triaged by.
func (e *Entry) class() Class {
	if e.Mismatch != "" {
		return ClassOf(codeMismatch)
	}
	return ClassOf(e.ReasonCode)
}

// ofFailure is what the failure of an entry calls for.
func (p *Policy) ofFailure(e *Entry) Decision {
	class := ClassOf(e.ReasonCode)
	if d, ok := p.rule(e, e.ReasonCode, class); ok {
		return d
	}
	if e.Fatal {
		return Decision{Action: ManualReview, Class: class.Name, Why: "No rule matches, and its worker called the failure final: what it was part of may have been undone."}
	}
	return byDefault(class)
}

// ofMismatch is what an entry calls for on whose replay another policy decides. Who was to decide on the failure is to
// decide on this, and it is replayed as often. A transient failure that would be replayed by itself goes on.
func (p *Policy) ofMismatch(e *Entry) Decision {
	class := ClassOf(codeMismatch)
	if d, ok := p.rule(e, codeMismatch, class); ok {
		return d
	}
	of := p.ofFailure(e)
	if transient := ClassOf(e.ReasonCode); transient.Action == AutoReplay && of.Action == AutoReplay {
		of.Class, of.Why = class.Name, fmt.Sprintf("No rule matches %s, and what is %s goes on by the latest policy.", codeMismatch, transient.Name)
		return of
	}
	d := byDefault(class)
	d.ApproverGroup, d.MaxReplays = cmp.Or(of.ApproverGroup, of.Owner), of.MaxReplays
	return d
}

// rule is the decision of the first rule about an entry, as one of that reason code.
func (p *Policy) rule(e *Entry, code string, class Class) (d Decision, ok bool) {
	if p == nil {
		return Decision{}, false
	}
	for _, exact := range []bool{true, false} {
		for i, r := range p.Rules {
			if r.Match.matches(e, code, exact) {
				return Decision{
					Action: r.Action, MaxReplays: r.MaxReplays, Owner: r.Owner, ApproverGroup: r.ApproverGroup, Class: class.Name, Rule: i + 1,
					Why: fmt.Sprintf("Rule %d of the policy matches %s.", i+1, r.Match.says(code)),
				}, true
			}
		}
	}
	return Decision{}, false
}

func byDefault(class Class) Decision {
	return Decision{Action: class.Action, Class: class.Name, Why: fmt.Sprintf("No rule matches; the default of %s: %s", class.Name, class.Says)}
}

// stepOf is why a step of a run is not replayed.
func stepOf(run string) string {
	return fmt.Sprintf("It is a step of run %s: only the run tries it again, as often as the step's retry allows.", run)
}
