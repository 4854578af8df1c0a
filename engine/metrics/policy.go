package metrics

import "github.com/prometheus/client_golang/prometheus"

// The circuits of SafetyCircuitState.
const (
	CircuitSafety = "safety"
	CircuitOutput = "output"
)

// What SafetyCircuitState says of a circuit.
const (
	CircuitClosed   = 0
	CircuitHalfOpen = 1
	CircuitOpen     = 2
)

// Policy are the collectors of the input policy (Scheduler internals, sections 6 and 10).
type Policy struct {
	SafetyDenied       *prometheus.CounterVec // topic; jobs that the safety kernel denied
	SafetyUnavailable  *prometheus.CounterVec // topic; questions to it that were not answered, or not put as the circuit is open
	InputFailOpen      *prometheus.CounterVec // topic; jobs that went on without a decision
	SafetyCircuitState *prometheus.GaugeVec   // circuit; as this replica saw it last: CircuitClosed, CircuitHalfOpen or CircuitOpen
}

func newPolicy(counters func(name, help string, labels ...string) *prometheus.CounterVec) Policy {
	return Policy{
		SafetyDenied:      counters("safety_denied", "Jobs that the safety kernel denied.", "topic"),
		SafetyUnavailable: counters("safety_unavailable", "Questions to the safety kernel without an answer: it failed, or the circuit is open.", "topic"),
		InputFailOpen:     counters("cordum_scheduler_input_fail_open_total", "Jobs that went on without a decision, as the safety kernel could not be reached.", "topic"),
		SafetyCircuitState: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "safety_circuit_state", Help: "A circuit as this replica saw it last: 0 closed, 1 half-open, 2 open.",
		}, []string{"circuit"}),
	}
}
