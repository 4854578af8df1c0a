package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

func TestLook(t *testing.T) {
	for _, c := range []struct {
		name  string
		make  func(dir string)
		state State
	}{
		{"nothing", func(string) {}, None},
		{"an empty folder", func(dir string) { require.NoError(t, os.Mkdir(dir, 0o755)) }, None},
		{"a campaign whose making was cut short", func(dir string) {
			write(t, dir, LockFile, "")
			write(t, dir, JournalFile, "")
		}, None},
		{"a result of something else", func(dir string) { write(t, dir, ResultFile, "{}") }, Foreign},
		{"a campaign", func(dir string) { require.NoError(t, Create(dir, small(1))) }, Unfinished},
		{"a campaign and its result", func(dir string) {
			require.NoError(t, Create(dir, small(1)))
			write(t, dir, ResultFile, "{}")
		}, Finished},
		{"something else", func(dir string) { write(t, dir, "notes.txt", "") }, Foreign},
		{"a spec of something else", func(dir string) { write(t, dir, SpecFile, `{"openapi": "3.1.0"}`) }, Foreign},
		{"a file", func(dir string) { require.NoError(t, os.WriteFile(dir, nil, 0o644)) }, Foreign},
	} {
		dir := filepath.Join(t.TempDir(), "x")
		c.make(dir)
		state, err := Look(dir)
		require.NoError(t, err)
		assert.Equal(t, c.state, state, c.name)
	}
}

func TestCreateReplacesOnlyWhatIsFinished(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	require.NoError(t, Create(dir, small(1)))
	assert.EqualError(t, Create(dir, small(2)), dir+" holds a campaign that was cut short; go on with it, remove it, or choose another folder")
	write(t, dir, ResultFile, "{}")
	write(t, filepath.Join(dir, FindingsDir), "one.yaml", "")
	require.NoError(t, Create(dir, small(2)))
	assert.NoFileExists(t, filepath.Join(dir, ResultFile))
	assert.NoDirExists(t, filepath.Join(dir, FindingsDir))
	spec, err := Load(dir)
	require.NoError(t, err)
	assert.True(t, spec.Equal(small(2)))
	assert.False(t, spec.Equal(small(1)))

	foreign := t.TempDir()
	write(t, foreign, "notes.txt", "mine")
	assert.EqualError(t, Create(foreign, small(1)), foreign+" holds something that is not part of a campaign; choose another folder")
	file := filepath.Join(foreign, "notes.txt")
	assert.ErrorContains(t, Create(file, small(1)), "choose another folder")
	assert.EqualError(t, Create(filepath.Join(file, "x"), small(1)), filepath.Join(file, "x")+" cannot be read: not a directory")
}

// Who creates a campaign where another process does, or runs one that is over, leaves it alone.
func TestCreateTakesTheLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	require.NoError(t, Create(dir, small(1)))
	write(t, dir, JournalFile, "old")
	write(t, dir, ResultFile, "{}")
	theirs, err := lockJournal(dir)
	require.NoError(t, err)
	assert.EqualError(t, Create(dir, small(2)), "another process runs the campaign in "+dir+"; wait for it, or end it")
	assert.FileExists(t, filepath.Join(dir, ResultFile))
	theirs.close()
	require.NoError(t, Create(dir, small(2)))
	data, err := os.ReadFile(filepath.Join(dir, JournalFile))
	require.NoError(t, err)
	assert.Empty(t, data)
}

// A page says what its campaign came to: one from before goes when the campaign goes on, or gives way.
func TestAPageIsOfWhatIsThere(t *testing.T) {
	t.Parallel()
	dir := begun(t, small(2))
	write(t, dir, PageFile, "of less")
	ran(t, dir, quick(1, ""))
	assert.NoFileExists(t, filepath.Join(dir, PageFile))
	write(t, dir, PageFile, "of all")
	ran(t, dir, quick(1, ""))
	assert.FileExists(t, filepath.Join(dir, PageFile), "it is over")
	require.NoError(t, Create(dir, small(2)))
	assert.NoFileExists(t, filepath.Join(dir, PageFile))
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	_, err := Load(dir)
	assert.EqualError(t, err, dir+" holds no campaign: there is no spec.json; give the folder of one")
	require.NoError(t, Create(dir, small(1)))
	_, err = LoadResult(dir)
	assert.EqualError(t, err, "the campaign in "+dir+" was cut short and has no result.json yet; go on with it first")
	data, err := os.ReadFile(filepath.Join(dir, SpecFile))
	require.NoError(t, err)
	path := filepath.Join(dir, SpecFile)

	write(t, dir, SpecFile, strings.Replace(string(data), `"version": 2`, `"version": 3`, 1))
	_, err = Load(dir)
	assert.EqualError(t, err, path+" is of version 3, and this build reads version 2; use the build that wrote it, or remove "+dir+" and begin the campaign anew")
	write(t, dir, SpecFile, strings.Replace(string(data), `"version": 2`, `"version": 3, "nodes": []`, 1))
	_, err = Load(dir)
	assert.EqualError(t, err, path+" is of version 3, and this build reads version 2; use the build that wrote it, or remove "+dir+" and begin the campaign anew")
	write(t, dir, SpecFile, string(data[:20]))
	_, err = Load(dir)
	assert.EqualError(t, err, path+" is broken: unexpected end of JSON input; remove "+dir+" and begin the campaign anew")

	path = filepath.Join(dir, ResultFile)
	for content, says := range map[string]string{
		`hello`:                      " is broken: invalid character 'h' looking for beginning of value; remove it and go on with the campaign",
		`{"version": 2, "nodes": 1}`: " is of version 2, and this build reads version 1; use the build that wrote it, or remove it and go on with the campaign",
		`{"version": 1, "nodes": 1}`: ` is broken: unknown field "nodes"; remove it and go on with the campaign`,
	} {
		write(t, dir, ResultFile, content)
		_, err = LoadResult(dir)
		assert.EqualError(t, err, path+says)
	}
}
