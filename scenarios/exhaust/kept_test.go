package exhaust

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
)

// Runs that look for pairs are made once, whoever ends the search, and wherever a line was cut short.
func TestRunsThatLookForPairsAreKept(t *testing.T) {
	runs, path := 0, filepath.Join(t.TempDir(), KeptFile)
	p, o := searched(t, func() scheduler.Variant {
		runs++
		return func(string, *engine.Config) {}
	})
	o.Pairs = true
	whole, err := Define(t.Context(), p, o)
	require.NoError(t, err)
	all := runs
	require.Equal(t, 1+len(whole.Firsts), all)

	by := "a"
	o.Keep = func() (*Kept, error) { return Keep(path, by) }
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(done, _ int) {
		if done == 5 {
			cancel()
		}
	}
	_, err = Define(ctx, p, o)
	require.ErrorIs(t, err, context.Canceled)
	o.Progress = nil
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data[:len(data)-10], 0o600)) // four are whole

	again := func(made int) {
		t.Helper()
		runs = 0
		d, err := Define(t.Context(), p, o)
		require.NoError(t, err)
		assert.Equal(t, made, runs)
		assert.Equal(t, whole.Spec(), d.Spec())
		assert.Equal(t, []int{whole.Alike, whole.Apart}, []int{d.Alike, d.Apart})
	}
	again(all - 4)
	again(1)
	by = "b" // another program's runs may be others
	again(all)
}
