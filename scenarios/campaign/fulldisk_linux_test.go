package campaign

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/campaign/internal/namespace"
	"github.com/wavetank-sim/wavetank/scenarios/internal/race"
)

func TestAFullDisk(t *testing.T) {
	race.SkipLong(t)
	namespace.WithDisk(t, func(disk string, resize func(string)) {
		spec := small(20)
		want := undisturbed(t, spec)
		dir := filepath.Join(disk, "campaign")
		require.NoError(t, Create(dir, spec))
		_, err := Run(context.Background(), dir, quick(2, ""))
		require.EqualError(t, err, filepath.Join(dir, JournalFile)+" cannot be written: no space left on device; make room and try again: what was finished is kept")
		finished, err := os.ReadFile(filepath.Join(dir, JournalFile))
		require.NoError(t, err)
		assert.Greater(t, strings.Count(string(finished), "\n"), 5)

		resize("16m")
		_, text := ran(t, dir, quick(2, ""))
		assert.Equal(t, want, text)
		all, err := os.ReadFile(filepath.Join(dir, JournalFile))
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(string(all), string(finished)), "nothing that was finished is lost")
		journaled(t, dir, 20)

		require.NoError(t, os.WriteFile(filepath.Join(disk, "filler"), make([]byte, 15<<20), 0o644))
		for err = nil; err == nil; {
			err = os.WriteFile(filepath.Join(disk, "filler-2"), make([]byte, 1<<20), 0o644)
		}
		err = Create(filepath.Join(disk, "another"), spec)
		require.EqualError(t, err, filepath.Join(disk, "another", SpecFile)+" cannot be written: no space left on device; make room and try again: what was finished is kept")
	})
}
