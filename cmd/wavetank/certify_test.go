package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/exhaust"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// A Ctrl-C takes nothing from a certificate that is whole, nor does a budget that passes.
func TestWhatIsCertifiedOutlastsAnInterrupt(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("one.yaml", []byte("name: one\ntopology: {schedulers: 1, workers: 1}\nworkload: {jobs: 1}\n"), 0o600))
	out, err := exec.CommandContext(t.Context(), "wavetank", "exhaust", "one.yaml", "--phase", "publish", "--fault", "crash", "--out", "cert", "-q").CombinedOutput()
	require.NoError(t, err, string(out))
	a, err := askedIn("cert")
	require.NoError(t, err)
	plan, err := plans.Parse("one.yaml", []byte(a.Plan))
	require.NoError(t, err)
	d, err := exhaust.Define(t.Context(), plan, a.Options)
	require.NoError(t, err)
	stands := func(ctx context.Context) (*exhaust.Certificate, error) {
		f := exhaustFlags{campaignFlags: campaignFlags{workers: 1, quiet: true}}
		c, _, err := f.certify(ctx, "cert", d, io.Discard)
		done, wrong := campaign.Done(filepath.Join("cert", exhaust.CampaignDir))
		require.NoError(t, wrong)
		assert.Equal(t, 1+len(d.Tries), done)
		assert.FileExists(t, filepath.Join("cert", reports.PageFile))
		assert.FileExists(t, filepath.Join("cert", exhaust.CertificateFile))
		return c, err
	}
	interrupted, interrupt := context.WithCancelCause(t.Context())
	interrupt(cli.ErrInterrupted)
	_, err = stands(interrupted)
	require.ErrorIs(t, err, cli.ErrInterrupted)
	var failed *cli.Error
	require.ErrorAs(t, (&checkFlags{sample: 1, quiet: true}).checkCertificate(interrupted, "cert", io.Discard, io.Discard), &failed)
	assert.Equal(t, cli.ExitInterrupted, failed.Code)
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	c, err := stands(late)
	require.NoError(t, err)
	assert.True(t, c.Complete)
}
