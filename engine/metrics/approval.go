package metrics

import "github.com/prometheus/client_golang/prometheus"

// Why an approval does not count.
const (
	RefusedChanged = "changed" // the request is not the one that was approved
	RefusedExpired = "expired" // it is older than policy.approval_ttl
)

// Approvals are the collectors of approvals (Scheduler internals, section 1, approval flow).
type Approvals struct {
	ApprovalsRequired *prometheus.CounterVec // topic; jobs that were parked until somebody approves them
	ApprovalsGranted  *prometheus.CounterVec // topic; jobs that went on since somebody had
	ApprovalsRefused  *prometheus.CounterVec // topic, reason; requests with an approval that does not count
}

func newApprovals(counters func(name, help string, labels ...string) *prometheus.CounterVec) Approvals {
	return Approvals{
		ApprovalsRequired: counters("scheduler_approvals_required_total", "Jobs that were parked until somebody approves them.", "topic"),
		ApprovalsGranted:  counters("scheduler_approvals_granted_total", "Jobs that went on as they had been approved.", "topic"),
		ApprovalsRefused:  counters("scheduler_approvals_refused_total", "Requests with an approval that does not count, by the reason.", "topic", "reason"),
	}
}
