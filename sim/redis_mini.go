package sim

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/proto"
)

// mini is a miniredis.
//
// miniredis can count TTLs down by itself (ClockTTL), but then does so for every key on every command, and
// the cost of a run grows with the square of its jobs. So its clock advances only when a command uses a TTL.
type mini struct {
	*miniredis.Miniredis
	now     func() time.Duration
	wall    func() time.Time
	counted time.Duration // when all TTLs were last brought up to date
	watches *atomic.Int32 // how many connections WATCH keys
}

func newMini(w *World, watches *atomic.Int32) (*mini, error) {
	m := &mini{Miniredis: miniredis.NewMiniRedis(), now: w.Now, wall: w.wall, watches: watches}
	m.Seed(int(w.Draw("redis"))) // for SPOP and the like
	conn, err := m.Dial()        // which starts it
	if err != nil {
		return nil, err
	}
	return m, conn.Close()
}

func (m *mini) dial() (net.Conn, error) {
	here, there := newPipe(m.wall)
	m.Server().ServeConn(there)
	return here, nil
}

func (m *mini) version() string { return "" }

func (m *mini) lost() error { return nil }

func (m *mini) keys() []string { return m.Keys() }

func (m *mini) remove(key string) { m.Del(key) }

func (m *mini) close() { m.Close() }

// wrote makes miniredis notice that part of a key is gone, or that a string has changed. It does not notice
// it after some commands (HDEL, ZPOPMIN, GETEX), and would carry out the EXEC of a client that WATCHes the
// key.
func (m *mini) wrote(_ time.Duration, changes []Change) {
	if m.watches.Load() == 0 {
		return
	}
	for i, ch := range changes {
		if (ch.Gone || ch.Field == "") && (i == 0 || ch.Key != changes[i-1].Key) {
			_ = m.Copy(0, ch.Key, 0, ch.Key) // if it still exists
		}
	}
}

func (m *mini) sync(time.Duration) {}

// die changes nothing: the world decides what is lost.
func (m *mini) die(time.Duration, bool) (map[string]value, error) { return nil, nil }

func (m *mini) forget() {
	conn := must(m.dial())
	defer func() { _ = conn.Close() }()
	must(conn.Write(appendCommand(nil, []string{"SCRIPT", "FLUSH"})))
	must(proto.Read(bufio.NewReader(conn)))
}

func (m *mini) look(c *redisCall, seen []sight) []sight {
	for _, t := range c.touched {
		var s sight
		s.kind = m.Type(t.key)
		if t.whole {
			s.fields, s.holds = m.read(s.kind, t.key)
		} else {
			s.text, s.holds = m.field(s.kind, t.key, t.field)
		}
		seen = append(seen, s)
	}
	return seen
}

// read reads a whole key of a type.
func (m *mini) read(kind, key string) (fields map[string]string, ok bool) {
	fields = map[string]string{}
	switch kind {
	case "string":
		fields[""], _ = m.Get(key)
	case "hash":
		names, _ := m.HKeys(key)
		for _, f := range names {
			fields[f] = m.HGet(key, f)
		}
	case "zset":
		scores, _ := m.SortedSet(key)
		for member, score := range scores {
			fields[member] = formatScore(score)
		}
	case "list":
		items, _ := m.List(key)
		for i, item := range items {
			fields[strconv.Itoa(i)] = item
		}
	case "set":
		members, _ := m.SMembers(key)
		for _, member := range members {
			fields[member] = ""
		}
	default:
		return fields, false
	}
	return fields, true
}

// field reads one field of a key of a type, and says whether the field exists.
func (m *mini) field(kind, key, field string) (text string, ok bool) {
	switch kind {
	case "hash":
		if text = m.HGet(key, field); text != "" {
			return text, true
		}
		names, _ := m.HKeys(key)
		return "", slices.Contains(names, field)
	case "zset":
		score, err := m.ZScore(key, field)
		if err != nil {
			return "", false
		}
		if score == 0 { // miniredis answers 0 for a missing member, too
			scores, _ := m.SortedSet(key)
			if _, ok := scores[field]; !ok {
				return "", false
			}
		}
		return formatScore(score), true
	case "set":
		ok, _ = m.SIsMember(key, field)
	}
	return "", ok
}

