package dlq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/audit"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/recovery"
)

// handOver stores and publishes a replay, and notes in its entry that it is replayed, and under which changed policy.
func (r *Replayer) handOver(ctx context.Context, was read, req job.Request, changed, by string) error {
	at := func(p phase.Phase) context.Context { return phase.With(ctx, was.JobID, p) }
	update := at(phase.DLQUpdate)
	c := change{to: was.Entry, event: audit.Event{Kind: EventReplayed, Reason: "as " + req.JobID, By: by}}
	c.to.ReplayStatus, c.to.ReplayJob, c.to.NextReplayAt, c.to.ReplayReason = Replayed, req.JobID, 0, changed
	if changed != "" {
		c.event.Reason += "; " + changed
	}
	if !r.Atomic {
		if err := r.submit(update, &req); err != nil {
			return err
		}
	} else {
		c.due = r.Clock.Now() // until its request is published
		c.absent = req.JobID
		if r.CheckCommitted && was.IdempotencyKey != "" {
			c.undone = committedKey(was.Tenant, was.IdempotencyKey)
		}
		c.also = func(ctx context.Context, p redis.Pipeliner) error { return r.Create(ctx, p, &req) }
	}
	err := r.Queue.apply(update, was, &c)
	if errors.Is(err, errTaken) {
		there, unread := r.Request(at(phase.DLQEntryRead), req.JobID)
		switch {
		case unread != nil && !errors.Is(unread, recovery.ErrOwn):
			return unread
		case there.Labels[job.LabelReplayOf] != req.Labels[job.LabelReplayOf]:
			return r.end(ctx, was, Quarantined, "there is another job "+req.JobID+" already", EventTriaged, byWorker)
		}
		c.absent, c.also = "", nil // it is the replay: a failover of Redis has lost that the entry was replayed
		err = r.Queue.apply(update, was, &c)
	}
	if err != nil {
		return err
	}
	r.tell(ctx, &c.to)
	if !r.Atomic {
		return nil
	}
	body, err := json.Marshal(c.to)
	if err != nil {
		return err
	}
	return r.publish(ctx, was.JobID, body, &req)
}

// submit stores and publishes a replay, as any client does.
func (r *Replayer) submit(ctx context.Context, req *job.Request) error {
	_, err := r.Queue.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error { return r.Create(ctx, p, req) })
	if err != nil {
		return err
	}
	return r.Publish(phase.With(ctx, phase.From(ctx).Job, phase.ReplayPublish), req)
}

// publishAgain publishes a replay that may not have been.
func (r *Replayer) publishAgain(ctx context.Context, was read) error {
	req, err := r.Request(phase.With(ctx, was.JobID, phase.DLQEntryRead), was.ReplayJob)
	if errors.Is(err, redis.Nil) {
		return r.Queue.settle(phase.With(ctx, was.JobID, phase.DLQUpdate), was.JobID, was.body)
	}
	if err != nil {
		return err
	}
	return r.publish(ctx, was.JobID, was.body, &req)
}

// publish puts a replay before the schedulers, and settles the entry that it is about.
func (r *Replayer) publish(ctx context.Context, about string, body []byte, req *job.Request) error {
	if err := r.Publish(phase.With(ctx, about, phase.ReplayPublish), req); err != nil {
		return err
	}
	return r.Queue.settle(phase.With(ctx, about, phase.DLQUpdate), about, body)
}

// request is the job that replays an entry. An approval of the original is not one of its replay.
func (r *Replayer) request(ctx context.Context, orig job.Request, e *Entry) job.Request {
	root, n := e.JobID, 1
	if e.ReplayOf != "" {
		root, n = e.ReplayOf, e.ReplayCount+1
	}
	req := orig
	req.JobID = root + "-replay-" + strconv.Itoa(n)
	if !r.Atomic {
		req.JobID += fmt.Sprintf("-%08x", uint32(r.Draw(ctx)))
	}
	req.Labels = job.WithoutOwnLabels(orig.Labels)
	req.Labels[job.LabelReplayOf], req.Labels[job.LabelReplayCount] = root, strconv.Itoa(n)
	if !r.KeepKey {
		req.IdempotencyKey = req.JobID
	}
	if e.Payload != "" {
		req.Payload = json.RawMessage(e.Payload)
	}
	return req
}
