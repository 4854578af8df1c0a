package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/wavetank-sim/wavetank/scenarios/filelock"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// lockFile is the file in a folder of streams that one scheduler at a time has.
const lockFile = "wavetank.lock"

// errInUse is that another process has a folder.
var errInUse = errors.New("in use")

// lockFolder takes a folder for this process, until the file that it returns is closed or the process
// ends, however that comes about.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	mine, err := filelock.TryLock(f)
	if err == nil && (!mine || !stands(f)) {
		err = errInUse
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// stands says whether f is still the file of its name: who sweeps may have removed it since.
func stands(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.Name())
	return err == nil && os.SameFile(open, named)
}

// lockData takes the folder of --data, which it makes where there is none.
func lockData(dir string) (unlock func(), err error) {
	err = os.MkdirAll(dir, 0o755)
	var f *os.File
	if err == nil {
		f, err = lockFolder(dir)
	}
	switch {
	case errors.Is(err, errInUse):
		return nil, fail(exitUsage, "--data: another scheduler has its streams in %s; end it, or choose another folder", dir)
	case err != nil:
		return nil, fail(exitUsage, "--data: %s cannot be used: %v; choose another folder", dir, strictyaml.FileReason(err))
	}
	return func() { _ = f.Close() }, nil
}

// streamsTemp begins the names of the temporary folders of streams.
const streamsTemp = "wavetank-scheduler-"

// newStreamsTemp makes a temporary folder for streams, and removes those that schedulers have left that
// were killed: nobody has a lock on them any more.
func newStreamsTemp() (dir string, remove func(), err error) {
	sweepStreamsTemps()
	for {
		dir, removeDir, err := newTempNamed(streamsTemp)
		if err != nil {
			return "", nil, err
		}
		f, err := lockFolder(dir)
		switch {
		case errors.Is(err, errInUse): // another process swept it before it was locked
			removeDir()
			continue
		case err != nil:
			removeDir()
			return "", nil, fail(exitUsage, "no temporary folder: %v; set TMPDIR to one that can be written", strictyaml.FileReason(err))
		}
		return dir, func() {
			_ = f.Close() // before: an open file cannot be removed everywhere
			removeDir()
		}, nil
	}
}

func sweepStreamsTemps() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), streamsTemp+"*"))
	for _, dir := range left {
		if _, err := os.Stat(filepath.Join(dir, lockFile)); err != nil {
			continue // it is being made, or is somebody else's
		}
		if f, err := lockFolder(dir); err == nil {
			_ = os.RemoveAll(dir)
			_ = f.Close()
		}
	}
}
