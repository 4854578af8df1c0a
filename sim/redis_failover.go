package sim

import (
	"container/heap"
	"fmt"
	"maps"
	"time"
)

// before is the content of a key, or of one of its fields, before a step wrote it.
type before struct {
	at    time.Duration
	touch touch
	had   bool // whether the key (or, if this is about one field, the field) existed
	value value
}

// remember keeps what a write is about to replace, for as long as a failover may bring it back.
func (s *redisServer) remember(t touch, known value, had bool) {
	if s.world.cfg.RedisLag == 0 && s.world.cfg.RedisDisk == "" {
		return
	}
	oldest := s.world.Now() - s.world.cfg.RedisLag
	if s.world.cfg.RedisDisk != "" {
		oldest = min(oldest, s.syncedUntil())
	}
	for len(s.unlagged) > 0 && s.unlagged[0].at <= oldest {
		s.unlagged = s.unlagged[1:]
	}
	b := before{at: s.world.Now(), touch: t, had: had, value: known}
	if t.whole {
		b.value.fields = maps.Clone(known.fields)
	} else {
		var field string
		field, b.had = known.fields[t.field]
		b.value.fields = map[string]string{t.field: field}
	}
	s.unlagged = append(s.unlagged, b)
}

// FailOverRedis replaces Redis by a replica that lacks the writes of the last lag, which is at most
// Config.RedisLag. Redis replicates asynchronously, so a write that a client was told of may be lost (Redis
// documentation, "Redis replication"). The harness calls FailOverRedis in a step of its own ([World.At]),
// whose event lists what is changed back.
//
// Keys that have expired since do not come back. Every connection is lost, with the keys that it WATCHes and
// the commands under way on it. A replica has no scripts.
func (w *World) FailOverRedis(lag time.Duration) {
	if lag > w.cfg.RedisLag {
		panic(fmt.Sprintf("sim: a failover of Redis by %v, but Config.RedisLag is %v", lag, w.cfg.RedisLag))
	}
	s := find[*redisServer](w.servers)
	s.gone++
	s.store.forget()
	held := s.heldAt(max(w.Now()-lag, s.replicated))
	for _, key := range sortedKeys(held) {
		s.rewind(key, held[key], false)
	}
	s.unlagged = nil
	s.sync()
}

// heldAt returns what Redis held at an instant, for the keys that differ now.
func (s *redisServer) heldAt(at time.Duration) map[string]value {
	held := map[string]value{}
	for i := len(s.unlagged) - 1; i >= 0 && s.unlagged[i].at > at; i-- {
		b := &s.unlagged[i]
		v, known := held[b.touch.key]
		if !known {
			v = s.shadow[b.touch.key]
			v.fields = maps.Clone(v.fields)
		}
		held[b.touch.key] = b.undo(v)
	}
	return held
}

// undo takes v, which the key held after the write, and returns what it held before.
func (b *before) undo(v value) value {
	switch {
	case b.touch.whole:
		return b.value
	case b.had:
		if len(v.fields) == 0 { // the key was made anew
			v = value{kind: b.value.kind, fields: map[string]string{}, expires: b.value.expires}
		}
		v.fields[b.touch.field] = b.value.fields[b.touch.field]
	default:
		delete(v.fields, b.touch.field)
	}
	return v
}

// rewind makes Redis hold v under key, or nothing if v has expired. holds says that Redis holds v already.
func (s *redisServer) rewind(key string, v value, holds bool) {
	was := s.shadow[key]
	delete(s.shadow, key)
	gone := len(v.fields) == 0 || v.expires > 0 && v.expires <= s.world.Now()
	if gone || !holds {
		s.store.remove(key)
	}
	if gone {
		if len(was.fields) > 0 {
			s.rewound = append(s.rewound, Change{Key: key, Gone: true})
		}
		return
	}
	if !holds {
		if err := s.store.write(key, v); err != nil {
			panic(fmt.Sprintf("sim: Redis cannot hold %s as before: %v", key, err))
		}
	}
	if v.expires > 0 {
		heap.Push(&s.deadlines, deadline{v.expires, key})
	}
	s.shadow[key] = v
	s.rewound = appendDifference(s.rewound, key, was, v)
}
