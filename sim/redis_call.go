package sim

import (
	"cmp"
	"slices"
	"strings"
)

// touch is one place in Redis that a command may change: a field of a key, or the whole key.
type touch struct {
	key, field string
	whole      bool
	kind       string // the type of a key that has such fields; for a whole key, its type before; "" if it is not known
	givesTTL   bool   // the key's TTL counts from this command
	hadTTL     bool   // the key had one
	removes    bool   // the key, or the field, is gone afterwards
	ifNew      bool   // SET NX: only if there was no such key
}

// redisCall is the request of one operation on Redis: a command, a pipeline or a transaction.
type redisCall struct {
	args    []any    // of all its commands, one after the other
	ends    []int    // where each command but the last ends in args
	replies int      // how many Redis sends for it
	target  string   // the first key
	touched []touch  // what it may change
	ttls    []string // the keys whose TTL it uses
	write   bool
	waits   bool // it waits for a replica to have its writes
	waited  bool // the replica was said to have them

	applied bool  // it has reached the server
	refused bool  // by the server, without any change
	answer  error // the client's error, once the call is applied
	look    *look // the look that was sent after it, or nil
}

// wholeKeys returns a call that touches the keys, for looking at them.
func wholeKeys(keys []string) *redisCall {
	c := &redisCall{}
	for _, key := range keys {
		c.touched = append(c.touched, touch{key: key, whole: true})
	}
	return c
}

func (c *redisCall) compare(other call) int {
	o, _ := other.(*redisCall)
	return slices.CompareFunc(c.args, o.args, func(a, b any) int { return cmp.Compare(text(a), text(b)) })
}

// add notes one command's effects: the operation's target, whether it writes, and the places to look at
// afterwards.
func (c *redisCall) add(args []any) {
	if c.args == nil {
		c.args = slices.Clip(args)
	} else {
		c.ends = append(c.ends, len(c.args))
		c.args = append(c.args, args...)
	}
	c.replies++
	if len(args) < 2 {
		return
	}
	name := strings.ToLower(text(args[0]))
	if name == nameWait {
		c.waits = true
		return
	}
	keys := keysOf(name, args)
	switch commands[name].keys {
	case noKeys, anyKeys: // such commands differ in their first argument
		c.target = cmp.Or(c.target, text(args[1]))
	default:
		if len(keys) > 0 {
			c.target = cmp.Or(c.target, text(keys[0]))
		}
	}
	if usesTTL(name, args) || name == "set" && hasOption(args, "nx") && c.touches(text(args[1])) {
		for _, k := range keys {
			c.ttls = append(c.ttls, text(k))
		}
	}
	if commands[name].does != reads {
		c.write = true
		c.touch(name, args, keys)
	}
}

// Commands names the commands of a Redis operation, in lower case.
func (op *Op) Commands() (names []string) {
	c, ok := op.call.(*redisCall)
	if !ok {
		return nil
	}
	first := 0
	for _, end := range append(slices.Clone(c.ends), len(c.args)) {
		if first < end {
			names = append(names, strings.ToLower(text(c.args[first])))
		}
		first = end
	}
	return names
}

// touch notes the places that a command may change.
func (c *redisCall) touch(name string, args, keys []any) {
	key := text(args[1])
	switch commands[name].does {
	case writesFirst:
		if len(keys) > 0 {
			key = text(keys[0])
		}
		ifNew := name == "set" && hasOption(args, "nx") && !c.touches(key)
		c.touchWhole(touch{key: key, whole: true, givesTTL: givesTTL(name, args), ifNew: ifNew})
	case writesKeys:
		for _, k := range keys {
			c.touchWhole(touch{key: text(k), whole: true, givesTTL: givesTTL(name, args), removes: name == "del" || name == "unlink"})
		}
	case writesEach:
		c.touchFields(name, key, args[2:], 1)
	case writesPairs:
		c.touchFields(name, key, args[2:], 2)
	case writesZADD:
		i := 2
		for i < len(args) && zaddOptions[strings.ToLower(text(args[i]))] {
			i++
		}
		c.touchFields(name, key, args[min(i+1, len(args)):], 2)
	}
}

var zaddOptions = setOf("nx xx gt lt ch incr")

// touches says whether an earlier command of the call may change the key.
func (c *redisCall) touches(key string) bool {
	return slices.ContainsFunc(c.touched, func(t touch) bool { return t.key == key })
}

// touchWhole notes a whole key, once: it is looked at after all commands.
func (c *redisCall) touchWhole(t touch) {
	i := slices.IndexFunc(c.touched, func(o touch) bool { return o.whole && o.key == t.key })
	if i < 0 {
		c.touched = append(c.touched, t)
		return
	}
	c.touched[i].removes = t.removes
	switch {
	case t.givesTTL && c.touched[i].givesTTL:
		c.touched[i].ifNew = c.touched[i].ifNew && t.ifNew
	case t.givesTTL:
		c.touched[i].givesTTL, c.touched[i].ifNew = true, t.ifNew
	}
}

// touchFields notes the fields that every step-th of args names.
func (c *redisCall) touchFields(name, key string, args []any, step int) {
	if i := slices.IndexFunc(c.touched, func(o touch) bool { return o.whole && o.key == key }); i >= 0 {
		c.touched[i].removes = false
	}
	for i := 0; i < len(args); i += step {
		c.touched = append(c.touched, touch{key: key, field: text(args[i]), kind: kindOf[name[0]], removes: commands[name].does == writesEach})
	}
}

// kindOf maps the first letter of a command that writes fields to the type of its key.
var kindOf = map[byte]string{'h': "hash", 'z': "zset", 's': "set"}
