package faults

import (
	"fmt"
	"strings"
)

// String describes the fault in the terms of a plan.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(string(f.Do))
	switch {
	case f.On != nil:
		b.WriteString(" on " + f.On.words(f.Times, f.Rate))
	case f.After != nil && f.Node == Actor && f.After.Node != "":
		own := *f.After
		own.Node = ""
		fmt.Fprintf(&b, " of %s after its %s", f.After.Node, own.words(1, 0))
	case f.After != nil && f.Node == Actor:
		b.WriteString(" of the node that did " + f.After.words(1, 0))
	case f.After != nil:
		b.WriteString(" of " + f.Node + " after " + f.After.words(1, 0))
	default:
		fmt.Fprintf(&b, " of %s at %s", f.Node, f.At)
	}
	aside := strings.Contains(b.String(), ", ") // an occurrence is named, which lasts no time
	for _, key := range KindOf(f.Do).Keys {
		words := key.Words
		if aside && !strings.HasPrefix(words, ",") {
			words = "," + words
		}
		switch d, name := f.Value(key.Name); {
		case name != "":
			fmt.Fprintf(&b, words, name)
		case d != nil && *d != 0:
			fmt.Fprintf(&b, words, *d)
		}
	}
	return b.String()
}

// Means says, in the catalogue's words, what an effect does to an operation and its caller, and what a server
// loses by its death. It is empty for other effects on a node, whose names say what they do.
func (f Fault) Means() string {
	if f.On == nil {
		return KindOf(f.Do).Lost[f.Node]
	}
	return strings.ReplaceAll(KindOf(f.Do).Says, "when `for` is over", "after "+f.For.String())
}

func (m *Match) words(times int, rate float64) string {
	var b strings.Builder
	b.WriteString(m.Phase)
	if m.Job > 0 {
		fmt.Fprintf(&b, " of job %d", m.Job)
	}
	if m.Node != "" {
		b.WriteString(" at " + m.Node)
	}
	first := max(1, m.Occurrence)
	switch {
	case rate > 0:
		fmt.Fprintf(&b, ", each with probability %g until the heal", rate)
	case times > 1:
		fmt.Fprintf(&b, ", occurrences %d to %d", first, first+times-1)
	case first > 1:
		fmt.Fprintf(&b, ", occurrence %d", first)
	}
	return b.String()
}
