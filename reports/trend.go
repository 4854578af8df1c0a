package reports

import (
	"maps"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/reports/words"
)

// trendDays is of how many days a trend tells, the last ones.
const trendDays = 30

// tones are those of an index, the worst first, and what is said of a report of each.
var tones = []struct{ Name, One, Many string }{
	{"bad", "with a finding or a violation", "with findings or violations"},
	{"warn", "that is not conclusive", "that are not conclusive"},
	{"expected", "violated as its plan expects", "violated as their plans expect"},
	{"outside", "that held, with an invariant broken outside of its promise", "that held, with invariants broken outside of their promises"},
	{"good", "with nothing against it", "with nothing against them"},
}

// trendDay is what was stored on one day.
type trendDay struct {
	Day   string
	Parts []trendPart
	Says  string
}

// trendPart is a piece of the day's bar, in hundredths of the greatest day's.
type trendPart struct {
	Tone     string
	At, Wide float64
}

// trendOf counts the entries of each day by tone, in the order of days. One day alone is no trend.
func trendOf(entries []Entry) (days []trendDay, left int) {
	counts, most := map[string]map[string]int{}, 0
	for _, e := range entries {
		if e.Problem != "" || e.When.IsZero() {
			continue
		}
		day := e.When.Local().Format("2006-01-02")
		if counts[day] == nil {
			counts[day] = map[string]int{}
		}
		counts[day][e.Tone]++
	}
	names := slices.Sorted(maps.Keys(counts))
	if len(names) < 2 {
		return nil, 0
	}
	left = max(len(names)-trendDays, 0)
	names = names[left:]
	for _, day := range names {
		most = max(most, total(counts[day]))
	}
	for _, day := range names {
		d, at := trendDay{Day: day}, 0.0
		var says []string
		for _, t := range tones {
			n := counts[day][t.Name]
			if n == 0 {
				continue
			}
			wide := 100 * float64(n) / float64(most)
			d.Parts = append(d.Parts, trendPart{t.Name, at, wide})
			at += wide
			says = append(says, words.Counted(n, t.One, t.Many))
		}
		d.Says = strings.Join(says, ", ")
		days = append(days, d)
	}
	return days, left
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
