package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// touch is one place in Redis that a command may change: a field of a key, or the whole key.
type touch struct {
	key, field string
	whole      bool
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
	op.replies++
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
			op.touched = append(op.touched, touch{key: key, field: text(a)})
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
