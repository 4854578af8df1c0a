package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/faultline-sim/faultline/engine/bus"
	"github.com/faultline-sim/faultline/engine/job"
	"github.com/faultline-sim/faultline/engine/routing"
)

const (
	workerAckWait   = 30 * time.Second // a job of a worker that died is delivered again after this
	workerFetchWait = 5 * time.Second
	workerRetry     = time.Second      // after a call that failed
	workerLastWords = 10 * time.Second // a worker that stops tries to report its results for so long
	cancelsSince    = 24 * time.Hour   // how far back a worker that starts reads what was cancelled
	cancelsMax      = 10_000           // how many of them it remembers
)

// executor is a worker: it executes what is dispatched to it. It knows the scheduler's packets, and nothing else of it.
type executor struct {
	id        string
	pool      string
	work      time.Duration
	failRate  float64
	heartbeat time.Duration
	ledger    *ledger

	nats   *nats.Conn
	js     jetstream.JetStream
	log    *slog.Logger
	broken func(error) // ends the worker: it cannot keep its ledger

	slots    chan struct{} // one for each job in execution
	executed atomic.Int64

	mu        sync.Mutex
	begun     map[uint64]underway // dispatches in execution, by their sequence: a delivery again is no second execution
	cancelled map[string]int64    // jobs that are cancelled, and up to which epoch
	told      []string            // the same jobs, in the order of the notices
}

// underway is a dispatch in execution.
type underway struct {
	job   string
	epoch int64
	stop  func()
}

// run takes jobs until ctx ends, and returns once those that it began are done.
func (w *executor) run(ctx context.Context) {
	beats, stopBeats := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { w.beat(beats, ctx) })
	heard := make(chan struct{})
	background.Go(func() { w.hearCancels(ctx, heard) })
	select {
	case <-heard:
		w.takeJobs(ctx)
	case <-ctx.Done():
	}
	for range cap(w.slots) { // all slots at once: no job is left in execution
		w.slots <- struct{}{}
	}
	stopBeats()
	background.Wait()
}

// beat says that the worker lives and how busy it is, until alive ends. From the end of ctx on it
// says that it is full, so that no more comes.
func (w *executor) beat(alive, ctx context.Context) {
	tick := time.NewTicker(w.heartbeat)
	defer tick.Stop()
	stopping := ctx.Done()
	for {
		h := job.Heartbeat{WorkerID: w.id, Pool: w.pool, ActiveJobs: w.active(), MaxParallelJobs: cap(w.slots)}
		if ctx.Err() != nil {
			h.ActiveJobs = h.MaxParallelJobs
		}
		data, err := json.Marshal(h)
		if err == nil {
			err = w.nats.Publish(bus.SubjectHeartbeat, data)
		}
		if err != nil {
			w.log.Warn("heartbeat not sent", slog.Any("error", err))
		}
		select {
		case <-tick.C:
		case <-stopping:
			stopping = nil // once
		case <-alive.Done():
			return
		}
	}
}

func (w *executor) active() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.begun)
}

// takeJobs pulls dispatches for as long as there are free slots.
func (w *executor) takeJobs(ctx context.Context) {
	var consumer jetstream.Consumer
	for ctx.Err() == nil {
		if consumer == nil {
			if consumer = w.open(ctx); consumer == nil {
				continue
			}
		}
		select {
		case w.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		if err := w.pull(ctx, consumer, 1+cap(w.slots)-len(w.slots)); err != nil && ctx.Err() == nil {
			w.log.Warn("pull failed; trying again", slog.Any("error", err))
			consumer = nil // it may be gone
			pause(ctx, workerRetry)
		}
	}
}

// open makes the worker's durable consumer, or finds it. Nil is not yet.
func (w *executor) open(ctx context.Context) jetstream.Consumer {
	subject := routing.DirectSubject(w.id)
	consumer, err := w.js.CreateOrUpdateConsumer(ctx, bus.StreamJobs, jetstream.ConsumerConfig{
		Durable: "jobs-" + w.id, FilterSubjects: []string{subject, subject + ".>"},
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: workerAckWait,
	})
	if err == nil {
		return consumer
	}
	if ctx.Err() == nil {
		w.log.Warn("no jobs; trying again", slog.String("stream", bus.StreamJobs), slog.Any("error", noStream(err)))
		pause(ctx, workerRetry)
	}
	return nil
}

// noStream says what a missing stream means.
func noStream(err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return errors.New("there is no such stream; a scheduler makes it, and none has run here yet")
	}
	return err
}

