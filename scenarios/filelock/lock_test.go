package filelock

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A file has one holder, until that one closes it; what it says can be read all the same.
func TestTryLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	try := func(f *os.File) bool {
		mine, err := TryLock(f)
		require.NoError(t, err)
		return mine
	}
	first, second := open(), open()
	_, err := first.WriteString("text")
	require.NoError(t, err)
	assert.True(t, try(first))
	assert.False(t, try(second))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
	require.NoError(t, first.Close())
	assert.True(t, try(second))
}
