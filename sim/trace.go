package sim

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// trace turns events into their canonical lines, and the lines into a digest.
type trace struct {
	out  io.Writer // trace.jsonl, or nil
	sum  *xxhash.Digest
	last Event  // kept to reuse its memory
	line []byte // its line, likewise
	err  error
}

// event describes op's step, without its changes. The result is valid until the next call.
func (t *trace) event(op *Op) *Event {
	t.last = Event{
		Node: op.Node(), Kind: op.Kind, Name: op.Name, Target: op.Target, Job: op.Job, Phase: op.Phase, Occurrence: op.Occurrence,
		Fault: op.fault, Outcome: cmp.Or(op.outcome, OutcomePending), Seq: op.Seq, Delivered: op.Delivered, Answers: op.Answers, Delay: op.Delay, Asked: op.asked, Data: op.Data,
		Changes: t.last.Changes[:0],
	}
	if op.process != nil {
		t.last.Incarnation = op.process.incarnation
	}
	return &t.last
}

func (t *trace) add(e *Event) {
	t.line = append(appendEvent(t.line[:0], e), '\n')
	_, _ = t.sum.Write(t.line)
	if t.out != nil && t.err == nil {
		_, t.err = t.out.Write(t.line)
	}
}

// digest is the run's fingerprint: 16 hexadecimal digits computed from every event.
func (t *trace) digest() string { return fmt.Sprintf("%016x", t.sum.Sum64()) }

// DigestOf reads a trace.jsonl, and returns the digest of its run.
func DigestOf(r io.Reader) (string, error) {
	t := trace{sum: xxhash.New()}
	_, err := io.Copy(t.sum, r)
	return t.digest(), err
}

// appendEvent writes e as encoding/json would, in one pass and without reflection: every step calls it.
func appendEvent(b []byte, e *Event) []byte {
	b = append(b, `{"step":`...)
	b = strconv.AppendInt(b, int64(e.Step), 10)
	b = append(b, `,"at_ns":`...)
	b = strconv.AppendInt(b, int64(e.At), 10)
	b = appendField(b, "node", e.Node)
	b = appendNumber(b, "inc", uint64(e.Incarnation))
	b = appendField(b, "kind", string(e.Kind))
	b = appendField(b, "name", e.Name)
	b = appendField(b, "target", e.Target)
	b = appendField(b, "job", e.Job)
	b = appendField(b, "phase", e.Phase)
	b = appendNumber(b, "n", uint64(e.Occurrence))
	b = appendField(b, "fault", e.Fault)
	b = append(b, `,"outcome":`...)
	b = appendString(b, e.Outcome)
	b = appendNumber(b, "seq", e.Seq)
	b = appendNumber(b, "delivered", e.Delivered)
	b = appendNumber(b, "answers", uint64(e.Answers))
	b = appendNumber(b, "delay_ns", uint64(e.Delay))
	b = appendField(b, "asked", e.Asked)
	b = appendField(b, "data", e.Data)
	if len(e.Changes) > 0 {
		b = append(b, `,"changes":[`...)
		for i := range e.Changes {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendChange(b, &e.Changes[i])
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

func appendChange(b []byte, c *Change) []byte {
	open := len(b)
	b = appendField(b, "key", c.Key)
	b = appendField(b, "field", c.Field)
	b = appendField(b, "value", c.Value)
	if c.Gone {
		b = append(b, `,"gone":true`...)
	}
	b = appendNumber(b, "expires_ns", uint64(c.Expires))
	b = appendField(b, "stream", c.Stream)
	b = appendNumber(b, "seq", c.Seq)
	b = appendField(b, "subject", c.Subject)
	if len(c.Header) > 0 {
		b = append(b, `,"header":{`...)
		for i, k := range sortedKeys(c.Header) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, k)
			b = append(b, ':')
			b = appendString(b, c.Header[k])
		}
		b = append(b, '}')
	}
	b[open] = '{' // replaces the first field's comma; a change has at least one field
	return append(b, '}')
}

func appendField(b []byte, name, v string) []byte {
	if v == "" {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":`...)
	return appendString(b, v)
}

func appendNumber(b []byte, name string, v uint64) []byte {
	if v == 0 {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":`...)
	return strconv.AppendUint(b, v, 10)
}

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= utf8.RuneSelf || c == '<' || c == '>' || c == '&' || c == 0x7f {
			quoted, _ := json.Marshal(s)
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

// Parting is the place where two traces part.
type Parting struct {
	Line   int      // the first line whose events differ, from 1; 0 when the traces are equal
	Common []*Event // the last events before it
	A, B   *Event   // the event of each trace there; nil for a trace that has ended
}

// PartingOf compares two traces event by event, and keeps the last common events before the first that
// differs, as many as common says. The traces may be of two builds: a field of a line that this build does
// not know is no difference. PartingOf fails if a trace cannot be read, or has a line that is no event.
func PartingOf(a, b io.Reader, common int) (p Parting, err error) {
	var before [][2][]byte
	err = eachLine(a, b, func(n int, la, lb []byte) (more bool, err error) {
		if !bytes.Equal(la, lb) {
			var ea, eb *Event
			if ea, err = eventOf(la); err != nil {
				return false, fmt.Errorf("line %d of A: %w", n, err)
			}
			if eb, err = eventOf(lb); err != nil {
				return false, fmt.Errorf("line %d of B: %w", n, err)
			}
			if !reflect.DeepEqual(ea, eb) {
				p.Line, p.A, p.B = n, ea, eb
				return false, nil
			}
		}
		if before = append(before, [2][]byte{la, lb}); len(before) > common {
			before = slices.Delete(before, 0, 1)
		}
		return true, nil
	})
	if p.Line == 0 || err != nil {
		return Parting{}, err
	}
	for _, lines := range before {
		e, err := eventOf(lines[0])
		if err != nil {
			return Parting{}, err
		}
		p.Common = append(p.Common, e)
	}
	return p, nil
}

// eventOf parses a line of a trace; it returns nil for a trace that has ended.
func eventOf(line []byte) (*Event, error) {
	if len(line) == 0 {
		return nil, nil
	}
	e := &Event{}
	return e, json.Unmarshal(line, e)
}

// FirstDifference compares two traces line by line. It returns the number of the first line that differs,
// from 1, and the line of each trace; the line is "" of a trace that has ended. The number is 0 if the traces
// are equal.
func FirstDifference(a, b io.Reader) (line int, inA, inB string, err error) {
	err = eachLine(a, b, func(n int, la, lb []byte) (more bool, err error) {
		if more = bytes.Equal(la, lb); !more {
			line, inA, inB = n, string(la), string(lb)
		}
		return more, nil
	})
	return line, inA, inB, err
}

// eachLine visits the lines of two traces in parallel, from 1. A trace that has ended yields empty lines.
func eachLine(a, b io.Reader, visit func(n int, la, lb []byte) (more bool, err error)) error {
	ra, rb := bufio.NewReader(a), bufio.NewReader(b)
	for n := 1; ; n++ {
		la, errA := ra.ReadBytes('\n')
		lb, errB := rb.ReadBytes('\n')
		for _, err := range []error{errA, errB} {
			if err != nil && err != io.EOF {
				return err
			}
		}
		if len(la)+len(lb) == 0 {
			return nil
		}
		if more, err := visit(n, bytes.TrimSuffix(la, []byte("\n")), bytes.TrimSuffix(lb, []byte("\n"))); err != nil || !more {
			return err
		}
	}
}

// sortedKeys returns the keys of m in order: the order of a map must not reach the trace.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
