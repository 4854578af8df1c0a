package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// listVersion is the format of what list --json prints.
const listVersion = 1

// listing is one thing that list can list.
type listing struct {
	name string
	says string
	data func() map[string]any // for --json
	show func() []*cli.Table
	page func(io.Writer) error // for --html; nil if there is none
}

func listings() []listing {
	return []listing{
		{"scenarios", "the named plans", func() map[string]any { return map[string]any{"scenarios": scenarioRows()} }, showScenarios, nil},
		{"faults", "what can go wrong, and the phases in which it can", func() map[string]any {
			return map[string]any{"faults": faults.Kinds(), "phases": plans.Phases()}
		}, showFaults, nil},
		{"invariants", "the invariants that judge a run, and the situations that a run may reach", func() map[string]any { return map[string]any{"invariants": invariantRows()} }, showInvariants, nil},
		{"promises", "the faults under which each invariant is promised", func() map[string]any {
			return map[string]any{"strikes": strikeRows(), "promises": judge.Promises()}
		}, showPromises, reports.PromisesPage},
		{"settings", "the settings that --set can change", func() map[string]any { return map[string]any{"settings": plans.Settings()} }, showSettings, nil},
		{"toggles", "parts of the engine that can be switched off, and the purpose of each", func() map[string]any { return map[string]any{"toggles": plans.Toggles()} }, showToggles, nil},
	}
}

func newList() *cobra.Command {
	var asJSON, asHTML bool
	var names, about []string
	for _, l := range listings() {
		names = append(names, l.name)
		about = append(about, fmt.Sprintf("  %-11s %s", l.name, l.says))
	}
	cmd := &cobra.Command{
		Use:       "list " + strings.Join(names, "|"),
		Short:     "List scenarios, faults, invariants, promises, settings or toggles",
		Long:      "List what there is:\n\n" + strings.Join(about, "\n") + "\n\n`wavetank explain NAME` says more about each name.\n\nExit codes: 0 listed, 2 usage.",
		Example:   "  wavetank list scenarios\n  wavetank list settings --json | jq -r '.settings[].name'\n  wavetank list promises --html > /tmp/promises.html",
		Args:      cli.OneArg("the kind of thing to list (" + strings.Join(names, ", ") + ")"),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			if asHTML && asJSON {
				return cli.Usage(cmd, "--html and --json exclude each other: give one of them")
			}
			for _, l := range listings() {
				if l.name == args[0] {
					if asHTML && l.page == nil {
						return cli.Usage(cmd, "only the promises have a page: wavetank list promises --html")
					}
					if asHTML {
						return l.page(cmd.OutOrStdout())
					}
					return l.print(cmd.OutOrStdout(), asJSON)
				}
			}
			return cli.Usage(cmd, "there is no list of %q, only of %s%s", args[0], strings.Join(names, ", "), suggest.Hint(args[0], names))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&asHTML, "html", false, "print a page (of the promises only)")
	return cmd
}

func (l listing) print(w io.Writer, asJSON bool) error {
	if asJSON {
		data := l.data()
		data["version"] = listVersion
		return cli.PrintJSON(w, data)
	}
	for i, t := range l.show() {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := t.Write(w); err != nil {
			return err
		}
	}
	return nil
}

// tableOf is a table of a row for each entry.
func tableOf[T any](heads []string, entries []T, row func(T) []string) *cli.Table {
	t := &cli.Table{Heads: heads}
	for _, e := range entries {
		t.Rows = append(t.Rows, row(e))
	}
	return t
}

type scenarioRow struct {
	Name   string `json:"name"`
	Preset string `json:"preset"`
	Story  string `json:"story"`
}

func scenarioRows() []scenarioRow {
	var rows []scenarioRow
	for _, name := range plans.Names() {
		p, err := plans.Load(name)
		if err != nil {
			panic(err) // part of the binary, and tested
		}
		rows = append(rows, scenarioRow{p.Name, p.Preset, p.Story})
	}
	return rows
}

func showScenarios() []*cli.Table {
	return []*cli.Table{tableOf([]string{"SCENARIO", "PRESET", "STORY"}, scenarioRows(), func(r scenarioRow) []string {
		return []string{r.Name, r.Preset, r.Story}
	})}
}

