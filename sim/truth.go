package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// touch is one place in Redis that a command may change: a field of a key, or the whole key.
type touch struct {
	key, field string
	whole      bool
	removes    bool // the command takes the field away
	givesTTL   bool // the key's TTL counts from this command
	ifNew      bool // SET NX: only if there was no such key
}

// reads lists the commands that change nothing.
var reads = map[string]bool{
	"get": true, "mget": true, "hget": true, "hmget": true, "hgetall": true, "exists": true, "ttl": true, "pttl": true,
	"zscore": true, "zrange": true, "zrangebyscore": true, "zcard": true, "zcount": true, "scan": true, "hscan": true, "sscan": true, "zscan": true,
	"smembers": true, "sismember": true, "scard": true, "llen": true, "lrange": true, "lindex": true, "hlen": true, "hkeys": true, "hvals": true, "hexists": true,
	"type": true, "strlen": true, "keys": true, "dbsize": true, "watch": true, "ping": true, "time": true, "zrevrange": true, "zrank": true, "info": true, "script": true,
}

// unknown lists the commands whose effect the world could not read back, or that would block inside
// the server, out of the stepper's sight.
var unknown = map[string]bool{
	"blpop": true, "brpop": true, "blmove": true, "brpoplpush": true, "blmpop": true, "bzpopmin": true, "bzpopmax": true, "bzmpop": true, "wait": true,
	"subscribe": true, "psubscribe": true, "publish": true, "monitor": true,
	"xadd": true, "xread": true, "xreadgroup": true, "xack": true, "xdel": true, "xtrim": true, "xgroup": true, "xclaim": true, "xautoclaim": true,
	"rename": true, "renamenx": true, "copy": true, "move": true, "migrate": true, "restore": true, "msetnx": true, "swapdb": true,
	"lmove": true, "rpoplpush": true, "smove": true, "lmpop": true, "zmpop": true, "flushall": true, "flushdb": true,
	"sunionstore": true, "sinterstore": true, "sdiffstore": true, "zunionstore": true, "zinterstore": true, "zdiffstore": true, "zrangestore": true, "sort": true,
	"hexpire": true, "hpexpire": true, "hexpireat": true, "hpexpireat": true, "hsetex": true, "hgetex": true, "pfmerge": true, "bitop": true, "function": true, "fcall": true,
}

// ErrUnknownCommand is returned for a Redis command that a world cannot run: one that blocks in the
// server, changes keys that its arguments do not name one by one, or gives a TTL to part of a key.
var ErrUnknownCommand = errors.New("sim: a world cannot run this Redis command")

// addCommand notes what one command is about: the operation's target, whether it writes, and the
// places to look at once it has.
func (op *Op) addCommand(args []any) {
	op.args = append(op.args, args...)
	if len(args) < 2 {
		return
	}
	name := strings.ToLower(text(args[0]))
	switch name {
	case "multi", "exec":
		return
	}
	first := 1
	if name == "evalsha" || name == "eval" {
		first = 3
	}
	if first < len(args) && op.Target == "" {
		op.Target = text(args[first])
	}
	key := text(args[1])
	if usesTTL(name, args) {
		op.ttls = append(op.ttls, key)
		if first == 3 {
			op.ttls = append(op.ttls[:len(op.ttls)-1], keysOfScript(args)...)
		}
	}
	if reads[name] {
		return
	}
	op.Write = true
	switch name {
	case "hset", "hmset", "hsetnx":
		for i := 2; i+1 < len(args); i += 2 {
			op.touched = append(op.touched, touch{key: key, field: text(args[i])})
		}
	case "hincrby", "hincrbyfloat":
		op.touched = append(op.touched, touch{key: key, field: text(args[2])})
	case "hdel", "zrem", "srem":
		for _, a := range args[2:] {
			op.touched = append(op.touched, touch{key: key, field: text(a), removes: true})
		}
	case "zadd":
		i := 2
		for i < len(args) && slices.Contains([]string{"nx", "xx", "gt", "lt", "ch", "incr"}, strings.ToLower(text(args[i]))) {
			i++
		}
		for ; i+1 < len(args); i += 2 {
			op.touched = append(op.touched, touch{key: key, field: text(args[i+1])})
		}
	case "del", "unlink", "mset":
		step := 1
		if name == "mset" {
			step = 2
		}
		for i := 1; i < len(args); i += step {
			op.touched = append(op.touched, touch{key: text(args[i]), whole: true})
		}
	case "eval", "evalsha":
		for _, k := range keysOfScript(args) {
			op.touched = append(op.touched, touch{key: k, whole: true, givesTTL: true})
		}
	default: // set, expire, incr, lpush, rename, ...: look at the whole of the key
		op.touched = append(op.touched, touch{key: key, whole: true, givesTTL: givesTTL(name, args), ifNew: name == "set" && hasOption(args, "nx") && !op.touches(key)})
	}
}

