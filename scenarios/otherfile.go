package scenarios

import (
	"reflect"

	"github.com/goccy/go-yaml/token"

	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/faults/suggest"
)

// OtherFile is a kind of YAML file that is read as strictly as a plan.
type OtherFile struct {
	What string // it is, such as "a policy"
	Has  string // what it needs at least
}

// Read reads a file's text into a struct whose fields have the tags of a plan's. check says what the tags
// cannot. name stands for the file in errors; what is wrong with its content is a [*PlanError].
func (f OtherFile) Read(name string, data []byte, into any, check func() *PlanError) error {
	if err := f.read(data, into, check); err != nil {
		return inFile(name, data, err)
	}
	return nil
}

func (f OtherFile) read(data []byte, into any, check func() *PlanError) error {
	body, err := document(data, f.What, f.Has)
	if err != nil {
		return err
	}
	d := &decoder{what: f.What, at: map[string]*token.Position{}}
	if bad := d.mapping("", body, reflect.ValueOf(into).Elem()); bad != nil {
		return bad
	}
	if e := check(); e != nil {
		return d.locate(e)
	}
	return nil
}

// ParsePolicy reads the rules of a safety kernel that runs by itself.
func ParsePolicy(name string, data []byte) (kernel.Policy, error) {
	var p kernel.Policy
	err := OtherFile{"a policy", "a default such as ALLOW, or rules"}.Read(name, data, &p, func() *PlanError {
		if p.Default == "" && len(p.Rules)+len(p.Output) == 0 {
			return &PlanError{Message: "the policy says nothing", Remedy: "give rules, or at least a default such as ALLOW"}
		}
		return checkRules("", p.Rules, p.Output)
	})
	return p, err
}

// ParseTriage reads a triage policy.
func ParseTriage(name string, data []byte) (*dlq.Policy, error) {
	p := &dlq.Policy{}
	err := OtherFile{"a triage policy", "version: v1 and dlq_rules"}.Read(name, data, p, func() *PlanError { return triageProblem("", p) })
	if err != nil {
		return nil, err
	}
	return p, nil
}

func checkTriage(p *Plan) *PlanError {
	if p.Triage == nil {
		return nil
	}
	return triageProblem("triage", p.Triage)
}

func triageProblem(path string, p *dlq.Policy) *PlanError {
	e := p.Validate()
	if e == nil {
		return nil
	}
	where := join(path, e.Path)
	return &PlanError{Path: where, Message: where + " " + e.Message, Remedy: e.Remedy + suggest.Hint(e.Word, e.Meant)}
}
