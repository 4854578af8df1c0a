package sim

import "slices"

// behind returns the look to send to a redis-server after a call's commands, or nil.
func (s *redisServer) behind(c *redisCall) *look {
	server, ok := s.store.(*realRedis)
	if !ok || len(c.touched) == 0 {
		return nil
	}
	s.known(c)
	return server.behind(c)
}

// known notes, for the keys to look at, what they were last seen to be. If a call removes fields of a key
// with a TTL, the whole key is looked at: it may be gone, with its TTL, and exist again.
func (s *redisServer) known(c *redisCall) {
	for _, t := range slices.Clip(c.touched) {
		if !t.whole && t.removes && s.shadow[t.key].expires > 0 {
			c.touchWhole(touch{key: t.key, whole: true})
		}
	}
	for i := range c.touched {
		if t := &c.touched[i]; t.whole {
			v := s.shadow[t.key]
			t.kind, t.hadTTL = v.kind, v.expires > 0
		}
	}
}

// readTouched reads from Redis what a call may have changed, and appends it to the step's changes. A field
// that a write named is reported even if it holds what it held before, since writing the same value again is
// a write. For whole keys, and for a write that the server refused, only differences are reported.
func (s *redisServer) readTouched(changes []Change, c *redisCall) []Change {
	if c.look == nil || c.look.answers == nil { // none was sent after it: it has just arrived
		s.known(c)
	}
	s.seen = s.store.look(c, s.seen[:0])
	for i, t := range c.touched {
		if t.whole {
			changes = s.readWhole(changes, t, s.seen[i], c.refused)
		} else {
			changes = s.readField(changes, t, s.seen[i], c.refused)
		}
	}
	return changes
}

func (s *redisServer) readField(changes []Change, t touch, seen sight, refused bool) []Change {
	if seen.kind != t.kind && seen.kind != "none" && seen.kind != "" { // the command was refused
		return changes
	}
	known, had := s.shadow[t.key]
	if !had {
		known = value{kind: seen.kind, fields: map[string]string{}}
		s.shadow[t.key] = known
	}
	s.remember(t, known, had)
	was, held := known.fields[t.field]
	if !seen.holds {
		delete(known.fields, t.field)
		if len(known.fields) == 0 {
			delete(s.shadow, t.key)
		}
		if held {
			changes = append(changes, Change{Key: t.key, Field: t.field, Gone: true})
		}
		return changes
	}
	known.fields[t.field] = seen.text
	if refused && held && was == seen.text {
		return changes
	}
	return append(changes, Change{Key: t.key, Field: t.field, Value: seen.text})
}

func (s *redisServer) readWhole(changes []Change, t touch, seen sight, refused bool) []Change {
	known, had := s.shadow[t.key]
	s.remember(t, known, had)
	if !seen.holds {
		if had {
			delete(s.shadow, t.key)
			changes = append(changes, Change{Key: t.key, Gone: true})
		}
		return changes
	}
	now := seen.value
	now.expires = s.expiry(t.key, t.givesTTL && !refused && (!t.ifNew || !had))
	s.shadow[t.key] = now
	return appendDifference(changes, t.key, known, now)
}
