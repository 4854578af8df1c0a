package sim

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// store is the process that speaks Redis's protocol, and what a world does with it besides.
type store struct{ *miniredis.Miniredis }

// value is what a Redis key holds, flattened to fields: a string under "", a hash's fields, a
// sorted set's members with their scores, a list's indices, a set's members.
type value struct {
	kind    string // as TYPE names it
	fields  map[string]string
	expires time.Duration
}

// read reads a whole key, but for when it expires.
func (s store) read(key string) (v value, ok bool) {
	v = value{kind: s.Type(key), fields: map[string]string{}}
	switch v.kind {
	case "string":
		v.fields[""], _ = s.Get(key)
	case "hash":
		names, _ := s.HKeys(key)
		for _, f := range names {
			v.fields[f] = s.HGet(key, f)
		}
	case "zset":
		scores, _ := s.SortedSet(key)
		for m, score := range scores {
			v.fields[m] = formatScore(score)
		}
	case "list":
		items, _ := s.List(key)
		for i, item := range items {
			v.fields[strconv.Itoa(i)] = item
		}
	case "set":
		members, _ := s.SMembers(key)
		for _, m := range members {
			v.fields[m] = ""
		}
	default:
		return v, false
	}
	return v, true
}

func formatScore(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

// field reads one field of a key of that kind, and says whether there is such a field.
func (s store) field(kind, key, field string) (text string, ok bool) {
	switch kind {
	case "hash":
		if text = s.HGet(key, field); text != "" {
			return text, true
		}
		names, _ := s.HKeys(key)
		return "", slices.Contains(names, field)
	case "zset":
		score, err := s.ZScore(key, field)
		if err != nil {
			return "", false
		}
		if score == 0 { // miniredis says 0 of what is no member, too
			scores, _ := s.SortedSet(key)
			if _, ok := scores[field]; !ok {
				return "", false
			}
		}
		return formatScore(score), true
	case "set":
		ok, _ = s.SIsMember(key, field)
	}
	return "", ok
}

// write makes a key that is not there hold v, but for when it expires.
func (s store) write(key string, v value) (err error) {
	switch v.kind {
	case "string":
		err = s.Set(key, v.fields[""])
	case "hash":
		for _, f := range sortedKeys(v.fields) {
			s.HSet(key, f, v.fields[f])
		}
	case "zset":
		for _, m := range sortedKeys(v.fields) {
			score, _ := strconv.ParseFloat(v.fields[m], 64) // formatScore's
			_, err = s.ZAdd(key, score, m)
		}
	case "list":
		for i := range len(v.fields) {
			_, err = s.RPush(key, v.fields[strconv.Itoa(i)])
		}
	case "set":
		_, err = s.SAdd(key, sortedKeys(v.fields)...)
	default:
		err = fmt.Errorf("a %s", v.kind)
	}
	return err
}

// appendDifference appends what differs between what a key held and what it holds now.
func appendDifference(changes []Change, key string, was, now value) []Change {
	for _, f := range sortedKeys(now.fields) {
		if old, held := was.fields[f]; !held || old != now.fields[f] || was.expires != now.expires {
			changes = append(changes, Change{Key: key, Field: f, Value: now.fields[f], Expires: now.expires})
		}
	}
	for _, f := range sortedKeys(was.fields) {
		if _, holds := now.fields[f]; !holds {
			changes = append(changes, Change{Key: key, Field: f, Gone: true})
		}
	}
	return changes
}
