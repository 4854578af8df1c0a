package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// value is what a Redis key holds, flattened to fields: a string under "", a hash's fields, a
// sorted set's members with their scores, a list's indices, a set's members.
type value struct {
	kind    string // as TYPE names it
	fields  map[string]string
	expires time.Duration
}

// readKey reads a whole key from the server; given says whether its TTL counts from now.
func (w *World) readKey(key string, given bool) (v value, ok bool) {
	v.kind = w.redis.Type(key)
	switch v.kind {
	case "string":
		s, _ := w.redis.Get(key)
		v.fields = map[string]string{"": s}
	case "hash":
		names, _ := w.redis.HKeys(key)
		v.fields = make(map[string]string, len(names))
		for _, f := range names {
			v.fields[f] = w.redis.HGet(key, f)
		}
	case "zset":
		scores, _ := w.redis.SortedSet(key)
		v.fields = make(map[string]string, len(scores))
		for m, s := range scores {
			v.fields[m] = formatScore(s)
		}
	case "list":
		items, _ := w.redis.List(key)
		v.fields = make(map[string]string, len(items))
		for i, s := range items {
			v.fields[strconv.Itoa(i)] = s
		}
	case "set":
		members, _ := w.redis.SMembers(key)
		v.fields = make(map[string]string, len(members))
		for _, m := range members {
			v.fields[m] = ""
		}
	default:
		return value{}, false
	}
	v.expires = w.expiry(key, given)
	return v, true
}

func formatScore(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

// readTouched reads from Redis what a step may have changed, and returns it as the step's changes.
// Fields that a write named are reported even when they hold what they held before: to write the same
// value again is to write. Of whole keys, and of a write that the server refused, only what differs is.
func (w *World) readTouched(touched []touch, refused bool) (changes []Change) {
	for _, t := range touched {
		known, had := w.shadow[t.key]
		if t.whole {
			w.remember(t, known, had)
			changes = w.readWhole(changes, t, known, had)
			continue
		}
		kind := w.redis.Type(t.key)
		if !had {
			known = value{kind: kind, fields: map[string]string{}}
			w.shadow[t.key] = known
		}
		w.remember(t, known, had)
		c := Change{Key: t.key, Field: t.field}
		switch kind {
		case "hash":
			c.Value = w.redis.HGet(t.key, t.field)
			c.Gone = c.Value == "" && !w.hasField(t.key, t.field)
		case "zset":
			s, in := w.score(t.key, t.field)
			if c.Gone = !in; in {
				c.Value = formatScore(s)
			}
		case "set":
			in, _ := w.redis.SIsMember(t.key, t.field)
			c.Gone = !in
		default:
			c.Gone = true
		}
		if c.Gone {
			_, was := known.fields[t.field]
			delete(known.fields, t.field)
			if len(known.fields) == 0 {
				delete(w.shadow, t.key)
			}
			if !was {
				continue
			}
		} else {
			was, held := known.fields[t.field]
			known.fields[t.field] = c.Value
			if refused && held && was == c.Value {
				continue
			}
		}
		changes = append(changes, c)
	}
	return changes
}

func (w *World) hasField(key, field string) bool {
	names, _ := w.redis.HKeys(key)
	return slices.Contains(names, field)
}

// score returns a sorted set's member's score, and whether it is a member.
func (w *World) score(key, member string) (float64, bool) {
	s, err := w.redis.ZScore(key, member)
	if err != nil || s != 0 {
		return s, err == nil
	}
	scores, _ := w.redis.SortedSet(key) // miniredis says 0 of what is no member, too
	_, in := scores[member]
	return 0, in
}

func (w *World) readWhole(changes []Change, t touch, known value, had bool) []Change {
	key := t.key
	now, ok := w.readKey(key, t.givesTTL && (!t.ifNew || !had))
	if !ok {
		if had {
			delete(w.shadow, key)
			changes = append(changes, Change{Key: key, Gone: true})
		}
		return changes
	}
	for _, f := range sortedKeys(now.fields) {
		if old, was := known.fields[f]; !was || old != now.fields[f] || known.expires != now.expires {
			changes = append(changes, Change{Key: key, Field: f, Value: now.fields[f], Expires: now.expires})
		}
	}
	for _, f := range sortedKeys(known.fields) {
		if _, is := now.fields[f]; !is {
			changes = append(changes, Change{Key: key, Field: f, Gone: true})
		}
	}
	w.shadow[key] = now
	return changes
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Redis reads everything that Redis holds, key by key and field by field.
func (w *World) Redis() map[string]map[string]string {
	w.expire()
	all := map[string]map[string]string{}
	for _, k := range w.redis.Keys() {
		if v, ok := w.readKey(k, false); ok {
			all[k] = v.fields
		}
	}
	return all
}

// CheckTruth compares what the steps were seen to change with everything that the servers hold
// now, and returns the first difference. It guards the oracles against a blind spot of the world's.
func (w *World) CheckTruth() error {
	now := w.Redis()
	for _, k := range sortedKeys(now) {
		known, ok := w.shadow[k]
		if !ok {
			return fmt.Errorf("sim: Redis holds %s, which no step was seen to write", k)
		}
		for _, f := range sortedKeys(now[k]) {
			if known.fields[f] != now[k][f] {
				return fmt.Errorf("sim: Redis holds %s %s = %q, but the steps wrote %q", k, f, now[k][f], known.fields[f])
			}
		}
	}
	for _, k := range sortedKeys(w.shadow) {
		if _, ok := now[k]; !ok {
			return fmt.Errorf("sim: Redis has lost %s without a step or an expiry", k)
		}
	}
	if w.down.Load() {
		return nil // the streams are not there to be looked at
	}
	for _, name := range sortedKeys(w.streams) {
		s, err := w.adminJS.Stream(context.Background(), name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound): // a step deleted it
			continue
		case err != nil:
			return fmt.Errorf("sim: %w", err)
		}
		if last := s.CachedInfo().State.LastSeq; last != w.streams[name].last {
			return fmt.Errorf("sim: stream %s has stored up to %d, but the steps up to %d", name, last, w.streams[name].last)
		}
	}
	return nil
}
