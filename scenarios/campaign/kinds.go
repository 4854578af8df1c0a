package campaign

import (
	"slices"
	"strings"

	"github.com/faultline-sim/faultline/faults"
	"github.com/faultline-sim/faultline/scenarios"
)

// The roles of nodes.
const (
	roleScheduler = "scheduler"
	roleWorker    = "worker"
	roleSubmitter = "submitter"
)

// FaultKind says what sort of fault f is, by what it does and where, but not to which job, when or how
// often: "fail-after publish", "crash of a scheduler after dispatched_write", "crash of a worker at
// a time", "partition of heartbeats".
func FaultKind(f faults.Fault) string {
	switch {
	case f.On != nil:
		return string(f.Do) + " " + f.On.Phase
	case f.Do == faults.Partition:
		return partitionOf(f.From)
	case f.After == nil:
		return crashAtTime(roleOf(f.Node))
	case f.Node == faults.Actor || roleOf(f.Node) == actorIn(f.After.Phase):
		return crashAfter(f.After.Phase)
	}
	return crashOfBystander(roleOf(f.Node))
}

func partitionOf(link string) string      { return "partition of " + link }
func crashAtTime(role string) string      { return "crash of a " + role + " at a time" }
func crashAfter(phase string) string      { return "crash of a " + actorIn(phase) + " after " + phase }
func crashOfBystander(role string) string { return "crash of a " + role + " after another's operation" }

// FaultKinds lists every kind of fault that a plan can have: by effect, and in the order in which a
// job meets the phases.
func FaultKinds() []string {
	var list []string
	phases := scenarios.Phases()
	for _, k := range faults.Kinds() {
		for _, p := range phases {
			if slices.Contains(k.Places, p.Place) {
				list = append(list, string(k.Effect)+" "+p.Name)
			}
		}
	}
	for _, p := range phases {
		if p.Place != faults.PlaceNone {
			list = append(list, crashAfter(p.Name))
		}
	}
	for _, role := range []string{roleScheduler, roleWorker, roleSubmitter} {
		list = append(list, crashOfBystander(role), crashAtTime(role))
	}
	return append(list, partitionOf("heartbeats"))
}

// roleOf is the role of the node of that name: worker-2 is a worker.
func roleOf(node string) string {
	role, _, _ := strings.Cut(node, "-")
	return role
}

// actorIn is the role of whoever runs the operations of a phase.
func actorIn(phase string) string {
	switch phase {
	case "submit_write", "submit_publish":
		return roleSubmitter
	case "effect", "result_publish", "heartbeat":
		return roleWorker
	}
	if strings.HasPrefix(phase, "job_") {
		return roleWorker
	}
	return roleScheduler
}
