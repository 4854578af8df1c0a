// Package policyfile reads the two policies that a scheduler goes by: the rules of a safety kernel, and the triage of
// dead letters. A plan holds the same, under kernel and triage.
package policyfile

import (
	"fmt"

	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// Kernel reads the rules of a safety kernel. name stands for the file in errors, which are of type
// [*strictyaml.Error].
func Kernel(name string, data []byte) (kernel.Policy, error) {
	var p kernel.Policy
	kind := strictyaml.Kind{What: "a policy", Has: "a default such as ALLOW, or rules"}
	err := kind.Read(name, data, &p, func() *strictyaml.Error {
		if p.Default == "" && len(p.Rules)+len(p.Output) == 0 {
			return &strictyaml.Error{Message: "the policy says nothing", Remedy: "give rules, or at least a default such as ALLOW"}
		}
		return CheckRules("", p.Rules, p.Output)
	})
	return p, err
}

// CheckRules says what is wrong with rules of a safety kernel that stand under a path; nil is nothing.
func CheckRules(path string, rules []kernel.Rule, output []kernel.OutputRule) *strictyaml.Error {
	at := func(list string, i int, e *kernel.RuleError) *strictyaml.Error {
		where := strictyaml.Join(path, fmt.Sprintf("%s[%d].%s", list, i, e.Field))
		return &strictyaml.Error{Path: where, Message: where + " " + e.Message, Remedy: e.Remedy + suggest.Hint(e.Word, e.Meant)}
	}
	for i := range rules {
		if e := rules[i].Validate(); e != nil {
			return at("rules", i, e)
		}
	}
	for i := range output {
		if e := output[i].Validate(); e != nil {
			return at("output", i, e)
		}
	}
	return nil
}

// Triage reads a triage policy. name stands for the file in errors, which are of type [*strictyaml.Error].
func Triage(name string, data []byte) (*dlq.Policy, error) {
	p := &dlq.Policy{}
	kind := strictyaml.Kind{What: "a triage policy", Has: "version: v1 and dlq_rules"}
	if err := kind.Read(name, data, p, func() *strictyaml.Error { return CheckTriage("", p) }); err != nil {
		return nil, err
	}
	return p, nil
}

// CheckTriage says what is wrong with a triage policy that stands under a path; nil is nothing.
func CheckTriage(path string, p *dlq.Policy) *strictyaml.Error {
	e := p.Validate()
	if e == nil {
		return nil
	}
	where := strictyaml.Join(path, e.Path)
	return &strictyaml.Error{Path: where, Message: where + " " + e.Message, Remedy: e.Remedy + suggest.Hint(e.Word, e.Meant)}
}
