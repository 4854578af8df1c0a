package kernel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	Unknown              = "UNKNOWN" // what no scheduler knows, as of a kernel that is newer; it denies (Scheduler internals, section 1)

	Quarantine = "QUARANTINE"
	Redact     = "REDACT"
)

var (
	jobDecisions    = []string{Allow, AllowWithConstraints, RequireApproval, Deny, Throttle, Unknown}
	outputDecisions = []string{Allow, Quarantine, Deny, Redact}
)

// Policy is what a kernel decides by. Its first rule that matches counts.
type Policy struct {
	Default string       `yaml:"default" json:"default" oneof:"ALLOW,REQUIRE_APPROVAL,DENY,THROTTLE,UNKNOWN" doc:"what becomes of a job that no rule is about; empty is ALLOW"`
	Rules   []Rule       `yaml:"rules" json:"rules,omitempty" doc:"what becomes of others; the first that matches counts"`
	Output  []OutputRule `yaml:"output" json:"output,omitempty" doc:"what becomes of results; the first that matches counts, and one that none is about is allowed"`
}

// Rule decides on jobs.
type Rule struct {
	Topic       string `yaml:"topic,omitempty" json:"topic,omitempty" like:"job.*" doc:"the jobs' topic; * is any text"`
	Tenant      string `yaml:"tenant,omitempty" json:"tenant,omitempty" like:"tenant-1" doc:"their tenant; * is any text"`
	Labels      string `yaml:"labels,omitempty" json:"labels,omitempty" like:"tier=gold,region=eu-*" doc:"labels that they have, joined by commas; * in their values is any text"`
	JobID       string `yaml:"job_id,omitempty" json:"job_id,omitempty" like:"job-3" doc:"their id; * is any text"`
	Decision    string `yaml:"decision" json:"decision" oneof:"ALLOW,ALLOW_WITH_CONSTRAINTS,REQUIRE_APPROVAL,DENY,THROTTLE,UNKNOWN" doc:"what becomes of them; REQUIRE_APPROVAL: they wait for scheduler approve; THROTTLE: they are asked about again later; UNKNOWN: the kernel answers what no scheduler knows, which denies them"`
	Reason      string `yaml:"reason,omitempty" json:"reason,omitempty" like:"no" doc:"why, in words"`
	Constraints string `yaml:"constraints,omitempty" json:"constraints,omitempty" like:"placement.zone=zone-1" doc:"with ALLOW_WITH_CONSTRAINTS: where it may run, as labels on top of the job's own, joined by commas: preferred_pool, preferred_worker_id, placement.KEY, constraint.KEY, node.KEY"`
}

// OutputRule decides on what jobs have put out.
type OutputRule struct {
	Topic       string `yaml:"topic,omitempty" json:"topic,omitempty" like:"job.*" doc:"the jobs' topic; * is any text"`
	Tenant      string `yaml:"tenant,omitempty" json:"tenant,omitempty" like:"tenant-1" doc:"their tenant; * is any text"`
	JobID       string `yaml:"job_id,omitempty" json:"job_id,omitempty" like:"job-3" doc:"their id; * is any text"`
	Content     string `yaml:"content,omitempty" json:"content,omitempty" like:"secret" doc:"text that the output holds, where * is a star"`
	Sync        bool   `yaml:"sync,omitempty" json:"sync,omitempty" doc:"it counts in the check of the metadata, which sees no content; others count in the scan of the content"`
	Decision    string `yaml:"decision" json:"decision" oneof:"ALLOW,QUARANTINE,DENY,REDACT" doc:"what becomes of it; QUARANTINE and DENY withhold it, and so does a REDACT that finds nothing at redacted_ptr, or is of a scan"`
	Reason      string `yaml:"reason,omitempty" json:"reason,omitempty" like:"no" doc:"why, in words"`
	RedactedPtr string `yaml:"redacted_ptr,omitempty" json:"redacted_ptr,omitempty" like:"{result_ptr}:redacted" doc:"with sync and REDACT: where the redacted output is; {result_ptr} stands for where the output is, {job_id} for the job's id"`
}

