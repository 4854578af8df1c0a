package sim

import (
	"container/heap"
	"fmt"
	"maps"
	"strconv"
	"time"
)

// Redis is what steps that are about Redis itself call it.
const Redis = "redis"

// before is what a key, or one field of it, held before a step wrote it.
type before struct {
	at    time.Duration
	touch touch
	had   bool // the key was there; of a field, the field was
	value value
}

// remember keeps what a write is about to replace, for as long as a failover may want it back.
func (w *World) remember(t touch, known value, had bool) {
	if w.cfg.RedisLag == 0 {
		return
	}
	oldest := w.Now() - w.cfg.RedisLag
	for len(w.unlagged) > 0 && w.unlagged[0].at <= oldest {
		w.unlagged = w.unlagged[1:]
	}
	b := before{at: w.Now(), touch: t, had: had, value: known}
	if t.whole {
		b.value.fields = maps.Clone(known.fields)
	} else {
		var field string
		field, b.had = known.fields[t.field]
		b.value.fields = map[string]string{t.field: field}
	}
	w.unlagged = append(w.unlagged, b)
}

// FailOverRedis has a replica take Redis's place to which the writes of the last lag, which is
// Config.RedisLag at most, had not come: replication is asynchronous, and what a client was told is written
// may be lost (Redis documentation, "Redis replication"). The harness calls it, in a step of its own
// ([World.At]), whose event has what the lost writes had changed and is changed back.
//
// Keys whose TTL has run out meanwhile do not come back. Clients keep their connections; a transaction that
// has WATCHed a key of which a write is lost is refused.
func (w *World) FailOverRedis(lag time.Duration) {
	if lag > w.cfg.RedisLag {
		panic(fmt.Sprintf("sim: a failover of Redis by %v, but Config.RedisLag is %v", lag, w.cfg.RedisLag))
	}
	w.expire()
	held := map[string]value{} // by the replica, of what has changed since
	for i := len(w.unlagged) - 1; i >= 0 && w.unlagged[i].at > w.Now()-lag; i-- {
		b := &w.unlagged[i]
		v, known := held[b.touch.key]
		if !known {
			v = w.shadow[b.touch.key]
			v.fields = maps.Clone(v.fields)
		}
		held[b.touch.key] = b.undo(v)
	}
	w.unlagged = nil
	for _, key := range sortedKeys(held) {
		w.rewind(key, held[key])
	}
}

// undo returns what the key held before the write after which it held v.
func (b *before) undo(v value) value {
	switch {
	case b.touch.whole:
		return b.value
	case b.had:
		if len(v.fields) == 0 { // it was another key
			v = value{kind: b.value.kind, fields: map[string]string{}, expires: b.value.expires}
		}
		v.fields[b.touch.field] = b.value.fields[b.touch.field]
	default:
		delete(v.fields, b.touch.field)
	}
	return v
}

// rewind makes Redis hold v under key, or nothing if v is over.
func (w *World) rewind(key string, v value) {
	now := w.shadow[key]
	w.redis.Del(key)
	delete(w.shadow, key)
	if len(v.fields) > 0 && (v.expires == 0 || v.expires > w.Now()) {
		w.put(key, v)
		w.shadow[key] = v
	}
	v = w.shadow[key]
	if len(v.fields) == 0 {
		if len(now.fields) > 0 {
			w.rewound = append(w.rewound, Change{Key: key, Gone: true})
		}
		return
	}
	for _, f := range sortedKeys(v.fields) {
		if was, held := now.fields[f]; !held || was != v.fields[f] || now.expires != v.expires {
			w.rewound = append(w.rewound, Change{Key: key, Field: f, Value: v.fields[f], Expires: v.expires})
		}
	}
	for _, f := range sortedKeys(now.fields) {
		if _, holds := v.fields[f]; !holds {
			w.rewound = append(w.rewound, Change{Key: key, Field: f, Gone: true})
		}
	}
}

// put writes v to Redis.
func (w *World) put(key string, v value) {
	var err error
	switch v.kind {
	case "string":
		err = w.redis.Set(key, v.fields[""])
	case "hash":
		for _, f := range sortedKeys(v.fields) {
			w.redis.HSet(key, f, v.fields[f])
		}
	case "zset":
		for _, m := range sortedKeys(v.fields) {
			var score float64
			if score, err = strconv.ParseFloat(v.fields[m], 64); err != nil {
				break
			}
			_, err = w.redis.ZAdd(key, score, m)
		}
	case "list":
		for i := range len(v.fields) {
			_, err = w.redis.RPush(key, v.fields[strconv.Itoa(i)])
		}
	case "set":
		_, err = w.redis.SAdd(key, sortedKeys(v.fields)...)
	default:
		err = fmt.Errorf("a %s", v.kind)
	}
	if err != nil {
		panic(fmt.Sprintf("sim: Redis cannot hold %s as before: %v", key, err))
	}
	if v.expires > 0 {
		w.redis.SetTTL(key, v.expires-w.Now())
		heap.Push(&w.deadlines, deadline{v.expires, key})
	}
}
