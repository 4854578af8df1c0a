// Package tempdir makes temporary folders. It also removes the folders that a killed process has left.
package tempdir

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Memory returns a parent for [New] for temporary folders that hold little and are written often. It is a
// folder in memory on Linux, if TMPDIR names no folder and memory has room; a restart of nats-server takes
// half as long there. Otherwise it is empty, which is the default of [os.MkdirTemp].
func Memory() string {
	const enough = 1 << 30 // bytes; containers often have 64 MB there
	if free, _ := Room(memory); os.Getenv("TMPDIR") == "" && free >= enough {
		return memory
	}
	return ""
}

const memory = "/dev/shm"

// Kind says what a folder is for. It begins the folder's name.
type Kind string

// The kinds of folder.
const (
	Command  Kind = "wavetank-command-"
	Campaign Kind = "wavetank-campaign-"
	World    Kind = "wavetank-world-"
)

// New makes a folder in parent, as [os.MkdirTemp] does. remove removes it.
func New(parent string, of Kind) (path string, remove func(), err error) {
	if path, err = os.MkdirTemp(parent, string(of)); err != nil {
		return "", nil, err
	}
	lock := lockOf(path)  // held as long as the folder is used
	_, _ = lock.TryLock() // a file system may lack locks
	for _, place := range []string{filepath.Dir(path), os.TempDir(), memory} {
		if _, done := swept.LoadOrStore(place, true); !done {
			removeStale(path, place)
		}
	}
	return path, func() {
		const attempts = 100 // a world that still runs may write into it meanwhile
		for range attempts {
			if os.RemoveAll(path) == nil {
				break
			}
		}
		_ = lock.Unlock()
	}, nil
}

// swept holds the parents whose stale folders this process has removed.
var swept sync.Map

// removeStale removes the folders in parent whose processes are gone. A folder that is less than a minute
// older than own may not be locked yet, and stays.
func removeStale(own, parent string) {
	made, err := os.Stat(own)
	if err != nil {
		return
	}
	var list []string
	for _, kind := range []Kind{Command, Campaign, World} {
		found, _ := filepath.Glob(filepath.Join(parent, string(kind)+"*"))
		list = append(list, found...)
	}
	for _, path := range list {
		info, err := os.Stat(path)
		if err != nil || made.ModTime().Sub(info.ModTime()) < time.Minute {
			continue
		}
		lock := lockOf(path)
		if free, err := lock.TryLock(); free && err == nil {
			_ = os.RemoveAll(path)
			_ = lock.Unlock()
		}
	}
}

func lockOf(path string) *flock.Flock { return flock.New(path, flock.SetFlag(os.O_RDONLY)) }
