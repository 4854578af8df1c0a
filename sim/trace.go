package sim

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// trace turns events into their canonical lines, and the lines into a digest.
type trace struct {
	out  io.Writer // trace.jsonl, or nil
	sum  *xxhash.Digest
	last Event  // kept for its memory
	line []byte // of it, likewise
	err  error
}

// event is what op says of the step that it was, which lacks what the step changed. It holds until the next.
func (t *trace) event(op *Op) *Event {
	t.last = Event{
		Node: op.Node(), Kind: op.Kind, Name: op.Name, Target: op.Target, Job: op.Job, Phase: op.Phase, Occurrence: op.Occurrence,
		Fault: op.fault, Outcome: cmp.Or(op.outcome, OutcomePending), Seq: op.Seq, Delivered: op.Delivered, Data: op.Data,
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

// digest is the run's fingerprint: 16 hexadecimal digits over every event.
func (t *trace) digest() string { return fmt.Sprintf("%016x", t.sum.Sum64()) }

// DigestOf reads a trace.jsonl, and returns the digest of the run that wrote it.
func DigestOf(r io.Reader) (string, error) {
	t := trace{sum: xxhash.New()}
	_, err := io.Copy(t.sum, r)
	return t.digest(), err
}

// appendEvent writes e as encoding/json would, in one pass and without reflection: it is on the
// path of every step.
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
	b[open] = '{' // in place of the first field's comma: a change always has one
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

// Parting is where two traces part.
type Parting struct {
	Line   int      // the first in which they differ, from 1; 0 when they are equal
	Common []string // the last lines before it
	A, B   string   // what each holds there; "" of a trace that has ended
}

// PartingOf compares two traces line by line, and keeps so many lines before the first in which they differ.
func PartingOf(a, b io.Reader, common int) (Parting, error) {
	ra, rb := bufio.NewReader(a), bufio.NewReader(b)
	p := Parting{}
	for n := 1; ; n++ {
		la, errA := ra.ReadBytes('\n')
		lb, errB := rb.ReadBytes('\n')
		for _, err := range []error{errA, errB} {
			if err != nil && err != io.EOF {
				return Parting{}, err
			}
		}
		line := string(bytes.TrimSuffix(la, []byte("\n")))
		if !bytes.Equal(la, lb) {
			p.Line, p.A, p.B = n, line, string(bytes.TrimSuffix(lb, []byte("\n")))
			return p, nil
		}
		if errA == io.EOF {
			return Parting{}, nil
		}
		if p.Common = append(p.Common, line); len(p.Common) > common {
			p.Common = slices.Delete(p.Common, 0, 1)
		}
	}
}

// FirstDifference compares two traces line by line and returns the first line in which they
// differ, by its number from 1, with what each holds there. A trace that ends early holds "".
// The number is 0 when they are equal.
func FirstDifference(a, b io.Reader) (line int, inA, inB string, err error) {
	p, err := PartingOf(a, b, 0)
	return p.Line, p.A, p.B, err
}

// sortedKeys lists the keys of m in order: no order of a map may reach the trace.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
