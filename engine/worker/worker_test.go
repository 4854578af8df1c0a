package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/worker"
)

// generous bounds what would hang.
const generous = time.Minute

// world is a nats-server with the streams, and what workers say there.
type world struct {
	t       *testing.T
	nc      *nats.Conn
	js      jetstream.JetStream
	results *nats.Subscription
	beats   *nats.Subscription
}

func newWorld(t *testing.T) *world {
	srv, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	require.True(t, srv.ReadyForConnections(generous))
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	for name, subjects := range map[string][]string{bus.StreamSys: {bus.SubjectResult}, bus.StreamJobs: {"worker.>"}} {
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: subjects})
		require.NoError(t, err)
	}
	w := &world{t: t, nc: nc, js: js}
	w.results, err = nc.SubscribeSync(bus.SubjectResult)
	require.NoError(t, err)
	w.beats, err = nc.SubscribeSync(bus.SubjectHeartbeat)
	require.NoError(t, err)
	return w
}

func (w *world) config(execute func(context.Context, *worker.Task) worker.Outcome) worker.Config {
	return worker.Config{
		ID: "worker-1", Pool: "default", MaxParallel: 1, HeartbeatEvery: generous, Execute: execute,
		AckWait: generous, FetchWait: time.Second, ConfirmAcks: true, ReadBack: generous, NATS: w.nc, JetStream: w.js,
	}
}

// run runs a worker until the function that it returns is called, which waits for it.
func (w *world) run(c worker.Config) (stop func()) {
	asked, ended := make(chan struct{}), make(chan struct{})
	go func() {
		worker.New(c).Run(w.t.Context(), asked)
		close(ended)
	}()
	return func() {
		close(asked)
		<-ended
	}
}

func (w *world) dispatch(id string, epoch int64) {
	w.publish("worker.worker-1.jobs."+id, job.Dispatch{JobID: id, Epoch: epoch})
}

func (w *world) cancel(id string, epoch int64) {
	w.publish(bus.CancelSubject("worker-1"), job.Cancel{JobID: id, Epoch: epoch})
}

func (w *world) publish(subject string, content any) {
	data, err := json.Marshal(content)
	require.NoError(w.t, err)
	_, err = w.js.Publish(w.t.Context(), subject, data)
	require.NoError(w.t, err)
}

func (w *world) result() (res job.Result) {
	msg, err := w.results.NextMsg(generous)
	require.NoError(w.t, err)
	require.NoError(w.t, json.Unmarshal(msg.Data, &res))
	assert.Equal(w.t, res.JobID, msg.Header.Get(job.Header))
	return res
}

func (w *world) beat() (h job.Heartbeat) {
	msg, err := w.beats.NextMsg(generous)
	require.NoError(w.t, err)
	require.NoError(w.t, json.Unmarshal(msg.Data, &h))
	return h
}

// left is how many dispatches wait for the worker's name.
func (w *world) left() int {
	c, err := w.js.Consumer(w.t.Context(), bus.StreamJobs, worker.ConsumerName("worker-1"))
	require.NoError(w.t, err)
	return int(c.CachedInfo().NumPending) + c.CachedInfo().NumAckPending
}

func succeed(context.Context, *worker.Task) worker.Outcome {
	return worker.Outcome{Status: job.StatusSucceeded}
}

// A job is executed, its output stored, its result published, and its dispatch acknowledged.
func TestAJobIsExecuted(t *testing.T) {
	w := newWorld(t)
	c := w.config(succeed)
	c.Output = func(_ context.Context, task *worker.Task, _ worker.Outcome) (string, error) {
		return "res:" + task.JobID, nil
	}
	stop := w.run(c)
	w.dispatch("job-1", 3)
	assert.Equal(t, job.Result{JobID: "job-1", WorkerID: "worker-1", Status: job.StatusSucceeded, Epoch: 3, ResultPtr: "res:job-1"}, w.result())
	stop()
	assert.Zero(t, w.left())
	consumer, err := w.js.Consumer(t.Context(), bus.StreamJobs, worker.ConsumerName("worker-1"))
	require.NoError(t, err)
	assert.Equal(t, -1, consumer.CachedInfo().Config.MaxAckPending, "MaxParallel alone is the bound")
}

