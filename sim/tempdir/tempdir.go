// Package tempdir makes temporary folders. What a process that is killed leaves of its own, a later one removes.
package tempdir

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Memory is the folder to make temporary folders in that hold little and are written often, for [New]: one in memory, on Linux
// where TMPDIR names no folder and memory has room; a restart of nats-server takes half as long there. Otherwise it is empty,
// which is the default of [os.MkdirTemp].
func Memory() string {
	const path, enough = "/dev/shm", 1 << 30 // bytes; containers often have 64 MB there
	if free, _ := Room(path); os.Getenv("TMPDIR") == "" && free >= enough {
		return path
	}
	return ""
}

// New makes a folder in parent, as [os.MkdirTemp] does; remove removes it. No other prefix of this package begins with prefix.
func New(parent, prefix string) (path string, remove func(), err error) {
	if path, err = os.MkdirTemp(parent, prefix); err != nil {
		return "", nil, err
	}
	lock := lockOf(path)  // as long as it is used
	_, _ = lock.TryLock() // a file system without locks does without
	if _, done := swept.LoadOrStore(filepath.Join(filepath.Dir(path), prefix), true); !done {
		removeStale(path, prefix)
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

// swept holds the parents and prefixes whose stale folders this process has removed.
var swept sync.Map

// removeStale removes the folders beside own whose processes are gone. One that is young may yet be locked.
func removeStale(own, prefix string) {
	made, err := os.Stat(own)
	if err != nil {
		return
	}
	list, _ := filepath.Glob(filepath.Join(filepath.Dir(own), prefix+"*"))
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