// pull asks for as many dispatches as there are free slots, and executes them as they come. The caller
// has taken the first slot. It ends with ctx, and the pull at the server with it.
func (w *executor) pull(ctx context.Context, consumer jetstream.Consumer, free int) error {
	wait, cancel := context.WithTimeout(ctx, workerFetchWait)
	defer cancel()
	batch, err := consumer.Fetch(free, jetstream.FetchContext(wait))
	if err != nil {
		<-w.slots
		return err
	}
	for msg := range batch.Messages() {
		go func() {
			defer func() { <-w.slots }()
			w.take(ctx, msg)
		}()
		w.slots <- struct{}{} // for the next; all are taken only once the pull has what it asked for
	}
	<-w.slots
	if err := batch.Error(); err != nil && wait.Err() == nil {
		return err
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// take does what a dispatch asks for: executes the job, reports its result and acknowledges the
// dispatch, in this order, so that a worker that dies in between does it again.
func (w *executor) take(ctx context.Context, msg jetstream.Msg) {
	var d job.Dispatch
	md, err := msg.Metadata()
	if err == nil {
		err = json.Unmarshal(msg.Data(), &d)
	}
	if err != nil {
		w.log.Error("dispatch refused: it cannot be read", slog.String("subject", msg.Subject()), slog.Any("error", err))
		w.tell("term", msg.Term())
		return
	}
	log := w.log.With(slog.String("job_id", d.JobID), slog.Int64("epoch", d.Epoch))
	if msg.Headers().Get(job.HeaderVoid) != "" {
		log.Info("nothing to do: the dispatch is void")
		w.tell("ack", msg.Ack())
		return
	}
	execute, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	if !w.begin(d, md.Sequence.Stream, end) {
		return
	}
	defer w.finish(md.Sequence.Stream)
	go w.holdOn(execute, msg)

	e := execution{
		Job: d.JobID, Epoch: d.Epoch, IdempotencyKey: d.IdempotencyKey, Worker: w.id,
		Seq: md.Sequence.Stream, Delivered: md.NumDelivered, Began: time.Now(),
	}
	e.Status = w.execute(execute, d)
	e.Ended = time.Now()
	if e.Status == job.StatusCancelled {
		log.Info("dropped: the job is cancelled")
	} else {
		if err := w.ledger.record(e); err != nil {
			w.broken(err)
			return
		}
		w.executed.Add(1)
		log.Info("executed", slog.String("status", string(e.Status)), slog.Duration("took", e.Ended.Sub(e.Began)))
	}
	w.answer(ctx, d, e.Status, msg)
}

// begin says whether an execution may begin: not of a dispatch that is in execution already.
func (w *executor) begin(d job.Dispatch, seq uint64, stop func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, begun := w.begun[seq]; begun {
		return false
	}
	w.begun[seq] = underway{d.JobID, d.Epoch, stop}
	if epoch, told := w.cancelled[d.JobID]; told && d.Epoch <= epoch {
		stop()
	}
	return true
}

func (w *executor) finish(seq uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.begun, seq)
}

// execute is the job's effect on the outside: here, nothing but time.
func (w *executor) execute(ctx context.Context, _ job.Dispatch) job.Status {
	if ctx.Err() != nil {
		return job.StatusCancelled
	}
	timer := time.NewTimer(w.work)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return job.StatusCancelled
	case <-timer.C:
	}
	if rand.Float64() < w.failRate {
		return job.StatusFailed
	}
	return job.StatusSucceeded
}

// holdOn keeps a dispatch from being delivered again while it is in execution.
func (w *executor) holdOn(ctx context.Context, msg jetstream.Msg) {
	tick := time.NewTicker(workerAckWait / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.tell("in progress", msg.InProgress())
		}
	}
}