// A notice ends an execution, although every slot is taken; what is cancelled and yet to come is not executed, even by
// a worker that starts after the notice.
func TestACancelledJobIsDropped(t *testing.T) {
	w := newWorld(t)
	began := make(chan string, 3)
	execute := func(ctx context.Context, task *worker.Task) worker.Outcome {
		began <- task.JobID
		if task.JobID == "job-1" && !task.Spend(ctx, generous) {
			return worker.Outcome{Ending: worker.Dropped}
		}
		return succeed(ctx, task)
	}
	stop := w.run(w.config(execute))
	w.dispatch("job-1", 1)
	assert.Equal(t, "job-1", <-began)
	w.dispatch("job-2", 1)
	w.cancel("job-2", 1)
	w.cancel("job-1", 1)
	w.dispatch("job-3", 1)
	assert.Equal(t, "job-3", w.result().JobID)
	stop()
	w.cancel("job-4", 1)
	w.dispatch("job-4", 1)
	w.dispatch("job-4", 2)
	stop = w.run(w.config(execute))
	assert.EqualValues(t, 2, w.result().Epoch)
	stop()
	assert.Zero(t, w.left())
}

// careless is a JetStream whose consumers hand out what they did not ask for.
type careless struct{ jetstream.JetStream }

func (c careless) CreateOrUpdateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	cfg.FilterSubjects = []string{"worker.>"}
	return c.JetStream.CreateOrUpdateConsumer(ctx, stream, cfg)
}

// What is another worker's to execute, or to cancel, is left alone.
func TestAnotherWorkersMessagesArePassedOver(t *testing.T) {
	w := newWorld(t)
	c := w.config(succeed)
	c.JetStream = careless{w.js}
	w.publish("worker.worker-2.jobs.job-1", job.Dispatch{JobID: "job-1", Epoch: 1})
	w.publish(bus.CancelSubject("worker-2"), job.Cancel{JobID: "job-2", Epoch: 1})
	w.dispatch("job-2", 1)
	stop := w.run(c)
	assert.Equal(t, "job-2", w.result().JobID)
	stop()
	assert.Zero(t, w.left())
}

// A worker that is cut short acknowledges neither what it has not finished nor what it has not begun.
func TestTheEndOfAWorkersContextLeavesItsJobs(t *testing.T) {
	for _, confirm := range []bool{true, false} {
		w := newWorld(t)
		began := make(chan struct{}, 1)
		c := w.config(func(ctx context.Context, _ *worker.Task) worker.Outcome {
			began <- struct{}{}
			<-ctx.Done()
			return worker.Outcome{Ending: worker.Dropped}
		})
		c.ConfirmAcks = confirm
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		acks, err := w.nc.SubscribeSync("$JS.ACK." + bus.StreamJobs + ".>")
		require.NoError(t, err)
		go func() {
			worker.New(c).Run(ctx, nil)
			close(ended)
		}()
		w.dispatch("job-1", 1)
		<-began
		w.dispatch("job-2", 1)
		cancel()
		<-ended
		none, err := acks.NextMsg(100 * time.Millisecond)
		require.ErrorIs(t, err, nats.ErrTimeout, none)
		assert.Equal(t, 2, w.left())
	}
}

// deaf is a JetStream that gives no ordered consumer: no notice is heard.
type deaf struct{ jetstream.JetStream }

func (deaf) OrderedConsumer(context.Context, string, jetstream.OrderedConsumerConfig) (jetstream.Consumer, error) {
	return nil, errors.New("not now")
}

// Nothing of a worker outlives it, even where it waits before it tries again.
func TestNothingOutlivesAWorker(t *testing.T) {
	w := newWorld(t)
	c := w.config(succeed)
	c.HeartbeatEvery, c.JetStream = 10*time.Millisecond, deaf{w.js}
	for _, stops := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() {
			worker.New(c).Run(ctx, stop)
			close(ended)
		}()
		w.beat()
		if stops {
			close(stop)
		} else {
			cancel()
		}
		<-ended
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		assert.NotContains(t, string(stacks), "worker.(*Worker)")
		cancel()
	}
}

// The end of a worker's context cuts its farewell short.
func TestAFarewellThatIsCutShort(t *testing.T) {
	w := newWorld(t)
	clock := clockwork.NewFakeClock()
	c := w.config(succeed)
	c.Clock, c.ReadBack = clock, 0
	ctx, cancel := context.WithCancel(t.Context())
	stop, ended := make(chan struct{}), make(chan struct{})
	close(stop)
	go func() {
		worker.New(c).Run(ctx, stop)
		close(ended)
	}()
	require.NoError(t, clock.BlockUntilContext(t.Context(), 2), "the ticker of the heartbeats, and the farewell")
	cancel()
	select {
	case <-ended:
	case <-time.After(generous):
		assert.Fail(t, "it still says farewell")
	}
}

