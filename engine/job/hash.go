package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Hash is what an approval is bound to: sha256 over all of the request but its trace id and the label
// that grants the approval (seed 003, section 1, approval flow).
func (r Request) Hash() string {
	r.TraceID = ""
	if _, granted := r.Labels[LabelApprovalGranted]; granted {
		labels := make(map[string]string, len(r.Labels))
		for k, v := range r.Labels {
			if k != LabelApprovalGranted {
				labels[k] = v
			}
		}
		r.Labels = labels
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
