package sim

import (
	"bytes"
	"encoding"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"time"
)

// The protocol of connections to Redis (Redis documentation, "Redis serialization protocol specification"),
// version 2.

// readCommand parses the command that b begins with into args, and returns its length; 0 if b does not hold
// all of it.
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

// readLength parses a line of b that consists of mark and a length. next is where the next line begins; 0 if
// b does not hold all of it.
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

// replyError is a server's error reply.
type replyError string

// readReply parses the reply that b begins with: a string, an int64, a list of replies, nil, or an error. It
// returns the reply's length; 0 if b does not hold all of it.
func readReply(b []byte) (reply any, length int) {
	line, rest, ok := bytes.Cut(b, []byte("\r\n"))
	if !ok || len(line) == 0 {
		return nil, 0
	}
	at := len(b) - len(rest)
	n, _ := strconv.ParseInt(string(line[1:]), 10, 64)
	switch line[0] {
	case ':':
		return n, at
	case '$':
		if n < 0 {
			return nil, at
		}
		if len(rest) < int(n)+2 {
			return nil, 0
		}
		return string(rest[:n]), at + int(n) + 2
	case '*':
		if n < 0 {
			return nil, at
		}
		list := make([]any, n)
		for i := range list {
			if list[i], length = readReply(b[at:]); length == 0 {
				return nil, 0
			}
			at += length
		}
		return list, at
	}
	if line[0] == '-' {
		return replyError(line[1:]), at
	}
	return string(line[1:]), at
}

// text is an argument of a command as go-redis writes it (its internal/proto, Writer.WriteArg).
func text(a any) string {
	switch a := a.(type) {
	case string:
		return a
	case []byte:
		return string(a)
	case nil:
		return ""
	case bool:
		if a {
			return "1"
		}
		return "0"
	case float64:
		return strconv.FormatFloat(a, 'f', -1, 64)
	case float32:
		return text(float64(a))
	case time.Duration:
		return strconv.FormatInt(int64(a), 10)
	case time.Time:
		return a.Format(time.RFC3339Nano)
	case *time.Time:
		return textBehind(a)
	case net.IP:
		return string(a)
	case encoding.BinaryMarshaler:
		b, _ := a.MarshalBinary() // go-redis returns the error to the caller
		return string(b)
	}
	if reflect.TypeOf(a).Kind() == reflect.Pointer {
		return textBehind(a)
	}
	return fmt.Sprint(a)
}

// textBehind is the text of what a pointer points to; a nil pointer gives that of the zero value.
func textBehind(pointer any) string {
	v := reflect.ValueOf(pointer)
	if v.IsNil() {
		return text(reflect.Zero(v.Type().Elem()).Interface())
	}
	return text(v.Elem().Interface())
}
