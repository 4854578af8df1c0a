package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
)

// grantLabels are those that an approval adds to a request.
var grantLabels = []string{LabelApprovalGranted, LabelApprovalHash, LabelApprovedAt, LabelApprovedBy}

// Hash is what an approval is bound to: sha256 over all of the request but its trace id and the labels
// that grant the approval (Scheduler internals, section 1, approval flow).
func (r Request) Hash() string {
	r.TraceID = ""
	r.Labels = maps.Clone(r.Labels)
	for _, label := range grantLabels {
		delete(r.Labels, label)
	}
	if len(r.Labels) == 0 {
		r.Labels = nil
	}
	body, err := json.Marshal(r)
	if err != nil { // only a payload that is no JSON, which no packet has
		body = []byte(r.JobID)
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
