package main

import (
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
)

func TestLoadInPercent(t *testing.T) {
	for averages, want := range map[string]float64{"0.50 1.07 2.68 24/257 28884\n": 25, "18.07 1 1 1/1 1\n": 100, "0.00 0.00 0.00 1/1 1\n": 0} {
		percent, err := percentOf(averages, 2)
		require.NoError(t, err)
		assert.InDelta(t, want, percent, 1e-9)
	}
	for _, averages := range []string{"", "much"} {
		_, err := percentOf(averages, 2)
		assert.ErrorContains(t, err, loadFile)
	}
}

// A worker says how busy its machine is if it is asked to, and else nothing.
func TestAWorkerReportsItsLoad(t *testing.T) {
	if now, err := loadPercent(); err != nil || now < 1 {
		t.Skip("this machine has no load to report")
	}
	srv := startNATS(t, freeAddr(t), t.TempDir())
	defer stopNATS(srv)
	nc, err := nats.Connect(srv.ClientURL())
	require.NoError(t, err)
	defer nc.Close()
	beats, err := nc.SubscribeSync(bus.SubjectHeartbeat)
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	heard := func(id string) (h job.Heartbeat) {
		for h.WorkerID != id {
			msg, err := beats.NextMsg(generous)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(msg.Data, &h))
		}
		return h
	}
	at := []string{"worker", "--nats", srv.ClientURL(), "--id"}
	start(t, append(at, "worker-1")...)
	assert.Zero(t, heard("worker-1").CPULoad)
	start(t, append(at, "worker-2", "--report-load")...)
	assert.Positive(t, heard("worker-2").CPULoad)
}
