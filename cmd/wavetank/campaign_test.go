package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/power"
)

// code is what the program exits with after err.
func code(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return cli.ExitHeld
	}
	var known *cli.Error
	require.ErrorAs(t, err, &known)
	return known.Code
}

func TestExitOf(t *testing.T) {
	found := &campaign.Result{Findings: []campaign.Finding{{}}}
	flaky := &campaign.Result{Findings: []campaign.Finding{{}, {Flaky: true}}}
	for _, c := range []struct {
		res            *campaign.Result
		broken, unsure bool
		want           int
	}{
		{&campaign.Result{}, false, false, cli.ExitHeld},
		{&campaign.Result{}, false, true, cli.ExitInconclusive},
		{&campaign.Result{}, true, true, cli.ExitViolated},
		{&campaign.Result{Unexamined: 1}, false, true, cli.ExitViolated},
		{found, false, true, cli.ExitViolated},
		{flaky, true, true, cli.ExitNotDeterministic},
	} {
		assert.Equal(t, c.want, code(t, exitOf(c.res, c.broken, c.unsure)), "%+v", c)
	}
}

// Who changes the source while power measures is told to begin anew.
func TestPowerOfASourceThatChanges(t *testing.T) {
	err := failedPower(context.Background(), fmt.Errorf("engine.go:3 negated: %w", power.ErrChanged))
	assert.Equal(t, cli.ExitUsage, code(t, err))
	assert.Contains(t, err.Error(), "measure anew, in another folder")
	other := errors.New("another")
	assert.Equal(t, other, failedPower(context.Background(), other))
}
