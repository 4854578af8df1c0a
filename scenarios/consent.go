package scenarios

import (
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// consent is what the record follows of a job's approval.
type consent struct {
	asks    bool          // the request that waits bears an approval
	granted time.Duration // when it was granted; 0 if it never was
	sent    int           // approved requests that were submitted, and not taken up yet
}

// approved says whether a request bears an approval.
func approved(packet string) bool {
	if !strings.Contains(packet, history.LabelGranted) {
		return false
	}
	r, err := history.Read[history.Request](packet)
	return err == nil && r.Granted()
}

// grants takes in what a job's record says of approvals.
func (g *consent) grants(f *history.Fact) {
	if packet, ok := f.Field("request"); ok {
		g.asks = approved(packet)
	}
	if _, ok := f.Field("approved_at"); ok {
		g.granted = f.At
	}
}

// waiting counts the jobs that wait for an approval which nobody will give.
func (r *run) waiting() (n int) {
	if !r.system.ApprovalsDone() {
		return 0
	}
	for _, j := range r.record.jobs {
		if j.State == "APPROVAL_REQUIRED" && (!j.consent.asks || r.tooOld(j)) {
			n++
		}
	}
	return n
}

// tooOld says whether the job's approval does not count any more.
func (r *run) tooOld(j *jobRecord) bool {
	p := &r.plan.Engine.Policy
	now := r.end
	if now == 0 {
		now = r.world.Now()
	}
	return p.BindApprovals && now > j.consent.granted+p.ApprovalTTL
}
