package history

import "strings"

// Names of Scheduler internals, section 6, and of the gRPC contract.
const (
	breakerPrefix = "cordum:cb:safety"
	MethodCheck   = "Check"
	methodOutput  = "CheckOutput"

	DecisionAllow       = "ALLOW"
	DecisionConstrained = "ALLOW_WITH_CONSTRAINTS"
	DecisionApproval    = "REQUIRE_APPROVAL"
	DecisionDeny        = "DENY"
	DecisionThrottle    = "THROTTLE"
	DecisionFailOpen    = "FAIL_OPEN"
)

var decisions = [...]string{"", DecisionAllow, DecisionConstrained, DecisionApproval, DecisionDeny, DecisionThrottle}

var outputDecisions = [...]string{"", OutputAllow, "QUARANTINE", OutputDeny, OutputRedact}

// Circuit is one of the two that Scheduler internals has a key for.
type Circuit int

const (
	CircuitSafety Circuit = iota
	CircuitOutput
	Circuits
)

var CircuitNames = [Circuits]string{"safety", "output"}

// Services are what the calls go to that the circuits are of.
var Services = [Circuits]string{"safety kernel", "output policy"}

// CircuitOf tells whose key it is.
func CircuitOf(key string) Circuit {
	if strings.HasPrefix(key, breakerPrefix+":output") {
		return CircuitOutput
	}
	return CircuitSafety
}

// Called tells which circuit a call is of; ok is false for other calls.
func Called(method string) (c Circuit, ok bool) {
	switch method {
	case MethodCheck:
		return CircuitSafety, true
	case methodOutput:
		return CircuitOutput, true
	}
	return 0, false
}

// The states of a circuit.
const (
	Closed   = "closed"
	Open     = "open"
	HalfOpen = "half-open"
)
