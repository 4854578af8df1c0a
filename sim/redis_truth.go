package sim

// readTouched reads from Redis what a call may have changed, and appends it to the step's changes.
// Fields that a write named are reported even when they hold what they held before: to write the same
// value again is to write. Of whole keys, and of a write that the server refused, only what differs is.
func (s *redisServer) readTouched(changes []Change, c *redisCall) []Change {
	for _, t := range c.touched {
		if t.whole {
			changes = s.readWhole(changes, t, c.refused)
		} else {
			changes = s.readField(changes, t, c.refused)
		}
	}
	return changes
}

func (s *redisServer) readField(changes []Change, t touch, refused bool) []Change {
	kind := s.store.Type(t.key)
	known, had := s.shadow[t.key]
	if !had {
		known = value{kind: kind, fields: map[string]string{}}
		s.shadow[t.key] = known
	}
	s.remember(t, known, had)
	was, held := known.fields[t.field]
	now, holds := s.store.field(kind, t.key, t.field)
	if !holds {
		delete(known.fields, t.field)
		if len(known.fields) == 0 {
			delete(s.shadow, t.key)
		}
		if held {
			changes = append(changes, Change{Key: t.key, Field: t.field, Gone: true})
		}
		return changes
	}
	known.fields[t.field] = now
	if refused && held && was == now {
		return changes
	}
	return append(changes, Change{Key: t.key, Field: t.field, Value: now})
}

func (s *redisServer) readWhole(changes []Change, t touch, refused bool) []Change {
	known, had := s.shadow[t.key]
	s.remember(t, known, had)
	now, holds := s.store.read(t.key)
	if !holds {
		if had {
			delete(s.shadow, t.key)
			changes = append(changes, Change{Key: t.key, Gone: true})
		}
		return changes
	}
	now.expires = s.expiry(t.key, t.givesTTL && !refused && (!t.ifNew || !had))
	s.shadow[t.key] = now
	return appendDifference(changes, t.key, known, now)
}
