package faults

import "time"

// Effect is what a fault does, in the word that a plan uses for it.
type Effect string

// Effects on one operation.
const (
	FailBefore Effect = "fail-before" // the caller sees an error; nothing was applied
	FailAfter  Effect = "fail-after"  // applied; the caller sees an error all the same
	Hang       Effect = "hang"        // never applied; the caller waits until its own deadline
	Lose       Effect = "lose"        // never applied; the caller sees success (an unconfirmed send: ack, nak, term, heartbeat)
	Late       Effect = "late"        // the caller sees a timeout at once; applied when Fault.For has passed
)

// Effects on a node.
const (
	Crash     Effect = "crash"     // the process is gone; Fault.RestartIn brings up a new incarnation
	Pause     Effect = "pause"     // the process stands still for Fault.For
	Partition Effect = "partition" // the node is cut off from Fault.From for Fault.For
	Restart   Effect = "restart"   // a server stops, and starts again when Fault.For has passed
)

// Fault is one semantic decision: what goes wrong, where. Exactly one of On, After and At says
// where; Do says what. The tags carry the ranges that a plan is checked against.
type Fault struct {
	On        *Match        `yaml:"on,omitempty" json:"on,omitempty"`                      // instead of the matching operation's effect
	After     *Match        `yaml:"after,omitempty" json:"after,omitempty"`                // right after the matching operation was applied, before its caller learns of it
	At        time.Duration `yaml:"at,omitempty" json:"at,omitempty" min:"1ns" max:"720h"` // at this virtual time since the start
	Do        Effect        `yaml:"do" json:"do"`
	Rate      float64       `yaml:"rate,omitempty" json:"rate,omitempty" min:"0.000001" max:"1"`          // with On: hits each matching operation with this probability, in (0, 1]
	Times     int           `yaml:"times,omitempty" json:"times,omitempty" min:"0" max:"1000000"`         // with On: how many occurrences in a row, from Match.Occurrence; 0 means 1
	Node      string        `yaml:"node,omitempty" json:"node,omitempty"`                                 // for node effects: the node's name, or "actor", whoever ran the matching operation; for restart: "nats"
	From      string        `yaml:"from,omitempty" json:"from,omitempty"`                                 // for partition: what is cut off; one of World.Links
	For       time.Duration `yaml:"for,omitempty" json:"for,omitempty" min:"0s" max:"720h"`               // for partition, pause, late and restart: how long; 0 is, for a partition, until the heal
	RestartIn time.Duration `yaml:"restart_in,omitempty" json:"restart_in,omitempty" min:"0s" max:"720h"` // for crash: until the next incarnation starts; 0 is never
}

// Match selects operations by meaning, never by an offset into a run.
type Match struct {
	Job        int    `yaml:"job,omitempty" json:"job,omitempty" min:"0" max:"100000"`                // the workload's n-th job, from 1; 0 is any job
	Phase      string `yaml:"phase" json:"phase"`                                                     // see Phases
	Occurrence int    `yaml:"occurrence,omitempty" json:"occurrence,omitempty" min:"0" max:"1000000"` // the n-th such operation of that job (of each job when Job is 0), from 1; 0 means 1
	Node       string `yaml:"node,omitempty" json:"node,omitempty"`                                   // only on this node; empty is any
}
