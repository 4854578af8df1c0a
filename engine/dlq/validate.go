package dlq

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// PolicyError is what is wrong with a triage policy, and what would be right.
type PolicyError struct {
	Path    string // the key, such as dlq_rules[0].action
	Message string // what it is, after the key
	Remedy  string
	Word    string   // that was not understood, or ""
	Meant   []string // what it may be instead
}

// Error is one line: the key, what is wrong with it; remedy.
func (e *PolicyError) Error() string { return e.Path + " " + e.Message + "; " + e.Remedy }

// Validate returns the first problem of the policy, or nil.
func (p *Policy) Validate() *PolicyError {
	switch {
	case p.Version == "":
		return &PolicyError{Path: "version", Message: "is missing", Remedy: "add version: " + PolicyVersion}
	case p.Version != PolicyVersion:
		return &PolicyError{Path: "version", Message: fmt.Sprintf("is %q", p.Version), Remedy: "this build reads " + PolicyVersion}
	case len(p.Rules) == 0:
		return &PolicyError{Path: "dlq_rules", Message: "has no rule", Remedy: "write each rule after a dash, with match and action"}
	}
	matched := map[Match]int{}
	for i := range p.Rules {
		r := &p.Rules[i]
		path := fmt.Sprintf("dlq_rules[%d]", i)
		if e := r.validate(); e != nil {
			e.Path = path + "." + e.Path
			return e
		}
		for _, m := range []Match{r.Match, {ReasonCode: r.Match.ReasonCode}} {
			if before := matched[m]; before > 0 {
				return &PolicyError{Path: path, Message: fmt.Sprintf("is never reached: dlq_rules[%d] matches %s already", before-1, m.says(m.ReasonCode)), Remedy: "take one of the two away"}
			}
		}
		matched[r.Match] = i + 1
	}
	return nil
}

var actions = []string{string(AutoReplay), string(Quarantine), string(RequireApproval), string(ManualReview)}

var lastCauses = []string{job.ReasonNoWorkers, job.ReasonStaleWorker, job.ReasonPoolOverloaded, job.ReasonTenantLimit, job.ReasonDispatchFailed}

// validate returns the first problem of the rule; its path begins at the rule.
func (r *Rule) validate() *PolicyError {
	if e := oneOf("match.reason_code", r.Match.ReasonCode, ReasonCodes()); e != nil {
		return e
	}
	if r.Match.LastCause != "" {
		if r.Match.ReasonCode != job.ReasonMaxSchedulingRetries {
			return &PolicyError{Path: "match.last_cause", Message: "means nothing with reason_code " + r.Match.ReasonCode, Remedy: "leave it out, or make the reason_code " + job.ReasonMaxSchedulingRetries}
		}
		if e := oneOf("match.last_cause", r.Match.LastCause, lastCauses); e != nil {
			return e
		}
	}
	if e := oneOf("action", string(r.Action), actions); e != nil {
		return e
	}
	if r.Backoff != "" && r.Backoff != ExponentialJitter {
		return &PolicyError{Path: "backoff", Message: fmt.Sprintf("is %q", r.Backoff), Remedy: "the only one is " + ExponentialJitter}
	}
	if r.MaxReplays < 0 || r.MaxReplays > maxReplaysLimit {
		return &PolicyError{Path: "max_replays", Message: fmt.Sprintf("is %d", r.MaxReplays), Remedy: fmt.Sprintf("give 1 to %d", maxReplaysLimit)}
	}
	for _, name := range []struct{ key, value string }{{"owner", r.Owner}, {"approver_group", r.ApproverGroup}} {
		if name.value != "" && strings.TrimSpace(name.value) == "" {
			return &PolicyError{Path: name.key, Message: "is blank", Remedy: "give a name, or leave it out"}
		}
	}
	for _, key := range []struct {
		name  string
		given bool
		with  []string // actions
	}{
		{"max_replays", r.MaxReplays != 0, []string{string(AutoReplay), string(RequireApproval)}},
		{"backoff", r.Backoff != "", []string{string(AutoReplay)}},
		{"approver_group", r.ApproverGroup != "", []string{string(RequireApproval)}},
	} {
		if key.given && !slices.Contains(key.with, string(r.Action)) {
			return &PolicyError{Path: key.name, Message: fmt.Sprintf("means nothing with action %s", r.Action), Remedy: "leave it out, or make the action " + strings.Join(key.with, " or ")}
		}
	}
	return nil
}

func oneOf(path, word string, allowed []string) *PolicyError {
	switch {
	case word == "":
		return &PolicyError{Path: path, Message: "is missing", Remedy: "add it: one of " + strings.Join(allowed, ", ")}
	case !slices.Contains(allowed, word):
		return &PolicyError{Path: path, Message: fmt.Sprintf("is %q", word), Remedy: "one of " + strings.Join(allowed, ", "), Word: word, Meant: allowed}
	}
	return nil
}

// says what of an entry of that code has matched.
func (m *Match) says(code string) string {
	if m.LastCause != "" {
		return "reason_code " + code + " and last_cause " + m.LastCause
	}
	return "reason_code " + code
}
