package main

import (
	"fmt"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// sectionNotes say where else than in a plan a section is read.
var sectionNotes = map[string]string{
	"kernel":           "A file for `wavetank kernel --policy` has default, rules and output, too.",
	"kernel.rules":     "A file for `wavetank kernel --policy` has them under rules.",
	"kernel.output":    "A file for `wavetank kernel --policy` has them under output.",
	"triage":           "It is what a file for `wavetank scheduler --dlq-policy` holds.",
	"triage.dlq_rules": "A file for `wavetank scheduler --dlq-policy` has them, too.",
	"engine":           "`wavetank scheduler --set` changes them, too.",
}

// sectionAliases are other names that people have for sections.
var sectionAliases = map[string]string{"kernel": "policy"}

// explainSection lists the keys of a part of a plan.
func explainSection(s strictyaml.Section) string {
	kind, keys := "section of a plan", "Keys:"
	switch {
	case s.Name == scenarios.SectionPlan:
		kind = "file"
	case s.List:
		kind, keys = "list in a plan", "Keys of each entry:"
	}
	text := fmt.Sprintf("%s (%s)\n\n%s.\n\n%s\n\n%s", s.Name, kind, capital(s.Doc), keys, keyTable(s, 100))
	if note := sectionNotes[s.Name]; note != "" {
		text += "\n" + note
	}
	return text
}

func explainKey(s strictyaml.Section, k strictyaml.Key) string {
	return fmt.Sprintf("%s.%s (key)\n\n%s.\n\nIts neighbours: wavetank explain %s", s.Name, k.Name, capital(describe(k)), s.Name)
}

func describe(k strictyaml.Key) string {
	text := k.Doc
	if k.Allowed != "" {
		text += " (" + k.Allowed + ")"
	}
	if k.Section != "" {
		text += ": wavetank explain " + k.Section
	}
	return text
}

// keyTable is the section's keys, a line or more each, of so many columns.
func keyTable(s strictyaml.Section, columns int) string {
	longest := 0
	for _, k := range s.Keys {
		longest = max(longest, len(k.Name))
	}
	var b strings.Builder
	for _, k := range s.Keys {
		first := fmt.Sprintf("  %-*s", longest, k.Name)
		for _, line := range folded(describe(k), columns-len(first)-2) {
			b.WriteString(first + "  " + line + "\n")
			first = strings.Repeat(" ", len(first))
		}
	}
	return b.String()
}

// folded breaks text into lines of so many columns, if its words allow it.
func folded(text string, columns int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > columns {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// keysOf is the table of a section for a command's help.
func keysOf(name string) string {
	for _, s := range scenarios.Sections() {
		if s.Name == name {
			return keyTable(s, 80)
		}
	}
	panic(name + " is no section of a plan")
}
