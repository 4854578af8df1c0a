package bus_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
)

// connect starts a server.
func connect(t *testing.T) *nats.Conn {
	t.Helper()
	dir, err := os.MkdirTemp("", "bus")
	require.NoError(t, err)
	s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: dir, NoSigs: true})
	require.NoError(t, err)
	s.Start()
	nc, err := nats.Connect("", nats.InProcessServer(s))
	require.NoError(t, err)
	t.Cleanup(func() {
		nc.Close()
		s.Shutdown()
		s.WaitForShutdown()
		_ = os.RemoveAll(dir)
	})
	return nc
}

func TestCheckOnce(t *testing.T) {
	for _, version := range []string{"2.11.0", "2.11.9", "2.15.3", "2.12.0-preview.1", "3.0.0", "", "dev"} {
		assert.NoError(t, bus.CheckOnce(version), version)
	}
	for _, version := range []string{"2.10.29", "2.9.25", "1.99.0", "2.10.0-beta.41"} {
		err := bus.CheckOnce(version)
		assert.ErrorIs(t, err, bus.ErrUnfit, version)
		assert.ErrorContains(t, err, "nats-server "+version)
	}
	assert.NoError(t, bus.CheckOnce(server.VERSION))
}

// newJobs starts a server that has the stream of dispatches.
func newJobs(t *testing.T, storage jetstream.StorageType) (jetstream.JetStream, jetstream.Stream) {
	t.Helper()
	js, err := jetstream.New(connect(t))
	require.NoError(t, err)
	jobs, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: bus.StreamJobs, Subjects: bus.JobsSubjects, Storage: storage})
	require.NoError(t, err)
	return js, jobs
}

// Of one epoch the stream stores one message, to whichever worker and whatever it is; it says so, and
// what it has can be read back.
func TestAnEpochIsStoredOnce(t *testing.T) {
	for _, storage := range []jetstream.StorageType{jetstream.MemoryStorage, jetstream.FileStorage} {
		js, jobs := newJobs(t, storage)
		publish := func(worker, jobID string, epoch int64, void bool) error {
			return bus.Publish(t.Context(), js, bus.Message{
				Subject: bus.EpochSubject(worker, jobID, epoch), JobID: jobID, Epoch: epoch, Void: void, Once: true, Body: []byte(`{"end":"CANCELLED"}`),
			}, time.Minute)
		}
		read := func(jobID string, epoch int64) bus.Stored {
			t.Helper()
			held, err := bus.ReadEpoch(t.Context(), jobs, jobID, epoch, time.Minute)
			require.NoError(t, err)
			return held
		}
		require.NoError(t, publish("w-1", "job-1", 1, false))
		for _, worker := range []string{"w-1", "w-2"} {
			for _, void := range []bool{false, true} {
				err := publish(worker, "job-1", 1, void)
				assert.ErrorIs(t, err, bus.ErrStored)
				assert.ErrorContains(t, err, "worker."+worker+".jobs.job-1.1")
				assert.False(t, bus.Refused(err), "it is there")
			}
		}
		assert.Equal(t, bus.Stored{WorkerID: "w-1"}, read("job-1", 1))

		// Another epoch, another job, and one whose id begins alike are others.
		require.NoError(t, publish("w-2", "job-1", 2, true))
		require.NoError(t, publish("w-1", "job-11", 1, false))
		assert.Equal(t, bus.Stored{WorkerID: "w-2", Void: &job.Void{End: job.Cancelled}}, read("job-1", 2))
		assert.ErrorIs(t, publish("w-1", "job-1", 2, false), bus.ErrStored, "a void leaves no room for a dispatch")

		_, err := bus.ReadEpoch(t.Context(), jobs, "job-1", 3, time.Minute)
		assert.ErrorIs(t, err, jetstream.ErrMsgNotFound)
	}
}

func TestWithoutOnceTheStreamStoresEveryCopy(t *testing.T) {
	js, jobs := newJobs(t, jetstream.MemoryStorage)
	for range 2 {
		require.NoError(t, bus.Publish(t.Context(), js, bus.Message{Subject: "worker.w-1.jobs", JobID: "job-1", Body: []byte(`{}`)}, time.Minute))
	}
	info, err := jobs.Info(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 2, info.State.Msgs)
	msg, err := jobs.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, nats.Header{"Job-Id": {"job-1"}}, msg.Header)
}

// Only what the stream itself refused is certainly not stored.
func TestRefused(t *testing.T) {
	js, jobs := newJobs(t, jetstream.MemoryStorage)
	cfg := jobs.CachedInfo().Config
	cfg.MaxMsgSize = 4
	_, err := js.UpdateStream(t.Context(), cfg)
	require.NoError(t, err)
	err = bus.Publish(t.Context(), js, bus.Message{Subject: "worker.w-1.jobs", JobID: "job-1", Body: []byte(`{"n":1}`)}, time.Minute)
	assert.True(t, bus.Refused(err), err)
	assert.True(t, bus.TooLarge(err), err)
	err = bus.Publish(t.Context(), js, bus.Message{Subject: "nobody.listens", JobID: "job-1"}, time.Minute)
	assert.True(t, bus.Refused(err), err)
	assert.False(t, bus.TooLarge(err), err)
	err = bus.Publish(t.Context(), js, bus.Message{Subject: "worker.w-1.jobs", JobID: "job-1", Body: make([]byte, 2<<20)}, time.Minute)
	assert.True(t, bus.Refused(err), err)
	assert.True(t, bus.TooLarge(err), err)

	for _, err := range []error{errors.New("connection lost"), nats.ErrTimeout, fmt.Errorf("publish: %w", bus.ErrStored), jetstream.ErrKeyExists} {
		assert.False(t, bus.Refused(err), err)
	}
}
