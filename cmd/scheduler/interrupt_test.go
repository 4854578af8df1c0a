package main

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/bus"
)

// A command that is interrupted says so, wherever it is: that Redis was left in the middle of an answer is no failure of it.
func TestInterrupted(t *testing.T) {
	natsServer := startNATS(t, freeAddr(t), filepath.Join(t.TempDir(), "nats"))
	defer stopNATS(natsServer)
	nc, err := nats.Connect(natsServer.ClientURL())
	require.NoError(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	for name, subject := range map[string]string{bus.StreamSys: "sys.>", bus.StreamJobs: "job.>"} {
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{subject}})
		require.NoError(t, err)
	}
	for _, c := range []struct {
		args []string
		at   string // the command of Redis at which it is interrupted
	}{
		{[]string{"show", "job-1"}, "HGETALL"},
		{[]string{"show", "job-1"}, "HELLO"},
		{[]string{"cancel", "job-1"}, "HMGET"},
		{[]string{"cancel", "job-1"}, "HELLO"},
		{[]string{"approve", "job-1"}, "HGETALL"},
		{[]string{"dlq", "list"}, "ZRANGE"},
		{[]string{"dlq", "deny", "job-1"}, "GET"},
		{[]string{"workflow", "show", "run-1"}, "GET"},
		{[]string{"audit"}, "SCAN"},
		{[]string{"submit", "--id", "job-1"}, "HGETALL"},
		{[]string{"submit", "--id", "job-1", "--wait"}, "HMGET"},
	} {
		t.Run(c.args[0]+" at "+c.at, func(t *testing.T) {
			m := miniredis.RunT(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			m.Server().SetPreHook(func(p *server.Peer, cmd string, _ ...string) bool {
				if cmd == c.at {
					cancel()
				}
				if ctx.Err() != nil {
					p.WriteError("ERR away")
				}
				return ctx.Err() != nil
			})
			root := newRoot()
			root.SetArgs(slices.Concat(c.args, []string{"--redis", "redis://" + m.Addr(), "--nats", natsServer.ClientURL()}))
			err := root.ExecuteContext(ctx)
			var ee *cli.Error
			require.ErrorAs(t, err, &ee)
			assert.Equal(t, cli.ExitInterrupted, ee.Code, "%v", err)
			assert.Error(t, ctx.Err(), "it came that far")
		})
	}
}
