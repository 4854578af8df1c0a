//go:build unix

package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func says(text string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}

// A pipe is written in place.
func TestWriteFileIntoAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, Writable(pipe), "this waits for no reader")
	read := make(chan string)
	go func() {
		data, _ := os.ReadFile(pipe)
		read <- string(data)
	}()
	require.NoError(t, WriteFile(pipe, says("told")))
	assert.Equal(t, "told", <-read)
	info, err := os.Lstat(pipe)
	require.NoError(t, err)
	assert.Equal(t, os.ModeNamedPipe, info.Mode().Type())
}

// A link stays, and the file that it links to is written whole, there or not.
func TestWriteFileFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.Mkdir(at("real"), 0o700))
	require.NoError(t, os.Symlink("real/file", at("link")))
	require.NoError(t, os.Symlink(at("link"), at("chain")))
	for _, text := range []string{"first", "second"} {
		require.NoError(t, Writable(at("chain")))
		require.NoError(t, WriteFile(at("chain"), says(text)))
		data, err := os.ReadFile(at("real/file"))
		require.NoError(t, err)
		assert.Equal(t, text, string(data))
	}
	require.Error(t, WriteFile(at("link"), func(io.Writer) error { return errors.New("broken off") }))
	data, err := os.ReadFile(at("link"))
	require.NoError(t, err)
	assert.Equal(t, "second", string(data))
	for _, name := range []string{"link", "chain"} {
		_, err := os.Readlink(at(name))
		assert.NoError(t, err, name)
	}
	entries, err := os.ReadDir(at("real"))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing temporary is left")

	require.NoError(t, os.Symlink("loop", at("loop")))
	assert.Error(t, Writable(at("loop")))
	assert.Error(t, WriteFile(at("loop"), says("")))
}
