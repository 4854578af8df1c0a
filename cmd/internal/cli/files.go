package cli

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// Writable refuses a file that could not be written in the end, before hours are spent on it.
func Writable(name string) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return Fail(ExitUsage, "%s cannot be written: it is a folder; choose another file", name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return Fail(ExitUsage, "%s cannot be written: %v; choose another file", name, strictyaml.FileReason(err))
	}
	probe, err := os.CreateTemp(filepath.Dir(name), ".wavetank-*.tmp")
	if err != nil {
		return Fail(ExitUsage, "%s cannot be written: %v; choose another file", name, strictyaml.FileReason(err))
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// SameFolder says whether two names are of one folder, which need not be there yet.
func SameFolder(a, b string) bool {
	there, errA := os.Stat(a)
	other, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(there, other)
	}
	a, errA = filepath.Abs(a)
	b, errB = filepath.Abs(b)
	if errA != nil || errB != nil || filepath.Dir(a) == a || filepath.Dir(b) == b {
		return false
	}
	return filepath.Base(a) == filepath.Base(b) && SameFolder(filepath.Dir(a), filepath.Dir(b))
}

// WriteFile writes the file called name under a temporary name, and renames it once it is whole.
func WriteFile(name string, write func(io.Writer) error) (err error) {
	unwritable := func(err error) error {
		return Fail(ExitUsage, "%s cannot be written: %v", name, strictyaml.FileReason(err))
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return unwritable(err)
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*.tmp")
	if err != nil {
		return unwritable(err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriter(f)
	if err := errors.Join(write(w), w.Flush(), f.Chmod(0o644), f.Close()); err != nil {
		return unwritable(err)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return unwritable(err)
	}
	return nil
}

// NewTemp makes a temporary folder, and the function that removes it.
func NewTemp() (dir string, remove func(), err error) { return NewTempNamed("wavetank-") }

// NewTempNamed is newTemp with what begins the folder's name.
func NewTempNamed(prefix string) (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", prefix)
	if err != nil {
		return "", nil, Fail(ExitUsage, "no temporary folder: %v; set TMPDIR to one that can be written", strictyaml.FileReason(err))
	}
	return dir, func() {
		const attempts = 100 // a world that still runs may write into it meanwhile
		for range attempts {
			if os.RemoveAll(dir) == nil {
				return
			}
		}
	}, nil
}
