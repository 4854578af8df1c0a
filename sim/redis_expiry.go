package sim

import (
	"container/heap"
	"time"
)

// The servers of a world expire no keys. The world remembers the deadline of each key that has a TTL, and
// removes the key at its deadline.

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

// expire removes the keys whose deadlines have passed.
func (s *redisServer) expire() {
	now := s.world.Now()
	for len(s.deadlines) > 0 && s.deadlines[0].at <= now {
		d := heap.Pop(&s.deadlines).(deadline)
		if s.shadow[d.key].expires == d.at { // otherwise it has another deadline by now, or is gone
			s.remember(touch{key: d.key, whole: true}, s.shadow[d.key], true)
			s.store.remove(d.key)
			delete(s.shadow, d.key)
			s.wrote([]Change{{Key: d.key, Gone: true}})
		}
	}
}

// expiry returns when a key expires, after the present step has looked at it.
func (s *redisServer) expiry(key string, given bool) time.Duration {
	was := s.shadow[key].expires
	at := s.store.expiry(key, was, given)
	if at > 0 && at != was {
		heap.Push(&s.deadlines, deadline{at, key})
	}
	return at
}
