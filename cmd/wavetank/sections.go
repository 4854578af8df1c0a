package main

import (
	"fmt"
	"strings"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// sectionNotes say where else than in a plan a section is read.
var sectionNotes = map[string]string{
	"kernel":           "A file for `scheduler kernel --policy` also has default, rules and output.",
	"kernel.rules":     "A file for `scheduler kernel --policy` has these keys under rules.",
	"kernel.output":    "A file for `scheduler kernel --policy` has these keys under output.",
	"triage":           "A file for `scheduler serve --dlq-policy` has these keys.",
	"triage.dlq_rules": "A file for `scheduler serve --dlq-policy` has these keys, too.",
	"engine":           "`scheduler serve --set` also changes them.",
}

// sectionAliases are other names that people have for sections.
var sectionAliases = map[string]string{"kernel": "policy"}

// explainSection lists the keys of a part of a plan.
func explainSection(s strictyaml.Section) string {
	kind, keys := "section of a plan", "Keys:"
	switch {
	case s.Name == plans.SectionPlan:
		kind = "file"
	case s.List:
		kind, keys = "list in a plan", "Keys of each entry:"
	}
	text := fmt.Sprintf("%s (%s)\n\n%s.\n\n%s\n\n%s", s.Name, kind, capital(s.Doc), keys, cli.KeyTable(s, 100))
	if note := sectionNotes[s.Name]; note != "" {
		text += "\n" + note
	}
	return text
}

func explainKey(s strictyaml.Section, k strictyaml.Key) string {
	return fmt.Sprintf("%s (key)\n\n%s.\n\nIts neighbours: wavetank explain %s", keyName(s, k), capital(cli.Describe(k)), s.Name)
}

// keyName is the name of a section's key, as `--set` has it.
func keyName(s strictyaml.Section, k strictyaml.Key) string {
	if s.Name == plans.SectionPlan {
		return k.Name
	}
	return s.Name + "." + k.Name
}

func capital(sentence string) string { return strings.ToUpper(sentence[:1]) + sentence[1:] }
