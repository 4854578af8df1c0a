package world

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/sim"
)

// Worker executes what is dispatched to it. It acknowledges a dispatch once the result is
// published, so a worker that dies in the middle executes the job again: at least once, as most
// workers in production.
//
// A cancel notice ends the execution that it is about, which then has no result: the job's record says
// CANCELLED already. A dispatch of that epoch, or an older one, that comes after the notice is not
// executed; that is remembered in memory, so a worker that starts anew executes such a dispatch after
// all. A worker whose slots are all taken, with one more dispatch in hand, hears no notice until a slot
// is free.
type Worker struct {
	ID             string
	Pool           string
	Labels         map[string]string // what hints may ask for (Scheduler internals, section 5), as the next
	Capabilities   []string
	MaxParallel    int
	HeartbeatEvery time.Duration
	Work           func(jobID string) time.Duration // how long an execution takes
	Status         func(jobID string) job.Status    // what it answers; nil is SUCCEEDED
	Fail           func(jobID string) *Failure      // how an execution that is over has failed, or nil
	Deduplicate    bool                             // refuse a second execution of an idempotency key that is done, or under way here
	Ledger         *Ledger
	Outputs        bool // executions put something out, which the result points to
}

// The names of what a worker does, as they stand in the trace.
const (
	KindEffect sim.Kind = "effect"

	EffectBegin = "begin"
	EffectDone  = "finish"

	PhaseEffect    phase.Phase = "effect"
	PhaseOutput    phase.Phase = "output_store"
	PhaseResult    phase.Phase = "result_publish"
	PhaseHeartbeat phase.Phase = "heartbeat"
)

const (
	dispatchStream = "CORDUM_JOBS"
	resultSubject  = "sys.job.result"
	heartbeats     = "sys.heartbeat"
	jobHeader      = "Job-Id"

	ackWait   = 10 * time.Minute
	fetchWait = time.Minute
)

