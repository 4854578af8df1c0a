package plans

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/scenarios/policyfile"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// Kernel is the safety kernel of a world, and its output policy: a node named kernel that every scheduler
// asks before a job runs. A plan that does not mention it has none.
type Kernel struct {
	Default string              `yaml:"default" json:"default" oneof:"none,ALLOW,REQUIRE_APPROVAL,DENY,THROTTLE,UNKNOWN" doc:"what the safety kernel decides about a job that no rule of kernel.rules matches; none: the world has no kernel; a plan with a kernel has ALLOW unless it says otherwise"`
	Rules   []kernel.Rule       `yaml:"rules,omitempty" json:"rules,omitempty" doc:"what the safety kernel decides about jobs; the first rule that matches counts"`
	Output  []kernel.OutputRule `yaml:"output,omitempty" json:"output,omitempty" doc:"what the safety kernel decides about results; the first rule that matches counts, and a result that no rule matches is allowed"`
	Then    []KernelChange      `yaml:"then,omitempty" json:"then,omitempty" doc:"when its rules change; what an entry leaves out stays as it was before"`
}

// KernelChange replaces parts of a kernel's policy at a time, and keeps the rest.
type KernelChange struct {
	At      time.Duration       `yaml:"at" json:"at" min:"1ms" max:"720h" doc:"when the rules change, since the world began"`
	Default string              `yaml:"default,omitempty" json:"default,omitempty" oneof:"ALLOW,REQUIRE_APPROVAL,DENY,THROTTLE,UNKNOWN" doc:"replaces the default; if not given, the default stays"`
	Rules   []kernel.Rule       `yaml:"rules,omitempty" json:"rules,omitempty" doc:"replaces all rules for jobs; if not given, they stay"`
	Output  []kernel.OutputRule `yaml:"output,omitempty" json:"output,omitempty" doc:"replaces all rules for results; if not given, they stay"`
}

// NoKernel is the Default of a world without a kernel.
const NoKernel = "none"

// On says whether the world has a kernel.
func (k *Kernel) On() bool { return k.Default != NoKernel }

// Changes lists the changes of its policy, in the order of time.
func (k *Kernel) Changes() []KernelChange {
	return slices.SortedStableFunc(slices.Values(k.Then), func(a, b KernelChange) int { return cmp.Compare(a.At, b.At) })
}

// Policies lists its policies, one after the other.
func (k *Kernel) Policies() []kernel.Policy {
	policies := []kernel.Policy{{Default: k.Default, Rules: k.Rules, Output: k.Output}}
	for i, t := range k.Changes() {
		policies = append(policies, t.After(policies[i]))
	}
	return policies
}

// clone returns a copy. Shrinking one does not change the other.
func (k Kernel) clone() Kernel {
	k.Rules, k.Output, k.Then = slices.Clone(k.Rules), slices.Clone(k.Output), slices.Clone(k.Then)
	for i, t := range k.Then {
		k.Then[i].Rules, k.Then[i].Output = slices.Clone(t.Rules), slices.Clone(t.Output)
	}
	return k
}

// After is the policy p after the change.
func (t *KernelChange) After(p kernel.Policy) kernel.Policy {
	p.Default = cmp.Or(t.Default, p.Default)
	if len(t.Rules) > 0 {
		p.Rules = t.Rules
	}
	if len(t.Output) > 0 {
		p.Output = t.Output
	}
	return p
}

// empty says whether the change changes nothing.
func (t *KernelChange) empty() bool {
	return t.Default == "" && len(t.Rules) == 0 && len(t.Output) == 0
}

