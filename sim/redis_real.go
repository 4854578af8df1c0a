package sim

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/wavetank-sim/wavetank/sim/onecpu"
)

// realRedis is a redis-server, which all worlds of a process use one after the other; but if it can die, it is the world's own.
type realRedis struct {
	world   *World
	now     func() time.Time // on the clock of the world
	process *redisProcess
	files   *redisFiles       // of a server that can die
	client  *redis.Client     // the world's own
	wrapped map[string]string // the hash of a script that a process runs, and that of the one that is run in its place
	due     map[string]time.Duration
}

var bg = context.Background()

//go:embed redis_look.lua
var lookText string

var lookHash = sha(lookText)

func newReal(w *World) (*realRedis, error) {
	r := &realRedis{world: w, now: func() time.Time { return w.start.Add(w.Now()) }, wrapped: map[string]string{}, due: map[string]time.Duration{}}
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

// connect connects the world.
func (r *realRedis) connect() {
	r.client = redis.NewClient(&redis.Options{
		Addr:   r.process.socket,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return r.dial() },
		// Its caller is the stepper, for which no time passes.
		ReadTimeout: -1, WriteTimeout: -1, PoolSize: 1, MaxRetries: -1,
		Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

func (r *realRedis) empty() error {
	onecpu.Share(r.process.pid)
	_, err := r.client.Pipelined(bg, func(p redis.Pipeliner) error {
		p.ClientKillByFilter(bg, "TYPE", "normal", "SKIPME", "yes") // of a world that did not end
		p.FlushAll(bg)
		p.ScriptFlush(bg)
		p.ScriptLoad(bg, lookText)
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
		return fmt.Errorf("%w: %s has ended in the middle of a run: %w", ErrNoRedisServer, r.process.program, err)
	}
	return nil
}

func (r *realRedis) dial() (net.Conn, error) {
	return dialSocket(r.process.socket, r.now)
}

func (r *realRedis) keys() []string { return must(r.client.Keys(bg, "*").Result()) }

func (r *realRedis) remove(key string) { must(r.client.Del(bg, key).Result()) }

func (r *realRedis) countDown() {} // the server has instants, not TTLs

func (r *realRedis) expiry(key string, _ time.Duration, _ bool) time.Duration { return r.due[key] }

func (r *realRedis) behind(c *redisCall) *look {
	if len(c.touched) == 0 {
		return nil
	}
	return &look{call: c, left: c.replies, command: lookCommand(c.touched)}
}

// lookCommand is the command that looks.
func lookCommand(at []touch) []string {
	command := append(make([]string, 0, 3+3*len(at)), "EVALSHA", lookHash, "0")
	for group := range groups(at) {
		if group[0].whole {
			command = append(command, group[0].key, "0")
			continue
		}
		command = append(command, group[0].key, strconv.Itoa(len(group)))
		for _, t := range group {
			command = append(command, t.field)
		}
	}
	return command
}

// groups goes through whole keys one by one, and through neighbouring fields of one key at once.
func groups(at []touch) iter.Seq[[]touch] {
	const most = 1000 // arguments of a command that Lua calls; it has a limit (LUAI_MAXCSTACK)
	return func(yield func([]touch) bool) {
		for len(at) > 0 {
			n := 1
			for !at[0].whole && n < min(len(at), most) && !at[n].whole && at[n].key == at[0].key {
				n++
			}
			if !yield(at[:n]) {
				return
			}
			at = at[n:]
		}
	}
}

func (r *realRedis) look(c *redisCall, seen []sight) []sight {
	clear(r.due)
	if len(c.touched) == 0 {
		return seen
	}
	var list []any
	if c.look != nil {
		list, _ = c.look.answer.([]any)
	}
	if list == nil { // nothing was sent, or the server has lost its scripts
		command := []any{"EVAL", lookText}
		for _, arg := range lookCommand(c.touched)[2:] {
			command = append(command, arg)
		}
		list = must(r.client.Do(bg, command...).Slice())
	}
	for group := range groups(c.touched) {
		kind, due := list[0].(string), list[1].(int64)
		if due > exact {
			due = must(r.client.Do(bg, "PEXPIRETIME", group[0].key).Int64())
		}
		if due > 0 {
			r.due[group[0].key] = time.Duration(due - epoch)
		}
		holds, _ := list[2].([]any)
		if group[0].whole {
			s := sight{holds: holds != nil}
			s.kind, s.fields = kind, fieldsOf(kind, holds)
			seen = append(seen, s)
		} else {
			for i := range group {
				seen = append(seen, fieldOf(kind, i, holds))
			}
		}
		list = list[3:]
	}
	return seen
}

// fieldOf is what the server says of the i-th field that it was asked for.
func fieldOf(kind string, i int, holds []any) (s sight) {
	s.kind = kind
	if i < len(holds) {
		switch text := holds[i].(type) {
		case string:
			s.holds, s.text = true, textOf(kind, text)
		case int64: // of a set: whether it is a member
			s.holds = text == 1
		}
	}
	return s
}

// textOf is a field's text as the trace has it.
func textOf(kind, text string) string {
	if kind != "zset" {
		return text
	}
	score, _ := strconv.ParseFloat(text, 64) // the server's
	return formatScore(score)
}

// fieldsOf flattens what the server says of a whole key.
func fieldsOf(kind string, items []any) map[string]string {
	fields := make(map[string]string, len(items))
	switch kind {
	case "list":
		for i, item := range items {
			fields[strconv.Itoa(i)] = item.(string)
		}
	case "set":
		for _, item := range items {
			fields[item.(string)] = ""
		}
	case "stream":
		for _, item := range items {
			switch item := item.(type) {
			case []any: // an entry: its ID, and names and values in turn
				fields[item[0].(string)] = entryText(item[1].([]any))
			case string:
				fields[lastID] = item
			}
		}
	default:
		for pair := range slices.Chunk(items, 2) {
			fields[pair[0].(string)] = textOf(kind, pair[1].(string))
		}
	}
	return fields
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
				score, _ := strconv.ParseFloat(v.fields[member], 64) // formatScore's
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