func (m *mini) write(key string, v value) (err error) {
	switch v.kind {
	case "string":
		err = m.Set(key, v.fields[""])
	case "hash":
		for _, f := range sortedKeys(v.fields) {
			m.HSet(key, f, v.fields[f])
		}
	case "zset":
		for _, member := range sortedKeys(v.fields) {
			score, _ := strconv.ParseFloat(v.fields[member], 64) // formatScore wrote it
			_, err = m.ZAdd(key, score, member)
		}
	case "list":
		for i := range len(v.fields) {
			_, err = m.RPush(key, v.fields[strconv.Itoa(i)])
		}
	case "set":
		_, err = m.SAdd(key, sortedKeys(v.fields)...)
	default:
		err = fmt.Errorf("a %s", v.kind)
	}
	if v.expires > 0 {
		m.SetTTL(key, v.expires-m.counted)
	}
	return err
}

// countDown reads and removes the TTLs of all keys. SetTTL counts as a write, after which miniredis refuses
// the EXEC of a client that WATCHes the key.
func (m *mini) countDown() {
	now := m.now()
	m.FastForward(now - m.counted)
	m.counted = now
}

// instead replaces a command that changes nothing by one that finds nothing. Both answer 0. To Redis a
// command that changes nothing is no write. To miniredis it is one, and miniredis refuses the EXEC of a
// client that WATCHes the key.
//
// miniredis lists unions, intersections and differences of sets in Go's random order of maps, so instead
// sorts them.
func (m *mini) instead(args [][]byte, again bool) []string {
	if bytes.EqualFold(args[0], []byte("sunion")) || bytes.EqualFold(args[0], []byte("sinter")) || bytes.EqualFold(args[0], []byte("sdiff")) {
		return append([]string{"EVAL", sortedList, "0"}, stringsOf(args)...)
	}
	if again || len(args) < 3 { // again: what the key will hold by then is not known yet
		return nil
	}
	idle, key := false, string(args[1])
	switch name := args[0]; {
	case bytes.EqualFold(name, []byte("sadd")):
		idle = m.Type(key) == "set" && !slices.ContainsFunc(args[2:], func(member []byte) bool { return !m.holds("set", key, member) })
	case bytes.EqualFold(name, []byte("srem")):
		idle = m.Type(key) == "set" && !slices.ContainsFunc(args[2:], func(member []byte) bool { return m.holds("set", key, member) })
	case bytes.EqualFold(name, []byte("zadd")):
		idle = m.Type(key) == "zset" && m.hasScores(key, args[2:])
	case bytes.EqualFold(name, []byte("lrem")) && len(args) == 4:
		items, err := m.List(key)
		idle = err == nil && !slices.Contains(items, string(args[3]))
	}
	if !idle {
		return nil
	}
	return []string{"EXISTS", "\x00"}
}

// sortedList is a script that runs its arguments as a command and sorts the answer.
const sortedList = "local list = redis.pcall(unpack(ARGV)) if not list.err then table.sort(list) end return list"

func (m *mini) holds(kind, key string, field []byte) bool {
	_, holds := m.field(kind, key, string(field))
	return holds
}

// hasScores says whether a sorted set has members with those scores. pairs are scores and members in turn.
func (m *mini) hasScores(key string, pairs [][]byte) bool {
	for pair := range slices.Chunk(pairs, 2) {
		score, err := strconv.ParseFloat(string(pair[0]), 64) // an option is no number
		if err != nil || len(pair) < 2 {
			return false
		}
		if text, holds := m.field("zset", key, string(pair[1])); !holds || text != formatScore(score) {
			return false
		}
	}
	return true
}

// expiry counts a TTL from now if the step gave one, or else leaves the expiry as it was.
func (m *mini) expiry(key string, was time.Duration, given bool) time.Duration {
	ttl := m.TTL(key)
	if ttl <= 0 {
		return 0
	}
	if was > 0 && !given {
		return was
	}
	at := m.now() + ttl
	if m.counted < m.now() {
		m.SetTTL(key, at-m.counted)
	}
	return at
}
