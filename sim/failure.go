package sim

import (
	"cmp"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

// fail makes the run end with err, unless it has failed already. It returns the error that the run ends with.
func (w *World) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = cmp.Or(w.failed, err)
	return w.failed
}

func (w *World) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// roomLeast is how many bytes must be free for the files of servers. A server that cannot store its data goes
// on in ways that no plan asks for, and says so only in its log.
const roomLeast = 256 << 10

func (w *World) checkRoom() {
	if free, known := tempdir.Room(w.folder); known && free < roomLeast {
		_ = w.fail(fmt.Errorf("sim: the files of the world's servers have no room: %w; make room, or let TMPDIR name a folder that has", &fs.PathError{Op: "write", Path: w.folder, Err: syscall.ENOSPC}))
	}
}
