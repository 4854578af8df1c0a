package faults

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func smallWorld() World {
	return World{
		Jobs:  10,
		Nodes: []string{"scheduler-1", "worker-1", "worker-2"},
		Phases: []Phase{
			{Name: "publish", Place: PlacePublish}, {Name: "state_read", Place: PlaceStore}, {Name: "pick", Place: PlaceNone},
			{Name: "submit_ack", Place: PlaceSend}, {Name: "heartbeat", Place: PlaceSend, NoJob: true},
			{Name: "submit_deliver", Place: PlaceDeliver}, {Name: "effect", Place: PlaceWork},
		},
		Links: []Link{{Name: "heartbeats", Nodes: []string{"worker-1", "worker-2"}}},
	}
}

func TestValidFaults(t *testing.T) {
	for _, f := range []Fault{
		{On: &Match{Job: 3, Phase: "publish"}, Do: FailBefore, Times: 2},
		{On: &Match{Job: 10, Phase: "publish", Occurrence: 2, Node: "scheduler-1"}, Do: FailAfter},
		{On: &Match{Phase: "state_read"}, Do: Hang, Rate: 0.1},
		{On: &Match{Job: 3, Phase: "submit_ack"}, Do: Lose},
		{On: &Match{Job: 3, Phase: "submit_ack"}, Do: FailAfter},
		{On: &Match{Job: 3, Phase: "submit_deliver"}, Do: Lose},
		{On: &Match{Phase: "heartbeat", Node: "worker-1"}, Do: Lose, Rate: 1},
		{After: &Match{Job: 3, Phase: "effect", Occurrence: 2}, Do: Crash, Node: Actor, RestartIn: time.Second},
		{After: &Match{Job: 3, Phase: "submit_deliver"}, Do: Crash, Node: "worker-2"},
		{At: 5 * time.Second, Do: Crash, Node: "worker-1"},
		{At: 5 * time.Second, Do: Partition, Node: "worker-1", From: "heartbeats", For: time.Minute},
		{On: &Match{Job: 3, Phase: "publish"}, Do: Late, For: time.Minute, Times: 2},
		{After: &Match{Job: 3, Phase: "publish"}, Do: Pause, Node: Actor, For: 90 * time.Second},
		{At: 5 * time.Second, Do: Pause, Node: "scheduler-1", For: 90 * time.Second},
		{At: 5 * time.Second, Do: Restart, Node: NATS},
		{After: &Match{Job: 3, Phase: "publish"}, Do: Restart, Node: NATS, For: time.Minute},
		{At: 5 * time.Second, Do: Skew, Node: "scheduler-1", By: -time.Hour},
		{At: 5 * time.Second, Do: Failover, Node: Redis, Lag: time.Second},
		{After: &Match{Job: 3, Phase: "publish"}, Do: Failover, Node: Redis, Lag: time.Second},
		{At: 5 * time.Second, Do: PowerLoss, Node: NATS, Lag: time.Second, For: time.Minute},
		{After: &Match{Job: 3, Phase: "publish"}, Do: PowerLoss, Node: NATS, Lag: time.Second},
		{At: 5 * time.Second, Do: PowerLoss, Node: Redis},
		{After: &Match{Job: 3, Phase: "publish"}, Do: Kill, Node: Redis, For: time.Minute},
		{At: 5 * time.Second, Do: Kill, Node: NATS},
	} {
		assert.Empty(t, f.Validate(smallWorld()), "%v", f)
	}
}

