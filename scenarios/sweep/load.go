package sweep

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// sweeps holds the ready-made sweeps. Each file has the name of its sweep.
//
//go:embed sweeps/*.yaml
var sweeps embed.FS

// Names lists the ready-made sweeps in alphabetical order.
func Names() []string {
	entries, err := sweeps.ReadDir("sweeps")
	if err != nil {
		panic(err) // the directory is part of the binary
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Source is the text of a ready-made sweep, as it was written.
func Source(name string) (string, bool) {
	data, err := sweeps.ReadFile("sweeps/" + name + ".yaml")
	return string(data), err == nil
}

// Load reads a sweep: the ready-made one of that name, a scenario without axes, or else the file at that
// path, which holds a sweep or a plan without axes. A sweep without axes is not valid before
// [Definition.Grid]. The error is a [*strictyaml.Error].
func Load(nameOrFile string) (*Definition, error) {
	if text, ok := Source(nameOrFile); ok {
		return Parse(nameOrFile+".yaml", []byte(text))
	}
	if _, ok := plans.Source(nameOrFile); !ok && !strictyaml.FromStandardInput(nameOrFile) {
		if data, ok := readSweep(nameOrFile); ok {
			return Parse(nameOrFile, data)
		}
	}
	plan, err := plans.Load(nameOrFile)
	var e *strictyaml.Error
	switch {
	case err == nil:
		return Over(plan)
	case errors.As(err, &e) && e.File == "" && e.Path == "":
		known := append(Names(), plans.Names()...)
		slices.Sort(known)
		return nil, &strictyaml.Error{
			Message: fmt.Sprintf("unknown sweep %q", nameOrFile),
			Remedy:  "there are " + strings.Join(Names(), ", ") + ", or give a scenario's name or a file's path" + suggest.Hint(nameOrFile, known),
		}
	}
	return nil, err
}

// readSweep reads the file of a sweep. Other files are left to the reader of plans, which reports their
// errors.
func readSweep(path string) (data []byte, ok bool) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	data, err := strictyaml.ReadFile(path, "")
	if err != nil {
		return nil, false
	}
	return data, isSweep(data)
}

// isSweep says whether a file's text has the keys of a sweep rather than those of a plan.
func isSweep(data []byte) bool {
	doc, err := strictyaml.Kind{What: "a sweep"}.Parse("", data)
	return err == nil && slices.ContainsFunc([]string{"axes", "plan", "question"}, doc.HasKey)
}
