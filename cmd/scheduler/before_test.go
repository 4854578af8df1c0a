package main

import (
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go"
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

// A worker of the project's old name that lives keeps its name.
func TestAnOldWorkersNameIsItsOwn(t *testing.T) {
	nc, err := nats.Connect(startNATS(t, freeAddr(t), t.TempDir()).ClientURL())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	_, err = nc.Subscribe("faultline.worker.worker-1", func(msg *nats.Msg) { _ = msg.Respond(nil) })
	require.NoError(t, err)
	other, err := nats.Connect(nc.ConnectedUrl(), nats.NoEcho())
	require.NoError(t, err)
	t.Cleanup(other.Close)
	assert.ErrorContains(t, claim(t.Context(), other, "worker-1"), "a worker called worker-1 lives already")
	assert.NoError(t, claim(t.Context(), other, "worker-2"))
	_, err = nc.Request("faultline.worker.worker-2", nil, generous)
	assert.NoError(t, err, "an old worker would be refused, too")
}
