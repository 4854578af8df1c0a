package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wavetank-sim/wavetank/faults/suggest"
)

// Truths are what flags and variables of the environment take that are true or false.
const Truths = "true or false, or 1 or 0"

// wantedValues says what a flag takes, by its type.
var wantedValues = map[string]string{
	"bool":           Truths,
	"int":            "a whole number",
	"float64":        "a number",
	"duration":       "a duration such as 200ms, 10s or 20m",
	"stringToString": "KEY=VALUE",
}

// once is the value of a flag that is given once: of two that differ, neither is meant for sure.
type once struct {
	pflag.Value
	given bool
}

func (o *once) Set(text string) error {
	before := o.String()
	if err := o.Value.Set(text); err != nil {
		return err
	}
	if o.given && o.String() != before {
		return &givenTwice{before, o.String()}
	}
	o.given = true
	return nil
}

type givenTwice struct{ first, second string }

func (e *givenTwice) Error() string { return "given twice" }

// eachOnce lets each flag that takes one value be given once.
func eachOnce(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, repeatable := f.Value.(pflag.SliceValue); !repeatable && f.Value.Type() != "stringToString" {
			f.Value = &once{Value: f.Value}
			if f.DefValue == "0s" {
				f.DefValue = "0" // or help would show it, which knows durations by pflag's own type
			}
		}
	})
	for _, c := range cmd.Commands() {
		eachOnce(c)
	}
}

// flagProblem puts pflag's error in the house's words.
func flagProblem(cmd *cobra.Command, err error) string {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if twice := new(givenTwice); errors.As(err, &twice) {
			return fmt.Sprintf("--%s is given twice, as %s and as %s; give one", invalid.GetFlag().Name, twice.first, twice.second)
		}
		if wanted := wantedValues[invalid.GetFlag().Value.Type()]; wanted != "" {
			return fmt.Sprintf("--%s is %q; give %s", invalid.GetFlag().Name, invalid.GetValue(), wanted)
		}
	}
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return err.Error()
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	name := missing.GetSpecifiedName()
	if missing.GetSpecifiedShortnames() != "" {
		return fmt.Sprintf("unknown flag -%s", name)
	}
	if c := suggest.Closest(name, known); c != "" {
		return fmt.Sprintf("unknown flag --%s (did you mean --%s?)", name, c)
	}
	return fmt.Sprintf("unknown flag --%s", name)
}
