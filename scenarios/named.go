package scenarios

import (
	"embed"
	"slices"
	"strings"
)

// plans holds the named scenarios. Each file is called after the plan in it.
//
//go:embed plans/*.yaml
var plans embed.FS

// Names lists the named scenarios, in the order of the alphabet.
func Names() []string {
	entries, err := plans.ReadDir("plans")
	if err != nil {
		panic(err) // the directory is part of the binary
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names) // the files are in another order: a dot comes after a dash
	return names
}

// Source is the text of a named scenario, as it was written.
func Source(name string) (string, bool) {
	data, err := plans.ReadFile("plans/" + name + ".yaml")
	return string(data), err == nil
}
