package worker

import (
	"context"
	"encoding/json"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
)

// beat says that the worker lives and how busy it is, until left is closed, and then once more. From stop on it says
// so, and that it is full, so that no more comes.
func (w *Worker) beat(ctx context.Context, stop, left <-chan struct{}) {
	sent := w.outage("heartbeat not sent; trying again", "heartbeats are sent again")
	tick := w.Clock.NewTicker(w.HeartbeatEvery)
	defer tick.Stop()
	for stopping, last := false, false; ; {
		h := job.Heartbeat{WorkerID: w.ID, Pool: w.Pool, Topics: w.Topics, ActiveJobs: w.active(), MaxParallelJobs: w.MaxParallel, Labels: w.Labels, Capabilities: w.Capabilities, Stopping: stopping}
		if w.Load != nil {
			h.CPULoad, h.GPUUtilization = w.Load(h.ActiveJobs)
		}
		if stopping {
			h.ActiveJobs = h.MaxParallelJobs
		}
		data, err := json.Marshal(h)
		if err == nil {
			err = w.NATS.Publish(bus.SubjectHeartbeat, data)
		}
		sent.Says(err)
		w.mute.Store(err != nil)
		if last {
			return
		}
		select {
		case <-tick.Chan():
		case <-w.hurry:
		case <-stop:
			stopping, stop = true, nil // once
			tick.Reset(min(w.HeartbeatEvery, farewellEvery))
		case <-left:
			last = true
		case <-ctx.Done():
			return
		}
	}
}

// BeatNow asks for a heartbeat before its time: somebody new may listen.
func (w *Worker) BeatNow() {
	select {
	case w.hurry <- struct{}{}:
	default: // one is due already
	}
}

func (w *Worker) active() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.begun)
}