func checkKernel(p *Plan) *strictyaml.Error {
	k := &p.Kernel
	if !k.On() {
		if len(k.Rules)+len(k.Output)+len(k.Then) > 0 {
			return &strictyaml.Error{Path: "kernel.default", Message: "kernel.default is none, but the kernel has rules", Remedy: "give kernel.default a decision such as ALLOW, or remove the rules"}
		}
		return nil
	}
	if e := p.checkPolicy("kernel", k.Rules, k.Output); e != nil {
		return e
	}
	for i, t := range k.Then {
		path := fmt.Sprintf("kernel.then[%d]", i)
		if t.empty() {
			return &strictyaml.Error{Path: path + ".at", Message: path + " changes nothing", Remedy: "give default, rules or output"}
		}
		if e := p.checkPolicy(path, t.Rules, t.Output); e != nil {
			return e
		}
	}
	return nil
}

// checkPolicy checks the rules of a plan's kernel.
func (p *Plan) checkPolicy(path string, rules []kernel.Rule, output []kernel.OutputRule) *strictyaml.Error {
	if e := policyfile.CheckRules(path, rules, output); e != nil {
		return e
	}
	return p.checkRulesJobs(path, rules, output)
}

// checkRulesJobs returns an error for rules about jobs that the workload does not have.
func (p *Plan) checkRulesJobs(path string, rules []kernel.Rule, output []kernel.OutputRule) *strictyaml.Error {
	check := func(list string, i int, id string) *strictyaml.Error {
		if n, ok := JobNumber(id); ok && (n < 1 || n > p.Workload.Jobs || id != JobID(n)) {
			return &strictyaml.Error{Path: fmt.Sprintf("%s.%s[%d].job_id", path, list, i), Message: "there is no " + id, Remedy: fmt.Sprintf("the workload has %s to %s", JobID(1), JobID(p.Workload.Jobs))}
		}
		return nil
	}
	for i := range rules {
		if e := check("rules", i, rules[i].JobID); e != nil {
			return e
		}
	}
	for i := range output {
		if e := check("output", i, output[i].JobID); e != nil {
			return e
		}
	}
	return nil
}

// checkTimes returns an error for changes without a time.
func checkTimes(p *Plan) *strictyaml.Error {
	for i, t := range p.Kernel.Then {
		if t.At == 0 {
			path := fmt.Sprintf("kernel.then[%d]", i)
			return &strictyaml.Error{Path: path + ".at", Message: path + " does not say when it changes the policy", Remedy: "give at, from 1ms to 720h, as in at: 30s"}
		}
	}
	return nil
}

// jobsNamed lists the jobs that its rules name.
func (k *Kernel) jobsNamed() (named []int) {
	c := k.clone()
	c.renumber(func(n int) int {
		named = append(named, n)
		return n
	})
	return named
}

// renumber renumbers the jobs in rules, and drops the rules of a job whose new number is 0.
func (k *Kernel) renumber(number func(int) int) {
	gone := func(id *string) bool {
		n, ok := JobNumber(*id)
		if !ok {
			return false
		}
		if n = number(n); n > 0 {
			*id = JobID(n)
		}
		return n <= 0
	}
	rules := func(list []kernel.Rule) (left []kernel.Rule) {
		for _, r := range list {
			if !gone(&r.JobID) {
				left = append(left, r)
			}
		}
		return left
	}
	outputs := func(list []kernel.OutputRule) (left []kernel.OutputRule) {
		for _, r := range list {
			if !gone(&r.JobID) {
				left = append(left, r)
			}
		}
		return left
	}
	k.Rules, k.Output = rules(k.Rules), outputs(k.Output)
	var then []KernelChange
	for _, t := range k.Then {
		if t.Rules, t.Output = rules(t.Rules), outputs(t.Output); !t.empty() {
			then = append(then, t)
		}
	}
	k.Then = then
}

func checkOutput(p *Plan) *strictyaml.Error {
	if p.Engine.Output.Enabled && !p.Kernel.On() {
		return &strictyaml.Error{Path: "engine.output.enabled", Message: "engine.output.enabled is true, but the plan has no kernel to ask", Remedy: "give the plan a kernel, such as kernel: {default: ALLOW}, or set engine.output.enabled to false"}
	}
	return nil
}
