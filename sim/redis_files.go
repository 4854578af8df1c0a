package sim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisFiles are the files of a redis-server that can die. The server itself syncs nothing. The world
// decides, at its own instants, what of the append-only file is on the disk, and tells the server when to
// take a snapshot.
type redisFiles struct {
	dir       string
	snapshots bool // without an append-only file

	path  string // of the append-only file
	sizes []sizeAt
}

// sizeAt is the length of the append-only file from an instant on.
type sizeAt struct {
	at   time.Duration
	size int64
}

// start starts a server on new files.
func (f *redisFiles) start(program string) (p *redisProcess, err error) {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return nil, err
	}
	keeps := keepsNothing
	if !f.snapshots {
		keeps = []string{"--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0", "--aof-load-truncated", "yes"}
	}
	outside(func() { p, err = newRedisProcess(program, f.dir, keeps) })
	if err != nil || f.snapshots {
		return p, err
	}
	list, _ := filepath.Glob(filepath.Join(f.dir, "appendonlydir", "*.incr.aof"))
	if len(list) != 1 {
		p.end()
		return nil, errors.New("redis-server keeps its append-only file elsewhere than version 7 does")
	}
	f.path = list[0]
	return p, nil
}

// wrote notes the length of the append-only file.
func (f *redisFiles) wrote(at time.Duration) {
	if f.snapshots {
		return
	}
	info := must(os.Stat(f.path))
	if n := len(f.sizes); n > 0 && f.sizes[n-1].at == at {
		f.sizes = f.sizes[:n-1]
	}
	f.sizes = append(f.sizes, sizeAt{at, info.Size()})
}

// cut removes from the append-only file what was written after an instant. If torn, it leaves a part of the
// first command removed, and chance says how much. In a transaction that command is MULTI. The model cannot
// follow a file that ends in a later command of a transaction: redis-server (7.0.15, aof.c: uxeof) leaves the
// complete commands before it in the file and appends to them, so its next start carries out a part of the
// transaction.
func (f *redisFiles) cut(after time.Duration, torn bool, chance uint64) error {
	if f.snapshots {
		return nil
	}
	var size int64
	for _, s := range f.sizes {
		if s.at <= after {
			size = s.size
		}
	}
	if torn {
		file, err := os.ReadFile(f.path)
		if err != nil {
			return err
		}
		if _, n := readCommand(file[min(size, int64(len(file))):], nil); n > 0 {
			size += int64(chance % uint64(n))
		}
	}
	return os.Truncate(f.path, size)
}

// must ends the run if err is not nil: a world cannot go on without its Redis.
func must[T any](answer T, err error) T {
	if err != nil && !errors.Is(err, redis.Nil) {
		panic(fmt.Sprintf("sim: redis-server: %v", err))
	}
	return answer
}
