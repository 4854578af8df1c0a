package faults

import (
	"slices"

	"github.com/wavetank-sim/wavetank/sim"
)

// Place is what kind of operation a phase is, which decides what can go wrong there.
type Place string

// The places.
const (
	PlaceStore   Place = "store"   // a store command: answered, with a deadline
	PlacePublish Place = "publish" // a publish that the stream acknowledges: answered, with a deadline
	PlaceSend    Place = "send"    // a message that nobody confirms: ack, nak, term, heartbeat
	PlaceDeliver Place = "deliver" // a message that is handed over
	PlaceCall    Place = "call"    // a call of a gRPC server: answered, with a deadline
	PlaceWork    Place = "work"    // a step of a node's own: an execution's side effect
	PlaceNone    Place = "none"    // no operation: nothing can happen there
)

// Phase names operations by what they are for.
type Phase struct {
	Name   string `json:"name"`
	Says   string `json:"says"`
	Place  Place  `json:"place"`
	Family Family `json:"family"`           // the operations for which a fault means the same
	NoJob  bool   `json:"no_job,omitempty"` // its operations are not about a job
}

// Link is what a partition can cut: something that nodes send, or their way to a server.
type Link struct {
	Name  string   `json:"name"`
	Says  string   `json:"says"`
	Nodes []string `json:"nodes"` // those that have it
}

// The servers, which any world has: links that a partition can cut, and nodes: NATS one that a restart and a
// power-loss are of, and Redis one that a failover is of.
const (
	Redis = sim.Redis // cut off, every command fails at once: no connection can be made
	NATS  = sim.NATS  // cut off, calls time out, and what nobody confirms is lost, both ways
)

// Kind describes one effect.
type Kind struct {
	Effect  Effect  `json:"name"`
	Says    string  `json:"says"`
	Places  []Place `json:"places,omitempty"` // what it can strike; empty for an effect on a node
	Server  string  `json:"server,omitempty"` // the one that it strikes; empty for any other effect
	Example string  `json:"example"`          // one entry of a plan's faults
}

// OfServer reports whether the effect strikes a server.
func (e Effect) OfServer() bool {
	k, _ := kind(e)
	return k.Server != ""
}

// OnNode reports whether the effect strikes a node rather than an operation.
func (k Kind) OnNode() bool { return len(k.Places) == 0 }

// Strikes reports whether the effect can strike an operation of that phase.
func (k Kind) Strikes(p Phase) bool {
	return slices.Contains(k.Places, p.Place) && (k.Effect != Late || !Reads(p.Name))
}

// Kinds lists every effect.
func Kinds() []Kind {
	written := []Place{PlaceStore, PlacePublish}
	answered := append(slices.Clone(written), PlaceCall)
	return []Kind{
		{FailBefore, "the caller sees an error, and nothing was applied", append(answered, PlaceSend), "",
			"{on: {job: 3, phase: publish, occurrence: 1}, do: fail-before, times: 2}"},
		{FailAfter, "it was applied, and the caller sees an error all the same", append(answered, PlaceSend), "",
			"{on: {job: 3, phase: publish}, do: fail-after}"},
		{Hang, "it is never applied, and the caller waits until its own deadline", answered, "",
			"{on: {job: 3, phase: dispatched_write}, do: hang}"},
		{Late, "the caller sees a timeout at once, and it is applied when `for` is over: a write from the past", written, "",
			"{on: {job: 3, phase: dispatched_write}, do: late, for: 30s}"},
		{Lose, "it never arrives, and nobody learns of it, as nobody confirms it", []Place{PlaceSend, PlaceDeliver}, "",
			"{on: {job: 3, phase: submit_ack}, do: lose}"},
		{Crash, "the process is gone, with all that it had in memory; restart_in brings up a new one", nil, "",
			"{after: {job: 2, phase: dispatched_write}, do: crash, node: actor, restart_in: 30s}"},
		{Pause, "the process stands still for `for`, as in a long garbage collection: its deadlines pass, and its locks expire", nil, "",
			"{after: {job: 3, phase: dispatched_write}, do: pause, node: actor, for: 90s}"},
		{Partition, "the node is cut off from `from` until `for` is over: what it sends of that is lost, or fails", nil, "",
			"{at: 5s, do: partition, node: worker-1, from: heartbeats, for: 1m}"},
		{Skew, "the node's clock is wrong until `for` is over: ahead by `by`, or behind, where that is negative", nil, "",
			"{at: 5s, do: skew, node: scheduler-2, by: 40m, for: 10m}"},
		{Restart, "the server stops, and starts again when `for` is over, with what it has on file", nil, NATS,
			"{at: 10s, do: restart, node: nats, for: 5s}"},
		{Failover, "a replica that is `lag` behind takes the server's place: what was written since is lost, though its writers were told otherwise", nil, Redis,
			"{after: {job: 3, phase: running_write}, do: failover, node: redis, lag: 500ms}"},
		{PowerLoss, "the server starts again when `for` is over without what its streams stored in the last `lag`, which was not on its disk yet, though its publishers were told otherwise", nil, NATS,
			"{after: {job: 3, phase: publish}, do: power-loss, node: nats, lag: 1s}"},
	}
}

// kind returns the description of e.
func kind(e Effect) (Kind, bool) {
	all := Kinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Effect == e })
	if i < 0 {
		return Kind{}, false
	}
	return all[i], true
}

func effectNames() []string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k.Effect))
	}
	return names
}
