package sim

import (
	"net"
	"strconv"
	"time"
)

// store is the Redis of a world, [mini] or [realRedis], as the world itself uses it.
type store interface {
	// dial opens a connection of a process.
	dial() (net.Conn, error)
	// instead returns the command to send in place of another on such a connection, or nil. again says that
	// an earlier command in the same write concerns the same key.
	instead(args [][]byte, again bool) []string
	// look appends the content of each place that a call may have changed.
	look(c *redisCall, seen []sight) []sight
	// keys lists the keys, in any order.
	keys() []string
	// write makes a key, which must not exist, hold v until v expires.
	write(key string, v value) error
	// remove deletes a key.
	remove(key string)
	// countDown prepares the server for a command that uses a TTL.
	countDown()
	// expiry returns when a key expires that look has just read whole; 0 is never. was is when it was to
	// expire before the step. given says whether the step gave it a TTL.
	expiry(key string, was time.Duration, given bool) time.Duration
	// wrote reports the changes made at an instant; sync reports that everything written until then is on the
	// disk.
	wrote(at time.Duration, changes []Change)
	sync(at time.Duration)
	// die ends the server, and starts it again on its files as of an instant. torn says that they may end in
	// the middle of a write of that instant. It returns what the server has loaded, or nil if the content is
	// unchanged.
	die(at time.Duration, torn bool) (loaded map[string]value, err error)
	// forget makes the server lose its scripts.
	forget()
	// version is the name and version of a redis-server; it is empty for miniredis.
	version() string
	// lost returns an error if somebody else has ended the server.
	lost() error
	// close ends the server's end of every connection.
	close()
}

// value is the content of a Redis key, flattened to fields: a string under "", a hash's fields, a sorted
// set's members with their scores, a list's indices, a set's members, or a stream's entries under their IDs
// and its last ID.
type value struct {
	kind    string // as TYPE names it
	fields  map[string]string
	expires time.Duration
}

// sight is what was seen at one place: the text of a field, or the value of a whole key without its expiry.
type sight struct {
	value
	text  string
	holds bool // the key, or the field, exists
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
