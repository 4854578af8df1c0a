package scheduler

import (
	"bytes"
	"context"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/sim"
)

// Tags reads what the engine and the world's actors say of their calls.
func Tags(ctx context.Context) sim.Tags {
	t := phase.From(ctx)
	return sim.Tags{Job: t.Job, Phase: string(t.Phase)}
}

// workerID reads the sender of a heartbeat.
func workerID(data []byte) string {
	_, rest, _ := bytes.Cut(data, []byte(`"worker_id":"`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(id)
}

// MessageTags says which job a message is for, and what its phase is called.
func MessageTags(subject string, h nats.Header, data []byte) sim.Tags {
	t := sim.Tags{}
	if ids := h["Job-Id"]; len(ids) > 0 {
		t.Job = ids[0]
	}
	switch {
	case subject == "sys.job.submit":
		t.Phase = "submit"
	case subject == "sys.job.result":
		t.Phase = "result"
	case subject == "sys.job.cancel":
		t.Phase = "cancel"
	case subject == "sys.heartbeat":
		t.Phase = "heartbeat"
		t.Job = workerID(data) // the unit of work is the worker
	case strings.HasPrefix(subject, "worker.") && strings.HasSuffix(subject, ".cancel"):
		t.Phase = "notice"
	case len(h["Job-Void"]) > 0:
		t.Phase = "void"
	case strings.HasPrefix(subject, "worker."), strings.HasPrefix(subject, "job."):
		t.Phase = "job"
	}
	return t
}
