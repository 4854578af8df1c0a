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

// flagProblem puts pflag's error in the house's words.
func flagProblem(cmd *cobra.Command, err error) string {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if wanted := wantedValues[invalid.GetFlag().Value.Type()]; wanted != "" {
			return fmt.Sprintf("--%s is %q; give %s", invalid.GetFlag().Name, invalid.GetValue(), wanted)
		}
		return fmt.Sprintf("--%s is %q; %v", invalid.GetFlag().Name, invalid.GetValue(), invalid.Unwrap())
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

// JSONFlag adds --json to a command that prints what it has to say.
func JSONFlag(cmd *cobra.Command, f *bool) {
	cmd.Flags().BoolVar(f, "json", false, "print only JSON on standard output")
}

// NamesFiles refuses a flag that is given and names no file or folder, where its help calls its value FILE or DIR.
func NamesFiles(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value, _ := pflag.UnquoteUsage(f)
		what := map[string]string{"FILE": "file", "DIR": "folder"}[value]
		if err == nil && what != "" && f.Value.String() == "" {
			err = Usage(cmd, "--%s names no %s; give one", f.Name, what)
		}
	})
	return err
}
