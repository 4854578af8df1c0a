package sim

import (
	"cmp"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

// fail has the run end with an error, unless it has one. It returns what the run ends with.
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

// roomLeast is how many bytes there must be for the files of servers. A server that cannot store what it is given goes on in
// ways that no plan has asked for, and says so in its log alone.
const roomLeast = 256 << 10

func (w *World) checkRoom() {
	if free, known := tempdir.Room(w.folder); known && free < roomLeast {
		_ = w.fail(fmt.Errorf("sim: the files of the world's servers have no room: %w; make room, or let TMPDIR name a folder that has", &fs.PathError{Op: "write", Path: w.folder, Err: syscall.ENOSPC}))
	}
}
