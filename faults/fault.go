package faults

import "time"

// Effect is what a fault does, as a plan names it.
type Effect string

// Effects on one operation.
const (
	FailBefore Effect = "fail-before" // never applied; the caller sees an error
	FailAfter  Effect = "fail-after"  // applied; the caller sees an error all the same
	Hang       Effect = "hang"        // never applied; the caller waits until its own deadline
	Lose       Effect = "lose"        // never applied; the caller of an unconfirmed send (ack, nak, term, heartbeat) sees success, and the caller of a confirmed ack waits in vain
	Duplicate  Effect = "duplicate"   // applied; the message is delivered once more while the first delivery is handled
	Late       Effect = "late"        // the caller sees a timeout at once; applied once Fault.For has passed
)

// Effects on a node.
const (
	Crash     Effect = "crash"      // the process ends; a new incarnation starts after Fault.RestartIn
	Pause     Effect = "pause"      // the process stands still for Fault.For
	Partition Effect = "partition"  // the node is cut off from Fault.From for Fault.For
	Skew      Effect = "skew"       // the node's wall clock is ahead by Fault.By, or behind if that is negative, for Fault.For
	Restart   Effect = "restart"    // a server stops, and starts again after Fault.For
	Failover  Effect = "failover"   // a replica replaces a server; it lacks the writes of the last Fault.Lag, which are lost
	Kill      Effect = "kill"       // a server's process is killed, and starts again on its files after Fault.For
	Refusal   Effect = "refusal"    // a server refuses commands with an error, Fault.With, for Fault.For
	PowerLoss Effect = "power-loss" // a server loses power, and starts again after Fault.For without what was not on its disk
)

// Fault is one semantic decision: what goes wrong, and where. Exactly one of On, After and At says where; Do
// says what. The tags give the ranges that a plan is checked against, and the meanings of its keys.
type Fault struct {
	On        *Match        `yaml:"on,omitempty" json:"on,omitempty" doc:"the fault strikes the operation that matches, in place of its effect"`
	After     *Match        `yaml:"after,omitempty" json:"after,omitempty" doc:"the fault strikes right after the operation that matches was applied, or refused by its server, and before its caller learns of the outcome"`
	At        time.Duration `yaml:"at,omitempty" json:"at,omitempty" min:"1ns" max:"720h" doc:"the fault strikes at this time since the world began"`
	Do        Effect        `yaml:"do" json:"do" like:"fail-before" doc:"what goes wrong, as wavetank list faults names it"`
	Rate      float64       `yaml:"rate,omitempty" json:"rate,omitempty" min:"0.000001" max:"1" doc:"with on: the fault strikes each operation that matches with this probability"`
	Times     int           `yaml:"times,omitempty" json:"times,omitempty" min:"1" max:"1000000" doc:"with on: how many operations in a row the fault strikes, beginning with the given occurrence; 1 if not given"`
	Node      string        `yaml:"node,omitempty" json:"node,omitempty" like:"scheduler-1" doc:"for a fault that strikes a node: which node; actor is the node that ran the operation that matches"`
	From      string        `yaml:"from,omitempty" json:"from,omitempty" like:"redis" doc:"for partition: what the node is cut off from"`
	With      string        `yaml:"with,omitempty" json:"with,omitempty" like:"oom" doc:"for refusal: why Redis refuses commands: oom (maxmemory, with the policy noeviction), full-disk (MISCONF), readonly, noreplicas (min-replicas-to-write), loading or busy (a script)"`
	For       time.Duration `yaml:"for,omitempty" json:"for,omitempty" min:"0s" max:"720h" doc:"how long the fault lasts, or how late the operation is; for a partition and a skew, 0 is until the heal"`
	By        time.Duration `yaml:"by,omitempty" json:"by,omitempty" min:"-720h" max:"720h" doc:"for skew: how far ahead the clock is; a negative value, such as -5s, is behind"`
	Lag       time.Duration `yaml:"lag,omitempty" json:"lag,omitempty" min:"1ms" max:"1h" doc:"for failover: how far the replica is behind; for power-loss: how long before the loss the disk had everything, if that is later than the last sync; 0 is the last sync"`
	RestartIn time.Duration `yaml:"restart_in,omitempty" json:"restart_in,omitempty" min:"0s" max:"720h" doc:"for crash: how long until the node starts again; 0 is until the heal, and for ever if nothing heals"`
}

// Value returns the value of one of the keys of f's kind: a duration or a name. 0 and "" mean that it is not
// set.
func (f *Fault) Value(key string) (d *time.Duration, name string) {
	switch key {
	case "for":
		return &f.For, ""
	case "by":
		return &f.By, ""
	case "lag":
		return &f.Lag, ""
	case "restart_in":
		return &f.RestartIn, ""
	case "with":
		return nil, f.With
	}
	return nil, f.From
}

// Match selects operations by their meaning, never by an offset into a run.
type Match struct {
	Job        int    `yaml:"job,omitempty" json:"job,omitempty" min:"0" max:"100000" doc:"the number of the job; 0 is any job"`
	Phase      string `yaml:"phase" json:"phase" like:"publish" doc:"the operation, as wavetank list faults names it"`
	Occurrence int    `yaml:"occurrence,omitempty" json:"occurrence,omitempty" min:"1" max:"1000000" doc:"which such operation of that job, or of each job if job is 0; the first if not given"`
	Node       string `yaml:"node,omitempty" json:"node,omitempty" like:"scheduler-1" doc:"the operation must be of this node; empty is any node"`
}
