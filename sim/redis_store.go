package sim

import (
	"net"
	"strconv"
	"time"
)

// store is the Redis of a world, and what the world does with it besides what its processes ask: [mini] or [realRedis].
type store interface {
	// dial opens a connection of a process.
	dial() (net.Conn, error)
	// instead is what goes in the place of a command on such a connection, or nil. That one of the commands before it, in
	// the same write, is about its key is said by again.
	instead(args [][]byte, again bool) []string
	// look appends what is at each place that a call may have changed.
	look(c *redisCall, seen []sight) []sight
	// keys lists the keys, in any order.
	keys() []string
	// write makes a key that is not there hold v, until v expires.
	write(key string, v value) error
	// remove deletes a key.
	remove(key string)
	// countDown readies the server for a command that uses a TTL.
	countDown()
	// expiry is when a key expires at which look has last looked, whole; 0 is never. Before that step it was due at was;
	// given says whether the step gave it a TTL.
	expiry(key string, was time.Duration, given bool) time.Duration
	// wrote says what was changed at an instant, and sync that all that was is on the disk.
	wrote(at time.Duration, changes []Change)
	sync(at time.Duration)
	// die ends the server, and starts it again on what its files had at an instant; torn says that they may end in the middle
	// of what was written then. It returns what the server has loaded, and nil if it holds what it did.
	die(at time.Duration, torn bool) (loaded map[string]value, err error)
	// forget has the server lose its scripts.
	forget()
	// version is the name and version of a redis-server; empty is miniredis.
	version() string
	// lost is the error of a server that somebody else has ended.
	lost() error
	// close ends the server's end of every connection.
	close()
}

// value is what a Redis key holds, flattened to fields: a string under "", a hash's fields, a
// sorted set's members with their scores, a list's indices, a set's members, a stream's entries under their IDs and its last ID.
type value struct {
	kind    string // as TYPE names it
	fields  map[string]string
	expires time.Duration
}

// sight is what was seen at one place: of a whole key its value, but for when it expires; of a field its text.
type sight struct {
	value
	text  string
	holds bool // the key, or the field, is there
}

func formatScore(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

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
