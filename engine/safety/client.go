package safety

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/safety/safetypb"
)

// Client asks the safety kernel through a breaker. All fields are required. It is safe for concurrent use.
type Client struct {
	Conn    grpc.ClientConnInterface
	Breaker *Breaker
	Timeout time.Duration // of one call: safetyTimeout of Scheduler internals
}

// Check returns the kernel's verdict on a request. Its error is ErrUnavailable to errors.Is, and ErrOpen
// too if the call was not made.
func (c *Client) Check(ctx context.Context, req *job.Request) (Verdict, error) {
	var answer *safetypb.CheckResponse
	ctx = phase.With(ctx, req.JobID, phase.SafetyCheck)
	err := c.Breaker.Do(ctx, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		answer, err = safetypb.NewSafetyKernelClient(c.Conn).Check(ctx, question(req))
		return err
	})
	if err != nil {
		return Verdict{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return verdict(answer), nil
}

func question(req *job.Request) *safetypb.CheckRequest {
	_, replay := req.Labels[job.LabelReplayOf]
	return &safetypb.CheckRequest{
		JobId:    req.JobID,
		Topic:    req.Topic,
		Tenant:   job.TenantOf(req.Tenant),
		Priority: req.Priority,
		Labels:   req.Labels,
		Requires: req.Requires,
		JobHash:  req.Hash(),
		Replay:   replay,
	}
}

// verdict takes a decision that it does not know for a denial (Scheduler internals, section 1, DENY / UNKNOWN).
func verdict(answer *safetypb.CheckResponse) Verdict {
	v := Verdict{Reason: answer.GetReason(), Snapshot: answer.GetPolicySnapshot()}
	switch answer.GetDecision() {
	case safetypb.Decision_ALLOW:
		v.Decision = Allow
	case safetypb.Decision_ALLOW_WITH_CONSTRAINTS:
		v.Decision, v.Constraints = AllowWithConstraints, answer.GetConstraints()
	case safetypb.Decision_REQUIRE_APPROVAL:
		v.Decision = RequireApproval
	case safetypb.Decision_THROTTLE:
		v.Decision = Throttle
	case safetypb.Decision_DENY:
		v.Decision = Deny
	default:
		v.Decision, v.Reason = Deny, fmt.Sprintf("the safety kernel's decision %v is not known here", answer.GetDecision())
	}
	return v
}