// RuleError is what is wrong with one rule, and what would be right.
type RuleError struct {
	Field   string
	Message string
	Remedy  string
	Word    string   // that is none of the known; may be empty
	Meant   []string // some of which may have been meant
}

func (e *RuleError) Error() string { return e.Field + " " + e.Message + "; " + e.Remedy }

// Validate says what is wrong with the rule.
func (r *Rule) Validate() *RuleError {
	if e := decision(r.Decision, jobDecisions); e != nil {
		return e
	}
	if e := checkPatterns(r.Topic, r.Tenant, r.JobID); e != nil {
		return e
	}
	labels, err := pairs(r.Labels)
	if err != nil {
		return &RuleError{Field: "labels", Message: err.Error(), Remedy: "give labels such as tier=gold,region=eu"}
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if strings.Contains(key, "*") {
			return &RuleError{Field: "labels", Message: fmt.Sprintf("names the label %q, and * means something in values only", key), Remedy: "give the label's whole name"}
		}
		if e := checkPattern("labels", "has the value", labels[key], wildcards); e != nil {
			return e
		}
	}
	constraints, err := pairs(r.Constraints)
	switch {
	case err != nil:
		return &RuleError{Field: "constraints", Message: err.Error(), Remedy: "give labels such as placement.zone=zone-1"}
	case r.Decision == AllowWithConstraints && len(constraints) == 0:
		return &RuleError{Field: "decision", Message: "is ALLOW_WITH_CONSTRAINTS, and there are none", Remedy: "give constraints, or ALLOW"}
	case r.Decision != AllowWithConstraints && len(constraints) > 0:
		return &RuleError{Field: "constraints", Message: "bind nobody: the decision is " + r.Decision, Remedy: "give the decision ALLOW_WITH_CONSTRAINTS, or take them away"}
	}
	return checkConstraints(constraints)
}

// Validate says what is wrong with the rule.
func (r *OutputRule) Validate() *RuleError {
	if e := decision(r.Decision, outputDecisions); e != nil {
		return e
	}
	switch {
	case r.Sync && r.Content != "":
		return &RuleError{Field: "content", Message: "is not to be seen in the check of the metadata", Remedy: "take it away, or sync"}
	case r.Decision != Redact && r.RedactedPtr != "":
		return &RuleError{Field: "redacted_ptr", Message: "leads nowhere: the decision is " + r.Decision, Remedy: "give the decision REDACT, or take it away"}
	case !r.Sync && r.RedactedPtr != "":
		return &RuleError{Field: "redacted_ptr", Message: "comes too late: without sync, the output has been handed out before it is scanned", Remedy: "add sync, or take it away"}
	}
	return checkPatterns(r.Topic, r.Tenant, r.JobID)
}

func decision(word string, known []string) *RuleError {
	if slices.Contains(known, word) {
		return nil
	}
	return &RuleError{Field: "decision", Message: fmt.Sprintf("is %q", word), Remedy: "one of " + strings.Join(known, ", "), Word: word, Meant: known}
}

// Validate says everything that is wrong with the policy.
func (p *Policy) Validate() error {
	var errs []error
	defaults := slices.DeleteFunc(slices.Clone(jobDecisions), func(word string) bool { return word == AllowWithConstraints })
	if p.Default != "" && !slices.Contains(defaults, p.Default) {
		errs = append(errs, fmt.Errorf("default is %q; one of %s", p.Default, strings.Join(defaults, ", ")))
	}
	for i := range p.Rules {
		if e := p.Rules[i].Validate(); e != nil {
			errs = append(errs, fmt.Errorf("rules[%d].%w", i, e))
		}
	}
	for i := range p.Output {
		if e := p.Output[i].Validate(); e != nil {
			errs = append(errs, fmt.Errorf("output[%d].%w", i, e))
		}
	}
	return errors.Join(errs...)
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
