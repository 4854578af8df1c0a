package samples

import "time"

// Alert is an alert that fired over a recording.
type Alert struct {
	Name    string            `json:"name"`
	Labels  map[string]string `json:"labels"`            // those of the rule, and of what it is about
	Summary string            `json:"summary"`           // as it was when it began to fire
	Fired   time.Duration     `json:"fired_ns"`          // the evaluation at which it began to fire
	Over    time.Duration     `json:"over_ns,omitempty"` // the evaluation at which it no longer fired; 0 if there was none
}
