package judge

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/sim"
)

// consent is what is known of a job's approval.
type consent struct {
	decision string            // of the safety kernel, the last
	waits    string            // the hash of the request that the record keeps
	since    time.Duration     // when it came to keep that
	asks     bool              // that request bears an approval
	grants   []grant           // in their order
	known    map[string]errand // every request of the job there was, by its hash
}

// grant is one approval.
type grant struct {
	hash  string        // of the request that was approved
	at    int64         // unix milliseconds, as its giver has it
	since time.Duration // when it was written
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

// consented takes in what a change of the job's record says of its approval.
func (f *facts) consented(s *step, j *job, c *sim.Change) {
	if !f.config.Approvals.Kernel {
		return
	}
	g := &j.consent
	switch c.Field {
	case "decision":
		g.decision = c.Value
	case "request":
		was := g.waits
		if g.waits, g.asks = g.learn(c.Value); g.waits != was {
			g.since = s.At
		}
	case "approval_hash":
		g.grants = append(g.grants, grant{hash: c.Value, since: s.At})
		f.reach(approvalGranted)
	case "approved_at":
		if n := len(g.grants); n > 0 {
			g.grants[n-1].at, _ = strconv.ParseInt(c.Value, 10, 64)
		}
	case "job_hash":
		if s.Phase == "ask_again_write" {
			f.reach(approvalAskedAgain)
		}
	}
}

// resubmitted takes in a submission of the job, the last of its messages.
func (f *facts) resubmitted(j *job, c *sim.Change) {
	if !f.config.Approvals.Kernel {
		return
	}
	if hash, asks := j.consent.learn(c.Value); asks {
		j.messages[len(j.messages)-1].consents = hash
	}
}

// granted returns the last approval of what has that hash, or nil.
func (c *consent) granted(hash string) *grant {
	for i := len(c.grants) - 1; i >= 0; i-- {
		if c.grants[i].hash == hash {
			return &c.grants[i]
		}
	}
	return nil
}

// approves says whether what a dispatch asks for was approved.
func (c *consent) approves(dispatch string) bool {
	for i := range c.grants {
		if a, ok := c.known[c.grants[i].hash]; ok && a.does(dispatch) {
			return true
		}
	}
	return false
}
