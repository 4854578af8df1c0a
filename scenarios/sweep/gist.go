package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
)

// choicesTold is how many combinations of other choices are described one by one.
const choicesTold = 4

// gist sums up the rows of an answer in a sentence or two.
func gist(d *Definition, rows []Advice) string {
	var groups [][]Advice
	var names []string
	for _, r := range rows {
		name := invariants.List(d.choiceOf(r.Under))
		i := slices.Index(names, name)
		if i < 0 {
			names, groups, i = append(names, name), append(groups, nil), len(names)
		}
		groups[i] = append(groups[i], r)
	}
	if len(groups) > choicesTold || len(groups) > 1 && sameReason(rows) {
		return capital(counted(d, rows, "combinations")) + "."
	}
	var said []string
	for i, group := range groups {
		text := counted(d, group, "conditions")
		if names[i] != "" {
			text = "with " + names[i] + ", " + text
		}
		said = append(said, capital(text)+".")
	}
	return strings.Join(said, " ")
}

// choiceOf lists the choices among the values of all axes except the first, as --set takes them.
func (d *Definition) choiceOf(under []string) (sets []string) {
	for i, a := range d.Axes[1:] {
		if !a.Condition {
			sets = append(sets, a.Setting+"="+under[i])
		}
	}
	return sets
}

// counted says what to take, and in how many of the rows.
func counted(d *Definition, rows []Advice, what string) string {
	K := d.Axes[0].Setting
	if len(rows) == 1 {
		return fmt.Sprintf("there is no value of %s to take: %s", K, rows[0].Says)
	}
	var takes []string
	sure, of, none := map[string]int{}, map[string]int{}, 0
	for _, r := range rows {
		if r.Take == "" {
			none++
			continue
		}
		if of[r.Take]++; of[r.Take] == 1 {
			takes = append(takes, r.Take)
		}
		if r.Sure == Sure {
			sure[r.Take]++
		}
	}
	if len(takes) == 0 {
		text := fmt.Sprintf("there is no value of %s to take under any of %d %s", K, len(rows), what)
		switch {
		case sameReason(rows):
			text += ": " + rows[0].Says
		case !slices.ContainsFunc(rows, func(r Advice) bool { return !strings.HasPrefix(r.Says, noDifference) }):
			text += ": nothing differs by more than noise"
		}
		return text
	}
	slices.SortStableFunc(takes, func(a, b string) int { return slices.Index(d.Axes[0].Values, a) - slices.Index(d.Axes[0].Values, b) })
	var parts []string
	for _, v := range takes {
		parts = append(parts, fmt.Sprintf("%s under %d of %d %s, %s", v, of[v], len(rows), what, howSure(sure[v], of[v])))
	}
	text := "take " + K + "=" + strings.Join(parts, "; ")
	if none > 0 {
		text += fmt.Sprintf("; under %d there is none to take", none)
	}
	return text
}

func howSure(sure, of int) string {
	switch sure {
	case of:
		return "all sure"
	case 0:
		return "none of them sure"
	}
	return fmt.Sprintf("%d of them sure", sure)
}
