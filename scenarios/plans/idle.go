package plans

import (
	"fmt"
)

// Idle lists the parts of the plan that do nothing, and why. They are no error: what a part needs may have
// been removed to see what happens to the jobs.
func (p *Plan) Idle() (list []string) {
	check := func(part string, n *Need) {
		if n != nil && !n.met(p) {
			list = append(list, fmt.Sprintf("%s does nothing: %s", part, n.without))
		}
	}
	if p.Triage != nil {
		check("triage", hasReplays)
	}
	if len(p.Kernel.Output) > 0 {
		check("kernel.output", HasOutputs)
	}
	for i, t := range p.Kernel.Then {
		if len(t.Output) > 0 {
			check(fmt.Sprintf("kernel.then[%d].output", i), HasOutputs)
		}
	}
	for _, change := range p.Changes() {
		name := NameOf(change)
		k, _ := knobOf(name)
		if one, _, ok := PerJobOf(name); ok {
			k.Needs = one.needs
		}
		check(name, k.Needs)
	}
	return list
}
