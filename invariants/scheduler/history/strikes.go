package history

import (
	"strings"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/sim"
)

// The kinds of strike. None describes what the scheduler did in consequence.
const (
	PublishRefused    invariants.StrikeKind = "publish-refused"
	PublishUnanswered invariants.StrikeKind = "publish-unanswered"
	PublishLate       invariants.StrikeKind = "publish-late"
	WriteRefused      invariants.StrikeKind = "write-refused"
	WriteUnanswered   invariants.StrikeKind = "write-unanswered"
	WriteLate         invariants.StrikeKind = "write-late"
	ReadFails         invariants.StrikeKind = "read-fails"
	LockFails         invariants.StrikeKind = "lock-fails"
	DLQFails          invariants.StrikeKind = "dlq-write-fails"
	GuardFails        invariants.StrikeKind = "guard-fails"
	TickFails         invariants.StrikeKind = "tick-fails"
	SubmissionFails   invariants.StrikeKind = "submission-fails"
	AckLost           invariants.StrikeKind = "ack-lost"
	DeliveryLost      invariants.StrikeKind = "delivery-lost"
	HeartbeatLost     invariants.StrikeKind = "heartbeat-lost"
	KernelFails       invariants.StrikeKind = "kernel-fails"
	SchedulerCrash    invariants.StrikeKind = "scheduler-crash"
	SchedulerAway     invariants.StrikeKind = "scheduler-away"
	WorkerCrash       invariants.StrikeKind = "worker-crash"
	WorkerAway        invariants.StrikeKind = "worker-away"
	NATSAway          invariants.StrikeKind = "nats-away"
	NATSPowerLoss     invariants.StrikeKind = "nats-power-loss"
	RedisFailover     invariants.StrikeKind = "redis-failover"
	RedisDeath        invariants.StrikeKind = "redis-death"
	ClockWrong        invariants.StrikeKind = "clock-wrong"
)

// Strikes is the vocabulary of strikes on a scheduler.
var Strikes = invariants.Vocabulary{
	{PublishRefused, "a publish of a dispatch fails, and nothing is stored"},
	{PublishUnanswered, "a dispatch is stored, and its publisher sees an error"},
	{PublishLate, "a dispatch is stored after its publisher has given it up"},
	{WriteRefused, "a state write fails, and nothing is applied"},
	{WriteUnanswered, "a state write is applied, and its writer sees an error"},
	{WriteLate, "a state write is applied after its writer has given it up"},
	{ReadFails, "a state read fails"},
	{LockFails, "taking, renewing or releasing a lock fails, or its answer is lost"},
	{DLQFails, "a write of a dead letter fails, or its answer is lost"},
	{GuardFails, "an operation of the idempotency guard fails"},
	{TickFails, "an operation fails that one replica does for all: of a reconciler, a replayer, a poller, the snapshot's writer, or the breaker's shared counter; or the replica that does it is struck itself"},
	{SubmissionFails, "publishing a request, an approval, a cancellation, a notice or a result fails, or another operation of a client"},
	{AckLost, "an ack, a nak or a sign of progress is lost"},
	{DeliveryLost, "a delivery is lost, and comes again, or it comes twice"},
	{HeartbeatLost, "heartbeats of a worker are lost, or a replica that starts cannot read the snapshot of them"},
	{KernelFails, "a call of the safety kernel fails"},
	{SchedulerCrash, "a scheduler crashes"},
	{SchedulerAway, "a scheduler is paused, or cut off from a server"},
	{WorkerCrash, "a worker crashes"},
	{WorkerAway, "a worker is paused, or cut off from a server"},
	{NATSAway, "NATS is down for a while, and a killed one forgets the last acks"},
	{NATSPowerLoss, "NATS loses its power, and with it the last messages"},
	{RedisFailover, "Redis fails over to a replica that is behind"},
	{RedisDeath, "Redis is killed or loses its power, and with it what was not on its disk"},
	{ClockWrong, "the wall clock of a node is wrong"},
}

func StrikesOf(list ...invariants.StrikeKind) invariants.Kinds { return Strikes.Set(list...) }

