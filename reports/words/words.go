package words

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios"
)

// Duration says how long something lasts, as tables and facts do: to three significant digits, or in its two largest units.
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(-d)
	}
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < 999500*time.Nanosecond:
		return significant(float64(d)/1e3) + " µs"
	case d < 999500*time.Microsecond:
		return significant(float64(d)/1e6) + " ms"
	case d < 59950*time.Millisecond:
		return significant(d.Seconds()) + " s"
	}
	d = d.Round(time.Second)
	if d < time.Hour {
		return join(int64(d/time.Minute), "min", int64(d%time.Minute/time.Second), "s")
	}
	d = d.Round(time.Minute)
	if day := 24 * time.Hour; d >= day {
		d = d.Round(time.Hour)
		return join(int64(d/day), "d", int64(d%day/time.Hour), "h")
	}
	return join(int64(d/time.Hour), "h", int64(d%time.Hour/time.Minute), "min")
}

func join(a int64, unitA string, b int64, unitB string) string {
	if b == 0 {
		return fmt.Sprintf("%d %s", a, unitA)
	}
	return fmt.Sprintf("%d %s %d %s", a, unitA, b, unitB)
}

func significant(v float64) string {
	digits := 2 - int(math.Floor(math.Log10(v)))
	s := strconv.FormatFloat(v, 'f', max(digits, 0), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Instant says when something happens, as the time axis and stories do: to the millisecond.
func Instant(at time.Duration) string { return invariants.Instant(at) }

// Instants says when several things happen that are beside each other on one axis: all with as many decimals of a second as
// their milliseconds need, or as neighbours need to differ.
func Instants(list []time.Duration) []string {
	for decimals, least := 0, time.Second; ; decimals, least = decimals+1, least/10 {
		said, enough := make([]string, len(list)), true
		for i, at := range list {
			said[i] = instant(at.Round(least), decimals)
			exact := at.Round(time.Millisecond)%max(least, time.Millisecond) == 0
			enough = enough && exact && (i == 0 || said[i] != said[i-1])
		}
		if enough || least == time.Nanosecond {
			return said
		}
	}
}

func instant(at time.Duration, decimals int) string {
	if at < time.Second {
		return strconv.FormatFloat(float64(at)/float64(time.Millisecond), 'f', max(0, decimals-3), 64) + "ms"
	}
	minutes := at.Truncate(time.Minute)
	said := strconv.FormatFloat((at-minutes).Seconds(), 'f', decimals, 64) + "s"
	if minutes > 0 {
		said = strings.TrimSuffix(minutes.String(), "0s") + said
	}
	return said
}

// Count says n with its thousands apart.
func Count(n int) string {
	s := strconv.FormatUint(uint64(max(n, 0)), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Counted says "1 step", "2 steps"; plural is for nouns that do not take an s.
func Counted(n int, noun string, plural ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(plural) > 0:
		return Count(n) + " " + plural[0]
	}
	return Count(n) + " " + noun + "s"
}

// BrokenIn says which invariants were broken, and in how many of the runs.
func BrokenIn(broken map[string]int, runs int) (parts []string) {
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		parts = append(parts, fmt.Sprintf("%s in %s of %s", name, Count(broken[name]), Counted(runs, "run")))
	}
	return parts
}

// Ordinal says "1st", "2nd", "11th".
func Ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return Count(n) + suffix
}

// BlindFor says how long a blind window lasted.
func BlindFor(b *scenarios.BlindWindow) string {
	if b.Open {
		return "open since " + Instant(b.Opened)
	}
	return Duration(b.Closed - b.Opened)
}

// NoRecord is the state of a job whose record a failover took.
const NoRecord = "no record"

// Cut shortens s to that many runes.
func Cut(s string, runesMax int) string {
	runes := []rune(s)
	if len(runes) <= runesMax {
		return s
	}
	return string(runes[:runesMax-1]) + "…"
}

// Capped returns the first limit items, and how many there are beyond.
func Capped[T any](items []T, limit int) ([]T, int) {
	if len(items) <= limit {
		return items, 0
	}
	return items[:limit], len(items) - limit
}

// LowerFirst is s in the middle of a sentence.
func LowerFirst(s string) string {
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && s[1] >= 'a' && s[1] <= 'z' {
		return string(s[0]+'a'-'A') + s[1:]
	}
	return s
}

// Pieces are those of a setting, such as engine.read_error=fail-open, after each of which a line may end.
func Pieces(setting string) (pieces []string) {
	begin := 0
	for i, c := range setting {
		if strings.ContainsRune("._=", c) {
			pieces, begin = append(pieces, setting[begin:i+1]), i+1
		}
	}
	return append(pieces, setting[begin:])
}