// A worker that stops finishes what it has begun, says that it stops and is full, and leaves the rest.
func TestAWorkerThatStops(t *testing.T) {
	w := newWorld(t)
	began, finish := make(chan struct{}, 1), make(chan struct{})
	stop := w.run(w.config(func(ctx context.Context, task *worker.Task) worker.Outcome {
		began <- struct{}{}
		<-finish
		return succeed(ctx, task)
	}))
	assert.Zero(t, w.beat().ActiveJobs)
	for _, id := range []string{"job-1", "job-2", "job-3"} {
		w.dispatch(id, 1)
	}
	<-began
	ended := make(chan struct{})
	go func() {
		stop()
		close(ended)
	}()
	farewell := w.beat()
	assert.Equal(t, 1, farewell.ActiveJobs)
	assert.True(t, farewell.Stopping)
	close(finish)
	assert.Equal(t, "job-1", w.result().JobID)
	<-ended
	assert.Equal(t, 2, w.left())
}

// A server that was killed may have forgotten an ack, and a consumer that is made anew knows of none. The result may be lost, too.
func TestADispatchThatIsDoneIsNotExecutedAgain(t *testing.T) {
	w := newWorld(t)
	var executed atomic.Int32
	stop := w.run(w.config(func(ctx context.Context, task *worker.Task) worker.Outcome {
		executed.Add(1)
		return succeed(ctx, task)
	}))
	w.dispatch("job-1", 1)
	first := w.result()
	require.Eventually(t, func() bool { return w.left() == 0 }, generous, time.Millisecond)
	require.NoError(t, w.js.DeleteConsumer(t.Context(), bus.StreamJobs, worker.ConsumerName("worker-1")))
	require.Eventually(t, func() bool {
		_, err := w.js.Consumer(t.Context(), bus.StreamJobs, worker.ConsumerName("worker-1"))
		return err == nil && w.left() == 0
	}, generous, time.Millisecond)
	assert.Equal(t, first, w.result())
	stop()
	assert.EqualValues(t, 1, executed.Load())
}

// A dispatch that an execution leaves stays.
func TestADispatchThatIsLeft(t *testing.T) {
	w := newWorld(t)
	began := make(chan struct{}, 1)
	stop := w.run(w.config(func(context.Context, *worker.Task) worker.Outcome {
		began <- struct{}{}
		return worker.Outcome{Ending: worker.Left}
	}))
	w.dispatch("job-1", 1)
	<-began
	stop()
	assert.Equal(t, 1, w.left())
}

// Workers of one pool may take jobs from different topics, in whatever order they start.
func TestWorkersOfAPoolShareTheirTopics(t *testing.T) {
	w := newWorld(t)
	s, err := w.js.Stream(t.Context(), bus.StreamJobs)
	require.NoError(t, err)
	cfg := s.CachedInfo().Config
	cfg.Subjects = append(cfg.Subjects, "job.>")
	_, err = w.js.UpdateStream(t.Context(), cfg)
	require.NoError(t, err)
	both := w.config(succeed)
	both.ID, both.Topics, both.ReadBack = "host.1", []string{"job.a", "job.b"}, 0
	one := both
	one.ID, one.Topics = "host.2", []string{"job.a"}
	stopBoth := w.run(both)
	w.publish("job.b", job.Dispatch{JobID: "job-1"})
	assert.Equal(t, "host.1", w.result().WorkerID)
	stopOne := w.run(one)
	for i := range 8 {
		w.publish([]string{"job.a", "job.b"}[i%2], job.Dispatch{JobID: "job-2"})
		r := w.result()
		assert.True(t, i%2 == 0 || r.WorkerID == "host.1", "host.2 does no job of job.b")
	}
	stopBoth()
	stopOne()
	none, err := w.results.NextMsg(100 * time.Millisecond)
	assert.ErrorIs(t, err, nats.ErrTimeout, none)
}

// A worker whose consumer was lost does not execute again what its name was ever given.
func TestALostConsumerBeginsWithYoungDispatches(t *testing.T) {
	w := newWorld(t)
	c := w.config(succeed)
	c.DispatchAge = generous
	has := func() bool {
		_, err := w.js.Consumer(t.Context(), bus.StreamJobs, worker.ConsumerName("worker-1"))
		return err == nil
	}
	for _, id := range []string{"job-1", "job-2"} { // the second life finds the consumer of the first
		stop := w.run(c)
		w.dispatch(id, 1)
		assert.Equal(t, id, w.result().JobID)
		stop()
	}
	require.NoError(t, w.js.DeleteConsumer(t.Context(), bus.StreamJobs, worker.ConsumerName("worker-1")))
	c.DispatchAge = time.Nanosecond
	stop := w.run(c)
	require.Eventually(t, has, generous, time.Millisecond)
	w.dispatch("job-3", 1)
	assert.Equal(t, "job-3", w.result().JobID)
	stop()
}
