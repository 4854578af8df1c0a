package worker

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/store"
)

const (
	retryAfter     = time.Second      // after a call that failed
	callTimeout    = 5 * time.Second  // of one call that is made until it succeeds
	lastWords      = 10 * time.Second // for how long a worker that stops tries on to report a result
	farewellEvery  = time.Second      // between one farewell and the next
	cancelledMax   = 10_000           // how many cancelled jobs it remembers
	doneMax        = 10_000           // how many dispatches that are done
	idleMax        = 24 * time.Hour   // how long JetStream keeps a consumer that nobody pulls from, with DispatchAge
	progressPerAck = 2                // how often in an AckWait it says that it is still at a dispatch
)

// Publisher is what a worker needs of a *nats.Conn.
type Publisher interface {
	Publish(subject string, data []byte) error
}

// Config describes a worker. Clock and Logger may be left out, and what is marked so.
type Config struct {
	ID             string
	Pool           string
	Labels         map[string]string // what jobs may ask for, as the next; may be nil
	Capabilities   []string
	Topics         []string // nil: its own subject. Else it takes jobs from these, each of which one worker of its pool is given; its id must be no token, as "host.1", or schedulers address it
	MaxParallel    int
	HeartbeatEvery time.Duration

	// Execute does a job. Its context ends when the job is cancelled.
	Execute func(context.Context, *Task) Outcome
	// Output stores what an execution put out, and returns its key; "" is nothing. It is called until it succeeds. Nil
	// stores nothing.
	Output func(context.Context, *Task, Outcome) (key string, err error)
	// Replica is waited for before a result is published whose output was stored. Nil waits for nothing.
	Replica *store.Replica

	// Load says, in percent, how busy the worker's machine is, for its heartbeats (Scheduler internals, section 5); active is
	// how many jobs it executes. Nil says nothing.
	Load func(active int) (cpu, gpu float64)

	AckWait     time.Duration // a job is delivered again after this if its worker died, or says nothing: see Task.Progress
	FetchWait   time.Duration // of one pull
	ConfirmAcks bool          // the ack of a dispatch is repeated until the server confirms it; if the dispatch comes again all the same, its result is reported again, and it is not executed again. NATS must not buffer what is sent while it is disconnected: nats.ReconnectBufSize(-1)

	// DispatchAge is how old a dispatch may be that a worker takes whose consumer is new, or was lost: the jobs of older ones
	// have timed out. Make it longer than any timeout of the schedulers'. A consumer from which nobody pulls for a day
	// goes then. Zero takes whatever the stream holds, and leaves the consumer there for ever.
	DispatchAge time.Duration

	// ReadBack is how far back a worker that starts reads what was cancelled, through a consumer of its own. Zero reads
	// nothing back: notices come with the dispatches, and a worker with a dispatch in hand that waits for a free slot
	// hears none.
	ReadBack time.Duration

	NATS      Publisher
	JetStream jetstream.JetStream
	Clock     clockwork.Clock
	Logger    *slog.Logger
}

// Worker is one life of a worker.
type Worker struct {
	Config
	slots chan struct{} // one for each job in execution
	hurry chan struct{} // holds one if a heartbeat is due before its time
	mute  atomic.Bool   // the last heartbeat was not sent

	mu        sync.Mutex
	begun     map[place]underway // dispatches in execution
	done      map[place]Outcome  // with ConfirmAcks: dispatches that were executed, and may come again
	doneOrder []place            // the same, the oldest first
	cancelled map[string]int64   // jobs that are cancelled, and up to which epoch
	told      []string           // the same jobs, in the order of the notices
}

// place is where a dispatch is in its stream. A server that has lost messages with its power gives their sequences anew.
type place struct {
	seq uint64
	at  int64 // when the stream stored it, in unix ns
}

// underway is a dispatch in execution.
type underway struct {
	job   string
	epoch int64
	stop  func()
}

// New makes a worker.
func New(c Config) *Worker {
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return &Worker{
		Config: c, slots: make(chan struct{}, c.MaxParallel), hurry: make(chan struct{}, 1),
		begun: map[place]underway{}, done: map[place]Outcome{}, cancelled: map[string]int64{},
	}
}

// Run takes jobs until stop, and returns once those that it began are done, and it has said farewell repeatedly: a
// scheduler that is about to start may miss it once, and would go by a snapshot that knows nothing of it. The end of
// ctx ends all of that at once. A nil stop never comes.
func (w *Worker) Run(ctx context.Context, stop <-chan struct{}) {
	left := make(chan struct{})
	var background sync.WaitGroup
	defer background.Wait()
	background.Go(func() { w.beat(ctx, stop, left) })
	if w.ReadBack > 0 {
		listening, deafen := context.WithCancel(ctx)
		defer deafen()
		heard := make(chan struct{})
		background.Go(func() { w.hearCancels(listening, heard) })
		select {
		case <-heard:
		case <-stop:
		case <-ctx.Done():
		}
	}
	w.takeJobs(ctx, stop)
	if ctx.Err() != nil {
		return
	}
	farewell := w.Clock.After(2 * min(w.HeartbeatEvery, farewellEvery))
	for range cap(w.slots) { // all slots at once: no job is left in execution
		select {
		case w.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
	if !w.mute.Load() {
		select {
		case <-farewell:
		case <-ctx.Done():
		}
	}
	close(left)
}
