package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// The files of a ledger's folder.
const (
	FindingsDir = "findings"     // a file for each finding, NAME.yaml
	NightsFile  = "nights.jsonl" // a line for each night
)

// Ledger is what the folder holds.
type Ledger struct {
	Dir     string
	Entries []*Entry // in the order of their names
	Nights  []Past   // the last nights, in their order
}

// Read reads the ledger in dir. A folder that is not there is a ledger without findings.
func Read(dir string) (*Ledger, error) {
	l := &Ledger{Dir: dir}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder; give that of a ledger", dir)
	}
	files, err := os.ReadDir(filepath.Join(dir, FindingsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s cannot be read: %w", dir, strictyaml.FileReason(err))
	}
	for _, file := range files {
		path := filepath.Join(dir, FindingsDir, file.Name())
		switch {
		case strings.HasPrefix(file.Name(), "."): // one that was not written to its end
			continue
		case filepath.Ext(path) != ".yaml":
			return nil, &strictyaml.Error{File: path, Message: "this is no finding", Remedy: "the folder holds findings alone, as .yaml files"}
		}
		data, err := strictyaml.ReadFile(path, "a finding of the ledger")
		if err != nil {
			return nil, err
		}
		e, err := parse(path, data)
		if err != nil {
			return nil, err
		}
		l.Entries = append(l.Entries, e)
	}
	path := filepath.Join(dir, NightsFile)
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", path, strictyaml.FileReason(err))
	default:
		if l.Nights, err = readPasts(path, data); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Path is where the file of an entry is.
func (l *Ledger) Path(e *Entry) string { return filepath.Join(l.Dir, FindingsDir, e.Name()+".yaml") }

// entry is the finding of that name, or nil.
func (l *Ledger) entry(name string) *Entry {
	i := slices.IndexFunc(l.Entries, func(e *Entry) bool { return e.Name() == name })
	if i < 0 {
		return nil
	}
	return l.Entries[i]
}

// Write writes the files that are others than those in the folder. All are complete before any gets its name. The line of the
// night comes last: if this is killed before, the same triage again writes what is missing, and counts nothing twice.
func (l *Ledger) Write() (err error) {
	type file struct{ temp, path string }
	var files []file
	defer func() {
		for _, f := range files {
			_ = os.Remove(f.temp) // those that have no name yet
		}
		if err != nil {
			err = fmt.Errorf("%s cannot be written: %w", l.Dir, strictyaml.FileReason(err))
		}
	}()
	put := func(path string, data []byte) error {
		if was, err := os.ReadFile(path); err == nil && string(was) == string(data) {
			return nil
		}
		temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".partial")
		files = append(files, file{temp, path})
		return os.WriteFile(temp, data, 0o644)
	}
	if err := os.MkdirAll(filepath.Join(l.Dir, FindingsDir), 0o755); err != nil {
		return err
	}
	for _, e := range l.Entries {
		data, err := e.marshal()
		if err == nil {
			err = put(l.Path(e), data)
		}
		if err != nil {
			return err
		}
	}
	if err := put(filepath.Join(l.Dir, NightsFile), marshalPasts(l.Nights)); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.Rename(f.temp, f.path); err != nil {
			return err
		}
	}
	return nil
}
