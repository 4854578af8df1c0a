package queue

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/campaign/internal/namespace"
	"github.com/wavetank-sim/wavetank/scenarios/internal/race"
)

// A coordinator whose disk is full says so, and goes on where it was once there is room; the machines wait for it.
func TestAFullDiskAtTheCoordinator(t *testing.T) {
	race.SkipLong(t)
	namespace.WithDisk(t, func(disk string, resize func(string)) {
		const runs = 31
		spec := clean(runs)
		want := alone(t, spec)
		dir := filepath.Join(disk, "campaign")
		require.NoError(t, campaign.Create(dir, spec))
		s := startServer(t, nil)
		process(t, asMachine, s.url())
		_, err := coordinated(t, dir, &Coordinator{Server: Server{URL: s.url()}, Chunk: 4})
		require.EqualError(t, err, filepath.Join(dir, campaign.JournalFile)+" cannot be written: no space left on device; make room and try again: what was finished is kept")
		before := done(t, dir)
		assert.Positive(t, before)
		assert.Less(t, before, runs)

		resize("16m")
		_, err = coordinated(t, dir, &Coordinator{Server: Server{URL: s.url()}, Chunk: 4})
		require.NoError(t, err)
		assert.Equal(t, want, resultOf(t, dir))
		nothingLeft(t, s)
	})
}
