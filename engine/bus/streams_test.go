package bus_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
)

func TestEnsureStreams(t *testing.T) {
	js, err := jetstream.New(connect(t))
	require.NoError(t, err)
	for range 2 { // idempotent
		_, _, err = bus.EnsureStreams(t.Context(), js, bus.StreamOptions{Storage: jetstream.MemoryStorage})
		require.NoError(t, err)
	}
	for name, subjects := range map[string][]string{
		"CORDUM_SYS":  {"sys.job.submit", "sys.job.result", "sys.job.cancel"},
		"CORDUM_JOBS": {"job.>", "worker.*.jobs", "worker.*.jobs.>", "worker.*.cancel"},
	} {
		s, err := js.Stream(t.Context(), name)
		require.NoError(t, err)
		assert.Equal(t, subjects, s.CachedInfo().Config.Subjects)
		assert.Equal(t, jetstream.LimitsPolicy, s.CachedInfo().Config.Retention)
		assert.Equal(t, jetstream.MemoryStorage, s.CachedInfo().Config.Storage)
	}
}

// What an operator has decided about a stream is left alone.
func TestEnsureStreamsOfAnOperators(t *testing.T) {
	js, err := jetstream.New(connect(t))
	require.NoError(t, err)
	want := map[string]jetstream.StreamConfig{}
	for name, subjects := range map[string][]string{
		bus.StreamSys:  {"sys.job.*"},
		bus.StreamJobs: {"mine", "job.default", "worker.*.jobs"},
	} {
		s, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
			Name: name, Subjects: subjects, Storage: jetstream.MemoryStorage, MaxAge: 24 * time.Hour, MaxBytes: 1 << 30,
			Discard: jetstream.DiscardNew, AllowDirect: true, Duplicates: time.Hour, Description: "mine",
		})
		require.NoError(t, err)
		want[name] = s.CachedInfo().Config
	}
	jobs := want[bus.StreamJobs]
	jobs.Subjects = []string{"mine", "worker.*.jobs", "job.>", "worker.*.jobs.>", "worker.*.cancel"}
	want[bus.StreamJobs] = jobs
	for range 2 {
		_, _, err = bus.EnsureStreams(t.Context(), js, bus.StreamOptions{MaxAge: time.Minute})
		require.NoError(t, err)
		for name := range want {
			s, err := js.Stream(t.Context(), name)
			require.NoError(t, err)
			assert.Equal(t, want[name], s.CachedInfo().Config)
		}
	}
}

// Of a topic beyond job.> there is a subject, and what another replica serves stays.
func TestEnsureStreamsOfTopics(t *testing.T) {
	js, err := jetstream.New(connect(t))
	require.NoError(t, err)
	for _, topics := range [][]string{nil, {"job.a", "tool.github.pr.create"}, {"tool.mail"}, nil} {
		_, _, err = bus.EnsureStreams(t.Context(), js, bus.StreamOptions{Topics: topics})
		require.NoError(t, err)
	}
	s, err := js.Stream(t.Context(), bus.StreamJobs)
	require.NoError(t, err)
	assert.Equal(t, append(slices.Clone(bus.JobsSubjects), "tool.github.pr.create", "tool.mail"), s.CachedInfo().Config.Subjects)
}

// One that does not keep what it has delivered can do nothing for a scheduler.
func TestAStreamThatDropsWhatWasAcknowledged(t *testing.T) {
	js, err := jetstream.New(connect(t))
	require.NoError(t, err)
	for _, retention := range []jetstream.RetentionPolicy{jetstream.WorkQueuePolicy, jetstream.InterestPolicy} {
		_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: bus.StreamSys, Subjects: bus.SysSubjects, Retention: retention})
		require.NoError(t, err)
		_, _, err = bus.EnsureStreams(t.Context(), js, bus.StreamOptions{})
		require.ErrorIs(t, err, bus.ErrUnfit)
		assert.ErrorContains(t, err, "stream CORDUM_SYS: its retention is "+strings.ToLower(retention.String())+", and it must be limits")
		require.NoError(t, js.DeleteStream(t.Context(), bus.StreamSys))
	}
}

func TestEnsureStreamsThatAreToBeCreated(t *testing.T) {
	js, err := jetstream.New(connect(t))
	require.NoError(t, err)
	_, _, err = bus.EnsureStreams(t.Context(), js, bus.StreamOptions{MaxAge: time.Hour})
	require.NoError(t, err)
	s, err := js.Stream(t.Context(), bus.StreamJobs)
	require.NoError(t, err)
	assert.Equal(t, time.Hour, s.CachedInfo().Config.MaxAge)
	assert.Equal(t, jetstream.FileStorage, s.CachedInfo().Config.Storage)
}