// touches says whether an earlier command of the same MULTI may have changed the key.
func (op *Op) touches(key string) bool {
	return slices.ContainsFunc(op.touched, func(t touch) bool { return t.key == key })
}

// keysOfScript lists the keys that an EVAL or EVALSHA declares.
func keysOfScript(args []any) (keys []string) {
	if len(args) < 3 {
		return nil
	}
	n, _ := strconv.Atoi(text(args[2]))
	for _, a := range args[3:min(len(args), 3+n)] {
		keys = append(keys, text(a))
	}
	return keys
}

func text(a any) string {
	switch a := a.(type) {
	case string:
		return a
	case []byte:
		return string(a)
	}
	return fmt.Sprint(a)
}

// value is what a Redis key holds, flattened to fields: a string under "", a hash's fields, a
// sorted set's members with their scores, a list's indices, a set's members.
type value struct {
	fields  map[string]string
	expires time.Duration
}

// readKey reads a whole key from the server; given says whether its TTL counts from now.
func (w *World) readKey(key string, given bool) (v value, ok bool) {
	switch w.redis.Type(key) {
	case "string":
		s, _ := w.redis.Get(key)
		v.fields = map[string]string{"": s}
	case "hash":
		names, _ := w.redis.HKeys(key)
		v.fields = make(map[string]string, len(names))
		for _, f := range names {
			v.fields[f] = w.redis.HGet(key, f)
		}
	case "zset":
		scores, _ := w.redis.SortedSet(key)
		v.fields = make(map[string]string, len(scores))
		for m, s := range scores {
			v.fields[m] = formatScore(s)
		}
	case "list":
		items, _ := w.redis.List(key)
		v.fields = make(map[string]string, len(items))
		for i, s := range items {
			v.fields[strconv.Itoa(i)] = s
		}
	case "set":
		members, _ := w.redis.SMembers(key)
		v.fields = make(map[string]string, len(members))
		for _, m := range members {
			v.fields[m] = ""
		}
	default:
		return value{}, false
	}
	v.expires = w.expiry(key, given)
	return v, true
}

func formatScore(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

// readTouched reads from Redis what a step may have changed, and returns it as the step's changes.
// Fields that a write named are reported even when they hold what they held before; of whole keys
// only what differs is.
func (w *World) readTouched(touched []touch) (changes []Change) {
	for _, t := range touched {
		known, had := w.shadow[t.key]
		if t.whole {
			changes = w.readWhole(changes, t, known, had)
			continue
		}
		if !had {
			known = value{fields: map[string]string{}}
			w.shadow[t.key] = known
		}
		c := Change{Key: t.key, Field: t.field}
		switch w.redis.Type(t.key) {
		case "hash":
			c.Value = w.redis.HGet(t.key, t.field)
			c.Gone = c.Value == "" && !w.hasField(t.key, t.field)
		case "zset":
			s, err := w.redis.ZScore(t.key, t.field)
			c.Gone = err != nil || s == 0 && t.removes // miniredis says 0 of a member that is not there
			if !c.Gone {
				c.Value = formatScore(s)
			}
		case "set":
			in, _ := w.redis.SIsMember(t.key, t.field)
			c.Gone = !in
		default:
			c.Gone = true
		}
		if c.Gone {
			_, was := known.fields[t.field]
			delete(known.fields, t.field)
			if len(known.fields) == 0 {
				delete(w.shadow, t.key)
			}
			if !was {
				continue
			}
		} else {
			known.fields[t.field] = c.Value
		}
		changes = append(changes, c)
	}
	return changes
}

func (w *World) hasField(key, field string) bool {
	names, _ := w.redis.HKeys(key)
	return slices.Contains(names, field)
}

func (w *World) readWhole(changes []Change, t touch, known value, had bool) []Change {
	key := t.key
	now, ok := w.readKey(key, t.givesTTL && (!t.ifNew || !had))
	if !ok {
		if had {
			delete(w.shadow, key)
			changes = append(changes, Change{Key: key, Gone: true})
		}
		return changes
	}
	for _, f := range sortedKeys(now.fields) {
		if old, was := known.fields[f]; !was || old != now.fields[f] || known.expires != now.expires {
			changes = append(changes, Change{Key: key, Field: f, Value: now.fields[f], Expires: now.expires})
		}
	}
	for _, f := range sortedKeys(known.fields) {
		if _, is := now.fields[f]; !is {
			changes = append(changes, Change{Key: key, Field: f, Gone: true})
		}
	}
	w.shadow[key] = now
	return changes
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// observeStreams puts an observer on every stream that has none yet.
func (w *World) observeStreams() {
	names := w.adminJS.StreamNames(context.Background())
	for name := range names.Name() {
		w.observe(name)
	}
}

// observe puts an observer on a stream, if there is such a stream and it has none yet: a consumer of
// the world's own, which the server tells of each message it has stored.
func (w *World) observe(name string) {
	if w.streams[name] != nil {
		return
	}
	o := &observer{}
	inbox := nats.NewInbox()
	sub, err := w.admin.Subscribe(inbox, o.see)
	if err != nil {
		panic(fmt.Sprintf("sim: cannot observe stream %s: %v", name, err))
	}
	_, err = w.adminJS.CreatePushConsumer(context.Background(), name, jetstream.ConsumerConfig{
		DeliverSubject: inbox, AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverAllPolicy,
		MemoryStorage: true, InactiveThreshold: 365 * 24 * time.Hour,
	})
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound): // the call that was to make it failed
		_ = sub.Unsubscribe()
	case err != nil:
		panic(fmt.Sprintf("sim: cannot observe stream %s: %v", name, err))
	default:
		w.streams[name] = o
	}
}

