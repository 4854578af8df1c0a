package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/orders"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// What an earlier search found is gone before another begins, so that the findings of one never lie beside the numbers of
// the other, whatever ends it.
func TestASearchForOrdersBeginsInAnEmptyFolder(t *testing.T) {
	findings := filepath.Join(t.TempDir(), ordersCampaign, "findings")
	require.NoError(t, os.MkdirAll(findings, 0o700))
	dir := filepath.Dir(filepath.Dir(findings))
	p, err := plans.Load("calm")
	require.NoError(t, err)
	require.NoError(t, p.Set("workload.jobs=1"))
	d, err := orders.Define(p, 0)
	require.NoError(t, err)
	require.NoError(t, cli.WriteFile(filepath.Join(dir, ordersFile), func(w io.Writer) error { return cli.PrintJSON(w, orders.Result{Plan: d.Plan, Broken: 1}) }))
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(cli.ErrInterrupted)
	cmd := newOrders()
	cmd.SetArgs([]string{"calm", "--set", "workload.jobs=1", "--preemptions", "0", "--workers", "1", "--out", dir, "-q"})
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	require.Error(t, cmd.ExecuteContext(ctx))
	assert.NoDirExists(t, filepath.Join(dir, ordersCampaign))
	left, err := os.ReadFile(filepath.Join(dir, ordersFile))
	require.NoError(t, err)
	assert.NotContains(t, string(left), `"broken": 1`, "what was tried by the interrupt is in it: nothing")
}

// What another process runs keeps what it has.
func TestASearchForOrdersLeavesACampaignThatRuns(t *testing.T) {
	dir := t.TempDir()
	d := &orders.Definition{Plan: "name: one\n"}
	require.NoError(t, cli.WriteFile(filepath.Join(dir, ordersFile), func(w io.Writer) error { return cli.PrintJSON(w, orders.Result{Plan: d.Plan}) }))
	at := filepath.Join(dir, ordersCampaign)
	require.NoError(t, os.Mkdir(at, 0o700))
	lock := flock.New(filepath.Join(at, campaign.LockFile))
	_, err := lock.TryLock()
	require.NoError(t, err)
	require.EqualError(t, clearOrders(dir, d), campaign.Busy(at).Error())
	assert.FileExists(t, filepath.Join(dir, ordersFile))
	require.NoError(t, lock.Close())
	require.NoError(t, clearOrders(dir, d))
	assert.NoFileExists(t, filepath.Join(dir, ordersFile))
}
