package model

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// consent is what is known of a job's approval.
type consent struct {
	Waits  string                      // the hash of the request in the record
	Since  time.Duration               // since when the record has that request
	Asks   bool                        // that request carries an approval
	Grants []grant                     // in order
	Asked  string                      // the hash that the record says is to be approved
	Reason string                      // the reason in the record
	Seen   map[string]sight            // by process: what a person who may approve it has seen
	At, By string                      // the last approval in the record
	known  map[string]*history.Request // every request of the job so far, by its hash
}

// sight is what a person who may approve a job has seen.
type sight struct {
	Hash string        // of the request in the record when the person looked at it
	at   time.Duration // when the person read what they were about to approve, and the time by Redis's clock

	since    time.Duration // when the person first saw that the job waits for their approval; 0 is never
	step     int           // the step at which the person looked or, if tried, was about to approve
	tried    bool
	waits    bool // the job waited then, with the request that they had looked at, unless that does not matter
	hindered bool // an operation of the person has failed since
	given    bool // the person has approved it since
}

// grant is an approval.
type grant struct {
	Hash  string        // of the approved request
	Since time.Duration // when it was written
	dated time.Duration // from when its age counts: its writer had read the time just before
	lost  bool          // the record has lost it in a failover of Redis
}

// learn adds a request of the job, and returns its hash.
func (c *consent) learn(r *history.Request) (hash string) {
	if c.known == nil {
		c.known = map[string]*history.Request{}
	}
	hash = r.Hash()
	c.known[hash] = r
	return hash
}

// Consented notes what a change of the job's record says of its approval.
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
		g.grant(s, c.Value)
		f.Reach(ApprovalGranted)
	case "approved_by":
		g.By = c.Value
	case "approved_at": // the same approval may be given again
		g.At = c.Value
		if n := len(g.Grants); n > 0 && !s.Rewinds() && !c.Gone && g.Grants[n-1].Since != s.At {
			g.grant(s, g.Grants[n-1].Hash)
		}
	case "approval_reason":
		g.Reason = c.Value
	case "job_hash":
		g.Asked = c.Value
		if s.Phase == "ask_again_write" {
			f.Reach(ApprovalAskedAgain)
		}
	}
}

// grant notes an approval that the step writes.
func (c *consent) grant(s *Step, hash string) {
	dated, me := s.At, invariants.Process(s.Node, s.Incarnation)
	if seen, looked := c.Seen[me]; looked {
		if seen.at != 0 {
			dated = seen.at
		}
		seen.given = true
		c.Seen[me] = seen
	}
	c.Grants = append(c.Grants, grant{Hash: hash, Since: s.At, dated: dated})
}

// Given returns the approval that the step has written, or nil.
func (c *consent) Given(s *Step) *grant {
	if n := len(c.Grants); n > 0 && c.Grants[n-1].Since == s.At {
		return &c.Grants[n-1]
	}
	return nil
}

// ApproverReads notes that a person has read what they may approve. looks is true for a first look, and false
// for the read right before an approval.
func (f *Facts) ApproverReads(s *Step, looks bool) {
	g, me := &s.About.Consent, invariants.Process(s.Node, s.Incarnation)
	if s.Failed || !f.Config.Approvals.Kernel {
		return
	}
	if g.Seen == nil {
		g.Seen = map[string]sight{}
	}
	seen := g.Seen[me]
	seen.step, seen.tried, seen.hindered, seen.given = s.Step, !looks, false, false
	waits := s.About.State == ApprovalRequired
	if looks {
		if !waits {
			seen.since = 0
		} else if seen.since == 0 || seen.Hash != g.Waits {
			seen.since = s.At
		}
		seen.Hash = g.Waits
	} else {
		seen.at, seen.waits = s.At, waits && (seen.Hash == g.Waits || !f.Config.Approvals.Bind)
	}
	g.Seen[me] = seen
}

// ApproverActs notes an operation of the approver.
func (f *Facts) ApproverActs(s *Step) {
	if s.Node != history.ApproverNode || s.About == nil {
		return
	}
	g, me := &s.About.Consent, invariants.Process(s.Node, s.Incarnation)
	f.Approver = me
	seen, looked := g.Seen[me]
	if looked && (s.Failed || s.Outcome == sim.OutcomePending || s.Outcome == history.TransactionFailed) {
		seen.hindered = true
		g.Seen[me] = seen
	}
}

// Withheld is the step since which the approver could have approved the job, and has not, although nothing
// was in the way; 0 if there is none. takes is how long the approver looks at it.
func (f *Facts) Withheld(j *Job, takes time.Duration) (step int) {
	n, seen := f.Node(history.ApproverNode), j.Consent.Seen[f.Approver]
	late := seen.since != 0 && f.At > seen.since+takes+n.Away(f.At)+approverDoubt
	if n.Down || seen.hindered || seen.given || seen.tried && !seen.waits || !seen.tried && !late {
		return 0
	}
	return seen.step
}

// approverDoubt is how long an operation of the approver may be under way after its look.
const approverDoubt = 15 * time.Second

