package servers

import (
	"container/heap"
	"slices"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// redisClock expires the keys of a miniredis. miniredis can do so by itself (ClockTTL), but counts down every key on
// every command, and sorts them for it: the time that jobs take then grows with the square of their number. Here
// miniredis's own count stands still. After each command the clock notes the deadlines that the command gave, and before
// the next it removes the keys whose time has come.
//
// Only a command that reads a TTL has all of them counted down, and only if it names a key that has one.
type redisClock struct {
	redis   *miniredis.Miniredis
	server  *server.Server // its
	clients sync.Map       // *server.Peer to *redisClient

	mu        sync.Mutex // one command at a time
	counted   time.Time  // what miniredis's TTLs count from
	deadlines deadlines
	at        map[string]time.Time // the deadline of each key that is among them
}

// redisClient is what the clock knows of a connection.
type redisClient struct {
	within  bool // a command of its own is being carried out
	multi   bool
	queued  []string // the arguments of the commands since MULTI
	readTTL bool     // one of them reads a TTL
}

// tick is the clock's unit, and Redis's own. What miniredis's TTLs count from is a nanosecond before a tick, so that
// a TTL of whole ticks is one that a command has just given.
const (
	tick    = time.Millisecond
	counted = time.Nanosecond
)

// startRedis starts a miniredis that expires its keys.
func startRedis(addr string) (*miniredis.Miniredis, error) {
	m := miniredis.NewMiniRedis()
	m.SetError("LOADING the scheduler's own Redis is starting") // until the clock runs
	if err := m.StartAddr(addr); err != nil {
		return nil, err
	}
	newRedisClock(m)
	return m, nil
}

// newRedisClock sets a clock to a miniredis that has been started and asked nothing.
func newRedisClock(m *miniredis.Miniredis) *redisClock {
	c := &redisClock{redis: m, server: m.Server(), at: map[string]time.Time{}}
	c.counted = c.now().Add(-counted)
	c.server.SetPreHook(c.hook)
	return c
}

func (c *redisClock) now() time.Time { return time.Now().Truncate(tick) }

// beyond lists the commands with which a key or a part of it gets a TTL that the clock would not see.
var beyond = map[string]bool{
	"HEXPIRE": true, "HPEXPIRE": true, "HEXPIREAT": true, "HPEXPIREAT": true, "HSETEX": true, "HGETEX": true,
	"MOVE": true, "SWAPDB": true,
}

// blocks lists the commands for which miniredis may keep a client waiting. They give no TTL.
var blocks = map[string]bool{
	"BLPOP": true, "BRPOP": true, "BLMOVE": true, "BRPOPLPUSH": true, "BZPOPMIN": true, "BZPOPMAX": true, "XREAD": true, "XREADGROUP": true,
}

// hook is called for each command, those of scripts among them, and says whether it has been carried out.
func (c *redisClock) hook(peer *server.Peer, cmd string, args ...string) bool {
	if beyond[cmd] || cmd == "SELECT" && !slices.Equal(args, []string{"0"}) {
		peer.WriteError("ERR the scheduler's own Redis does not take this " + cmd + "; run redis-server, and give it with --redis")
		return true
	}
	client := c.client(peer)
	if client == nil || client.within {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	c.redis.SetTime(now)
	c.expire(now)
	if blocks[cmd] {
		return false
	}
	names, reads := client.take(cmd, args)
	if reads && slices.ContainsFunc(names, func(key string) bool { return c.redis.TTL(key) != 0 }) {
		c.countDown(now)
	}
	client.within = true
	c.server.Dispatch(peer, append([]string{cmd}, args...))
	client.within = false
	for _, name := range names {
		c.note(name, now)
	}
	return true
}

// client is who sends a command; nil is a script.
func (c *redisClock) client(peer *server.Peer) *redisClient {
	if known, ok := c.clients.Load(peer); ok {
		return known.(*redisClient)
	}
	if peer.Ctx != nil { // miniredis gives a script's commands one, and a connection's own from its first command on
		return nil
	}
	client := &redisClient{}
	c.clients.Store(peer, client)
	peer.OnDisconnect(func() { c.clients.Delete(peer) })
	return client
}

// take returns what may be names of keys that a command is about, and whether it reads a TTL. The commands of a
// transaction are carried out by its EXEC.
func (r *redisClient) take(cmd string, args []string) (names []string, reads bool) {
	names, reads = args, readsTTL(cmd, args)
	if r.multi {
		r.queued, r.readTTL = append(r.queued, names...), r.readTTL || reads
		names, reads = nil, false
	}
	switch cmd {
	case "MULTI":
		r.multi = true
	case "EXEC":
		names, reads = r.queued, r.readTTL
		*r = redisClient{}
	case "DISCARD":
		*r = redisClient{}
	}
	return names, reads
}

// readsTTL tells the commands that read a key's TTL.
func readsTTL(cmd string, args []string) bool {
	switch cmd {
	case "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO":
		return true
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		return len(args) > 2 // GT and LT compare
	}
	return false
}

// expire removes the keys whose time has come.
func (c *redisClock) expire(now time.Time) {
	for len(c.deadlines) > 0 && !c.deadlines[0].at.After(now) {
		d := heap.Pop(&c.deadlines).(deadline)
		if c.at[d.key].Equal(d.at) {
			delete(c.at, d.key)
		}
		if ttl := c.redis.TTL(d.key); ttl != 0 && !c.deadline(ttl).After(now) { // else it was given another
			c.redis.Del(d.key)
		}
	}
}

// deadline is the instant at which a TTL of miniredis's ends.
func (c *redisClock) deadline(ttl time.Duration) time.Time { return c.counted.Add(ttl) }

// countDown brings all TTLs up to date. To SetTTL those of some would be to write them, for which miniredis refuses the
// EXEC of a client that WATCHes one.
func (c *redisClock) countDown(now time.Time) {
	now = now.Add(-counted)
	c.redis.FastForward(now.Sub(c.counted))
	c.counted = now
}

// note notes the deadline of what may be a key, which a command may have given it.
func (c *redisClock) note(name string, now time.Time) {
	ttl := c.redis.TTL(name)
	if ttl == 0 {
		return
	}
	if ttl%tick == 0 { // it was, and counts from now
		ttl += now.Sub(c.counted)
		c.redis.SetTTL(name, ttl)
	}
	if at := c.deadline(ttl); !c.at[name].Equal(at) {
		c.at[name] = at
		heap.Push(&c.deadlines, deadline{at, name})
	}
}

// deadline is when a key expires.
type deadline struct {
	at  time.Time
	key string
}

// deadlines has the earliest first.
type deadlines []deadline

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].at.Before(d[j].at) }
func (d deadlines) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *deadlines) Push(x any)        { *d = append(*d, x.(deadline)) }
func (d *deadlines) Pop() any {
	old := *d
	last := old[len(old)-1]
	*d = old[:len(old)-1]
	return last
}
