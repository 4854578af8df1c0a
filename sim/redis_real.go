package sim

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/wavetank-sim/wavetank/sim/onecpu"
)

// realRedis is a redis-server. All worlds of a process use the same one in turn, but one that can die is the
// world's own.
type realRedis struct {
	world   *World
	now     func() time.Time // on the clock of the world
	process *redisProcess
	files   *redisFiles       // of a server that can die; otherwise nil
	client  *redis.Client     // the world's own connection
	wrapped map[string]string // maps the hash of a process's script to that of the script that runs in its place
	due     map[string]time.Duration
}

var bg = context.Background()

func newReal(w *World) (*realRedis, error) {
	r := &realRedis{world: w, now: w.wall, wrapped: map[string]string{}, due: map[string]time.Duration{}}
	var err error
	if w.cfg.RedisDisk == "" {
		r.process, err = startedRedis(w.cfg.RedisServer)
	} else {
		r.files = &redisFiles{dir: filepath.Join(w.folder, "redis"), snapshots: w.cfg.RedisDisk == DiskRDB}
		r.process, err = r.files.start(w.cfg.RedisServer)
	}
	if err != nil {
		return nil, err
	}
	r.connect()
	if err := r.empty(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// connect makes the world's own client.
func (r *realRedis) connect() {
	r.client = redis.NewClient(&redis.Options{
		Addr:   r.process.socket,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return r.dial() },
		// The stepper calls it, and no time passes meanwhile.
		ReadTimeout: -1, WriteTimeout: -1, PoolSize: 1, MaxRetries: -1,
		Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

func (r *realRedis) empty() error {
	onecpu.Share(r.process.pid)
	_, err := r.client.Pipelined(bg, func(p redis.Pipeliner) error {
		p.ClientKillByFilter(bg, "TYPE", "normal", "SKIPME", "yes") // connections of a world that did not end
		p.FlushAll(bg)
		p.ScriptFlush(bg)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s cannot be emptied: %w", ErrNoRedisServer, r.process.version, err)
	}
	return nil
}

func (r *realRedis) version() string { return r.process.version }

func (r *realRedis) lost() error {
	if err := r.client.Ping(bg).Err(); err != nil {
		_ = os.Remove(r.process.socket)
		return fmt.Errorf("%w: %s has ended in the middle of a run: %w", ErrNoRedisServer, r.process.program, err)
	}
	return nil
}

func (r *realRedis) dial() (net.Conn, error) {
	return dialSocket(r.process.socket, r.now)
}

func (r *realRedis) keys() []string { return must(r.client.Keys(bg, "*").Result()) }

func (r *realRedis) remove(key string) { must(r.client.Del(bg, key).Result()) }

func (r *realRedis) countDown() {} // the server stores instants, not TTLs

func (r *realRedis) expiry(key string, was time.Duration, _ bool) time.Duration {
	if due, asked := r.due[key]; asked {
		return due
	}
	return was
}

func (r *realRedis) write(key string, v value) error {
	_, err := r.client.Pipelined(bg, func(p redis.Pipeliner) error {
		switch v.kind {
		case "string":
			p.Set(bg, key, v.fields[""], 0)
		case "hash":
			for _, f := range sortedKeys(v.fields) {
				p.HSet(bg, key, f, v.fields[f])
			}
		case "zset":
			for _, member := range sortedKeys(v.fields) {
				score, _ := strconv.ParseFloat(v.fields[member], 64) // formatScore wrote it
				p.ZAdd(bg, key, redis.Z{Score: score, Member: member})
			}
		case "list":
			for i := range len(v.fields) {
				p.RPush(bg, key, v.fields[strconv.Itoa(i)])
			}
		case "set":
			for _, member := range sortedKeys(v.fields) {
				p.SAdd(bg, key, member)
			}
		case "stream":
			writeStream(p, key, v.fields)
		default:
			return fmt.Errorf("a %s", v.kind)
		}
		if v.expires > 0 {
			p.Do(bg, "PEXPIREAT", key, epoch+int64(v.expires))
		}
		return nil
	})
	return err
}

func (r *realRedis) wrote(at time.Duration, _ []Change) {
	if r.files != nil {
		r.files.wrote(at)
	}
}

func (r *realRedis) sync(at time.Duration) {
	if r.files.snapshots {
		must(r.client.Save(bg).Result())
	} else {
		r.files.sizes = nil
		r.files.wrote(at)
	}
}

func (r *realRedis) die(at time.Duration, torn bool) (map[string]value, error) {
	_ = r.client.Close()
	chance := r.world.Draw("torn", at.String())
	if err := r.process.again(func() error { return r.files.cut(at, torn, chance) }); err != nil {
		return nil, err
	}
	r.connect()
	loaded, all := map[string]value{}, wholeKeys(r.keys())
	for i := range all.touched {
		all.touched[i].givesTTL = true
	}
	for i, seen := range r.look(all, nil) {
		v, key := seen.value, all.touched[i].key
		v.expires = r.due[key]
		loaded[key] = v
	}
	return loaded, nil
}

func (r *realRedis) forget() { must(r.client.ScriptFlush(bg).Result()) }

func (r *realRedis) close() {
	_ = r.client.ClientKillByFilter(bg, "TYPE", "normal", "SKIPME", "yes").Err()
	_ = r.client.Close()
	if r.files != nil {
		r.process.end()
	}
}
