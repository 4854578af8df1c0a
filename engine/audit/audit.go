package audit

import (
	"context"
	"encoding/json"

	"github.com/redis/go-redis/v9"
)

// Key is a list of events as JSON, the oldest first.
const Key = "cordum:audit"

// EventsMax is how many events the trail keeps; older ones go.
const EventsMax = 10_000

// Kinds of events about approvals.
const (
	ApprovalRequired = "approval_required" // a job waits for one, of what its reason says
	ApprovalGranted  = "approval_granted"  // by whom; the reason is the hash of what was approved
)

// Event is one decision.
type Event struct {
	At         int64  `json:"at"`   // unix ms
	Kind       string `json:"kind"` // what happened, as in approval_granted
	JobID      string `json:"job_id,omitempty"`
	ReasonCode string `json:"reason_code,omitempty"`
	Reason     string `json:"reason,omitempty"` // in words
	By         string `json:"by,omitempty"`     // who decided it
}

// Put adds an event to the MULTI of the change that it is about, so that neither is without the other.
func Put(ctx context.Context, p redis.Pipeliner, e Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	p.RPush(ctx, Key, body)
	p.LTrim(ctx, Key, -EventsMax, -1)
	return nil
}