// ApprovalAged notes that a handling has asked Redis for the time, to see how old its job's approval is. If
// the approval was written after the handling had read the record, the result is not known.
func (f *Facts) ApprovalAged(s *Step) {
	j, h := s.About, s.Handling
	g := j.Approval()
	if s.Failed || h == nil {
		return
	}
	if j.Mixed || g == nil || h.ReadAt == 0 || max(g.Since, j.Consent.Since) > h.ReadAt {
		f.Count.Maybe(history.CounterApprovalsRefused, "expired", j.TopicOf())
		return
	}
	me, first := invariants.Process(s.Node, s.Incarnation), h.Aged.Step == 0 // its process's replayer may look as well
	h.Aged = Aged{
		Step: s.Step, Age: s.At - g.dated,
		bears: slices.ContainsFunc(j.Messages, func(m Message) bool { return m.Consents == g.Hash && m.InHandOf(me) }),
	}
	switch {
	case first && j.State == ApprovalRequired && h.Aged.bears && f.LookedTooLate(h):
		f.Count.Sure(history.CounterApprovalsRefused, "expired", j.TopicOf())
	case h.Aged.Age > f.Config.Approvals.TTL-Slack:
		f.Count.Maybe(history.CounterApprovalsRefused, "expired", j.TopicOf())
	}
}

// Aged is a check of an approval's age.
type Aged struct {
	Step  int // 0 if there was none, or it had no consequence
	Age   time.Duration
	bears bool // the request in hand carries the approval
}

// LookedTooLate says whether the handling's last check found the approval too old.
func (f *Facts) LookedTooLate(h *Handling) bool {
	return h != nil && h.Aged.Step != 0 && h.Aged.Age > f.Config.Approvals.TTL+Slack
}

// LeavesApproved says whether the step's handling ends without scheduling its job, although it found the
// approval recent enough, and nothing kept it from going on.
func (f *Facts) LeavesApproved(s *Step) bool {
	h := s.Handling
	return h.Aged.Step != 0 && h.Aged.bears && h.Aged.Age <= f.Config.Approvals.TTL-Slack && !h.StoreFailed && !h.Full &&
		h.Renewals == 0 && (h.Expires == 0 || s.At < h.Expires) && !s.About.Mixed
}

// Resubmitted notes a submission of the job, the last of its messages.
func (f *Facts) Resubmitted(j *Job, r *history.Request) {
	if !f.Config.Approvals.Kernel {
		return
	}
	if hash := j.Consent.learn(r); r.Granted() {
		j.Messages[len(j.Messages)-1].Consents = hash
	}
}

// Granted returns the last approval of the request with that hash, or nil.
func (c *consent) Granted(hash string) *grant {
	for i := len(c.Grants) - 1; i >= 0; i-- {
		if c.Grants[i].Hash == hash {
			return &c.Grants[i]
		}
	}
	return nil
}

// Approval returns the last approval of the waiting request, or nil. An approval that a failover has lost
// counts if a request of the job carries it. Otherwise its approver was told of an error, and approves again.
func (j *Job) Approval() *grant {
	g := j.Consent.Granted(j.Consent.Waits)
	if g == nil || g.lost && !j.bears(g) {
		return nil
	}
	return g
}

// bears says whether a request of the job carries the approval.
func (j *Job) bears(g *grant) bool {
	return slices.ContainsFunc(j.Messages, func(m Message) bool { return m.Consents == g.Hash })
}

// approvedUnsent says whether the waiting request is approved, and its approver has yet to submit it again.
func (j *Job) approvedUnsent() bool {
	g := j.Consent.Granted(j.Consent.Waits)
	return g != nil && !j.bears(g)
}

// Knows says whether the job has had a request with that hash.
func (c *consent) Knows(hash string) bool { return c.known[hash] != nil }

// Approves says whether the request in a dispatch was approved.
func (c *consent) Approves(o *history.Order) bool {
	for i := range c.Grants {
		if r := c.known[c.Grants[i].Hash]; r != nil && o != nil && r.Does(&o.Request) {
			return true
		}
	}
	return false
}

// Unapproved says whether a job in APPROVAL_REQUIRED waits rightly: the waiting request is not approved, or
// the approval has expired.
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

// ExpiredApprovals counts the jobs that still wait for an approval because theirs has expired.
func (f *Facts) ExpiredApprovals() (n int) {
	for _, j := range f.Order {
		if g := j.Consent.Granted(j.Consent.Waits); g != nil && j.State == ApprovalRequired && f.At > g.Since+f.Config.Approvals.TTL {
			n++
		}
	}
	return n
}

// ApprovalToCome says whether a request other than m that carries a given approval is still to be handled. It
// may also have been given up, which other invariants judge.
func (j *Job) ApprovalToCome(m *Message) bool {
	for i := range j.Messages {
		other := &j.Messages[i]
		if m != nil && other.Seq != m.Seq && !other.Done && !other.Lost && other.Consents != "" && j.Consent.Granted(other.Consents) != nil {
			return true
		}
	}
	return false
}
