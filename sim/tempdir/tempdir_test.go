package tempdir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whoever makes a folder removes those that nobody holds any more, whatever their kind, and no others.
func TestAFolderThatItsProcessLeftIsRemoved(t *testing.T) {
	parent, anHour := t.TempDir(), time.Now().Add(-time.Hour)
	t.Setenv("TMPDIR", t.TempDir())
	held, remove, err := New(parent, World)
	require.NoError(t, err)
	left, young, other := filepath.Join(parent, "wavetank-command-left"), filepath.Join(parent, "wavetank-world-young"), filepath.Join(parent, "other")
	elsewhere := filepath.Join(os.TempDir(), "wavetank-campaign-left")
	for _, path := range []string{left, young, other, elsewhere} {
		require.NoError(t, os.MkdirAll(filepath.Join(path, "streams"), 0o755))
	}
	for _, path := range []string{held, left, other, elsewhere} {
		require.NoError(t, os.Chtimes(path, anHour, anHour))
	}
	swept.Clear() // as in another process

	path, removeToo, err := New(parent, World)
	require.NoError(t, err)
	assert.NoDirExists(t, left)
	assert.NoDirExists(t, elsewhere, "commands make theirs in one place, and their worlds in another")
	for _, stays := range []string{held, young, other, path} {
		assert.DirExists(t, stays)
	}
	remove()
	removeToo()
	assert.NoDirExists(t, held)
	assert.NoDirExists(t, path)
}

func TestTMPDIRIsHeeded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	assert.Empty(t, Memory())
}
