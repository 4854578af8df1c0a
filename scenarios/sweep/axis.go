package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// axisOf makes an axis of a setting's values, each of which plan must accept. It sorts amounts in ascending
// order, and keeps the order of other values. The error is a [*strictyaml.Error].
func axisOf(plan *plans.Plan, name string, l listing) (Axis, error) {
	s, known := plans.SettingOf(name)
	if !known {
		probe := *plan
		if err := probe.Set(name + "=0"); err != nil {
			return Axis{}, err // it knows the setting that was meant
		}
		return Axis{}, refuse(name, "the seed is no setting to sweep over: every point is run under the same seeds", "take the axis away, and say how many with --seeds")
	}
	if n := l.size(); n > pointsMax {
		return Axis{}, tooMany(n)
	}
	values, seen := l.values(), map[string]bool{}
	for _, v := range values {
		probe := *plan
		if err := probe.Set(name + "=" + v); err != nil {
			return Axis{}, err
		}
		if seen[same(v)] {
			return Axis{}, refuse(name, fmt.Sprintf("%s has the value %s twice", name, v), "give each value once")
		}
		seen[same(v)] = true
	}
	words := slices.ContainsFunc(values, func(v string) bool { return quantityOf(v) == nil })
	if s.Type != "choice" && s.Type != "boolean" && (s.Type != "text" || !words) {
		slices.SortFunc(values, func(a, b string) int { return cmp.Compare(plans.Amount(a), plans.Amount(b)) })
	}
	return Axis{Setting: name, Title: titleOf(name, values), Values: values, Condition: isCondition(name)}, nil
}

// isCondition says whether a setting describes the world rather than somebody's choice.
func isCondition(name string) bool {
	return strings.HasPrefix(name, "world.") || strings.HasPrefix(name, "workload.")
}

// titleOf is the title of a plot's axis for a setting, with the unit that all its values have.
func titleOf(name string, values []string) string {
	title := strings.ReplaceAll(name[strings.IndexByte(name, '.')+1:], "_", " ")
	unit := ""
	for i, v := range values {
		q := quantityOf(v)
		if q == nil || q.unit == "" || i > 0 && q.unit != unit {
			return title
		}
		unit = q.unit
	}
	return title + " (" + unit + ")"
}

// retitled is an axis's title with the unit of a new title.
func retitled(title, made string) string {
	title, _, _ = strings.Cut(title, " (")
	if _, unit, ok := strings.Cut(made, " ("); ok {
		title += " (" + unit
	}
	return title
}
