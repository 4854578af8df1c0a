package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// folder is where the servers of a world keep their files. It goes with the world. What a process that is killed leaves of its
// own, the next one removes.
type folder struct {
	path string
	lock *flock.Flock // as long as the world lives
}

const folderPrefix = "wavetank-world-"

var staleFolders sync.Once

func newFolder() (*folder, error) {
	path, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return nil, fmt.Errorf("a folder for the files of servers: %w", err)
	}
	f := &folder{path: path, lock: folderLock(path)}
	_, _ = f.lock.TryLock() // a file system without locks does without
	staleFolders.Do(f.removeStale)
	return f, nil
}

func folderLock(path string) *flock.Flock { return flock.New(path, flock.SetFlag(os.O_RDONLY)) }

// removeStale removes the folders whose processes are gone. One that is young may yet be locked.
func (f *folder) removeStale() {
	own, err := os.Stat(f.path)
	if err != nil {
		return
	}
	list, _ := filepath.Glob(filepath.Join(filepath.Dir(f.path), folderPrefix+"*"))
	for _, path := range list {
		info, err := os.Stat(path)
		if err != nil || own.ModTime().Sub(info.ModTime()) < time.Minute {
			continue
		}
		lock := folderLock(path)
		if free, err := lock.TryLock(); free && err == nil {
			_ = os.RemoveAll(path)
			_ = lock.Unlock()
		}
	}
}

func (f *folder) remove() {
	_ = os.RemoveAll(f.path)
	_ = f.lock.Unlock()
}
