package sim

import "strings"

// Use is one thing that an operation depends on or changes, besides its own node: something on a server, or
// another node. Two operations of different nodes commute, except for their instants, if everything that they
// share is changed by neither.
type Use struct {
	What    string
	Changes bool
}

// allKeys stands for all keys of Redis. A command that looks at all keys is taken to change it, and every
// write to read it.
const allKeys = "redis *"

// allSubjects stands for which streams store which subjects.
const allSubjects = "subjects *"

// Uses lists what the operation depends on or changes. It errs on the side of too much. All streams are one
// thing, which publishes change. A fetch and an acknowledgement read it and change their consumer; that
// assumes that streams keep acknowledged messages. A transaction reads every key that its process WATCHes
// just then, since its connection is not known before it is sent.
func (op *Op) Uses() []Use {
	switch op.Kind {
	case KindStart, KindTimer, KindReturn, KindDeliver, KindFetchEnd, KindReceive:
		return nil // what it delivers has left the server
	case KindRedis:
		if c, ok := op.call.(*redisCall); ok {
			list := c.uses()
			if op.Name == NameMulti {
				for _, key := range find[*redisClient](op.process.clients).watched.keys() {
					list = append(list, Use{"redis " + key, false})
				}
			}
			return list
		}
	case KindPublish:
		return []Use{{"jetstream", true}}
	case KindFetch:
		return []Use{{"jetstream", false}, {"consumer " + op.Target, true}}
	case KindAck, KindNak, KindTerm, KindProgress:
		return []Use{{"jetstream", false}, {"consumer " + op.consumer, true}}
	case KindAPI:
		switch {
		case lists(op.Name):
			return []Use{{"jetstream", true}} // for any stream and any consumer
		case strings.Contains(op.Name, "Consumer"):
			return []Use{{"jetstream", false}, {"consumer " + op.Target, op.Write}}
		case strings.HasSuffix(op.Name, "Stream"):
			return []Use{{"jetstream", op.Write}, {allSubjects, op.Write}}
		}
		return []Use{{"jetstream", op.Write}}
	case KindSend:
		list := []Use{{"core " + op.Target, true}, {allSubjects, false}}
		if find[*natsServer](op.world.servers).takes(op.Target) {
			list = append(list, Use{"jetstream", true})
		}
		return list
	}
	return []Use{{string(op.Kind) + " " + op.Target, true}}
}

// uses lists the keys of a command, a pipeline or a transaction.
func (c *redisCall) uses() (list []Use) {
	begin := 0
	for _, end := range append(c.ends[:len(c.ends):len(c.ends)], len(c.args)) {
		args := c.args[begin:end]
		begin = end
		name := strings.ToLower(text(args[0]))
		if commands[name].keys == anyKeys {
			list = append(list, Use{allKeys, true})
			continue
		}
		for _, k := range keysOf(name, args) {
			list = append(list, Use{"redis " + text(k), commands[name].does != reads})
		}
	}
	if c.write {
		list = append(list, Use{allKeys, false})
	}
	return list
}
