package sim

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// rewriter is a connection to Redis that replaces some commands, and sends a look after those of an
// operation.
type rewriter struct {
	net.Conn
	client *redisClient

	part    []byte // the beginning of a command that is not written completely
	out     []byte
	args    [][]byte
	keys    [][]byte     // of the commands written since the last read
	copied  []byte       // their memory
	watches []string     // the keys that the connection WATCHes
	look    *look        // the look that was sent
	in      []byte       // replies as they have come
	whole   int          // how many of its bytes belong to complete replies
	replies int          // the number of those
	ready   bytes.Buffer // replies for the process
}

// watched counts, for each key, how many connections of a process WATCH it.
type watched struct {
	mu    sync.Mutex
	times map[string]int
}

// keys lists them in order, so that it does not matter which connection WATCHed which first.
func (w *watched) keys() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sortedKeys(w.times)
}

func (c *rewriter) Write(b []byte) (int, error) {
	rest := b
	if len(c.part) > 0 {
		c.part = append(c.part, b...)
		rest = c.part
	}
	c.out = c.out[:0]
	for {
		var n int
		if c.args, n = readCommand(rest, c.args[:0]); n == 0 {
			break
		}
		if c.unwatches() && n == len(b) {
			c.ready.WriteString("+OK\r\n")
		} else if put := c.put(); put != nil {
			c.out = appendCommand(c.out, put)
		} else {
			c.out = append(c.out, rest[:n]...)
		}
		c.lookBehind()
		rest = rest[n:]
	}
	c.part = append(c.part[:0], rest...)
	if len(c.out) == 0 {
		return len(b), nil
	}
	if _, err := c.Conn.Write(c.out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// unwatches says whether the command just read is an UNWATCH that has no effect: go-redis sends one after
// every EXEC.
func (c *rewriter) unwatches() bool {
	switch name := string(c.args[0]); {
	case strings.EqualFold(name, "watch"):
		c.watch(c.args[1:])
	case strings.EqualFold(name, "exec"), strings.EqualFold(name, "discard"):
		c.unwatch()
	case strings.EqualFold(name, "unwatch"):
		return !c.unwatch()
	}
	return false
}

// watch notes that the connection WATCHes the keys.
func (c *rewriter) watch(keys [][]byte) {
	w := &c.client.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(c.watches) == 0 && len(keys) > 0 {
		c.client.server.watches.Add(1)
	}
	if w.times == nil {
		w.times = map[string]int{}
	}
	for _, k := range keys {
		key := string(k)
		c.watches = append(c.watches, key)
		w.times[key]++
	}
}

// unwatch notes that the connection WATCHes nothing, and says whether it WATCHed keys before.
func (c *rewriter) unwatch() (did bool) {
	w := &c.client.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(c.watches) == 0 {
		return false
	}
	for _, key := range c.watches {
		if w.times[key]--; w.times[key] == 0 {
			delete(w.times, key)
		}
	}
	c.watches = c.watches[:0]
	c.client.server.watches.Add(-1)
	return true
}

func (c *rewriter) Close() error {
	c.unwatch()
	return c.Conn.Close()
}

// lookBehind sends the operation's look, if the command just read is the operation's last.
func (c *rewriter) lookBehind() {
	l := c.client.look
	if l == nil || l.left == l.call.replies && !strings.EqualFold(string(c.args[0]), text(l.call.args[0])) { // the command sets the connection up
		return
	}
	if l.left--; l.left == 0 {
		for _, command := range l.commands {
			c.out = appendCommand(c.out, command)
		}
		c.look = l
	}
}

func (c *rewriter) Read(b []byte) (int, error) {
	c.keys, c.copied = c.keys[:0], c.copied[:0]
	for c.look != nil {
		if err := c.readLook(b); err != nil {
			return 0, err
		}
	}
	if c.ready.Len() > 0 {
		return c.ready.Read(b)
	}
	return c.Conn.Read(b)
}

// readLook reads until the answers to the look have come, which are the last.
func (c *rewriter) readLook(b []byte) error {
	n, err := c.Conn.Read(b)
	if err != nil {
		return err
	}
	c.in = append(c.in, b[:n]...)
	for ; c.replies < c.look.call.replies; c.replies++ {
		_, n := readReply(c.in[c.whole:])
		if n == 0 {
			return nil
		}
		c.whole += n
	}
	var answers []any
	for at := c.whole; len(answers) < len(c.look.commands); {
		answer, n := readReply(c.in[at:])
		if n == 0 {
			return nil
		}
		answers, at = append(answers, answer), at+n
	}
	c.look.answers = answers
	c.ready.Write(c.in[:c.whole])
	c.in, c.look, c.whole, c.replies = c.in[:0], nil, 0, 0
	return nil
}

// put returns the command to send in place of the one just read, or nil.
func (c *rewriter) put() []string {
	if c.client.aborts.Load() && !bytes.EqualFold(c.args[0], []byte("multi")) && !bytes.EqualFold(c.args[0], []byte("exec")) {
		return []string{"GET"} // without arguments, which is an error
	}
	if len(c.args) < 2 {
		return c.client.server.store.instead(c.args, false)
	}
	switch name := string(c.args[0]); {
	case strings.EqualFold(name, nameWait):
		return []string{"EVAL", "return 1", "0"} // one replica has everything that was written
	case strings.EqualFold(name, "info") && strings.EqualFold(string(c.args[1]), "replication"):
		return []string{"ECHO", c.client.server.replication()}
	}
	again := slices.ContainsFunc(c.keys, func(key []byte) bool { return bytes.Equal(key, c.args[1]) })
	for _, key := range keysOf(strings.ToLower(string(c.args[0])), c.args) {
		c.copied = append(c.copied, key...)
		c.keys = append(c.keys, c.copied[len(c.copied)-len(key):])
	}
	return c.client.server.store.instead(c.args, again)
}

// replication is the answer of a master to INFO replication. A replica that takes its place has another ID,
// and so does a server that starts again.
func (s *redisServer) replication() string {
	id := s.world.Draw("replication ID", strconv.Itoa(s.gone))
	return fmt.Sprintf("# Replication\r\nrole:master\r\nconnected_slaves:1\r\nslave0:ip=replica,port=6379,state=online,offset=0,lag=0\r\nmaster_replid:%040x\r\n", id)
}

// stringsOf converts args to strings.
func stringsOf(args [][]byte) []string {
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = string(a)
	}
	return list
}
