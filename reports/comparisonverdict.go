package reports

import (
	"maps"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// verdictOf says what a comparison comes to: which alternatives break promises, and of what those that break none have
// the least. Only what tells alternatives apart is named.
func verdictOf(v comparisonView) (says []string) {
	if len(v.Alternatives) < 2 {
		return nil
	}
	var sound []int
	for i, a := range v.Alternatives {
		if len(a.BrokenIn) == 0 {
			sound = append(sound, i)
		}
	}
	says = append(says, soundness(v.Alternatives, sound)...)
	for _, i := range sound {
		if s := weighed(v, i, sound); s != "" {
			says = append(says, s)
		}
	}
	return says
}

// soundness says which alternatives break a promise, and what those that do not lose outside of one.
func soundness(all []alternative, sound []int) (says []string) {
	switch len(sound) {
	case 0:
		return []string{"Every alternative breaks a promise here."}
	case len(all):
		says = append(says, "Every alternative keeps its promises here.")
	default:
		for _, a := range all {
			if len(a.BrokenIn) > 0 {
				says = append(says, a.Name+" breaks a promise: "+invariants.List(slices.Sorted(maps.Keys(a.Broken)))+".")
			}
		}
	}
	for _, i := range sound {
		if a := all[i]; len(a.OutsideIn) > 0 {
			says = append(says, a.Name+" breaks outside of its promise: "+invariants.List(slices.Sorted(maps.Keys(a.Outside)))+".")
		}
	}
	return says
}

// weighed says of what the alternative has the least among those that break no promise, or cannot be told apart from the
// least. If it is the only one of those, it says of what others have less.
func weighed(v comparisonView, i int, sound []int) string {
	alone := len(sound) == 1
	if alone {
		sound = nil
		for n := range v.Alternatives {
			sound = append(sound, n)
		}
	}
	var rows []sweep.Row
	at := -1
	for _, n := range sound {
		if n == i {
			at = len(rows)
		}
		rows = append(rows, v.Alternatives[n].Row)
	}
	var least, pays []string
	for _, m := range v.Measures {
		if m.Neutral || rows[at].Estimates[m.Name].N == 0 {
			continue
		}
		switch best := bestOf(rows, m.Name); {
		case !slices.Contains(best, true): // nothing tells them apart
		case best[at]:
			least = append(least, inSentence(m.Title))
		default:
			pays = append(pays, inSentence(m.Title))
		}
	}
	name := v.Alternatives[i].Name
	switch {
	case alone && len(pays) == 0:
		return name + " alone keeps its promises, and no other measurably has less of anything."
	case alone:
		return name + " alone keeps its promises. Others have less of " + invariants.List(pays) + "."
	case len(least) > 0:
		return "Of those that keep their promises, " + name + " is the best, or as good as the best, in " + invariants.List(least) + "."
	}
	return ""
}

// bestOf says which rows no other has less of a metric than. It is none where nothing can be told apart.
func bestOf(rows []sweep.Row, metric string) []bool {
	marks, best, measured := make([]bool, len(rows)), 0, 0
	for i, r := range rows {
		if r.Estimates[metric].N == 0 {
			continue
		}
		measured++
		if !slices.ContainsFunc(rows, func(other sweep.Row) bool { return slices.Contains(r.Beaten[metric], other.Name) }) {
			marks[i] = true
			best++
		}
	}
	if best == measured {
		return make([]bool, len(rows))
	}
	return marks
}

// inSentence is a measure's title in a list: "p99 time to dispatch".
func inSentence(title string) string {
	of, which, _ := strings.Cut(title, ", ")
	return strings.TrimSpace(which + " " + words.LowerFirst(of))
}
