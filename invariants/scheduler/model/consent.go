package model

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// consent is what is known of a job's approval.
type consent struct {
	Waits  string                      // the hash of the request that the record keeps
	Since  time.Duration               // when it came to keep that
	Asks   bool                        // that request bears an approval
	Grants []grant                     // in their order
	known  map[string]*history.Request // every request of the job there was, by its hash
}

// grant is one approval.
type grant struct {
	Hash  string        // of the request that was approved
	Since time.Duration // when it was written
	lost  bool          // the record has it no more, by a failover of Redis
}

// learn takes in a request of the job, and returns its hash.
func (c *consent) learn(r *history.Request) (hash string) {
	if c.known == nil {
		c.known = map[string]*history.Request{}
	}
	hash = r.Hash()
	c.known[hash] = r
	return hash
}

// Consented takes in what a change of the job's record says of its approval.
func (f *Facts) Consented(s *Step, j *Job, c *sim.Change) {
	if !f.Config.Approvals.Kernel {
		return
	}
	g := &j.Consent
	switch c.Field {
	case "request":
		if j.Request == nil {
			return
		}
		was := g.Waits
		g.Asks = j.Approved
		if g.Waits = g.learn(j.Request); g.Waits != was {
			g.Since = s.At
		}
	case "approval_hash":
		if s.Rewinds() {
			for i := range g.Grants {
				g.Grants[i].lost = g.Grants[i].lost || g.Grants[i].Hash != c.Value
			}
			return
		}
		g.Grants = append(g.Grants, grant{Hash: c.Value, Since: s.At})
		f.Reach(ApprovalGranted)
	case "job_hash":
		if s.Phase == "ask_again_write" {
			f.Reach(ApprovalAskedAgain)
		}
	}
}

// Resubmitted takes in a submission of the job, the last of its messages.
func (f *Facts) Resubmitted(j *Job, r *history.Request) {
	if !f.Config.Approvals.Kernel {
		return
	}
	if hash := j.Consent.learn(r); r.Granted() {
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

// Approval returns the last approval of what waits, or nil. One that a failover has lost counts if a request of the job
// bears it: who gave it was told of an error else, and gives it again.
func (j *Job) Approval() *grant {
	g := j.Consent.Granted(j.Consent.Waits)
	if g == nil || g.lost && !j.bears(g) {
		return nil
	}
	return g
}

// bears says whether a request of the job bears the approval.
func (j *Job) bears(g *grant) bool {
	return slices.ContainsFunc(j.Messages, func(m Message) bool { return m.Consents == g.Hash })
}

// approvedUnsent says whether who approved what waits has yet to submit it again.
func (j *Job) approvedUnsent() bool {
	g := j.Consent.Granted(j.Consent.Waits)
	return g != nil && !j.bears(g)
}

// Approves says whether what a dispatch asks for was approved.
func (c *consent) Approves(o *history.Order) bool {
	for i := range c.Grants {
		if r := c.known[c.Grants[i].Hash]; r != nil && o != nil && r.Does(&o.Request) {
			return true
		}
	}
	return false
}

// Unapproved says whether a job in APPROVAL_REQUIRED waits rightly at that instant: nobody has approved what
// waits, or that was too long ago.
func (f *Facts) Unapproved(j *Job, at time.Duration) bool {
	if j.State != ApprovalRequired {
		return false
	}
	if !f.Config.Approvals.Kernel || !f.Config.Approvals.Bind {
		return !j.Approved
	}
	g := j.Consent.Granted(j.Consent.Waits)
	return g == nil || !j.Consent.Asks || at > g.Since+f.Config.Approvals.TTL
}

// ExpiredApprovals counts the jobs that still wait for an approval, as the one that they had is too old.
func (f *Facts) ExpiredApprovals() (n int) {
	for _, j := range f.Order {
		if g := j.Consent.Granted(j.Consent.Waits); g != nil && j.State == ApprovalRequired && f.At > g.Since+f.Config.Approvals.TTL {
			n++
		}
	}
	return n
}

// ApprovalToCome says whether a request other than m, which bears an approval that was given, is left to be handled,
// or was given up, which is another matter.
func (j *Job) ApprovalToCome(m *Message) bool {
	for i := range j.Messages {
		other := &j.Messages[i]
		if m != nil && other.Seq != m.Seq && !other.Done && !other.Lost && other.Consents != "" && j.Consent.Granted(other.Consents) != nil {
			return true
		}
	}
	return false
}
