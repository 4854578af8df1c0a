package kernel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The decisions of a policy: those on jobs, and those on their output.
const (
	Allow                = "ALLOW"
	AllowWithConstraints = "ALLOW_WITH_CONSTRAINTS"
	RequireApproval      = "REQUIRE_APPROVAL"
	Deny                 = "DENY"
	Throttle             = "THROTTLE"

	Quarantine = "QUARANTINE"
	Redact     = "REDACT"
)

var (
	jobDecisions    = []string{Allow, AllowWithConstraints, RequireApproval, Deny, Throttle}
	outputDecisions = []string{Allow, Quarantine, Deny, Redact}
)

// Policy is what a kernel decides by. Its first rule that matches counts.
type Policy struct {
	Default string       `yaml:"default" json:"default"` // of a job that no rule is about; empty is ALLOW
	Rules   []Rule       `yaml:"rules" json:"rules,omitempty"`
	Output  []OutputRule `yaml:"output" json:"output,omitempty"` // of a result that none is about: ALLOW
}

// Rule decides on jobs.
type Rule struct {
	Topic       string `yaml:"topic,omitempty" json:"topic,omitempty" like:"job.*" doc:"the jobs' topic; * is any text, here and below"`
	Tenant      string `yaml:"tenant,omitempty" json:"tenant,omitempty" like:"tenant-1" doc:"their tenant"`
	Labels      string `yaml:"labels,omitempty" json:"labels,omitempty" like:"tier=gold,region=eu-*" doc:"labels that they have, joined by commas"`
	JobID       string `yaml:"job_id,omitempty" json:"job_id,omitempty" like:"job-3" doc:"their id"`
	Decision    string `yaml:"decision" json:"decision" oneof:"ALLOW,ALLOW_WITH_CONSTRAINTS,REQUIRE_APPROVAL,DENY,THROTTLE" doc:"what becomes of them"`
	Reason      string `yaml:"reason,omitempty" json:"reason,omitempty" like:"no" doc:"why, in words"`
	Constraints string `yaml:"constraints,omitempty" json:"constraints,omitempty" like:"placement.zone=zone-1" doc:"with ALLOW_WITH_CONSTRAINTS: labels that the dispatch has on top of the job's own, joined by commas"`
}

// OutputRule decides on what jobs have put out.
type OutputRule struct {
	Topic       string `yaml:"topic,omitempty" json:"topic,omitempty" like:"job.*" doc:"the jobs' topic; * is any text, here and below"`
	Tenant      string `yaml:"tenant,omitempty" json:"tenant,omitempty" like:"tenant-1" doc:"their tenant"`
	JobID       string `yaml:"job_id,omitempty" json:"job_id,omitempty" like:"job-3" doc:"their id"`
	Content     string `yaml:"content,omitempty" json:"content,omitempty" like:"secret" doc:"text that the output holds"`
	Sync        bool   `yaml:"sync,omitempty" json:"sync,omitempty" doc:"it counts in the check of the metadata, which sees no content; others count in the scan of the content"`
	Decision    string `yaml:"decision" json:"decision" oneof:"ALLOW,QUARANTINE,DENY,REDACT" doc:"what becomes of it"`
	Reason      string `yaml:"reason,omitempty" json:"reason,omitempty" like:"no" doc:"why, in words"`
	RedactedPtr string `yaml:"redacted_ptr,omitempty" json:"redacted_ptr,omitempty" like:"{result_ptr}:redacted" doc:"with REDACT: where the redacted output is; {result_ptr} stands for where the output is, {job_id} for the job's id"`
}

// RuleError is what is wrong with one rule, and what would be right.
type RuleError struct {
	Field   string
	Message string
	Remedy  string
}

func (e *RuleError) Error() string { return e.Field + " " + e.Message + "; " + e.Remedy }

// Validate says what is wrong with the rule.
func (r *Rule) Validate() *RuleError {
	if e := decision(r.Decision, jobDecisions); e != nil {
		return e
	}
	if _, err := pairs(r.Labels); err != nil {
		return &RuleError{"labels", err.Error(), "give labels such as tier=gold,region=eu"}
	}
	constraints, err := pairs(r.Constraints)
	switch {
	case err != nil:
		return &RuleError{"constraints", err.Error(), "give labels such as placement.zone=zone-1"}
	case r.Decision == AllowWithConstraints && len(constraints) == 0:
		return &RuleError{"decision", "is ALLOW_WITH_CONSTRAINTS, and there are none", "give constraints, or ALLOW"}
	case r.Decision != AllowWithConstraints && len(constraints) > 0:
		return &RuleError{"constraints", "bind nobody: the decision is " + r.Decision, "give the decision ALLOW_WITH_CONSTRAINTS, or take them away"}
	}
	return nil
}

// Validate says what is wrong with the rule.
func (r *OutputRule) Validate() *RuleError {
	if e := decision(r.Decision, outputDecisions); e != nil {
		return e
	}
	switch {
	case r.Sync && r.Content != "":
		return &RuleError{"content", "is not to be seen in the check of the metadata", "take it away, or sync"}
	case r.Decision != Redact && r.RedactedPtr != "":
		return &RuleError{"redacted_ptr", "leads nowhere: the decision is " + r.Decision, "give the decision REDACT, or take it away"}
	}
	return nil
}

func decision(word string, known []string) *RuleError {
	if slices.Contains(known, word) {
		return nil
	}
	return &RuleError{"decision", fmt.Sprintf("is %q", word), "one of " + strings.Join(known, ", ")}
}

// Validate says everything that is wrong with the policy.
func (p *Policy) Validate() error {
	var errs []error
	for _, w := range p.wrong() {
		errs = append(errs, w.err)
	}
	return errors.Join(errs...)
}

// wrong is something that is wrong with a policy.
type wrong struct {
	path string // what it is about, as in rules[1].decision
	err  error
}

func (p *Policy) wrong() (list []wrong) {
	if p.Default != "" && (!slices.Contains(jobDecisions, p.Default) || p.Default == AllowWithConstraints) {
		list = append(list, wrong{"default", fmt.Errorf("default is %q; one of ALLOW, REQUIRE_APPROVAL, DENY, THROTTLE", p.Default)})
	}
	about := func(rule string, e *RuleError) {
		if e != nil {
			list = append(list, wrong{rule + "." + e.Field, fmt.Errorf("%s.%w", rule, e)})
		}
	}
	for i := range p.Rules {
		about(fmt.Sprintf("rules[%d]", i), p.Rules[i].Validate())
	}
	for i := range p.Output {
		about(fmt.Sprintf("output[%d]", i), p.Output[i].Validate())
	}
	return list
}

// Snapshot names the policy by what it says: sha256:<hex>.
func (p *Policy) Snapshot() string {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // it holds text alone
	}
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// pairs reads labels, joined by commas.
func pairs(text string) (map[string]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	list := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if _, twice := list[key]; !ok || key == "" || twice {
			return nil, fmt.Errorf("has the entry %q, which is no label, or one that is there already", pair)
		}
		list[key] = value
	}
	return list, nil
}

// fits says whether text is what pattern says, where * is any text; an empty pattern is any text too.
func fits(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	first, rest, starred := strings.Cut(pattern, "*")
	if !starred {
		return text == pattern
	}
	text, ok := strings.CutPrefix(text, first)
	for ok {
		part, more, again := strings.Cut(rest, "*")
		if !again {
			return strings.HasSuffix(text, part)
		}
		_, text, ok = strings.Cut(text, part)
		rest = more
	}
	return false
}
