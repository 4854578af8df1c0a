// Package mutants plants mistakes in the engine, for tests that are to notice them. The files of the tree stay as they are.
package mutants

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// A Mutant is a mistake in one place of the engine.
type Mutant struct {
	Name string `yaml:"name"`
	Says string `yaml:"says"`
	File string `yaml:"file"`
	Old  string `yaml:"old"`
	New  string `yaml:"new"`
	Test string `yaml:"test"` // PACKAGE TEST: the test that catches it, if it is none that a run shows
}

// Read lists the mutants of a file.
func Read(t *testing.T, file string) (list []Mutant) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalWithOptions(data, &list, yaml.Strict()))
	return list
}

// Overlay plants mutants in the module whose folder is root. It returns the file by which the go command sees them, with
// -overlay, and those that are left: another has changed their lines.
func Overlay(t *testing.T, root string, list ...Mutant) (name string, left []Mutant) {
	t.Helper()
	dir, files := t.TempDir(), map[string]string{}
	for _, m := range list {
		path, err := filepath.Abs(filepath.Join(root, m.File))
		require.NoError(t, err)
		code, err := os.ReadFile(path)
		require.NoError(t, err, m.Name)
		require.Equal(t, 1, bytes.Count(code, []byte(m.Old)), "%s: %s is to hold this once; mend the mutant:\n%s", m.Name, m.File, m.Old)
		if planted, ok := files[path]; ok {
			code, err = os.ReadFile(planted)
			require.NoError(t, err, m.Name)
			if bytes.Count(code, []byte(m.Old)) != 1 {
				left = append(left, m)
				continue
			}
		}
		files[path] = filepath.Join(dir, strings.ReplaceAll(m.File, "/", "-"))
		require.NoError(t, os.WriteFile(files[path], bytes.Replace(code, []byte(m.Old), []byte(m.New), 1), 0o600))
	}
	data, err := json.Marshal(map[string]any{"Replace": files})
	require.NoError(t, err)
	name = filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(name, data, 0o600))
	return name, left
}
