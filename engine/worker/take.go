package worker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
)

// The phases of a worker's calls.
const (
	PhaseOutput phase.Phase = "output_store"
	PhaseResult phase.Phase = "result_publish"
)

// Task is a dispatch in execution.
type Task struct {
	job.Dispatch
	Seq       uint64 // of the dispatch in its stream
	Delivered uint64 // how often it was delivered

	w    *Worker
	msg  jetstream.Msg
	at   place
	kept atomic.Pointer[time.Time] // since when it is not delivered again for AckWait
}

// Ending says what is to become of a dispatch whose execution is over.
type Ending int

// The endings.
const (
	Reported Ending = iota // it has a result
	Dropped                // it is done with, and has none
	Left                   // it stays, and is delivered again
)

// Outcome is how an execution ended.
type Outcome struct {
	Ending     Ending
	Status     job.Status
	Reason     string
	ReasonCode string
}

// Spend lets time pass, and keeps the dispatch from being delivered again for as long as that takes. It says false if
// ctx ended before.
func (t *Task) Spend(ctx context.Context, left time.Duration) bool {
	for left > 0 {
		part := min(left, t.w.AckWait/progressPerAck)
		timer := t.w.Clock.NewTimer(part)
		select {
		case <-timer.Chan():
		case <-ctx.Done():
			timer.Stop()
			return false
		}
		if left -= part; left > 0 {
			t.Progress()
		}
	}
	return true
}

// Progress keeps the dispatch from being delivered again for another AckWait. An Execute that works for longer than that calls
// it meanwhile, or a second worker begins with the job.
func (t *Task) Progress() {
	err := t.msg.InProgress()
	if err == nil {
		t.keep()
	}
	t.w.tell("in progress", err)
}

// task is what a message that was delivered just now asks for.
func (w *Worker) task(msg jetstream.Msg) *Task {
	t := &Task{w: w, msg: msg}
	t.keep()
	return t
}

// keep notes that AckWait begins anew. The time keeps its monotonic reading: a clock that is set does not end it.
func (t *Task) keep() {
	now := t.w.Clock.Now()
	t.kept.Store(&now)
}

// take does what a dispatch asks for: it executes the job, reports its result and acknowledges the dispatch, in this
// order, so that a worker that dies in between does it again.
func (w *Worker) take(ctx context.Context, stop <-chan struct{}, msg jetstream.Msg) {
	t := w.task(msg)
	md, err := msg.Metadata()
	if err == nil {
		t.Seq, t.Delivered = md.Sequence.Stream, md.NumDelivered
		t.at = place{t.Seq, md.Timestamp.UnixNano()}
		err = json.Unmarshal(msg.Data(), &t.Dispatch)
	}
	if err != nil {
		w.Logger.Error("dispatch refused: it cannot be read", slog.String("subject", msg.Subject()), slog.Any("error", err))
		w.tell("term", msg.Term())
		return
	}
	execution, end := context.WithCancel(ctx)
	defer end()
	if !w.begin(t, end) {
		return
	}
	defer w.finish(t)
	o, done := w.outcome(t)
	switch {
	case done: // the server has forgotten the ack, and may have lost the result, too
	case execution.Err() != nil:
		o = Outcome{Ending: Dropped}
	default:
		o = w.Execute(execution, t)
	}
	if ctx.Err() != nil {
		return // the worker is to end, which says nothing of the job: the dispatch comes again
	}
	// It reports no CANCELLED: a scheduler sends the notice once the record says so, and takes no result after that. Only
	// where Redis has failed over and forgotten it would such a result tell; that job ends TIMEOUT, by the reconciler.
	if o.Ending == Dropped && execution.Err() != nil {
		w.Logger.Info("dropped: the job is cancelled", slog.String("job_id", t.JobID), slog.Int64("epoch", t.Epoch))
	}
	if o.Ending == Left || o.Ending == Reported && !w.report(ctx, stop, t, o) {
		return
	}
	w.remember(t, o)
	w.ack(ctx, stop, t)
}

// ack acknowledges a dispatch. nats-server says nothing to the ack of a message that its consumer has not delivered, and a consumer
// that is gone says nothing either. So an ack that stays unanswered for AckWait, while NATS can be reached, has nothing
// left to acknowledge.
func (w *Worker) ack(ctx context.Context, stop <-chan struct{}, t *Task) {
	if !w.ConfirmAcks {
		w.tell("ack", t.msg.Ack())
		return
	}
	there := bus.Place{Msg: t.msg, Open: func(ctx context.Context) (jetstream.Stream, error) { return w.JetStream.Stream(ctx, bus.StreamJobs) }}
	var again bool
	var unanswered time.Time // since then
	w.insist(ctx, stop, "ack", t, func(ctx context.Context) (err error) {
		if again {
			err = there.Holds(ctx)
		}
		if again = true; err == nil {
			err = t.msg.DoubleAck(ctx)
		}
		switch {
		case errors.Is(err, jetstream.ErrMsgAlreadyAckd), errors.Is(err, bus.ErrGone):
			return nil
		case !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrNoResponders):
			unanswered = time.Time{}
		case unanswered.IsZero():
			unanswered = w.Clock.Now()
		case w.Clock.Since(unanswered) > w.AckWait:
			w.Logger.Warn("ack given up: nobody answers it", slog.String("job_id", t.JobID))
			return nil
		}
		return err
	})
}

