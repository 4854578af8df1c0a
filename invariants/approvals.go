package invariants

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// What holds of approvals (Scheduler internals, section 1, approval flow).
var approvalInvariants = []rule{noDispatchWithoutApproval, approvalNotExpired, approvedJobGoesOn}

// ApprovalConfig are the settings of it that promises depend on.
type ApprovalConfig struct {
	Kernel bool          // there is a safety kernel, which may require approvals
	Bind   bool          // bind_approvals
	TTL    time.Duration // approval_ttl
}

var withBinding = setting{"bind_approvals", func(c *Config) bool { return c.Approvals.Bind }}

const labelGranted = "approval_granted"

// labelsOfGrant are no part of what is approved.
var labelsOfGrant = []string{labelGranted, "approval_hash", "approved_at", "approved_by"}

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

// wholeRequest is a request's packet, field by field in the order in which the documentation lists them.
type wholeRequest struct {
	JobID          string            `json:"job_id"`
	Topic          string            `json:"topic"`
	Tenant         string            `json:"tenant,omitempty"`
	Priority       string            `json:"priority,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Requires       []string          `json:"requires,omitempty"`
	IdempotencyKey string            `json:"idempotency_key,omitempty"`
	Payload        json.RawMessage   `json:"payload,omitempty"`
	Budget         json.RawMessage   `json:"budget,omitempty"`
	WorkflowID     string            `json:"workflow_id,omitempty"`
	StepIndex      int               `json:"step_index,omitempty"`
	Capability     string            `json:"capability,omitempty"`
	Env            map[string]string `json:"env,omitempty"`
	Compensation   json.RawMessage   `json:"compensation,omitempty"`
}

// hashOf is what an approval of the request is bound to: sha256 over all of it but the trace id and the
// labels of an approval; "" for a packet that cannot be read.
func hashOf(packet string) (hash string, r wholeRequest) {
	if json.Unmarshal([]byte(packet), &r) != nil {
		return "", r
	}
	bare := r
	bare.Labels = map[string]string{}
	for k, v := range r.Labels {
		bare.Labels[k] = v
	}
	for _, label := range labelsOfGrant {
		delete(bare.Labels, label)
	}
	body, err := json.Marshal(bare)
	if err != nil {
		return "", r
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:]), r
}

// learn takes in a request of the job, and returns its hash.
func (c *consent) learn(packet string) (hash string, asks bool) {
	hash, r := hashOf(packet)
	if c.known == nil {
		c.known = map[string]errand{}
	}
	c.known[hash] = errand{r.Topic, r.IdempotencyKey, r.Payload}
	return hash, r.Labels[labelGranted] == "true"
}

// consented takes in what a change of the job's record says of its approval.
func (f *facts) consented(s *step, j *job, c *sim.Change) {
	if !f.cfg.Approvals.Kernel {
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
	if !f.cfg.Approvals.Kernel {
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

// unapproved says whether a job in APPROVAL_REQUIRED waits rightly at that instant: nobody has approved what
// waits, or that was too long ago.
func (f *facts) unapproved(j *job, at time.Duration) bool {
	if j.state != approvalRequired {
		return false
	}
	if !f.cfg.Approvals.Kernel || !f.cfg.Approvals.Bind {
		return !j.approved
	}
	g := j.consent.granted(j.consent.waits)
	return g == nil || !j.consent.asks || at > g.since+f.cfg.Approvals.TTL
}

// expired counts the jobs that still wait for an approval, as the one that they had is too old.
func expired(f *facts) (n int) {
	for _, j := range f.order {
		if g := j.consent.granted(j.consent.waits); g != nil && j.state == approvalRequired && f.at > g.since+f.cfg.Approvals.TTL {
			n++
		}
	}
	return n
}

// approvalDoubt is how much later than the look at an approval's age the write may be that goes by it: the
// kernel is asked in between, and the store.
const approvalDoubt = 15 * time.Second

var noDispatchWithoutApproval = checking(Invariant{
	Name:   "no-dispatch-without-approval",
	Says:   "A job for which the safety kernel requires an approval is scheduled only once somebody has approved the request that it is then; and what is dispatched of it is what was approved.",
	Kind:   Always,
	Source: "Scheduler internals, section 1, approval flow: approval_granted=true and the matching job hash",
}, func(f *facts, t *tally) checker {
	if !f.cfg.Approvals.Kernel {
		return checker{}
	}
	return checker{
		wrote: func(s *step, w *write) {
			j := s.job
			if w.from != pending || j.state != scheduled || j.consent.decision != decisionApproval {
				return
			}
			t.exercise()
			g := j.consent.granted(j.consent.waits)
			switch {
			case len(j.consent.grants) == 0:
				t.violated(j, "%s wrote SCHEDULED at step %d, although nobody has approved it", Who(s.Event), s.Step)
			case g == nil:
				t.violated(j, "%s wrote SCHEDULED at step %d for a request with the hash %.12s; what was approved has %.12s",
					Who(s.Event), s.Step, j.consent.waits, j.consent.grants[len(j.consent.grants)-1].hash)
			}
		},
		stored: func(s *step, d *dispatch) {
			j := s.job
			if j.consent.decision != decisionApproval {
				return
			}
			for i := range s.Changes {
				if c := &s.Changes[i]; c.Stream == streamJobs && c.Seq == d.seq && !j.consent.approves(c.Value) {
					t.violated(j, "dispatch stored, %s seq %d at step %d, which is not what was approved", streamJobs, d.seq, d.step)
				}
			}
		},
	}
})

var approvalNotExpired = checking(Invariant{
	Name:   "approval-not-expired",
	Says:   "A job for which the safety kernel requires an approval is scheduled only while that of its request is no older than approval_ttl.",
	Kind:   Always,
	Source: "Scheduler internals, section 1, approval flow: approved within 24 hours",
}, func(f *facts, t *tally) checker {
	if !f.cfg.Approvals.Kernel {
		return checker{}
	}
	return checker{wrote: func(s *step, w *write) {
		j := s.job
		g := j.consent.granted(j.consent.waits)
		if w.from != pending || j.state != scheduled || j.consent.decision != decisionApproval || g == nil {
			return
		}
		t.exercise()
		if age := time.Duration(j.updated-g.at) * time.Millisecond; age > f.cfg.Approvals.TTL+approvalDoubt {
			t.violated(j, "%s wrote SCHEDULED at step %d, %s after it was approved; an approval counts for %s", Who(s.Event), s.Step, age, f.cfg.Approvals.TTL)
		}
	}}
})

// approves says whether what a dispatch asks for was approved.
func (c *consent) approves(dispatch string) bool {
	for i := range c.grants {
		if a, ok := c.known[c.grants[i].hash]; ok && a.does(dispatch) {
			return true
		}
	}
	return false
}

var approvedJobGoesOn = checking(Invariant{
	Name:   "approved-job-goes-on",
	Says:   "A job whose request has been approved, and has not changed since, waits for its approval no longer, unless that has grown too old.",
	Kind:   Eventually,
	Source: "Scheduler internals, section 1, approval flow; section 3, pending replayer, for an approval whose request is lost",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *facts, t *tally) checker {
	if !f.cfg.Approvals.Kernel {
		return checker{}
	}
	return checker{ended: func(end *End) {
		for _, j := range f.order {
			if len(j.consent.grants) == 0 {
				continue
			}
			t.exercise()
			g := j.consent.granted(j.consent.waits)
			if j.state == approvalRequired && g != nil && g.since >= j.consent.since && end.At <= g.since+f.cfg.Approvals.TTL {
				t.violated(j, "is still APPROVAL_REQUIRED%s, although it was approved at %s", j.since(), g.since)
			}
		}
	}}
})
