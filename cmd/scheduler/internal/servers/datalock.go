package servers

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// lockFile is the file in a folder of streams that one scheduler at a time has.
const (
	lockFile       = "wavetank.lock"
	lockFileBefore = "faultline.lock" // when the project was called Faultline
)

// errInUse is that another process has a folder.
var errInUse = errors.New("in use")

// lockFolder takes a folder for this process, until the lock is closed or the process ends, however that comes about.
func lockFolder(dir string) (*flock.Flock, error) { return lockAt(filepath.Join(dir, lockFile)) }

func lockAt(path string) (*flock.Flock, error) {
	lock := flock.New(path)
	mine, err := lock.TryLock()
	if err == nil && (!mine || !stands(lock)) {
		err = errInUse
	}
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}

// stands says whether a lock is still on the file of its name: who sweeps may have removed it since.
func stands(lock *flock.Flock) bool {
	open, err := lock.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(lock.Path())
	return err == nil && os.SameFile(open, named)
}

// lockData takes the folder of --data, which it makes where there is none. A scheduler from before the project's
// renaming locks another file; where that one is, it is taken, too.
func lockData(dir string) (unlock func(), err error) {
	var now, before *flock.Flock
	if err = os.MkdirAll(dir, 0o755); err == nil {
		now, err = lockFolder(dir)
	}
	if old := filepath.Join(dir, lockFileBefore); err == nil && exists(old) {
		if before, err = lockAt(old); err != nil {
			_ = now.Close()
		}
	}
	switch {
	case errors.Is(err, errInUse):
		return nil, cli.Fail(cli.ExitUsage, "--data: another scheduler has its streams in %s; end it, or choose another folder", dir)
	case err != nil:
		return nil, cli.Fail(cli.ExitUsage, "--data: %s cannot be used: %v; choose another folder", dir, strictyaml.FileReason(err))
	}
	return func() {
		_ = now.Close()
		if before != nil {
			_ = before.Close()
		}
	}, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// streamsTemp begins the names of the temporary folders of streams.
const streamsTemp = "wavetank-scheduler-"

// newStreamsTemp makes a temporary folder for streams, and removes those that schedulers have left that
// were killed: nobody has a lock on them any more.
func newStreamsTemp() (dir string, remove func(), err error) {
	sweepStreamsTemps()
	for {
		dir, err := os.MkdirTemp("", streamsTemp)
		if err != nil {
			return "", nil, cli.NoTemp(err)
		}
		removeDir := func() { _ = os.RemoveAll(dir) }
		f, err := lockFolder(dir)
		switch {
		case errors.Is(err, errInUse): // another process swept it before it was locked
			removeDir()
			continue
		case err != nil:
			removeDir()
			return "", nil, cli.NoTemp(err)
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
		if !exists(filepath.Join(dir, lockFile)) {
			continue // it is being made, or is somebody else's
		}
		if f, err := lockFolder(dir); err == nil {
			_ = os.RemoveAll(dir)
			_ = f.Close()
		}
	}
}
