package main

import (
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
)

// A folder that a scheduler of the project's old name uses is refused, and taken once that one has ended.
func TestAFolderOfAnOldScheduler(t *testing.T) {
	data := t.TempDir()
	old := flock.New(filepath.Join(data, "faultline.lock"))
	mine, err := old.TryLock()
	require.NoError(t, err)
	require.True(t, mine)
	redis := startMini(t)
	args := []string{"serve", "--redis", redis, "--embedded-nats", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--data", data}
	refused := start(t, args...)
	refused.ends(cli.ExitUsage)
	assert.Equal(t, "scheduler: --data: another scheduler has its streams in "+data+"; end it, or choose another folder\n", refused.output())
	require.NoError(t, old.Close())
	start(t, args...).is(200, `"status":"ok"`)
	mine, err = old.TryLock()
	require.NoError(t, err)
	assert.False(t, mine, "an old scheduler would be refused, too")
}

// What stands in the servers has no name of the project, so that a scheduler of another name finds it.
func TestNothingStoredHasTheProjectsName(t *testing.T) {
	_, at := alone(t)
	start(t, append([]string{"worker", "--id", "worker-1", "--heartbeat", "200ms"}, at...)...)
	client(t, cli.ExitHeld, at, "submit", "--jobs", "3", "--wait")
	names, err := dial(t, at[1]).Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.NotEmpty(t, names)
	nc, err := nats.Connect(at[3])
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	consumers := 0
	for info := range js.ListStreams(t.Context()).Info() {
		names = append(append(names, info.Config.Name), info.Config.Subjects...)
		stream, err := js.Stream(t.Context(), info.Config.Name)
		require.NoError(t, err)
		for name := range stream.ConsumerNames(t.Context()).Name() {
			names = append(names, name)
			consumers++
		}
	}
	require.NotZero(t, consumers)
	for _, name := range names {
		assert.NotRegexp(t, "(?i)wavetank|faultline", name)
	}
}

// A worker of the project's old name that lives keeps its name.
func TestAnOldWorkersNameIsItsOwn(t *testing.T) {
	nc, err := nats.Connect(startNATS(t, freeAddr(t), t.TempDir()).ClientURL())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	_, err = nc.Subscribe("faultline.worker.worker-1", func(msg *nats.Msg) { _ = msg.Respond(nil) })
	require.NoError(t, err)
	require.NoError(t, nc.Flush()) // the server knows of it
	other, err := nats.Connect(nc.ConnectedUrl(), nats.NoEcho())
	require.NoError(t, err)
	t.Cleanup(other.Close)
	assert.ErrorContains(t, claim(t.Context(), other, "worker-1"), "a worker called worker-1 is alive already")
	assert.NoError(t, claim(t.Context(), other, "worker-2"))
	_, err = nc.Request("faultline.worker.worker-2", nil, generous)
	assert.NoError(t, err, "an old worker would be refused, too")
}
