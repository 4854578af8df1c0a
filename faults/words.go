package faults

import (
	"fmt"
	"strings"
)

// String says what the fault does, in words that name nothing but what a plan names.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(string(f.Do))
	switch {
	case f.On != nil:
		b.WriteString(" on " + f.On.words(f.Times, f.Rate))
	case f.After != nil:
		fmt.Fprintf(&b, " of %s after %s", f.who(), f.After.words(1, 0))
	default:
		fmt.Fprintf(&b, " of %s at %s", f.who(), f.At)
	}
	if f.From != "" {
		b.WriteString(" from " + f.From)
	}
	if f.By != 0 {
		fmt.Fprintf(&b, " by %s", f.By)
	}
	switch {
	case (f.Do == Restart || f.Do == PowerLoss) && f.For > 0:
		fmt.Fprintf(&b, ", away for %s", f.For)
	case f.Do == Late:
		fmt.Fprintf(&b, ", by %s", f.For)
	case f.For > 0:
		fmt.Fprintf(&b, " for %s", f.For)
	}
	switch f.Do {
	case Failover:
		fmt.Fprintf(&b, " to a replica that is %s behind", f.Lag)
	case PowerLoss:
		fmt.Fprintf(&b, ", which takes what was stored in the last %s", f.Lag)
	}
	if f.RestartIn > 0 {
		fmt.Fprintf(&b, ", restarted after %s", f.RestartIn)
	}
	return b.String()
}

func (f Fault) who() string {
	if f.Node == Actor {
		return "whoever did it,"
	}
	return f.Node
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