// Run is the worker's main function.
func (k Worker) Run(p *sim.Process) {
	ctx := p.Context()
	r := &running{Worker: k, p: p, slots: make(chan struct{}, k.MaxParallel), busy: map[string]uint64{}, cancelled: map[string]int64{}}
	go r.beat()
	consumer := r.consumer(ctx)
	for {
		batch, err := consumer.Fetch(r.free(), jetstream.FetchMaxWait(fetchWait))
		if err != nil {
			p.Clock().Sleep(time.Second)
			continue
		}
		for msg := range batch.Messages() {
			if r.answered(msg) {
				continue
			}
			select {
			case r.slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			go func() {
				defer func() { <-r.slots }()
				r.execute(ctx, msg)
			}()
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// running is one incarnation of a worker.
type running struct {
	Worker
	p      *sim.Process
	slots  chan struct{} // one for each job in execution
	active atomic.Int64

	mu        sync.Mutex
	busy      map[string]uint64 // with Deduplicate: the idempotency keys in execution, and the message of each
	under     []*execution      // in execution
	cancelled map[string]int64  // the jobs that were cancelled, and the epoch up to which their dispatches are void
}

func (r *running) consumer(ctx context.Context) jetstream.Consumer {
	for {
		c, err := r.p.JetStream().CreateOrUpdateConsumer(ctx, dispatchStream, jetstream.ConsumerConfig{
			Durable: "jobs-" + r.ID, FilterSubjects: []string{"worker." + r.ID + ".jobs", "worker." + r.ID + ".jobs.>", "worker." + r.ID + ".cancel"},
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait,
		})
		if err == nil {
			return c
		}
		r.p.Clock().Sleep(time.Second)
	}
}

// free is how many more jobs the worker could take: the size of its next pull. A full worker asks
// for one, which waits for a slot.
func (r *running) free() int { return max(1, cap(r.slots)-len(r.slots)) }

// beat says that the worker lives, and how busy it is.
func (r *running) beat() {
	tick := r.p.Clock().NewTicker(r.HeartbeatEvery)
	defer tick.Stop()
	for {
		data, _ := json.Marshal(job.Heartbeat{
			WorkerID: r.ID, Pool: r.Pool, ActiveJobs: int(r.active.Load()), MaxParallelJobs: r.MaxParallel,
			Labels: r.Labels, Capabilities: r.Capabilities,
		})
		_ = r.p.NATS().Publish(heartbeats, data)
		select {
		case <-tick.Chan():
		case <-r.p.Context().Done():
			return
		}
	}
}

func (r *running) execute(ctx context.Context, msg jetstream.Msg) {
	var d job.Dispatch
	if json.Unmarshal(msg.Data(), &d) != nil {
		_ = msg.Term()
		return
	}
	if r.Deduplicate {
		if !r.claim(d.IdempotencyKey, msg) {
			return
		}
		defer r.release(d.IdempotencyKey)
	}
	r.active.Add(1)
	defer r.active.Add(-1)
	if failure, over := r.done(ctx, d, msg); over {
		for r.Outputs && r.putOut(phase.With(ctx, d.JobID, PhaseOutput), d) != nil {
			r.p.Clock().Sleep(time.Second)
		}
		r.report(ctx, d, failure)
		if failure != nil && failure.Succeeds > 0 {
			r.succeedAfterAll(ctx, d, failure)
		}
	}
	_ = msg.Ack()
}

// done executes a dispatch, and says whether it has a result, and which: one that is cancelled has none.
func (r *running) done(ctx context.Context, d job.Dispatch, msg jetstream.Msg) (failure *Failure, over bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	x := &execution{d, stop}
	if !r.enter(x) {
		return nil, false
	}
	defer r.leave(x)
	if r.Deduplicate && r.Ledger.Count(d.IdempotencyKey) > 0 {
		return nil, true
	}
	return r.act(phase.With(ctx, d.JobID, PhaseEffect), d, msg)
}

// claim says whether the worker may begin: no other copy of the dispatch is in execution here. That
// copy answers for this one, which is done with; but a message that is only delivered again stays, in
// case its first delivery comes to nothing.
func (r *running) claim(key string, msg jetstream.Msg) bool {
	md, err := msg.Metadata()
	if err != nil {
		return true
	}
	r.mu.Lock()
	first, begun := r.busy[key]
	if !begun {
		r.busy[key] = md.Sequence.Stream
	}
	r.mu.Unlock()
	if begun && first != md.Sequence.Stream {
		_ = msg.Ack()
	}
	return !begun
}

func (r *running) release(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.busy, key)
}

// act has the job's effect on the outside, and keeps the dispatch from being delivered again for
// as long as that takes. It says whether that came to its end, and how.
func (r *running) act(ctx context.Context, d job.Dispatch, msg jetstream.Msg) (failure *Failure, over bool) {
	_ = r.p.Do(ctx, KindEffect, EffectBegin, d.IdempotencyKey, func() error { return nil })
	for left := r.Work(d.JobID); left > 0; {
		d := min(left, ackWait/2)
		timer := r.p.Clock().NewTimer(d)
		select {
		case <-timer.Chan():
		case <-ctx.Done():
			timer.Stop()
			return nil, false
		}
		if left -= d; left > 0 {
			_ = msg.InProgress()
		}
	}
	if r.Fail != nil {
		failure = r.Fail(d.JobID)
	}
	return failure, r.end(ctx, d, failure) == nil
}

func (r *running) answer(ctx context.Context, d job.Dispatch, failure *Failure) error {
	status := job.StatusSucceeded
	if r.Status != nil {
		status = r.Status(d.JobID)
	}
	res := job.Result{JobID: d.JobID, WorkerID: r.ID, Status: status, Epoch: d.Epoch}
	if r.Outputs {
		res.ResultPtr = outputKey(d)
	}
	data, err := json.Marshal(failure.result(res))
	if err != nil {
		return err
	}
	header := nats.Header{jobHeader: {d.JobID}}
	if d.Epoch > 0 {
		header[job.HeaderEpoch] = []string{strconv.FormatInt(d.Epoch, 10)}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = r.p.JetStream().PublishMsg(ctx, &nats.Msg{Subject: resultSubject, Data: data, Header: header})
	return err
}
