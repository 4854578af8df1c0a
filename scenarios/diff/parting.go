package diff

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/sim"
)

// Parting is the first event at which two traces part.
type Parting struct {
	Step   int     `json:"step"`
	Common []Point `json:"common"` // the last events before it, which are in both
	A      *Point  `json:"a"`      // nil: the run is over
	B      *Point  `json:"b"`
	Differ []Value `json:"differ"` // the fields of the two events that differ; none where a run is over
}

// Point is an event.
type Point struct {
	Step  int           `json:"step"`
	At    time.Duration `json:"at_ns"`
	Node  string        `json:"node,omitempty"` // empty for the harness itself
	Phase string        `json:"phase,omitempty"`
	Job   string        `json:"job,omitempty"`
	Says  string        `json:"says"`
}

// At is the instant at which the traces part: that of the earlier event.
func (p *Parting) At() time.Duration {
	switch {
	case p.A == nil:
		return p.B.At
	case p.B == nil:
		return p.A.At
	}
	return min(p.A.At, p.B.At)
}

// Over stands for the event of a run that is over.
const Over = "the run is over"

// commonShown is how many events before the parting are shown.
const commonShown = 3

// partingOf finds where two traces part; nil if they are equal.
func partingOf(a, b io.Reader) (*Parting, error) {
	at, err := sim.PartingOf(a, b, commonShown)
	if err != nil || at.Line == 0 {
		return nil, err
	}
	p := &Parting{Step: at.Line, Common: []Point{}, A: pointOf(at.A), B: pointOf(at.B), Differ: []Value{}}
	for _, e := range at.Common {
		p.Common = append(p.Common, *pointOf(e))
	}
	if at.A != nil && at.B != nil {
		p.Differ = FieldsThatDiffer(at.A, at.B)
	}
	return p, nil
}

func pointOf(e *sim.Event) *Point {
	if e == nil {
		return nil
	}
	return &Point{e.Step, e.At, e.Node, e.Phase, e.Job, e.Words()}
}

// Changes is the key of what only one of two events changes.
const Changes = "changes of its own"

// FieldsThatDiffer goes through the fields of two events, under their names in the trace. Of the changes it has those that
// only one of them has.
func FieldsThatDiffer(a, b *sim.Event) []Value {
	list := []Value{}
	va, vb := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range va.NumField() {
		name, _, _ := strings.Cut(va.Type().Field(i).Tag.Get("json"), ",")
		x, y := va.Field(i).Interface(), vb.Field(i).Interface()
		if reflect.DeepEqual(x, y) {
			continue
		}
		if name == "changes" {
			if v := changesThatDiffer(Changes, a, b); v.A != v.B { // what lasts as long from another instant on is the same
				list = append(list, v)
			}
			continue
		}
		if at, ok := x.(time.Duration); ok {
			list = append(list, instantsThatDiffer(strings.TrimSuffix(name, "_ns"), at, y.(time.Duration)))
			continue
		}
		list = append(list, Value{Key: name, A: textOf(x), B: textOf(y)})
	}
	return list
}

// instantsThatDiffer says of the later one how much later it is: to the millisecond, as all instants are said, they may be the same.
func instantsThatDiffer(key string, a, b time.Duration) Value {
	v := Value{Key: key, A: invariants.Instant(a), B: invariants.Instant(b)}
	if a < b {
		v.B += ", " + (b - a).String() + " later"
	} else {
		v.A += ", " + (a - b).String() + " later"
	}
	return v
}

func textOf(field any) string {
	if reflect.ValueOf(field).IsZero() {
		return ""
	}
	return fmt.Sprint(field)
}

func changesThatDiffer(key string, a, b *sim.Event) Value {
	own, others := OwnChanges(a, b)
	return Value{Key: key, A: strings.Join(own, "; "), B: strings.Join(others, "; ")}
}

// OwnChanges are those that only one of two events makes; all of each, if they make the same in another order.
func OwnChanges(a, b *sim.Event) (ofA, ofB []string) {
	inA, inB := changesOf(a), changesOf(b)
	ofA, ofB = notIn(inB, inA), notIn(inA, inB)
	if slices.Equal(ofA, ofB) {
		return inA, inB
	}
	return ofA, ofB
}

// notIn is what of a list the other has not.
func notIn(other, list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(c string) bool { return slices.Contains(other, c) })
}

// changesOf has all that each change has: any of it may be the difference.
func changesOf(e *sim.Event) (list []string) {
	for _, c := range e.Changes {
		var parts []string
		say := func(there bool, format string, args ...any) {
			if there {
				parts = append(parts, fmt.Sprintf(format, args...))
			}
		}
		say(c.Key != "", "%s", c.Key)
		say(c.Field != "", "%s", c.Field)
		say(c.Stream != "", "%s", c.Stream)
		say(c.Seq != 0, "seq %d", c.Seq)
		say(c.Subject != "", "on %s", c.Subject)
		for _, k := range slices.Sorted(maps.Keys(c.Header)) {
			say(true, "%s: %s", k, c.Header[k])
		}
		say(c.Value != "", "= %s", c.Value)
		say(c.Expires != 0, "for %s", c.Expires-e.At)
		say(c.Gone, "gone")
		list = append(list, strings.Join(parts, " "))
	}
	return list
}
