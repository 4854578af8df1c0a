package actors

import (
	"slices"
	"strings"
)

// The roles with several nodes. The names of their nodes end in a number, as in worker-2.
const (
	SchedulerRole = "scheduler"
	WorkerRole    = "worker"
)

// Roles lists the roles, in the order in which a plan lists its nodes. A role with a single node has the
// node's name.
var Roles = []string{
	SchedulerRole, WorkerRole,
	SubmitterName, KernelName, StarterName, CancellerName, OperatorName, ApproverName, ChangerName, StrangerName,
}

// RoleOf is the role of a node: worker-2 is a worker.
func RoleOf(node string) string {
	role, _, _ := strings.Cut(node, "-")
	return role
}

// IsClient says whether the node ends once its work is done.
func IsClient(node string) bool {
	return node != KernelName && slices.Contains(Roles, node)
}