func showFaults() []*cli.Table {
	return []*cli.Table{
		tableOf([]string{"FAULT", "STRIKES", "WHAT IT DOES"}, faults.Kinds(), func(k faults.Kind) []string {
			return []string{string(k.Effect), strikes(k), k.Says}
		}),
		tableOf([]string{"PHASE", "KIND", "WHAT HAPPENS THERE"}, plans.Phases(), func(p faults.Phase) []string {
			return []string{p.Name, string(p.Place), p.Says}
		}),
	}
}

// strikes lists the kinds of operation that an effect can strike, or the servers.
func strikes(k faults.Kind) string {
	switch {
	case len(k.Servers) > 0:
		return strings.Join(k.Servers, ", ")
	case k.OnNode():
		return "a node, but no server"
	}
	var places []string
	for _, p := range k.Places {
		places = append(places, string(p))
	}
	return strings.Join(places, ", ")
}

type invariantRow struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Says    string `json:"says"`
	Promise string `json:"promise,omitempty"`
	Source  string `json:"source,omitempty"`
}

func invariantRows() []invariantRow {
	var rows []invariantRow
	for _, i := range judge.All() {
		rows = append(rows, invariantRow{i.Name, string(i.Kind), i.Says, i.Promise, i.Source})
	}
	return rows
}

// showInvariants tells what can be broken, and then what a run can reach.
func showInvariants() []*cli.Table {
	var broken, reached []invariantRow
	for _, r := range invariantRows() {
		if r.Kind == string(invariants.Sometimes) {
			reached = append(reached, r)
		} else {
			broken = append(broken, r)
		}
	}
	of := func(what string, rows []invariantRow) *cli.Table {
		return tableOf([]string{fmt.Sprintf("%d %s", len(rows), what), "KIND", "SAYS"}, rows, func(r invariantRow) []string {
			return []string{r.Name, r.Kind, r.Says}
		})
	}
	return []*cli.Table{of("INVARIANTS", broken), of("SITUATIONS", reached)}
}

type strikeRow struct {
	Name string `json:"name"`
	Says string `json:"says"`
}

func strikeRows() (rows []strikeRow) {
	for _, k := range history.Strikes {
		rows = append(rows, strikeRow{k.Kind.String(), k.Says})
	}
	return rows
}

// showPromises tells the promise matrix: for each invariant what it takes, and the strikes under which more is to say
// than that it is promised.
func showPromises() []*cli.Table {
	matrix := &cli.Table{Heads: []string{"INVARIANT", "STATUS", "STRUCK BY", "WITH, OR WHY NOT"}}
	row := func(cells ...string) { matrix.Rows = append(matrix.Rows, cells) }
	for _, p := range judge.Promises() {
		if len(p.Takes) > 0 {
			row(p.Invariant, "takes", "anything", strings.Join(p.Takes, ", or "))
		}
		groups := p.Groups()
		for _, g := range groups {
			if g.Status == "promised" && len(groups) > 1 {
				continue
			}
			if g.Status == "promised" {
				g.Strikes = []string{"anything"}
			}
			row(p.Invariant, g.Status, strings.Join(g.Strikes, ", "), g.Why)
		}
	}
	return []*cli.Table{
		tableOf([]string{"STRIKE", "WHAT IT IS"}, strikeRows(), func(r strikeRow) []string { return []string{r.Name, r.Says} }),
		matrix,
	}
}

func showSettings() []*cli.Table {
	return []*cli.Table{tableOf([]string{"SETTING", "DEFAULT", "ALLOWED", "MEANING"}, plans.Settings(), func(s plans.Setting) []string {
		value := s.Default
		if s.Hardened != "" {
			value += " (hardened: " + s.Hardened + ")"
		}
		return []string{s.Name, value, s.Allowed, s.Doc}
	})}
}

func showToggles() []*cli.Table {
	heads := []string{"SETTING", "ON", "OFF", "DOCUMENTED", "SCENARIO", "INVARIANT THAT FIRES WHEN OFF", "WITHOUT IT", "SEE IT"}
	list := tableOf(heads, plans.Toggles(), func(t plans.Toggle) []string {
		return []string{t.Setting, t.On, t.Off, t.Documented, t.Scenario, t.Invariant, t.Says, cli.Pasteable(t.Command)}
	})
	list.Command = "SEE IT"
	return []*cli.Table{list}
}
