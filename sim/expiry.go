package sim

import (
	"container/heap"
	"strings"
	"time"
)

// miniredis counts TTLs down key by key, all of them on every command (ClockTTL), which makes a
// run's cost grow with the square of its jobs. So the world leaves its clock alone, remembers the
// deadline of each key that was given one, and removes the key when its time has come.

// deadline is the instant at which a key expires.
type deadline struct {
	at  time.Duration
	key string
}

type deadlines []deadline

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].at < d[j].at }
func (d deadlines) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *deadlines) Push(x any)        { *d = append(*d, x.(deadline)) }
func (d *deadlines) Pop() any {
	old := *d
	last := old[len(old)-1]
	*d = old[:len(old)-1]
	return last
}

// expire removes the keys whose time has come.
func (w *World) expire() {
	now := w.Now()
	for len(w.deadlines) > 0 && w.deadlines[0].at <= now {
		d := heap.Pop(&w.deadlines).(deadline)
		if w.shadow[d.key].expires == d.at { // else it was given another deadline, or is gone
			w.remember(touch{key: d.key, whole: true}, w.shadow[d.key], true)
			w.redis.Del(d.key)
			delete(w.shadow, d.key)
		}
	}
}

// usesTTL tells the commands that read a key's TTL, or change it by what it was.
func usesTTL(name string, args []any) bool {
	switch name {
	case "ttl", "pttl", "expiretime", "pexpiretime", "expire", "pexpire", "expireat", "pexpireat", "persist", "getex",
		"eval", "evalsha":
		return true
	case "set":
		return hasOption(args, "keepttl")
	}
	return false
}

// hasOption says whether a SET carries the option behind its key and value.
func hasOption(args []any, option string) bool {
	for _, a := range args[min(3, len(args)):] {
		if strings.EqualFold(text(a), option) {
			return true
		}
	}
	return false
}

// givesTTL tells the commands after which a key's TTL counts from now.
func givesTTL(name string, args []any) bool {
	return name == "set" || name == "setex" || name == "psetex" || usesTTL(name, args)
}

// countDown brings the TTLs that op's commands use up to date.
func (w *World) countDown(op *Op) {
	for _, key := range op.ttls {
		if at := w.shadow[key].expires; at > 0 {
			w.redis.SetTTL(key, at-w.Now())
		}
	}
}

// expiry is when a key that the server gives a TTL expires: counted from now if the step gave it
// that TTL, else as it was.
func (w *World) expiry(key string, given bool) time.Duration {
	ttl := w.redis.TTL(key)
	if ttl <= 0 {
		return 0
	}
	if old := w.shadow[key].expires; old > 0 && !given {
		return old
	}
	at := w.Now() + ttl
	heap.Push(&w.deadlines, deadline{at, key})
	return at
}
