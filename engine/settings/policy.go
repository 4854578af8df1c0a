package settings

import (
	"fmt"
	"time"
)

// FailMode says what becomes of a job of which the safety kernel says nothing, since it cannot be reached
// or the circuit is open (Scheduler internals, section 6, input policy fail mode).
type FailMode string

// The fail modes of Scheduler internals.
const (
	FailModeClosed FailMode = "closed" // it is asked about again later (documented)
	FailModeOpen   FailMode = "open"   // it goes on without a decision
)

// Policy are the knobs of the safety kernel, its circuit breaker and approvals (Scheduler internals, sections
// 1 and 6).
type Policy struct {
	FailMode      FailMode      `yaml:"fail_mode" json:"fail_mode" oneof:"closed,open" doc:"what happens to a job while the safety kernel cannot be reached: closed, the job waits; open, it goes on without a decision (Scheduler internals)"`
	Timeout       time.Duration `yaml:"timeout" json:"timeout" min:"1ms" max:"10m" doc:"deadline of one call to the safety kernel (Scheduler internals)"`
	ThrottleDelay time.Duration `yaml:"throttle_delay" json:"throttle_delay" min:"1ms" max:"1h" doc:"delay when the safety kernel throttles (Scheduler internals)"`
	OpenDelay     time.Duration `yaml:"open_delay" json:"open_delay" min:"1ms" max:"1h" doc:"delay when the circuit to the safety kernel is open (Scheduler internals)"`

	ApprovalTTL   time.Duration `yaml:"approval_ttl" json:"approval_ttl" min:"1s" max:"8760h" doc:"how old an approval may be when its job goes on, by the clock of Redis (Scheduler internals, approval flow)"`
	BindApprovals bool          `yaml:"bind_approvals" json:"bind_approvals" doc:"an approval counts only for the request that was approved, and only until it is older than approval_ttl; otherwise the label approval_granted is enough (Scheduler internals, approval flow)"`

	CircuitFailBudget  int           `yaml:"circuit_fail_budget" json:"circuit_fail_budget" min:"1" max:"1000" doc:"consecutive failures that open the circuit (Scheduler internals)"`
	CircuitOpenFor     time.Duration `yaml:"circuit_open_for" json:"circuit_open_for" min:"100ms" max:"1h" doc:"how long the circuit stays open (Scheduler internals)"`
	CircuitHalfOpenMax int           `yaml:"circuit_half_open_max" json:"circuit_half_open_max" min:"1" max:"1000" doc:"calls that may be made while the circuit is half-open (Scheduler internals)"`
	CircuitCloseAfter  int           `yaml:"circuit_close_after" json:"circuit_close_after" min:"1" max:"1000" doc:"successes in half-open that close the circuit (Scheduler internals)"`
	SharedBreaker      bool          `yaml:"shared_breaker" json:"shared_breaker" doc:"all replicas count failures in one Redis key, and see at once that the circuit is open; otherwise each replica counts its own failures (Scheduler internals)"`
	SharedProbes       bool          `yaml:"shared_probes" json:"shared_probes" doc:"with shared_breaker, the calls in half-open and their successes are counted in Redis, too; otherwise each replica may make as many calls as the limit"`
}

func documentedPolicy() Policy {
	return Policy{
		FailMode:           FailModeClosed,
		Timeout:            2 * time.Second,
		ThrottleDelay:      5 * time.Second,
		OpenDelay:          5 * time.Second,
		ApprovalTTL:        24 * time.Hour,
		BindApprovals:      true,
		CircuitFailBudget:  3,
		CircuitOpenFor:     30 * time.Second,
		CircuitHalfOpenMax: 3,
		CircuitCloseAfter:  2,
		SharedBreaker:      true,
	}
}

func hardenedPolicy() Policy {
	p := documentedPolicy()
	p.SharedProbes = true
	return p
}

// validate says what keeps the knobs from agreeing with each other.
func (p *Policy) validate() error {
	if p.CircuitCloseAfter > p.CircuitHalfOpenMax {
		return fmt.Errorf("settings: policy.circuit_close_after is %d; it must not be more than policy.circuit_half_open_max, %d, since the circuit would never close", p.CircuitCloseAfter, p.CircuitHalfOpenMax)
	}
	return nil
}