// answer reports the result and acknowledges the dispatch, until both are confirmed.
func (w *executor) answer(ctx context.Context, d job.Dispatch, status job.Status, msg jetstream.Msg) {
	res := job.Result{JobID: d.JobID, WorkerID: w.id, Status: status, Epoch: d.Epoch}
	header := nats.Header{job.Header: {d.JobID}}
	if d.Epoch > 0 {
		header.Set(job.HeaderEpoch, strconv.FormatInt(d.Epoch, 10))
	}
	if status == job.StatusFailed {
		res.Reason = "the worker was told to fail a share of its jobs"
	}
	data, err := json.Marshal(res)
	if err != nil {
		w.log.Error("result not reported", slog.String("job_id", d.JobID), slog.Any("error", err))
		return
	}
	w.insist(ctx, "result", d.JobID, func(ctx context.Context) error {
		_, err := w.js.PublishMsg(ctx, &nats.Msg{Subject: bus.SubjectResult, Data: data, Header: header})
		return err
	})
	w.insist(ctx, "ack", d.JobID, msg.DoubleAck)
}

// insist makes a call again and again until it succeeds, or until workerLastWords after the end of ctx.
func (w *executor) insist(ctx context.Context, what, jobID string, call func(context.Context) error) {
	last := context.WithoutCancel(ctx)
	for stopping := false; ; {
		if ctx.Err() != nil && !stopping {
			stopping = true
			var cancel func()
			last, cancel = context.WithTimeout(last, workerLastWords)
			defer cancel()
		}
		attempt, cancel := context.WithTimeout(last, workerFetchWait)
		err := call(attempt)
		cancel()
		if err == nil || errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			return
		}
		w.log.Warn(what+" not taken; trying again", slog.String("job_id", jobID), slog.Any("error", err))
		if pause(last, workerRetry); last.Err() != nil {
			w.log.Error(what+" given up; the dispatch comes again", slog.String("job_id", jobID))
			return
		}
	}
}

func (w *executor) tell(verb string, err error) {
	if err != nil {
		w.log.Warn("acknowledgement failed", slog.String("verb", verb), slog.Any("error", err))
	}
}

// hearCancels stops jobs that are cancelled, and remembers those that are yet to come. A worker that
// starts remembers nothing itself: it first reads again, from some way back, what it was told before,
// and then closes heard.
func (w *executor) hearCancels(ctx context.Context, heard chan<- struct{}) {
	since := time.Now().Add(-cancelsSince)
	var once sync.Once
	caughtUp := func() { once.Do(func() { close(heard) }) }
	for ; ctx.Err() == nil; pause(ctx, workerRetry) {
		consumer, err := w.js.OrderedConsumer(ctx, bus.StreamJobs, jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{bus.CancelSubject(w.id)}, DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &since,
		})
		var msgs jetstream.MessagesContext
		if err == nil {
			msgs, err = consumer.Messages()
		}
		if err != nil {
			if ctx.Err() == nil {
				w.log.Warn("no jobs yet; trying again", slog.String("stream", bus.StreamJobs), slog.Any("error", noStream(err)))
			}
			continue
		}
		if consumer.CachedInfo().NumPending == 0 {
			caughtUp()
		}
		stop := context.AfterFunc(ctx, msgs.Stop)
		for {
			msg, err := msgs.Next()
			if err != nil {
				break // ctx has ended, or the connection is lost
			}
			w.cancel(msg)
			if md, err := msg.Metadata(); err == nil && md.NumPending == 0 {
				caughtUp()
			}
		}
		stop()
		msgs.Stop()
	}
}

func (w *executor) cancel(msg jetstream.Msg) {
	var c job.Cancel
	if err := json.Unmarshal(msg.Data(), &c); err != nil || c.Validate() != nil {
		w.log.Warn("cancel notice ignored: it cannot be read")
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	epoch, told := w.cancelled[c.JobID]
	if told && epoch >= c.Epoch {
		return
	}
	w.cancelled[c.JobID] = c.Epoch
	if !told {
		w.told = append(w.told, c.JobID)
	}
	if len(w.told) > cancelsMax {
		delete(w.cancelled, w.told[0])
		w.told = w.told[1:]
	}
	for _, u := range w.begun {
		if u.job == c.JobID && u.epoch <= c.Epoch {
			w.log.Info("cancelled", slog.String("job_id", u.job), slog.Int64("epoch", u.epoch))
			u.stop()
		}
	}
}