// StrikeOf returns the strike in an event. It depends only on what the injector did.
func StrikeOf(e *sim.Event) (s invariants.Strike, ok bool) {
	s = invariants.Strike{Step: e.Step, From: e.At, Node: e.Node, Job: e.Job, Phase: e.Phase, Key: e.Target}
	switch {
	case e.Kind == sim.KindControl:
		s.Node, s.Key = e.Target, ""
		s.Kind, ok = nodeStrike(e.Name, e.Target)
		if s.Kind == RedisDeath && len(e.Changes) == 0 {
			ok = false // nothing is lost: it is an outage, and events of their own say that the nodes are cut off
		}
	case e.Fault == string(faults.Partition) && !Beats(e) && e.Kind != sim.KindCall:
		s.Kind, ok = nodeStrike(e.Fault+" "+sim.NATS, e.Node)
	case e.Fault != "" && e.Phase != "" && IsClient(e.Node):
		s.Kind, ok = SubmissionFails, true
	case e.Fault != "" && e.Phase != "":
		s.Kind, ok = OperationStrike(faults.Effect(e.Fault), faults.FamilyOf(e.Phase)), true
	}
	return s, ok
}

// nodeStrike is the kind of strike for what the harness did to a node or a server.
func nodeStrike(verb, node string) (k invariants.StrikeKind, ok bool) {
	verb, _, _ = strings.Cut(verb, " from ")
	switch verb {
	case string(faults.Crash):
		return onNode(node, SchedulerCrash, WorkerCrash), true
	case string(faults.Pause), "partition redis", "partition nats":
		return onNode(node, SchedulerAway, WorkerAway), true
	case "partition " + KernelNode:
		return KernelFails, true
	case string(faults.Partition):
		return HeartbeatLost, strings.HasPrefix(node, WorkerNodes)
	case string(faults.Skew):
		return ClockWrong, true
	case string(faults.Failover):
		return RedisFailover, true
	case "stop":
		return NATSAway, true
	case string(faults.Kill), string(faults.PowerLoss):
		switch {
		case node == sim.Redis:
			return RedisDeath, true
		case verb == string(faults.Kill): // no message is lost
			return NATSAway, true
		}
		return NATSPowerLoss, true
	}
	return "", false
}

// onNode is the kind of strike on a whole node: scheduler or worker, by the node's role.
func onNode(node string, scheduler, worker invariants.StrikeKind) invariants.StrikeKind {
	switch {
	case strings.HasPrefix(node, SchedulerNodes):
		return scheduler
	case strings.HasPrefix(node, WorkerNodes):
		return worker
	case node == KernelNode:
		return KernelFails
	}
	return SubmissionFails
}

// IsClient says whether a node submits, approves or cancels.
func IsClient(node string) bool {
	return node != "" && !IsServer(node) && !strings.HasPrefix(node, SchedulerNodes) && !strings.HasPrefix(node, WorkerNodes)
}

// IsServer says whether a node serves all others: NATS, Redis or the safety kernel.
func IsServer(node string) bool {
	return node == sim.NATS || node == sim.Redis || node == KernelNode
}

// OperationStrike is the kind of strike for an effect on an operation of a family.
func OperationStrike(do faults.Effect, f faults.Family) invariants.StrikeKind {
	effect := 0
	switch do {
	case faults.FailAfter:
		effect = 1
	case faults.Late:
		effect = 2
	}
	switch f {
	case faults.FamilyPublish:
		return [...]invariants.StrikeKind{PublishRefused, PublishUnanswered, PublishLate}[effect]
	case faults.FamilyWrite:
		return [...]invariants.StrikeKind{WriteRefused, WriteUnanswered, WriteLate}[effect]
	}
	return familyKinds[f]
}

// familyKinds are the kinds of strike of families whose effects are not distinguished.
var familyKinds = map[faults.Family]invariants.StrikeKind{
	faults.FamilySubmit: SubmissionFails, faults.FamilyResult: SubmissionFails, faults.FamilyRead: ReadFails, faults.FamilyLock: LockFails,
	faults.FamilyDLQ: DLQFails, faults.FamilyGuard: GuardFails, faults.FamilyAck: AckLost, faults.FamilyDeliver: DeliveryLost,
	faults.FamilyHeartbeat: HeartbeatLost, faults.FamilyTick: TickFails, faults.FamilyKernel: KernelFails,
}