func TestInvalidFaultsSayWhatWouldBeRight(t *testing.T) {
	on := func(phase string) *Match { return &Match{Job: 3, Phase: phase} }
	for _, c := range []struct {
		fault Fault
		want  string
	}{
		{Fault{Do: FailBefore}, "do: the fault does not say where it strikes; give one of on, after, and at (later than 0s)"},
		{Fault{On: on("publish"), At: time.Second, Do: FailBefore}, "at: the fault says more than once where it strikes: by on and by at; give exactly one of on, after and at"},
		{Fault{On: on("publish"), After: on("publish"), Do: FailBefore}, "after: the fault says more than once where it strikes: by on and by after; give exactly one of on, after and at"},
		{Fault{On: on("publish")}, "do: the fault does not say what it does; do is one of fail-before, fail-after, hang, late, lose, duplicate, crash, pause, partition, skew, restart, failover, kill, refusal, power-loss"},
		{Fault{On: on("publish"), Do: "fail-befor"}, `do: unknown fault "fail-befor"; do is one of fail-before, fail-after, hang, late, lose, duplicate, crash, pause, partition, skew, restart, failover, kill, refusal, power-loss (did you mean "fail-before"?)`},
		{Fault{On: on("publsh"), Do: Hang}, "on.phase: unknown phase \"publsh\"; `wavetank list faults` names the phases (did you mean \"publish\"?)"},
		{Fault{After: on("zebra"), Do: Crash, Node: Actor}, "after.phase: unknown phase \"zebra\"; `wavetank list faults` names the phases"},
		{Fault{On: &Match{Job: 3}, Do: Hang}, "on.phase: the phase is missing; say which operation, such as phase: publish"},
		{Fault{On: on("pick"), Do: Hang}, "on.phase: pick is no operation, so nothing can happen there; use the phase before or after it"},
		{Fault{On: on("publish"), Do: Lose}, "do: lose makes no sense for publish: its caller waits for an answer; use fail-before, or fail-after, or hang, or late, or after with crash"},
		{Fault{On: on("publish"), Do: Duplicate}, "do: duplicate makes no sense for publish: only a delivery can come twice; use fail-before, or fail-after, or hang, or late, or after with crash"},
		{Fault{On: on("submit_ack"), Do: Hang}, "do: hang makes no sense for submit_ack: its caller has no deadline; use fail-before, or fail-after, or lose, or after with crash"},
		{Fault{On: on("effect"), Do: FailBefore}, "do: fail-before makes no sense for effect: its caller sees no error; use after with crash"},
		{Fault{On: on("submit_deliver"), Do: FailBefore}, "do: fail-before makes no sense for submit_deliver: its caller sees no error; use lose, or duplicate, or after with crash"},
		{Fault{On: on("publish"), Do: Crash, Node: Actor}, "do: a crash comes after an operation, or at a time; replace on by after, or by at, such as at: 5s"},
		{Fault{After: on("publish"), Do: Crash}, "do: crash needs a node; add node: with one of actor, scheduler-1, worker-1, worker-2"},
		{Fault{After: on("publish"), Do: FailBefore}, "do: fail-before strikes an operation; say which one with on, or use a fault of a node: crash, pause or partition"},
		{Fault{At: time.Second, Do: Lose}, "do: lose strikes an operation; say which one with on, or use a fault of a node: crash, pause or partition"},
		{Fault{On: on("publish"), Do: Pause, Node: Actor, For: time.Second}, "do: a pause comes after an operation, or at a time; replace on by after, or by at, such as at: 5s"},
		{Fault{At: time.Second, Do: Restart}, "node: a restart strikes only nats; write node: nats"},
		{Fault{At: time.Second, Do: Restart, Node: "worker-1"}, "node: a restart strikes only nats; write node: nats"},
		{Fault{At: time.Second, Do: Failover, Node: NATS, Lag: time.Second}, "node: a failover strikes only redis; write node: redis"},
		{Fault{At: time.Second, Do: Skew, Node: "worker-1"}, "do: a skew needs by; say how far the clock is ahead, such as by: 40m, or by: -5s"},
		{Fault{At: time.Second, Do: Crash, Node: "worker-1", By: time.Second}, "by: by belongs to a skew; remove it"},
		{Fault{At: time.Second, Do: Failover, Node: Redis}, "do: a failover needs lag; say how far the replica is behind, such as lag: 500ms"},
		{Fault{On: on("publish"), Do: Failover, Node: Redis, Lag: time.Second}, "do: a failover comes after an operation, or at a time; replace on by after, or by at, such as at: 5s"},
		{Fault{At: time.Second, Do: Restart, Node: NATS, Lag: time.Second}, "lag: lag belongs to a failover or a power-loss; remove it"},
		{Fault{At: time.Second, Do: PowerLoss, Node: "worker-1", Lag: time.Second}, "node: a power-loss strikes only nats or redis; write node: nats, or node: redis"},
		{Fault{At: time.Second, Do: Kill, Node: Redis, Lag: time.Second}, "lag: lag belongs to a failover or a power-loss; remove it"},
		{Fault{At: time.Second, Do: Pause, Node: "worker-1"}, "do: a pause needs for; say how long, such as for: 90s"},
		{Fault{On: on("publish"), Do: Late}, "do: late needs for; say how long, such as for: 90s"},
		{Fault{On: on("submit_ack"), Do: Late, For: time.Second}, "do: late makes no sense for submit_ack: its caller has no deadline; use fail-before, or fail-after, or lose, or after with crash"},
		{Fault{On: on("state_read"), Do: Late, For: time.Second}, "do: late makes no sense for state_read: it changes nothing; use hang"},
		{Fault{At: time.Second, Do: Crash, Node: Actor}, "node: at a given time there is no actor; name the node"},
		{Fault{At: time.Second, Do: Crash, Node: "worker-3"}, `node: unknown node "worker-3"; the nodes are scheduler-1, worker-1, worker-2 (did you mean "worker-1"?)`},
		{Fault{On: on("publish"), Do: Partition, Node: "worker-1", From: "heartbeats"}, "do: a partition begins at a time; replace on or after by at, such as at: 5s"},
		{Fault{At: time.Second, Do: Partition, Node: "worker-1"}, "do: a partition needs from; say what the node is cut off from: from: heartbeats"},
		{Fault{At: time.Second, Do: Partition, Node: "worker-1", From: "heartbeat"}, `from: nothing is called "heartbeat"; from is one of heartbeats (did you mean "heartbeats"?)`},
		{Fault{At: time.Second, Do: Partition, Node: "scheduler-1", From: "heartbeats"}, "node: scheduler-1 has nothing to do with heartbeats; use one of worker-1, worker-2"},
		{Fault{On: &Match{Job: 11, Phase: "publish"}, Do: Hang}, "on.job: there is no job 11; the workload has jobs 1 to 10"},
		{Fault{On: &Match{Job: 1, Phase: "heartbeat"}, Do: Lose}, "on.job: the phase heartbeat belongs to no job; remove job, or name a node instead"},
		{Fault{On: &Match{Phase: "publish", Node: "scheduler-2"}, Do: Hang}, `on.node: unknown node "scheduler-2"; the nodes are scheduler-1, worker-1, worker-2 (did you mean "scheduler-1"?)`},
		{Fault{On: on("publish"), Do: Hang, Node: "scheduler-1"}, "node: hang strikes an operation, not a node; remove node, or write it inside on: {node: scheduler-1}"},
		{Fault{After: on("publish"), Do: Crash, Node: Actor, Rate: 0.5}, "rate: rate belongs to faults with on; remove it"},
		{Fault{After: on("publish"), Do: Crash, Node: Actor, Times: 2}, "times: times belongs to faults with on; remove it"},
		{Fault{On: on("publish"), Do: Hang, RestartIn: time.Second}, "restart_in: restart_in belongs to a crash; remove it"},
		{Fault{On: on("publish"), Do: Hang, For: time.Second}, "for: for belongs to late or a pause or a partition or a skew or a restart or a failover or a kill or a refusal or a power-loss; remove it"},
		{Fault{At: time.Second, Do: Crash, Node: "worker-1", From: "heartbeats"}, "from: from belongs to a partition; remove it"},
		{Fault{On: on("publish"), Do: Hang, Rate: 0.5, Times: 2}, "rate: rate already says how often; remove occurrence and times"},
	} {
		bad := c.fault.Validate(smallWorld())
		require.Len(t, bad, 1, c.want)
		assert.Equal(t, c.want, bad[0].Error())
	}

	var fields []string
	for _, bad := range (Fault{On: &Match{Job: 11, Phase: "publsh", Node: "worker-9"}, Do: "hangs"}).Validate(smallWorld()) {
		fields = append(fields, bad.Field)
	}
	assert.Equal(t, []string{"do", "on.phase", "on.job", "on.node"}, fields, "all that refers to nothing at once")

	fields = nil
	for _, bad := range (Fault{Do: FailAfter, On: &Match{Phase: "publish"}, Node: "worker-1", For: time.Second, Lag: time.Second, Rate: 0.5, Times: 2}).Validate(smallWorld()) {
		fields = append(fields, bad.Field)
	}
	assert.Equal(t, []string{"node", "for", "lag", "rate"}, fields, "the first that does not go together, and all that is of no use")
}

