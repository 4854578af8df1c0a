package main

import (
	"cmp"
	"fmt"
	"os"

	"github.com/wavetank-sim/wavetank/sim"
)

// difference is the first line in which two traces differ.
type difference struct {
	line int // from 1; 0 if they do not differ
	a, b string
}

// between says what differs between the runs of two processes.
func (d difference) between(a, b side) string {
	if d.line == 0 {
		return "  The traces are equal, event by event; only the verdicts or digests differ."
	}
	return fmt.Sprintf("  The first event that differs is event %d:\n  %s: %s\n  %s: %s", d.line, a.name, d.a, b.name, d.b)
}

// firstDifference compares two traces line by line.
func firstDifference(a, b string) (difference, error) {
	fa, err := os.Open(a)
	if err != nil {
		return difference{}, err
	}
	defer fa.Close()
	fb, err := os.Open(b)
	if err != nil {
		return difference{}, err
	}
	defer fb.Close()
	line, inA, inB, err := sim.FirstDifference(fa, fb)
	if line == 0 {
		return difference{}, err
	}
	return difference{line, cmp.Or(inA, ended), cmp.Or(inB, ended)}, err
}

// ended stands for the event of a trace that has no more.
const ended = "(the trace has ended)"