// begin says whether an execution may begin: not of a dispatch that is in execution already. That of a cancelled job
// ends at once.
func (w *Worker) begin(t *Task, end func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, begun := w.begun[t.at]; begun {
		return false
	}
	w.begun[t.at] = underway{t.JobID, t.Epoch, end}
	if epoch, told := w.cancelled[t.JobID]; told && t.Epoch <= epoch {
		end()
	}
	return true
}

// outcome is how the execution of a dispatch has ended, if it has.
func (w *Worker) outcome(t *Task) (o Outcome, done bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o, done = w.done[t.at]
	return o, done
}

// remember notes how the execution of a dispatch has ended, since nats-server may forget that it was acknowledged.
func (w *Worker) remember(t *Task, o Outcome) {
	if !w.ConfirmAcks {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, again := w.done[t.at]; again {
		return
	}
	w.done[t.at] = o
	if w.doneOrder = append(w.doneOrder, t.at); len(w.doneOrder) > doneMax {
		delete(w.done, w.doneOrder[0])
		w.doneOrder = w.doneOrder[1:]
	}
}

func (w *Worker) finish(t *Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.begun, t.at)
}

// report stores the output and publishes the result, until both are confirmed. It says false if it had to give up.
func (w *Worker) report(ctx context.Context, stop <-chan struct{}, t *Task, o Outcome) bool {
	var key string
	if w.Output != nil {
		stored := w.insist(phase.With(ctx, t.JobID, PhaseOutput), stop, "output", t, func(ctx context.Context) (err error) {
			safe := w.Replica.Since(ctx, t.JobID)
			if key, err = w.Output(ctx, t, o); err != nil || key == "" {
				return err
			}
			return safe(ctx)
		})
		if !stored {
			return false
		}
	}
	header := nats.Header{job.Header: {t.JobID}}
	if t.Epoch > 0 {
		header[job.HeaderEpoch] = []string{strconv.FormatInt(t.Epoch, 10)}
	}
	data, err := json.Marshal(job.Result{JobID: t.JobID, WorkerID: w.ID, Status: o.Status, Epoch: t.Epoch, Reason: o.Reason, ReasonCode: o.ReasonCode, ResultPtr: key})
	if err != nil {
		w.Logger.Error("result not reported", slog.String("job_id", t.JobID), slog.Any("error", err))
		return false
	}
	return w.insist(phase.With(ctx, t.JobID, PhaseResult), stop, "result", t, func(ctx context.Context) error {
		_, err := w.JetStream.PublishMsg(ctx, &nats.Msg{Subject: bus.SubjectResult, Data: data, Header: header})
		return err
	})
}

// insist makes a call again and again until it succeeds, and keeps the dispatch from being delivered again meanwhile. From stop
// on it goes on for lastWords. It says whether the call has succeeded.
func (w *Worker) insist(ctx context.Context, stop <-chan struct{}, what string, t *Task, call func(context.Context) error) bool {
	taken := w.outage(what+" not taken; trying again", what+" taken")
	about := slog.String("job_id", t.JobID)
	var giveUp time.Time
	for {
		attempt, cancel := context.WithTimeout(ctx, callTimeout)
		err := call(attempt)
		cancel()
		if taken.Says(err, about); err == nil {
			return true
		}
		if stopped(stop) && giveUp.IsZero() {
			giveUp = w.Clock.Now().Add(lastWords)
		}
		if w.Clock.Since(*t.kept.Load()) >= w.AckWait/(2*progressPerAck) { // half of it may have passed before
			t.Progress()
		}
		w.Clock.Sleep(retryAfter)
		if ctx.Err() != nil || !giveUp.IsZero() && w.Clock.Now().After(giveUp) {
			w.Logger.LogAttrs(ctx, slog.LevelError, what+" given up; the dispatch comes again", about)
			return false
		}
	}
}

func (w *Worker) tell(verb string, err error) {
	if err != nil {
		w.Logger.Warn("acknowledgement failed", slog.String("verb", verb), slog.Any("error", err))
	}
}

func stopped(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
