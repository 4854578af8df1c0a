package world

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// execution is one dispatch that the worker is at.
type execution struct {
	job.Dispatch
	stop context.CancelFunc
}

// answered deals with what is no dispatch, and takes no slot: a cancel notice, or a message that stands
// in a dispatch's place.
func (r *running) answered(msg jetstream.Msg) bool {
	switch {
	case msg.Subject() == "worker."+r.ID+".cancel":
		go r.hear(msg)
	case msg.Headers().Get(job.HeaderVoid) != "":
		go func() { _ = msg.Ack() }()
	default:
		return false
	}
	return true
}

// hear ends what a cancel notice is about.
func (r *running) hear(msg jetstream.Msg) {
	var c job.Cancel
	if json.Unmarshal(msg.Data(), &c) != nil {
		_ = msg.Term()
		return
	}
	r.mu.Lock()
	r.cancelled[c.JobID] = max(r.cancelled[c.JobID], c.Epoch)
	for _, x := range r.under {
		if x.JobID == c.JobID && x.Epoch <= c.Epoch {
			x.stop()
		}
	}
	r.mu.Unlock()
	_ = msg.Ack()
}

// enter begins an execution, unless the job is cancelled.
func (r *running) enter(x *execution) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if epoch, cancelled := r.cancelled[x.JobID]; cancelled && x.Epoch <= epoch {
		return false
	}
	r.under = append(r.under, x)
	return true
}

func (r *running) leave(x *execution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.under = slices.DeleteFunc(r.under, func(y *execution) bool { return x == y })
}
