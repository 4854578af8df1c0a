package sim

import (
	"container/heap"
	"slices"
	"time"
)

// miniredis can count TTLs down by itself (ClockTTL), but does so for every key on every command, which makes a
// run's cost grow with the square of its jobs. So the world leaves miniredis's clock alone, remembers the
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
func (s *redisServer) expire() {
	now := s.world.Now()
	for len(s.deadlines) > 0 && s.deadlines[0].at <= now {
		d := heap.Pop(&s.deadlines).(deadline)
		if s.shadow[d.key].expires == d.at { // else it was given another deadline, or is gone
			s.remember(touch{key: d.key, whole: true}, s.shadow[d.key], true)
			s.store.Del(d.key)
			delete(s.shadow, d.key)
		}
	}
}

// countDown brings miniredis's TTLs up to date, all of which count from one instant, if one of the keys has one. It takes
// those of all keys: to SetTTL is to write, for which miniredis refuses the EXEC of a client that WATCHes the key.
func (s *redisServer) countDown(keys []string) {
	if slices.ContainsFunc(keys, func(k string) bool { return s.shadow[k].expires > 0 }) {
		now := s.world.Now()
		s.store.FastForward(now - s.counted)
		s.counted = now
	}
}

// expiry is when a key that the server gives a TTL expires: counted from now if the step gave it
// that TTL, else as it was.
func (s *redisServer) expiry(key string, given bool) time.Duration {
	ttl := s.store.TTL(key)
	if ttl <= 0 {
		return 0
	}
	if old := s.shadow[key].expires; old > 0 && (!given || s.given[key]) {
		return old
	}
	s.given[key] = true
	at := s.world.Now() + ttl
	s.store.SetTTL(key, at-s.counted)
	heap.Push(&s.deadlines, deadline{at, key})
	return at
}
