package scenarios

import (
	"fmt"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
)

// at formats an instant or a duration to the millisecond.
func at(d time.Duration) string { return invariants.Instant(d) }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// some lists up to aboutMax names, and counts the others.
func some(ids []string) string {
	if len(ids) > aboutMax {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:aboutMax], ", "), len(ids)-aboutMax)
	}
	return invariants.List(ids)
}

// ofThem is the subject of a sentence on n of all jobs.
func ofThem(n, all int) string {
	switch {
	case all == 1:
		return "It"
	case n == all:
		return "All of them"
	}
	return fmt.Sprintf("%d of them", n)
}

func either[T any](yes bool, a, b T) T {
	if yes {
		return a
	}
	return b
}
