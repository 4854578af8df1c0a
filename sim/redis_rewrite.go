package sim

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// rewriter is a connection to Redis on which another command goes in the place of some.
type rewriter struct {
	net.Conn
	server *redisServer
	aborts *atomic.Bool

	part []byte // of a command that has not been written to its end
	out  []byte
	args [][]byte
	keys [][]byte // the first of each command of the present write
}

func (c *rewriter) Write(b []byte) (int, error) {
	rest := b
	if len(c.part) > 0 {
		c.part = append(c.part, b...)
		rest = c.part
	}
	c.out, c.keys = c.out[:0], c.keys[:0]
	for {
		var n int
		if c.args, n = readCommand(rest, c.args[:0]); n == 0 {
			break
		}
		if put := c.put(); put != nil {
			c.out = appendCommand(c.out, put)
		} else {
			c.out = append(c.out, rest[:n]...)
		}
		rest = rest[n:]
	}
	c.part = append(c.part[:0], rest...)
	if _, err := c.Conn.Write(c.out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// put is what goes in the place of the command that was read, or nil.
func (c *rewriter) put() []string {
	if c.aborts.Load() && !bytes.EqualFold(c.args[0], []byte("multi")) && !bytes.EqualFold(c.args[0], []byte("exec")) {
		return []string{"GET"} // of nothing, which is an error
	}
	if len(c.args) < 2 {
		return c.server.store.instead(c.args, false)
	}
	switch name := string(c.args[0]); {
	case strings.EqualFold(name, nameWait) && len(c.keys) > 0:
		return []string{"EXISTS", string(c.keys[len(c.keys)-1])} // which was written: one replica has it
	case strings.EqualFold(name, "info") && strings.EqualFold(string(c.args[1]), "replication"):
		return []string{"ECHO", c.server.replication()}
	}
	again := slices.ContainsFunc(c.keys, func(key []byte) bool { return bytes.Equal(key, c.args[1]) })
	c.keys = append(c.keys, keysOf(strings.ToLower(string(c.args[0])), c.args)...)
	return c.server.store.instead(c.args, again)
}

// replication is what INFO replication says of the master. A replica that takes its place takes another ID, and so does a
// server that starts again.
func (s *redisServer) replication() string {
	id := s.world.Draw("replication ID", strconv.Itoa(s.failovers+s.deaths))
	return fmt.Sprintf("# Replication\r\nrole:master\r\nconnected_slaves:1\r\nslave0:ip=replica,port=6379,state=online,offset=0,lag=0\r\nmaster_replid:%040x\r\n", id)
}

// readCommand reads the command that b begins with into args, and says how long it is; 0 if its end is missing.
func readCommand(b []byte, args [][]byte) (list [][]byte, length int) {
	count, at := readLength(b, '*', 0)
	for range count {
		if length, at = readLength(b, '$', at); at == 0 || len(b) < at+length+2 {
			return args, 0
		}
		args = append(args, b[at:at+length])
		at += length + 2
	}
	if len(args) == 0 {
		return args, 0
	}
	return args, at
}

// readLength reads a line of b that begins with mark and a length, and says where the next begins; 0 if it is not all there.
func readLength(b []byte, mark byte, at int) (length, next int) {
	if at >= len(b) || b[at] != mark {
		return 0, 0
	}
	for at++; at < len(b) && b[at] >= '0' && b[at] <= '9'; at++ {
		length = 10*length + int(b[at]-'0')
	}
	if at+1 >= len(b) {
		return 0, 0
	}
	return length, at + 2
}

func appendCommand(b []byte, args []string) []byte {
	b = append(strconv.AppendInt(append(b, '*'), int64(len(args)), 10), "\r\n"...)
	for _, a := range args {
		b = append(strconv.AppendInt(append(b, '$'), int64(len(a)), 10), "\r\n"...)
		b = append(append(b, a...), "\r\n"...)
	}
	return b
}

// stringsOf copies args.
func stringsOf(args [][]byte) []string {
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = string(a)
	}
	return list
}

// keysAt says where a command names the keys that it may change, if that is not at its first argument alone.
var keysAt = map[string][]int{
	"rename": {1, 2}, "renamenx": {1, 2}, "rpoplpush": {1, 2}, "lmove": {1, 2}, "smove": {1, 2},
}

// keysOf lists the keys that a command of that name may change, of those whose number does not hang on its arguments.
func keysOf[T any](name string, args []T) (keys []T) {
	at := keysAt[name]
	if at == nil {
		at = []int{1}
	}
	for _, i := range at {
		if i < len(args) {
			keys = append(keys, args[i])
		}
	}
	return keys
}
