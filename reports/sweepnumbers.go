package reports

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// ownNumber is a field of a sweep's page, for a number of somebody's own system.
type ownNumber struct {
	Setting, Title, Flag string
	Axis                 int    // its place among the axes; 0 is none: it is fixed
	Kind                 string // duration, lag, integer or share: what can be entered
	Values               string // measured, as JSON
	Hint                 string
}

// ownNumbers are the fields of a sweep: what has a flag of its own, and the other conditions of its grid.
func ownNumbers(res *sweep.Result) (list []ownNumber) {
	if len(res.Axes) < 2 || len(res.Answer.Rows) == 0 {
		return nil
	}
	axis := func(setting string) int {
		return slices.IndexFunc(res.Axes, func(a sweep.Axis) bool { return a.Setting == setting })
	}
	add := func(setting, flag, title string, i int, values []string) {
		list = append(list, ownNumber{setting, title, flag, i, entered(setting), jsonOf(values), strings.Join(values, ", ")})
	}
	plan, err := plans.Parse("plan", []byte(res.Plan))
	for _, own := range sweep.OwnNumbers() {
		i, flag := axis(own.Setting), "--"+own.Flag+"="
		switch {
		case i > 0:
			add(own.Setting, flag, own.Title, i, res.Axes[i].Values)
		case i < 0 && err == nil && axis("world.heartbeat_lag") > 0:
			if s, ok := plan.Setting(own.Setting); ok {
				add(own.Setting, flag, own.Title, 0, []string{s.Text()})
			}
		}
	}
	for i, a := range res.Axes {
		own := slices.ContainsFunc(list, func(n ownNumber) bool { return n.Axis == i })
		if i > 0 && a.Condition && !own {
			add(a.Setting, "--grid="+a.Setting+"=", cmp.Or(a.Title, a.Setting), i, a.Values)
		}
	}
	return list
}

// entered says what values a setting takes; empty: any text.
func entered(setting string) string {
	if setting == "world.heartbeat_lag" {
		return "lag"
	}
	for _, s := range plans.Settings() {
		switch {
		case s.Name != setting:
		case s.Type == "duration" || s.Type == "integer":
			return s.Type
		case s.Type == "number" && s.Allowed == "0 to 1":
			return "share"
		}
	}
	return ""
}

func jsonOf(values []string) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // texts can be written
	}
	return string(text)
}
