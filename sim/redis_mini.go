package sim

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/proto"
)

// mini is a miniredis.
//
// It can count TTLs down by itself (ClockTTL), but does so for every key on every command, which makes a run's cost grow with
// the square of its jobs. So its clock is left alone until a command uses a TTL.
type mini struct {
	*miniredis.Miniredis
	now     func() time.Duration
	counted time.Duration // when the TTLs were brought up to date, all of which count from one instant
}

func newMini(seed uint64, now func() time.Duration) *mini {
	m := &mini{Miniredis: miniredis.NewMiniRedis(), now: now}
	m.Seed(int(seed)) // of SPOP and the like
	return m
}

func (m *mini) dial() (net.Conn, error) {
	conn, err := m.Dial()
	return &pipe{Conn: conn}, err
}

func (m *mini) version() string { return "" }

func (m *mini) keys() []string { return m.Keys() }

func (m *mini) remove(key string) { m.Del(key) }

func (m *mini) close() { m.Close() }

func (m *mini) wrote(time.Duration) {}

func (m *mini) sync(time.Duration) {}

// die changes nothing: what is lost is the world's to say.
func (m *mini) die(time.Duration, bool) (map[string]value, error) { return nil, nil }

func (m *mini) forget() {
	conn := must(m.dial())
	defer func() { _ = conn.Close() }()
	must(conn.Write(appendCommand(nil, []string{"SCRIPT", "FLUSH"})))
	must(proto.Read(bufio.NewReader(conn)))
}

func (m *mini) behind(*redisCall) *look { return nil }

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

// read reads a whole key of that kind.
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

// field reads one field of a key of that kind, and says whether there is such a field.
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
		if score == 0 { // miniredis says 0 of what is no member, too
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
			score, _ := strconv.ParseFloat(v.fields[member], 64) // formatScore's
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

// countDown takes the TTLs of all keys: to SetTTL is to write, for which miniredis refuses the EXEC of a client that
// WATCHes the key.
func (m *mini) countDown() {
	now := m.now()
	m.FastForward(now - m.counted)
	m.counted = now
}

// instead is a command that finds nothing in the place of one that changes nothing. To Redis the latter is no write. To
// miniredis it is one, for which it refuses the EXEC of a client that WATCHes the key. Both answer 0.
func (m *mini) instead(args [][]byte, again bool) []string {
	if again || len(args) < 3 { // again: what is under the key then, nobody knows yet
		return nil
	}
	kind, ok := kindOf[string(bytes.ToLower(args[0]))]
	if !ok || m.Type(string(args[1])) != kind {
		return nil
	}
	adds := bytes.EqualFold(args[0], []byte("sadd"))
	for _, member := range args[2:] {
		if _, holds := m.field(kind, string(args[1]), string(member)); holds != adds {
			return nil
		}
	}
	return []string{"EXISTS", "\x00"}
}

// kindOf names the type of the keys for commands that miniredis takes for writes whatever they do.
var kindOf = map[string]string{"sadd": "set", "srem": "set", "hdel": "hash", "zrem": "zset"}

// expiry counts a TTL from now if the step gave it, else leaves it as it was.
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
