package actors

import (
	"slices"
	"strings"
)

// The roles of which a world has several nodes. Their names end in a number: worker-2.
const (
	SchedulerRole = "scheduler"
	WorkerRole    = "worker"
)

// Roles are those that nodes can have, in the order in which a plan lists its nodes. A role of one node is its name.
var Roles = []string{
	SchedulerRole, WorkerRole,
	SubmitterName, KernelName, StarterName, CancellerName, OperatorName, ApproverName, ChangerName, StrangerName,
}

// RoleOf is the role of the node of that name: worker-2 is a worker.
func RoleOf(node string) string {
	role, _, _ := strings.Cut(node, "-")
	return role
}

// IsClient says whether the node has only so much to do.
func IsClient(node string) bool {
	return node != KernelName && slices.Contains(Roles, node)
}
