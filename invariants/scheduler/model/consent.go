package model

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// consent is what is known of a job's approval.
type consent struct {
	Decision string            // of the safety kernel, the last
	Waits    string            // the hash of the request that the record keeps
	Since    time.Duration     // when it came to keep that
	Asks     bool              // that request bears an approval
	Grants   []grant           // in their order
	known    map[string]errand // every request of the job there was, by its hash
}

// grant is one approval.
type grant struct {
	Hash  string        // of the request that was approved
	At    int64         // unix milliseconds, as its giver has it
	Since time.Duration // when it was written
}

// errand is what a request asks to be done.
type errand struct {
	Topic          string          `json:"topic"`
	IdempotencyKey string          `json:"idempotency_key"`
	Payload        json.RawMessage `json:"payload"`
}

// does says whether a dispatch does what was asked for.
func (a *errand) does(dispatch string) bool {
	var d errand
	return json.Unmarshal([]byte(dispatch), &d) == nil && d.Topic == a.Topic && d.IdempotencyKey == a.IdempotencyKey && string(d.Payload) == string(a.Payload)
}

// learn takes in a request of the job, and returns its hash.
func (c *consent) learn(packet string) (hash string, asks bool) {
	hash, r := history.HashOf(packet)
	if c.known == nil {
		c.known = map[string]errand{}
	}
	c.known[hash] = errand{r.Topic, r.IdempotencyKey, r.Payload}
	return hash, r.Labels[history.LabelGranted] == "true"
}

// Consented takes in what a change of the job's record says of its approval.
func (f *Facts) Consented(s *Step, j *Job, c *sim.Change) {
	if !f.Config.Approvals.Kernel {
		return
	}
	g := &j.Consent
	switch c.Field {
	case "decision":
		g.Decision = c.Value
	case "request":
		was := g.Waits
		if g.Waits, g.Asks = g.learn(c.Value); g.Waits != was {
			g.Since = s.At
		}
	case "approval_hash":
		g.Grants = append(g.Grants, grant{Hash: c.Value, Since: s.At})
		f.Reach(ApprovalGranted)
	case "approved_at":
		if n := len(g.Grants); n > 0 {
			g.Grants[n-1].At, _ = strconv.ParseInt(c.Value, 10, 64)
		}
	case "job_hash":
		if s.Phase == "ask_again_write" {
			f.Reach(ApprovalAskedAgain)
		}
	}
}

// Resubmitted takes in a submission of the job, the last of its messages.
func (f *Facts) Resubmitted(j *Job, c *sim.Change) {
	if !f.Config.Approvals.Kernel {
		return
	}
	if hash, asks := j.Consent.learn(c.Value); asks {
		j.Messages[len(j.Messages)-1].Consents = hash
	}
}

// Granted returns the last approval of what has that hash, or nil.
func (c *consent) Granted(hash string) *grant {
	for i := len(c.Grants) - 1; i >= 0; i-- {
		if c.Grants[i].Hash == hash {
			return &c.Grants[i]
		}
	}
	return nil
}

// Approves says whether what a dispatch asks for was approved.
func (c *consent) Approves(dispatch string) bool {
	for i := range c.Grants {
		if a, ok := c.known[c.Grants[i].Hash]; ok && a.does(dispatch) {
			return true
		}
	}
	return false
}
