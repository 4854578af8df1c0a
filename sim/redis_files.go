package sim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisFiles are the files of a redis-server that can die. The server itself syncs nothing: what of its append-only file is on
// the disk, the world says, at its own instants. It takes a snapshot when it is told to.
type redisFiles struct {
	dir       string
	snapshots bool // and no append-only file

	path  string // of the append-only file
	sizes []sizeAt
}

// sizeAt is how long the append-only file was from an instant on.
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

// wrote notes how long the append-only file is.
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

// cut takes from the append-only file what was written after an instant. It may leave a part of the first command of that, which
// of a transaction is MULTI; chance says where it ends. A file that ends in a later command of a transaction is more than the model
// can follow: redis-server (7.0.15, aof.c: uxeof) leaves the complete commands before in it, and writes on behind them, so that the
// next time it starts it carries out a part of the transaction.
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

// must ends the run: without its Redis the world is none.
func must[T any](answer T, err error) T {
	if err != nil && !errors.Is(err, redis.Nil) {
		panic(fmt.Sprintf("sim: redis-server: %v", err))
	}
	return answer
}
