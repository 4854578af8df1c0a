package plans

import (
	"embed"
	"slices"
	"strings"
)

// files holds the named scenarios. Each file has the name of its plan.
//
//go:embed *.yaml
var files embed.FS

// Names lists the named scenarios in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the directory is part of the binary
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names) // files are in another order: a dot sorts after a dash
	return names
}

// Source is the text of a named scenario, as it was written.
func Source(name string) (string, bool) {
	data, err := files.ReadFile(name + ".yaml")
	return string(data), err == nil
}
