package tempdir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whoever makes a folder removes those of its prefix that nobody holds any more, and no others.
func TestAFolderThatItsProcessLeftIsRemoved(t *testing.T) {
	parent, anHour := t.TempDir(), time.Now().Add(-time.Hour)
	held, remove, err := New(parent, "of-a-test-")
	require.NoError(t, err)
	left, young, other := filepath.Join(parent, "of-a-test-left"), filepath.Join(parent, "of-a-test-young"), filepath.Join(parent, "other")
	for _, path := range []string{left, young, other} {
		require.NoError(t, os.MkdirAll(filepath.Join(path, "streams"), 0o755))
	}
	for _, path := range []string{held, left, other} {
		require.NoError(t, os.Chtimes(path, anHour, anHour))
	}
	swept.Clear() // as in another process

	path, removeToo, err := New(parent, "of-a-test-")
	require.NoError(t, err)
	assert.NoDirExists(t, left)
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
