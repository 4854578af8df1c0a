package invariants

import (
	"math/bits"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

// StrikeKind is what an injected fault does to a family of operations, to nodes of a sort, or to a server. None says
// what the scheduler did in consequence.
type StrikeKind int

// The kinds of strike.
const (
	PublishRefused StrikeKind = iota
	PublishUnanswered
	PublishLate
	WriteRefused
	WriteUnanswered
	WriteLate
	ReadFails
	LockFails
	DLQFails
	GuardFails
	TickFails
	SubmissionFails
	ResultLost
	AckLost
	DeliveryLost
	HeartbeatLost
	KernelFails
	SchedulerCrash
	SchedulerAway
	WorkerCrash
	WorkerAway
	NATSAway
	NATSPowerLoss
	RedisFailover
	ClockWrong

	strikeKinds int = iota
)

// kindWords names each kind, and says what such a strike is.
var kindWords = [strikeKinds]struct{ name, says string }{
	{"publish-refused", "a publish of a dispatch fails, and nothing is stored"},
	{"publish-unanswered", "a dispatch is stored, and its publisher sees an error"},
	{"publish-late", "a dispatch is stored after its publisher has given it up"},
	{"write-refused", "a state write fails, and nothing is applied"},
	{"write-unanswered", "a state write is applied, and its writer sees an error"},
	{"write-late", "a state write is applied after its writer has given it up"},
	{"read-fails", "a state read fails"},
	{"lock-fails", "taking, renewing or releasing a lock fails, or its answer is lost"},
	{"dlq-write-fails", "a write of a dead letter fails, or its answer is lost"},
	{"guard-fails", "an operation of the idempotency guard fails"},
	{"tick-fails", "an operation fails that one replica does for all: of a reconciler, a replayer, a poller or the snapshot's writer"},
	{"submission-fails", "publishing a request, an approval, a cancellation or a notice fails"},
	{"result-lost", "publishing a result fails"},
	{"ack-lost", "an ack, a nak or a sign of progress is lost"},
	{"delivery-lost", "a delivery is lost, and comes again, or it comes twice"},
	{"heartbeat-lost", "heartbeats of a worker are lost"},
	{"kernel-fails", "a call of the safety kernel fails, or an operation of the breaker in front of it"},
	{"scheduler-crash", "a scheduler crashes"},
	{"scheduler-away", "a scheduler is paused, or cut off from a server"},
	{"worker-crash", "a worker crashes"},
	{"worker-away", "a worker is paused, or cut off from a server"},
	{"nats-away", "NATS is down for a while"},
	{"nats-power-loss", "NATS loses its power, and with it the last messages"},
	{"redis-failover", "Redis fails over to a replica that is behind"},
	{"clock-wrong", "the clock of a node is wrong"},
}

func (k StrikeKind) String() string { return kindWords[k].name }

// FindStrike returns the kind of strike of that name.
func FindStrike(name string) (k StrikeKind, ok bool) {
	for _, k := range StrikeKinds() {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

// Says says what such a strike is.
func (k StrikeKind) Says() string { return kindWords[k].says }

// StrikeKinds lists the kinds of strike.
func StrikeKinds() (list []StrikeKind) { return every.list() }

// kinds is a set of kinds of strike.
type kinds uint32

// every is the set of all kinds.
const every kinds = 1<<strikeKinds - 1

func strikesOf(list ...StrikeKind) (set kinds) {
	for _, k := range list {
		set |= 1 << k
	}
	return set
}

func (set kinds) has(k StrikeKind) bool { return set&(1<<k) != 0 }

func (set kinds) list() (list []StrikeKind) {
	for ; set != 0; set &= set - 1 {
		list = append(list, StrikeKind(bits.TrailingZeros32(uint32(set))))
	}
	return list
}

// Strike is one injected fault that took effect.
type Strike struct {
	Kind  StrikeKind
	Step  int
	From  time.Duration
	Until time.Duration // of what lasts: when it ended; 0 while it does, and for what does not last
	Node  string        // the node or server that it hit, or whose operation
	Job   string        // the job whose operation it hit; "" for none
	Phase string        // the operation that it hit; "" for a node or a server
	Key   string        // what the operation was on
}

// StrikeOf returns the strike that an event tells of, by what the injector did and by nothing else.
func StrikeOf(e *sim.Event) (s Strike, ok bool) {
	s = Strike{Step: e.Step, From: e.At, Node: e.Node, Job: e.Job, Phase: e.Phase, Key: e.Target}
	switch {
	case e.Kind == sim.KindControl:
		s.Node, s.Key = e.Target, ""
		s.Kind, ok = nodeStrike(e.Name, e.Target)
	case e.Fault == string(faults.Partition) && e.Phase != "heartbeat" && e.Kind != sim.KindCall:
		s.Kind, ok = nodeStrike(e.Fault+" "+sim.NATS, e.Node)
	case e.Fault != "" && e.Phase != "":
		s.Kind, ok = operationStrike(faults.Effect(e.Fault), faults.FamilyOf(e.Phase)), true
	}
	return s, ok
}

// nodeStrike is the kind of what the harness did to a node or a server.
func nodeStrike(verb, node string) (k StrikeKind, ok bool) {
	scheduler, worker := strings.HasPrefix(node, schedulerNodes), strings.HasPrefix(node, workerNodes)
	verb, _, _ = strings.Cut(verb, " from ")
	switch verb {
	case string(faults.Crash):
		switch {
		case scheduler:
			return SchedulerCrash, true
		case worker:
			return WorkerCrash, true
		}
		return clientStrike(node), true
	case string(faults.Pause), "partition redis", "partition nats":
		switch {
		case scheduler:
			return SchedulerAway, true
		case worker:
			return WorkerAway, true
		}
		return clientStrike(node), true
	case "partition " + kernelNode:
		return KernelFails, true
	case string(faults.Partition):
		return HeartbeatLost, worker
	case string(faults.Skew):
		return ClockWrong, true
	case string(faults.Failover):
		return RedisFailover, true
	case "stop":
		return NATSAway, true
	case string(faults.PowerLoss):
		return NATSPowerLoss, true
	}
	return 0, false
}

// clientStrike is the kind for a node that is neither scheduler nor worker: the safety kernel, or a client.
func clientStrike(node string) StrikeKind {
	if node == kernelNode {
		return KernelFails
	}
	return SubmissionFails
}

// operationStrike is the kind of an effect on an operation of a family.
func operationStrike(do faults.Effect, f faults.Family) StrikeKind {
	effect := 0
	switch do {
	case faults.FailAfter:
		effect = 1
	case faults.Late:
		effect = 2
	}
	switch f {
	case faults.FamilyPublish:
		return PublishRefused + StrikeKind(effect)
	case faults.FamilyWrite:
		return WriteRefused + StrikeKind(effect)
	}
	return familyKinds[f]
}

// familyKinds is the kind of whatever strikes a family of which effects are not told apart.
var familyKinds = map[faults.Family]StrikeKind{
	faults.FamilySubmit: SubmissionFails, faults.FamilyResult: ResultLost, faults.FamilyRead: ReadFails, faults.FamilyLock: LockFails,
	faults.FamilyDLQ: DLQFails, faults.FamilyGuard: GuardFails, faults.FamilyAck: AckLost, faults.FamilyDeliver: DeliveryLost,
	faults.FamilyHeartbeat: HeartbeatLost, faults.FamilyTick: TickFails, faults.FamilyKernel: KernelFails,
}
