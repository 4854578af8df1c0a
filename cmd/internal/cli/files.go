package cli

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// Writable refuses a file that could not be written in the end, before hours are spent on it.
func Writable(name string) error {
	file, inPlace, err := target(name)
	if err != nil {
		return unwritable(name, err)
	}
	if inPlace {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return unwritable(name, err)
	}
	probe, err := os.CreateTemp(filepath.Dir(file), ".wavetank-*.tmp")
	if err != nil {
		return unwritable(name, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func unwritable(name string, err error) error {
	return Fail(ExitUsage, "%s cannot be written: %v; choose another place", name, strictyaml.FileReason(err))
}

// Replaceable refuses a file that is there and holds something else than what would replace it, which begins with these bytes.
func Replaceable(name, begins string) error {
	f, err := os.Open(name)
	if err != nil {
		return nil // whether it can be written is another question
	}
	defer f.Close() // read only: nothing to lose
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil
	}
	begin := make([]byte, len(begins))
	if n, _ := io.ReadFull(f, begin); string(begin[:n]) != begins {
		return Fail(ExitUsage, "%s holds something else, which would be lost; remove it, or give another name", name)
	}
	return nil
}

// target is the file that name is, or that it links to, there or not. A pipe or a device is written in place.
func target(name string) (file string, inPlace bool, err error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return "", false, errors.New("it is a folder")
	case err == nil && !info.Mode().IsRegular():
		return name, true, nil // by the name given: what /dev/fd/3 links to has none
	case err == nil:
		file, err = filepath.EvalSymlinks(name)
		return file, false, err
	case !errors.Is(err, fs.ErrNotExist):
		return "", false, err
	}
	to, err := os.Readlink(name)
	if err != nil {
		return name, false, nil
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(name), to)
	}
	return target(to)
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

// WriteFile writes the file called name under a temporary name, and renames it once it is whole. A link is followed,
// and a pipe or a device is written in place.
func WriteFile(name string, write func(io.Writer) error) (err error) {
	file, inPlace, err := target(name)
	if err != nil {
		return unwritable(name, err)
	}
	if inPlace {
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			return unwritable(name, err)
		}
		w := bufio.NewWriter(f)
		if err := errors.Join(write(w), w.Flush(), f.Close()); err != nil {
			return unwritable(name, err)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return unwritable(name, err)
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*.tmp")
	if err != nil {
		return unwritable(name, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriter(f)
	if err := errors.Join(write(w), w.Flush(), f.Chmod(0o644), f.Close()); err != nil {
		return unwritable(name, err)
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return unwritable(name, err)
	}
	return nil
}

// NoTemp is the error of a temporary folder that could not be made.
func NoTemp(err error) error {
	return Fail(ExitUsage, "no temporary folder in %s: %v; set TMPDIR to one that can be written", os.TempDir(), strictyaml.FileReason(err))
}
