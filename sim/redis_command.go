package sim

import (
	"cmp"
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

// nameWait is the command that waits for replicas. It must come behind a write in one pipeline, since it counts what its own
// connection has written. A world's Redis has one replica, which by then has all that was written: a failover does not lose it.
const nameWait = "wait"

// unknown lists the commands whose effect the world could not read back, or that would block inside
// the server, out of the stepper's sight.
var unknown = map[string]bool{
	"blpop": true, "brpop": true, "blmove": true, "brpoplpush": true, "blmpop": true, "bzpopmin": true, "bzpopmax": true, "bzmpop": true,
	"subscribe": true, "psubscribe": true, "ssubscribe": true, "publish": true, "spublish": true, "monitor": true, "waitaof": true, "select": true,
	"xadd": true, "xread": true, "xreadgroup": true, "xack": true, "xdel": true, "xtrim": true, "xgroup": true, "xclaim": true, "xautoclaim": true,
	"copy": true, "move": true, "migrate": true, "restore": true, "swapdb": true, "lmpop": true, "zmpop": true, "flushall": true, "flushdb": true, "sort": true,
	"hexpire": true, "hpexpire": true, "hexpireat": true, "hpexpireat": true, "hsetex": true, "hgetex": true, "pfmerge": true, "bitop": true, "function": true, "fcall": true, "fcall_ro": true, "eval_ro": true, "evalsha_ro": true,
	"msetex": true, "georadius": true, "georadiusbymember": true,
}

// notMini lists the commands that run over a redis-server alone: miniredis leaves an empty key behind, takes them for a write
// that change nothing, or does not know them.
var notMini = map[string]bool{"sunionstore": true, "sinterstore": true, "sdiffstore": true, "zunionstore": true, "zinterstore": true, "zdiffstore": true, "zrangestore": true}

// redisCall is what one operation asks of Redis: a command, a pipeline or a transaction.
type redisCall struct {
	args    []any    // of its commands, one after the other
	ends    []int    // where each of them ends in args, but for the last
	replies int      // that Redis gives them
	target  string   // the first key
	touched []touch  // what it may change
	ttls    []string // the keys whose TTL it uses
	write   bool
	waits   bool // for a replica to have what was written

	applied bool  // it has reached the server
	refused bool  // by the server, which has changed nothing
	answer  error // of the client, once it is applied
	look    *look // that went behind it, or nil
}

// wholeKeys is a call that touches the keys, to look at.
func wholeKeys(keys []string) *redisCall {
	c := &redisCall{}
	for _, key := range keys {
		c.touched = append(c.touched, touch{key: key, whole: true})
	}
	return c
}

func (c *redisCall) compare(other call) int {
	o, _ := other.(*redisCall)
	return slices.CompareFunc(c.args, o.args, func(a, b any) int { return cmp.Compare(text(a), text(b)) })
}

// add notes what one command is about: the operation's target, whether it writes, and the
// places to look at once it has.
func (c *redisCall) add(args []any) {
	if c.args == nil {
		c.args = slices.Clip(args)
	} else {
		c.ends = append(c.ends, len(c.args))
		c.args = append(c.args, args...)
	}
	c.replies++
	if len(args) < 2 {
		return
	}
	name, keys := strings.ToLower(text(args[0])), args[1:2]
	if keysAt[name] != nil {
		keys = keysOf(name, args)
	}
	if name == nameWait {
		c.waits = true
		return
	}
	if name == "evalsha" || name == "eval" {
		keys = keysOfScript(args)
	}
	if len(keys) > 0 {
		c.target = cmp.Or(c.target, text(keys[0]))
	}
	if usesTTL(name, args) || name == "set" && hasOption(args, "nx") && c.touches(text(args[1])) {
		for _, k := range keys {
			c.ttls = append(c.ttls, text(k))
		}
	}
	if !reads[name] {
		c.write = true
		c.touch(name, args, keys)
	}
}

// Commands names the commands of a Redis operation, in lower case.
func (op *Op) Commands() (names []string) {
	c, ok := op.call.(*redisCall)
	if !ok {
		return nil
	}
	first := 0
	for _, end := range append(slices.Clone(c.ends), len(c.args)) {
		if first < end {
			names = append(names, strings.ToLower(text(c.args[first])))
		}
		first = end
	}
	return names
}

// Reads says whether a Redis command changes nothing.
func Reads(command string) bool { return reads[command] }

// touch notes the places that a command may change.
func (c *redisCall) touch(name string, args, keys []any) {
	key := text(args[1])
	switch name {
	case "hset", "hmset", "hsetnx", "hincrby", "hincrbyfloat":
		c.touchEach(touch{key: key}, args[2:], 2)
	case "hdel", "zrem", "srem":
		c.touchEach(touch{key: key}, args[2:], 1)
	case "zadd":
		i := 2
		for i < len(args) && slices.Contains([]string{"nx", "xx", "gt", "lt", "ch", "incr"}, strings.ToLower(text(args[i]))) {
			i++
		}
		c.touchEach(touch{key: key}, args[min(i+1, len(args)):], 2)
	case "del", "unlink":
		c.touchEach(touch{whole: true}, args[1:], 1)
	case "mset", "msetnx":
		c.touchEach(touch{whole: true}, args[1:], 2)
	case "eval", "evalsha", "rename", "renamenx":
		c.touchEach(touch{whole: true, givesTTL: true}, keys, 1)
	case "rpoplpush", "lmove", "smove":
		c.touchEach(touch{whole: true}, keys, 1)
	default: // set, expire, incr, lpush, ...: look at the whole of the key
		ifNew := name == "set" && hasOption(args, "nx") && !c.touches(key)
		c.touchWhole(touch{key: key, whole: true, givesTTL: givesTTL(name, args), ifNew: ifNew})
	}
}

// touches says whether a command before may change the key.
func (c *redisCall) touches(key string) bool {
	return slices.ContainsFunc(c.touched, func(t touch) bool { return t.key == key })
}

// touchWhole notes a whole key, once: what several commands have made of it shows when all are done.
func (c *redisCall) touchWhole(t touch) {
	i := slices.IndexFunc(c.touched, func(o touch) bool { return o.whole && o.key == t.key })
	switch {
	case i < 0:
		c.touched = append(c.touched, t)
	case t.givesTTL && c.touched[i].givesTTL:
		c.touched[i].ifNew = c.touched[i].ifNew && t.ifNew
	case t.givesTTL:
		c.touched[i].givesTTL, c.touched[i].ifNew = true, t.ifNew
	}
}

// touchEach notes t for every step-th of args, which names its field; or its key, where t is a whole key.
func (c *redisCall) touchEach(t touch, args []any, step int) {
	for i := 0; i < len(args); i += step {
		if t.whole {
			t.key = text(args[i])
			c.touchWhole(t)
		} else {
			t.field = text(args[i])
			c.touched = append(c.touched, t)
		}
	}
}

// usesTTL tells the commands that read a key's TTL, or change it by what it was. EXPIRE is one of them only with an
// option.
func usesTTL(name string, args []any) bool {
	switch name {
	case "ttl", "pttl", "expiretime", "pexpiretime", "getex", "eval", "evalsha", "rename", "renamenx":
		return true
	case "expire", "pexpire", "expireat", "pexpireat":
		return len(args) > 3
	case "set":
		return hasOption(args, "keepttl")
	}
	return false
}

// hasOption says whether a SET carries the option behind its key and value.
func hasOption(args []any, option string) bool {
	return slices.ContainsFunc(args[min(3, len(args)):], func(a any) bool { return strings.EqualFold(text(a), option) })
}

// givesTTL tells the commands after which a key's TTL counts from now.
func givesTTL(name string, args []any) bool {
	switch name {
	case "set", "setex", "psetex", "expire", "pexpire", "expireat", "pexpireat":
		return true
	}
	return usesTTL(name, args)
}

// keysOfScript lists the keys that an EVAL or EVALSHA declares.
func keysOfScript(args []any) []any {
	if len(args) < 3 {
		return nil
	}
	n, _ := strconv.Atoi(text(args[2]))
	return args[3:min(len(args), 3+n)]
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