// observer collects what one stream has stored since it was last asked.
type observer struct {
	mu     sync.Mutex
	stored []*nats.Msg
	last   uint64 // sequence
}

func (o *observer) see(m *nats.Msg) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stored = append(o.stored, m)
}

func (o *observer) take() []*nats.Msg {
	o.mu.Lock()
	defer o.mu.Unlock()
	stored := o.stored
	o.stored = nil
	return stored
}

// readStreams returns the messages that the streams have stored since it was last called.
func (w *World) readStreams() (changes []Change) {
	for _, name := range sortedKeys(w.streams) {
		o := w.streams[name]
		for _, m := range o.take() {
			md, err := m.Metadata()
			if err != nil {
				continue
			}
			o.last = md.Sequence.Stream
			c := Change{Stream: name, Seq: md.Sequence.Stream, Subject: m.Subject, Value: string(m.Data)}
			for k, v := range m.Header {
				if c.Header == nil {
					c.Header = make(map[string]string, len(m.Header))
				}
				c.Header[k] = strings.Join(v, ",")
			}
			changes = append(changes, c)
		}
	}
	return changes
}

// Redis reads everything that Redis holds, key by key and field by field.
func (w *World) Redis() map[string]map[string]string {
	w.expire()
	all := map[string]map[string]string{}
	for _, k := range w.redis.Keys() {
		if v, ok := w.readKey(k, false); ok {
			all[k] = v.fields
		}
	}
	return all
}

// CheckTruth compares what the steps were seen to change with everything that the servers hold
// now, and returns the first difference. It guards the oracles against a blind spot of the world's.
func (w *World) CheckTruth() error {
	now := w.Redis()
	for _, k := range sortedKeys(now) {
		known, ok := w.shadow[k]
		if !ok {
			return fmt.Errorf("sim: Redis holds %s, which no step was seen to write", k)
		}
		for _, f := range sortedKeys(now[k]) {
			if known.fields[f] != now[k][f] {
				return fmt.Errorf("sim: Redis holds %s %s = %q, but the steps wrote %q", k, f, now[k][f], known.fields[f])
			}
		}
	}
	for _, k := range sortedKeys(w.shadow) {
		if _, ok := now[k]; !ok {
			return fmt.Errorf("sim: Redis has lost %s without a step or an expiry", k)
		}
	}
	for _, name := range sortedKeys(w.streams) {
		s, err := w.adminJS.Stream(context.Background(), name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound): // a step deleted it
			continue
		case err != nil:
			return fmt.Errorf("sim: %w", err)
		}
		if last := s.CachedInfo().State.LastSeq; last != w.streams[name].last {
			return fmt.Errorf("sim: stream %s has stored up to %d, but the steps up to %d", name, last, w.streams[name].last)
		}
	}
	return nil
}
