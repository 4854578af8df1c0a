package history

import "strings"

// Names from Scheduler internals, section 6, and from the gRPC contract.
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

// Circuit is one of the two circuits that have a key in Scheduler internals.
type Circuit int

const (
	CircuitSafety Circuit = iota
	CircuitOutput
	Circuits
)

var CircuitNames = [Circuits]string{"safety", "output"}

// Services are the services that the circuits guard.
var Services = [Circuits]string{"safety kernel", "output policy"}

// CircuitOf returns the circuit of a key.
func CircuitOf(key string) Circuit {
	if strings.HasPrefix(key, breakerPrefix+":output") {
		return CircuitOutput
	}
	return CircuitSafety
}

// Called returns the circuit of a call; ok is false for other calls.
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
