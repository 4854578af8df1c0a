package dlq

import (
	"net/url"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// What becomes of an entry's replay: the values of replay_status.
const (
	PendingReview    = "pending_review"    // new, or left to a person (Dead letters)
	Scheduled        = "scheduled"         // to be replayed once its back-off is over
	AwaitingApproval = "awaiting_approval" // to be replayed once somebody approves it
	Quarantined      = "quarantined"       // not to be replayed as it is
	Replayed         = "replayed"          // its replay is a job of its own
	Denied           = "denied"            // by the policy, or by a person
	AlreadyCommitted = "already_committed" // what it is about has been done after all
	Exhausted        = "exhausted"         // its job has been replayed as often as it may be
)

// Statuses lists them.
var Statuses = []string{PendingReview, Scheduled, AwaitingApproval, Quarantined, Replayed, Denied, AlreadyCommitted, Exhausted}

const committedPrefix = "cordum:committed:"

// committedKey is the key that says that what an idempotency key of a tenant stands for has been done: it
// holds the id of the job that did it. Either may have colons, and an escaped tenant has none.
func committedKey(tenant, idempotencyKey string) string {
	return committedPrefix + url.QueryEscape(job.TenantOf(tenant)) + ":" + idempotencyKey
}
