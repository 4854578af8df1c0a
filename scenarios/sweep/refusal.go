package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

func refuse(path, message, remedy string) *strictyaml.Error {
	return &strictyaml.Error{Path: path, Message: message, Remedy: remedy}
}

// complain returns the error for an axis's text. err has what is wrong, a semicolon, and how to mend it.
func complain(name string, err error) *strictyaml.Error {
	message, remedy, _ := strings.Cut(err.Error(), "; ")
	return refuse(name, name+" "+message, remedy)
}

func tooMany(points int) error {
	return refuse("axes", fmt.Sprintf("the axes have %s points", invariants.Thousands(points)), fmt.Sprintf("a sweep has at most %s: take fewer values, or wider steps", invariants.Thousands(pointsMax)))
}

// exampleOf shows values that an axis of the setting could have.
func exampleOf(name string) string {
	switch s, _ := plans.SettingOf(name); s.Type {
	case "boolean", "choice":
		return strings.ReplaceAll(s.Allowed, ", ", ",")
	case "duration", "text":
		return "10s,30s or =10s..60s/10s"
	}
	return "1,2,5 or =1..10"
}

func hintSetting(name string) string {
	known := plans.SettingNames()
	if slices.Contains(known, name) {
		return ""
	}
	return suggest.Hint(name, known)
}
