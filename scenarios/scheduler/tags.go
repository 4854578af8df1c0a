package scheduler

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Tags reads what the engine and the world's actors say of their calls.
func Tags(ctx context.Context) sim.Tags {
	t := phase.From(ctx)
	return sim.Tags{Job: t.Job, Phase: string(t.Phase)}
}

// messagePhases maps messages to the names of their phases.
var messagePhases = map[history.What]string{
	history.Submission: "submit", history.Result: "result", history.Cancellation: "cancel", history.Heartbeat: "heartbeat",
	history.Notice: "notice", history.Void: "void", history.Dispatch: "job",
}

// MessageTags says which job a message is for, and names its phase.
func MessageTags(subject string, h nats.Header, data []byte) sim.Tags {
	t := sim.Tags{}
	if ids := h[history.HeaderJob]; len(ids) > 0 {
		t.Job = ids[0]
	}
	what, _ := history.SubjectOf(subject, len(h[history.HeaderVoid]) > 0)
	if what == history.Heartbeat {
		t.Job = history.SenderOf(data) // the unit of work is the worker
	}
	t.Phase = messagePhases[what]
	return t
}
