package faults

import (
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// Place is the kind of a phase's operations. It decides what can go wrong there.
type Place string

// The places.
const (
	PlaceStore   Place = "store"   // a store command: it has an answer and a deadline
	PlacePublish Place = "publish" // a publish that the stream acknowledges: it has an answer and a deadline
	PlaceSend    Place = "send"    // ack, nak, term, heartbeat: the sender waits for no answer, except with DoubleAck
	PlaceDeliver Place = "deliver" // the delivery of a message
	PlaceCall    Place = "call"    // a call of a gRPC server: it has an answer and a deadline
	PlaceWork    Place = "work"    // a step of a node's own: an execution's side effect
	PlaceNone    Place = "none"    // no operation: nothing can happen there
)

// Phase describes the operations that serve one purpose.
type Phase struct {
	Name   string `json:"name"`
	Says   string `json:"says"`
	Place  Place  `json:"place"`
	Family Family `json:"family"`           // the operations for which a fault has the same meaning
	NoJob  bool   `json:"no_job,omitempty"` // its operations concern no job
}

// Link is what a partition can cut: messages that nodes send, or their connection to a server.
type Link struct {
	Name  string   `json:"name"`
	Says  string   `json:"says"`
	Nodes []string `json:"nodes"` // the nodes that have the link
}

// The servers of every world. A partition can cut their links, and they can be killed and lose power.
const (
	Redis = sim.Redis // a node that is cut off from it can make no connection, so every command fails at once
	NATS  = sim.NATS  // a node that is cut off from it waits for answers in vain, and unconfirmed messages are lost, both ways
)

// Kind is the single description of an effect. Plans, their validation, the search, stories and help all read
// it.
type Kind struct {
	Effect  Effect            `json:"name"`
	Says    string            `json:"says"`
	Places  []Place           `json:"places,omitempty"`  // where it can strike; empty for an effect on a node
	Servers []string          `json:"servers,omitempty"` // the servers that it strikes; empty for any other effect
	Lost    map[string]string `json:"-"`                 // what it makes each server lose
	Keys    []Key             `json:"keys,omitempty"`    // the keys that it takes, besides those that say where it strikes
	Struck  string            `json:"-"`                 // what a story says of a strike; {operation}, {node}, {from}, {for}, {by}, {after} and {loss} stand for what was hit, the values of the keys, and what was lost
	Over    string            `json:"-"`                 // what a story says of its end; empty if it does not last
	Unfit   string            `json:"-"`                 // why it cannot strike operations of other places
	Rare    int               `json:"-"`                 // a search draws it into one plan of so many, since hardly a promise survives it; 0 is as often as others
	Example string            `json:"example"`           // one entry of a plan's faults
}

// Key is a key that only some kinds of fault take.
type Key struct {
	Name  string          `json:"name"`
	Words string          `json:"-"` // the words for its value in a fault's sentence
	Need  string          `json:"-"` // what to do if it is missing; empty if it may be
	Draws []time.Duration `json:"-"` // the values that a search draws, the plainest first
	Names []string        `json:"-"` // the names that it can have, if its values are names
	Heal  bool            `json:"-"` // 0 means until the heal, which a search draws, too
}

// KindOf returns the description of e; it is empty if e is no effect.
func KindOf(e Effect) Kind {
	if i := slices.IndexFunc(catalogue, func(k Kind) bool { return k.Effect == e }); i >= 0 {
		return catalogue[i]
	}
	return Kind{}
}

// OfServer reports whether the effect strikes a server.
func (e Effect) OfServer() bool { return len(KindOf(e).Servers) > 0 }

// OnNode reports whether the effect strikes a node rather than an operation.
func (k Kind) OnNode() bool { return len(k.Places) == 0 }

// Takes reports whether the kind takes a key.
func (k Kind) Takes(key string) bool {
	return slices.ContainsFunc(k.Keys, func(own Key) bool { return own.Name == key })
}

// String names the kind in a sentence.
func (k Kind) String() string {
	if k.OnNode() {
		return "a " + string(k.Effect)
	}
	return string(k.Effect)
}

// Strikes reports whether the effect can strike an operation of that phase.
func (k Kind) Strikes(p Phase) bool {
	return slices.Contains(k.Places, p.Place) && (k.Effect != Late || !Reads(p.Name))
}

// Kinds returns the descriptions of all effects.
func Kinds() []Kind { return slices.Clone(catalogue) }

// Places that several kinds strike, and lengths that a search draws.
var (
	written  = []Place{PlaceStore, PlacePublish}
	answered = []Place{PlaceStore, PlacePublish, PlaceCall}
	seen     = []Place{PlaceStore, PlacePublish, PlaceCall, PlaceSend}

	lags   = []time.Duration{sec, 10 * time.Millisecond, 100 * time.Millisecond, 10 * sec}
	downs  = []time.Duration{0, sec, 10 * sec, mins}
	stands = []time.Duration{10 * sec, sec, 70 * sec, 5 * mins}
)

const (
	noError, noDeadline = "its caller sees no error", "its caller has no deadline"
	unsynced            = "it comes back without what it had not synced to its disk, though it had acknowledged it"
	sec, mins           = time.Second, time.Minute
)

// How rare are kinds that take many promises: a wrong clock those that go by times, and what a server forgets or refuses more than
// twice as many. So five plans of six have none of them.
const (
	timesRare  = 16
	memoryRare = 32
)

var catalogue = []Kind{
	{Effect: FailBefore, Says: "the caller sees an error, and the operation is not applied", Places: seen, Unfit: noError,
		Struck:  "{operation} failed, and nothing was applied (fail-before)",
		Example: "{on: {job: 3, phase: publish, occurrence: 1}, do: fail-before, times: 2}"},
	{Effect: FailAfter, Says: "the operation is applied, but the caller sees an error", Places: seen, Unfit: noError,
		Struck:  "{operation} was applied, and its caller was told of an error (fail-after)",
		Example: "{on: {job: 3, phase: publish}, do: fail-after}"},
	{Effect: Hang, Says: "the operation is never applied, and the caller waits until its own deadline", Places: answered, Unfit: noDeadline,
		Struck:  "{operation} hung until its caller's deadline, and was not applied (hang)",
		Example: "{on: {job: 3, phase: dispatched_write}, do: hang}"},
	{Effect: Late, Says: "the caller sees a timeout at once, and the operation is applied when `for` is over: a write from the past",
		Places: written, Unfit: noDeadline,
		Keys:    []Key{{Name: "for", Words: ", by %s", Need: "say how long, such as for: 90s", Draws: stands}},
		Struck:  "{operation} was held up{for}, and its caller was told of a timeout (late)",
		Example: "{on: {job: 3, phase: dispatched_write}, do: late, for: 30s}"},
	{Effect: Lose, Says: "the message never arrives, and nobody learns of the loss unless the message was to be confirmed",
		Places: []Place{PlaceSend, PlaceDeliver}, Unfit: "its caller waits for an answer",
		Struck:  "{operation} was lost on its way (lose)",
		Example: "{on: {job: 3, phase: submit_ack}, do: lose}"},
	{Effect: Duplicate, Says: "the message is delivered twice: the second delivery comes at once, while the first is being handled",
		Places: []Place{PlaceDeliver}, Unfit: "only a delivery can come twice",
		Struck:  "{operation} was made twice, the second while the first was being handled (duplicate)",
		Example: "{on: {job: 3, phase: submit_deliver}, do: duplicate}"},
	{Effect: Crash, Says: "the process dies and loses its memory; a new one starts after restart_in",
		Keys: []Key{{Name: "restart_in", Words: ", restarted after %s", Heal: true,
			Draws: []time.Duration{50 * time.Millisecond, sec, 10 * sec, mins, 11 * mins}}},
		Struck: "{node} crashed{after}", Over: "{node} restarted",
		Example: "{after: {job: 2, phase: dispatched_write}, do: crash, node: actor, restart_in: 30s}"},
	{Effect: Pause, Says: "the process stands still for `for`, as in a long garbage collection: its deadlines pass, and its locks expire",
		Keys:   []Key{{Name: "for", Words: " for %s", Need: "say how long, such as for: 90s", Draws: stands}},
		Struck: "{node} was paused{for}{after}", Over: "the pause of {node} was over",
		Example: "{after: {job: 3, phase: dispatched_write}, do: pause, node: actor, for: 90s}"},
	{Effect: Partition, Says: "the node is cut off from `from` until `for` is over: what it sends there is lost, or fails",
		Keys:   []Key{{Name: "from", Words: " from %s"}, {Name: "for", Words: " for %s", Draws: []time.Duration{sec, 10 * sec, mins, 5 * mins}, Heal: true}},
		Struck: "a partition cut {node} off from {from}{for}", Over: "the partition of {node} from {from} was over",
		Example: "{at: 5s, do: partition, node: worker-1, from: heartbeats, for: 1m}"},
	{Effect: Skew, Says: "the node's wall clock is wrong until `for` is over: it is ahead by `by`, or behind if `by` is negative; its monotonic clock stays right", Rare: timesRare,
		Keys: []Key{{Name: "by", Words: " by %s", Need: "say how far the clock is ahead, such as by: 40m, or by: -5s",
			Draws: []time.Duration{sec, -sec, mins, -mins, time.Hour, -time.Hour}},
			{Name: "for", Words: " for %s", Draws: []time.Duration{sec, 10 * sec, mins, 11 * mins}, Heal: true}},
		Struck: "a skew put the clock of {node} {by}{for}{after}", Over: "the clock of {node} was right again",
		Example: "{at: 5s, do: skew, node: scheduler-2, by: 40m, for: 10m}"},
	{Effect: Restart, Says: "the server stops, and starts again when `for` is over, with what is in its files", Servers: []string{NATS},
		Keys:   []Key{{Name: "for", Words: ", away for %s", Draws: downs}},
		Struck: "a restart took nats-server away{for}{after}", Over: "nats-server was back",
		Example: "{at: 10s, do: restart, node: nats, for: 5s}"},
	{Effect: Failover, Says: "a replica that is `lag` behind takes the server's place: the writes of that time are lost, although they were acknowledged; until `for` is over, nobody reaches the replica",
		Servers: []string{Redis}, Rare: memoryRare, Lost: map[string]string{Redis: "what the replica does not have yet is lost, although it was acknowledged"},
		Keys: []Key{{Name: "lag", Words: " to a replica that is %s behind", Need: "say how far the replica is behind, such as lag: 500ms", Draws: lags},
			{Name: "for", Words: ", away for %s", Draws: downs}},
		Struck: "a failover put a replica in the place of Redis{after}{loss}", Over: "Redis was there again",
		Example: "{after: {job: 3, phase: running_write}, do: failover, node: redis, lag: 500ms, for: 5s}"},
	{Effect: Kill, Says: "the server's process is killed, and starts again when `for` is over, with what it had written to its files: Redis with its whole append-only file, or with its last snapshot (world.redis_disk); nats-server without the last acks of its consumers, since it writes acks ten times a second",
		Servers: []string{NATS, Redis}, Rare: memoryRare,
		Lost:   map[string]string{NATS: "it comes back without the last acks of its consumers"},
		Keys:   []Key{{Name: "for", Words: ", away for %s", Draws: downs}},
		Struck: "{node} was killed{after}{loss}", Over: "{node} was back",
		Example: "{at: 10s, do: kill, node: redis, for: 5s}"},
	{Effect: Refusal, Says: "until `for` is over, the server answers the commands that it cannot execute with an error: without memory, or with a full disk, it executes no writes; while it loads its data or runs a script, it executes nothing",
		Servers: []string{Redis}, Rare: memoryRare,
		Keys: []Key{{Name: "with", Words: ", %s", Need: "say why, such as with: oom", Names: Refusals()},
			{Name: "for", Words: ", for %s", Need: "say how long, such as for: 30s", Draws: stands}},
		Struck: "Redis began to refuse commands ({with}){after}", Over: "Redis refused nothing any more",
		Example: "{at: 10s, do: refusal, node: redis, with: oom, for: 30s}"},
	{Effect: PowerLoss, Says: "the server starts again when `for` is over, without what was not on its disk yet, although it was acknowledged: what was stored since the last sync (world.sync_interval, world.redis_disk); with `lag`, at most what was stored in the last `lag`",
		Servers: []string{NATS, Redis}, Rare: memoryRare,
		Lost: map[string]string{NATS: unsynced, Redis: unsynced},
		Keys: []Key{{Name: "for", Words: ", away for %s", Draws: downs},
			{Name: "lag", Words: ", which takes what was stored in the last %s", Draws: append(slices.Clone(lags), 0)}},
		Struck: "a power loss took {node} down{after}{loss}", Over: "{node} was back",
		Example: "{after: {job: 3, phase: publish}, do: power-loss, node: nats, lag: 1s}"},
}

func effectNames() []string {
	var names []string
	for _, k := range catalogue {
		names = append(names, string(k.Effect))
	}
	return names
}

// Reads says whether faults on a phase strike its reads rather than its writes. A `_write` phase may read
// before it writes; its faults strike the write. A call is neither.
func Reads(phase string) bool {
	return strings.HasSuffix(phase, "_read") || strings.HasSuffix(phase, "_deliver")
}
