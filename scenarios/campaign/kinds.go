package campaign

import (
	"slices"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
)

// FaultKind describes what kind of fault f is: what it does and where, but not to which job, when or how
// often. Examples are "fail-after publish", "crash of a scheduler after dispatched_write", "pause of a worker
// at a time", "partition of heartbeats" and "restart of nats".
func FaultKind(f faults.Fault) string {
	switch {
	case f.On != nil:
		return string(f.Do) + " " + f.On.Phase
	case f.Do == faults.Partition:
		return partitionOf(f.From)
	case f.Do.OfServer() && f.After != nil:
		return ofServer(f.Do, f.Node) + " after " + f.After.Phase
	case f.Do.OfServer():
		return ofServer(f.Do, f.Node)
	case f.After == nil:
		return atTime(f.Do, actors.RoleOf(f.Node))
	case f.Node == faults.Actor || actors.RoleOf(f.Node) == plans.ActorIn(f.After.Phase):
		return after(f.Do, f.After.Phase)
	}
	return ofBystander(f.Do, actors.RoleOf(f.Node))
}

// kindsOf lists the kinds of faults in order, each once.
func kindsOf(list []faults.Fault) (kinds []string) {
	for _, f := range list {
		if kind := FaultKind(f); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

func partitionOf(link string) string { return "partition of " + link }

func ofServer(do faults.Effect, server string) string { return string(do) + " of " + server }

func atTime(do faults.Effect, role string) string { return string(do) + " of a " + role + " at a time" }

func after(do faults.Effect, phase string) string {
	return string(do) + " of a " + plans.ActorIn(phase) + " after " + phase
}

func ofBystander(do faults.Effect, role string) string {
	return string(do) + " of a " + role + " after another's operation"
}

// FaultKinds lists every kind of fault that a plan can have, by effect and in the order in which a job passes
// the phases.
func FaultKinds() []string {
	var list []string
	phases := plans.Phases()
	for _, k := range faults.Kinds() {
		for _, p := range phases {
			switch {
			case k.Strikes(p):
				list = append(list, string(k.Effect)+" "+p.Name)
			case p.Place == faults.PlaceNone || !k.OnNode() || k.Takes("from"):
			case k.Effect.OfServer():
				for _, server := range k.Servers {
					list = append(list, ofServer(k.Effect, server)+" after "+p.Name)
				}
			default:
				list = append(list, after(k.Effect, p.Name))
			}
		}
		switch {
		case !k.OnNode():
		case k.Effect.OfServer():
			for _, server := range k.Servers {
				list = append(list, ofServer(k.Effect, server))
			}
		case k.Takes("from"):
			for _, link := range plans.Links() {
				list = append(list, partitionOf(link))
			}
		default:
			for _, role := range actors.Roles {
				list = append(list, ofBystander(k.Effect, role), atTime(k.Effect, role))
			}
		}
	}
	return list
}
