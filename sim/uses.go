package sim

import "strings"

// Use is one thing that an operation has to do with, besides its own node: what is kept of it on a server, or another
// node. Two operations of different nodes that have nothing in common, or only what neither of them changes, have the same
// effect in either order, but for the instants at which they have it.
type Use struct {
	What    string
	Changes bool
}

// allKeys is what a command that looks at all keys changes, so to speak, and what every write reads.
const allKeys = "redis *"

// allSubjects is what says which streams store what is sent to a subject.
const allSubjects = "subjects *"

// Uses lists what the operation has to do with. It errs on the side of too much: all streams are one thing, which publishes
// change. A fetch and an acknowledgement look at that and change their consumer: it takes it for granted that streams
// keep messages that were acknowledged. A transaction looks at every key that its process WATCHes just then: on which
// connection it will go is not known before it goes.
func (op *Op) Uses() []Use {
	switch op.Kind {
	case KindStart, KindTimer, KindReturn, KindDeliver, KindFetchEnd, KindReceive:
		return nil // what it hands over has left the server
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
			return []Use{{"jetstream", true}} // of any stream and any consumer
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

// uses lists the keys of a command, of a pipeline or of a transaction.
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