func TestAFaultSaysWhatItMeans(t *testing.T) {
	on := &Match{Job: 3, Phase: "publish"}
	assert.Equal(t, "the operation is applied, but the caller sees an error", Fault{On: on, Do: FailAfter}.Means())
	assert.Equal(t, "the caller sees a timeout at once, and the operation is applied after 30s: a write from the past", Fault{On: on, Do: Late, For: 30 * time.Second}.Means())
	assert.Empty(t, Fault{After: on, Do: Crash, Node: Actor}.Means(), "its name says it")
	for _, k := range Kinds() {
		if !k.OnNode() {
			assert.NotContains(t, Fault{On: on, Do: k.Effect}.Means(), "`", k.Effect)
		}
	}
}

func TestEveryEffectIsDescribed(t *testing.T) {
	seen := map[Effect]bool{}
	for _, k := range Kinds() {
		assert.NotEmpty(t, k.Says)
		assert.Contains(t, k.Example, "do: "+string(k.Effect))
		assert.Equal(t, slices.Contains([]Effect{Crash, Pause, Partition, Skew, Restart, Failover, Kill, Refusal, PowerLoss}, k.Effect), k.OnNode())
		seen[k.Effect] = true
	}
	for _, e := range []Effect{FailBefore, FailAfter, Hang, Late, Lose, Crash, Pause, Partition, Skew, Restart, Failover, Kill, Refusal, PowerLoss} {
		assert.True(t, seen[e], e)
	}
}

func TestManyNodesAreNamedByTheirEnds(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("worker-%d", i+1))
	}
	assert.Equal(t, "worker-1, worker-2, worker-3, worker-4, worker-5, worker-6, worker-7, worker-8, worker-9, worker-10, ..., worker-100", few(names))
}

func ExampleFault_Validate() {
	f := Fault{On: &Match{Job: 3, Phase: "publsh"}, Do: FailBefore}
	for _, bad := range f.Validate(World{Jobs: 10, Phases: []Phase{{Name: "publish", Place: PlacePublish}}}) {
		fmt.Println(bad)
	}
	// Output: on.phase: unknown phase "publsh"; `wavetank list faults` names the phases (did you mean "publish"?)
}
