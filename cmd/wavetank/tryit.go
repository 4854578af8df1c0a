package main

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// tryIt is what `wavetank run` takes to show what a setting does: a scenario in which it matters, and a value that
// it does not have there; "" if there is none to suggest.
func tryIt(s plans.Setting) string {
	name := s.Name
	if job, ok := strings.CutSuffix(name, "N"); ok {
		name = job + "3"
	}
	for _, value := range otherValues(s) {
		set := name + "=" + value
		switch {
		case !changes(s.Scenario, set):
		case name == "preset":
			return s.Scenario + " --preset " + value
		default:
			return s.Scenario + " --set " + set
		}
	}
	return ""
}

// changes says whether the scenario is a valid plan with that setting, and another one in which the setting counts.
func changes(scenario, set string) bool {
	p, err := plans.Load(scenario)
	if err != nil {
		return false
	}
	before, err := plans.Marshal(p)
	if err != nil || p.Set(set) != nil {
		return false
	}
	name, _, _ := strings.Cut(set, "=")
	idle := slices.ContainsFunc(p.Idle(), func(part string) bool { return strings.HasPrefix(part, name+" ") })
	after, err := plans.Marshal(p)
	return err == nil && !idle && !bytes.Equal(before, after)
}

// otherValues are values of a setting besides its default, those first that show most.
func otherValues(s plans.Setting) []string {
	switch s.Type {
	case "choice", "boolean":
		values := strings.Split(s.Allowed, ", ")
		return append(slices.DeleteFunc(values, func(v string) bool { return v == s.Default }), s.Default)
	case "duration", "integer":
		unit := strings.TrimLeft(s.Default, "0123456789")
		if n, err := strconv.Atoi(strings.TrimSuffix(s.Default, unit)); err == nil {
			return []string{strconv.Itoa(2*n) + unit, strconv.Itoa(n/2) + unit, "1" + unit}
		}
	case "number":
		return []string{"0.5"}
	}
	if s.Example != "" {
		return []string{s.Example}
	}
	_, example, _ := strings.Cut(s.Allowed, "such as ")
	return []string{example}
}
