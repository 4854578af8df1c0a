package scenarios

import (
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// approved says whether a request carries an approval.
func approved(packet string) bool {
	if !strings.Contains(packet, history.LabelGranted) {
		return false
	}
	r, err := history.Read[history.Request](packet)
	return err == nil && r.Granted()
}

// waiting counts the jobs that wait for an approval that nobody will give.
func (r *run) waiting() (n int) {
	if !r.system.ApprovalsDone() {
		return 0
	}
	for _, j := range r.record.jobs {
		if j.State == "APPROVAL_REQUIRED" && r.judge.Facts.Unapproved(r.record.known(j), r.world.Now()) {
			n++
		}
	}
	return n
}
