package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain NAME",
		Short: "Explain a scenario, an invariant, a kind of strike, a fault, a phase, a setting, an alert, a part of a plan or a term",
		Long: `Explain says what a name means: of a scenario, an invariant, a kind of strike, a
fault, a phase, a setting, an alert, a part of a plan, or a term such as strike,
situation or epoch. If several things have the name, it explains all of them.

Exit codes: 0 explained, 2 usage, or nothing has the name.`,
		Example: `  wavetank explain publish-ack-lost
  wavetank explain one-dispatch-per-job
  wavetank explain fail-after
  wavetank explain rollback_write
  wavetank explain engine.max_dispatch_retries
  wavetank explain SchedulerRollbackFailed
  wavetank explain situation
  wavetank explain plan
  wavetank explain kernel.rules`,
		Args: cli.OneArg("the name"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return topicNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var found []string
			name := ofAnyJob(oneEntry.ReplaceAllString(args[0], ""))
			for _, t := range topics() {
				if t.name == name || t.short == name && t.short != "" || strings.HasSuffix(t.name, "."+name) && strings.Contains(name, ".") {
					found = append(found, strings.TrimSpace(t.text()))
				}
			}
			if len(found) == 0 {
				hint := suggest.Hint(name, topicNames())
				if hint == "" {
					hint = "; `wavetank list scenarios` names the scenarios, and so do list faults, list invariants and list settings"
				}
				return cli.Usage(cmd, "nothing is called %q%s", args[0], hint)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), cli.Pasteable(strings.Join(found, "\n\n")))
			return err
		},
	}
}

// ofAnyJob is a setting without its job: workload.slow of workload.slow.3, and of workload.slow.N.
func ofAnyJob(name string) string {
	if k, _, ok := plans.PerJobOf(name); ok {
		return strings.TrimSuffix(k.Prefix(), ".")
	}
	return name
}

// oneEntry matches what says which entry of a list is meant.
var oneEntry = regexp.MustCompile(`\[[0-9]+\]`)

// topic is one thing that can be explained.
type topic struct {
	name  string
	short string // another way to ask for it
	text  func() string
}

func topics() []topic {
	list := append(presetTopics(), terms()...)
	for _, name := range plans.Names() {
		list = append(list, topic{name: name, text: func() string { return explainScenario(name) }})
	}
	for _, i := range judge.All() {
		list = append(list, topic{name: i.Name, text: func() string { text, _ := judge.Explain(i.Name); return text }})
	}
	for _, k := range strikeRows() {
		list = append(list, topic{name: k.Name, text: func() string { return explainStrike(k) }})
	}
	for _, k := range faults.Kinds() {
		list = append(list, topic{name: string(k.Effect), text: func() string { return explainFault(k) }})
	}
	for _, p := range plans.Phases() {
		list = append(list, topic{name: p.Name, text: func() string { return explainPhase(p) }})
	}
	settings := plans.Settings()
	for _, s := range plans.Sections() {
		list = append(list, topic{name: s.Name, short: cmp.Or(sectionAliases[s.Name], lastWord(s.Name)), text: func() string { return explainSection(s) }})
		for _, k := range s.Keys {
			name := keyName(s, k)
			isSetting := slices.ContainsFunc(settings, func(s plans.Setting) bool { return s.Name == name || strings.HasPrefix(s.Name, name+".") })
			if k.Section == "" && !isSetting && name != "seed" {
				list = append(list, topic{name: name, short: k.Name, text: func() string { return explainKey(s, k) }})
			}
		}
	}
	for _, s := range settings {
		name := ofAnyJob(s.Name)
		list = append(list, topic{name: name, short: lastWord(name), text: func() string { return explainSetting(s) }})
	}
	for _, c := range campaign.Containments() {
		list = append(list, topic{name: string(c), text: func() string { return explainContainment(c) }})
	}
	for _, v := range append([][2]string{{"verdict"}}, runVerdicts...) {
		list = append(list, topic{name: v[0], text: explainVerdict})
	}
	list = append(list, alertTopics()...)
	return append(list, topic{name: "seed", text: explainSeed}, topic{name: "dlq", short: "dead-letters", text: explainDeadLetters})
}

func presetTopics() (list []topic) {
	for _, preset := range [][2]string{
		{plans.PresetDocumented, "The scheduler as its documents describe it, with their caveats. Scenarios use this preset unless another is given."},
		{plans.PresetHardened, "The scheduler with every next step that its documents name, and with what the simulation has taught. Its servers acknowledge only what is on their disks. `wavetank list settings` shows what the preset sets."},
	} {
		list = append(list, topic{name: preset[0], text: func() string {
			return fmt.Sprintf("%s (preset)\n\n%s\n\nTry it: wavetank run publish-ack-lost --preset %s", preset[0], preset[1], preset[0])
		}})
	}
	return list
}

// terms are words that results and pages use, and that are no name of anything.
func terms() (list []topic) {
	for _, t := range [][3]string{
		{"strike", "", "What the injector did: it made an operation fail, or took a node or a server away. A strike never describes what the scheduler did as a consequence. Some kinds of strike release an invariant from its promise, for the jobs that they reach.\n\nThe kinds: wavetank list promises"},
		{"situation", "", "A state that some runs ought to reach: an invariant of the kind sometimes. A run cannot break it. A search lists the situations that it never reached. A plan lists the situations that it must reach, in expect.sometimes.\n\nAll of them: wavetank list invariants"},
		{"settle", "settled", "A job settles when it reaches a state that it does not leave, such as SUCCEEDED or FAILED. Once submissions and faults are over, the world has then.settle_within to settle. After that time the run is judged by what must have happened in the end.\n\nSee: wavetank explain every-job-settles"},
		{"actor", "", "Who makes an operation: a node on behalf of one job, or a node on behalf of no job. At each step one actor goes; the order of a run is the sequence of these choices. In a plan, node: actor is the node whose operation the fault follows."},
		{"pct", "", "Probabilistic concurrency testing, a value of schedule.strategy. Each actor has a priority, and the ready actor with the highest priority goes. At a few steps, which are drawn, the actor that goes loses its priority. A bug that takes d orderings is found with at least a known probability, which a run prints.\n\nTry it: wavetank run calm --set schedule.strategy=pct"},
		{"blind-window", "blind_window", "A time in which a job is DISPATCHED or RUNNING, but no worker that is up has it and no dispatch is on its way to one. It ends when somebody takes the job up again, such as the reconciler.\n\nSee it: wavetank run rollback-failure"},
		{"epoch", "epochs", "The number of a job's dispatch, with engine.epochs. Writing DISPATCHED mints an epoch, and the stream stores at most one dispatch of each epoch. A publish whose answer was lost can therefore be made again."},
		{"promise", "promises", "The kinds of strike under which an invariant must hold. A violation within the promise makes the run violated. If a strike releases the invariant from its promise, a violation is reported as outside of the promise, and does not make the run violated.\n\nAll of them: wavetank list promises"},
		{"toggle", "toggles", "A setting that switches a part of the scheduler or of its servers off. For each toggle there is a scenario that violates an invariant while the part is off, which shows what the part is for.\n\nAll of them: wavetank list toggles"},
		{"digest", "digests", "A hash over every event of a run, as 16 hex digits. Runs with equal digests are the same, event by event.\n\nSee it: wavetank verify calm --seeds 1"},
		{"out-of-bounds", "out of bounds", "The code under test panicked, hung, left goroutines behind, or took memory without bound, so that its run has no verdict. This is a finding, as a broken promise is. The worker process ends, and the campaign goes on."},
	} {
		list = append(list, topic{name: t[0], short: t[1], text: func() string { return fmt.Sprintf("%s (term)\n\n%s", t[0], t[2]) }})
	}
	return list
}

func explainContainment(c campaign.Containment) string {
	return fmt.Sprintf("%s (finding)\n\n%s, so that the run went out of bounds. Such a finding has this name in place of an invariant's.\n\nSee: wavetank explain out-of-bounds", c, capital(c.Says()))
}

// lastWord is the last part of a dotted name.
func lastWord(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

func topicNames() []string {
	var names []string
	for _, t := range topics() {
		names = append(names, t.name)
	}
	return names
}

func explainScenario(name string) string {
	source, _ := plans.Source(name)
	return fmt.Sprintf("%s (scenario)\n\n%s\nRun it: wavetank run %s", name, indent(source), name)
}

func explainFault(k faults.Kind) string {
	where := "It strikes a node: " + nodesOf(k) + "."
	if !k.OnNode() {
		var phases []string
		for _, p := range plans.Phases() {
			if k.Strikes(p) {
				phases = append(phases, p.Name)
			}
		}
		where = "It strikes these operations: " + strings.Join(phases, ", ") + "."
	}
	var keys []string
	for _, key := range k.Keys {
		name := "`" + key.Name + "`"
		if len(key.Names) > 0 {
			name += " (" + strings.Join(key.Names, ", ") + ")"
		}
		keys = append(keys, name)
	}
	if len(keys) > 0 {
		where += "\nKeys: " + strings.Join(keys, ", ") + "."
	}
	return fmt.Sprintf("%s (fault)\n\n%s.\n%s\n\nIn a plan:\n\n  faults:\n    - %s", k.Effect, capital(k.Says), where, k.Example)
}

// nodesOf names the nodes that a fault on a node strikes, as a plan does.
func nodesOf(k faults.Kind) string {
	switch {
	case len(k.Servers) > 0:
		return strings.Join(k.Servers, " or ") + ", the server"
	case k.Effect == faults.Partition:
		return "scheduler-1, worker-2 or another process of the plan, but no server"
	}
	return "scheduler-1, worker-2 or another process of the plan, but no server; or the actor of the operation that the fault follows"
}

// explainStrike says which invariants a strike releases.
func explainStrike(k strikeRow) string {
	text := fmt.Sprintf("%s (kind of strike)\n\n%s.\n", k.Name, capital(k.Says))
	var rows []string
	for _, p := range judge.Promises() {
		for _, c := range p.Cells {
			switch {
			case c.Strike != k.Name || c.Status == "promised":
			case len(c.With) > 0:
				rows = append(rows, fmt.Sprintf("  %s: promised only with %s", p.Invariant, strings.Join(c.With, ", or ")))
			default:
				rows = append(rows, fmt.Sprintf("  %s: %s, since %s", p.Invariant, c.Status, c.Says))
			}
		}
	}
	if len(rows) == 0 {
		return text + "It releases no invariant: all invariants are promised under it."
	}
	return text + "It releases these invariants for the jobs that it reaches:\n" + strings.Join(rows, "\n")
}

func explainPhase(p faults.Phase) string {
	var on, after []string
	for _, k := range faults.Kinds() {
		switch {
		case k.Strikes(p):
			on = append(on, string(k.Effect))
		case k.OnNode() && k.Effect != faults.Partition: // which begins at a time
			after = append(after, string(k.Effect))
		}
	}
	happens := "No fault can strike there, since the phase is not an operation."
	if p.Place != faults.PlaceNone {
		happens = "Faults that can strike right after it: " + strings.Join(after, ", ") + "."
		if len(on) > 0 {
			happens = "Faults that can strike the operation: " + strings.Join(on, ", ") + ".\n" + happens
		}
	}
	return fmt.Sprintf("%s (phase, %s)\n\n%s.\n%s", p.Name, p.Place, capital(p.Says), happens)
}

func explainSetting(s plans.Setting) string {
	value := s.Default
	if s.Hardened != "" {
		value += " (documented), " + s.Hardened + " (hardened)"
	}
	text := fmt.Sprintf("%s (setting, %s)\n\n%s.\nDefault: %s. Allowed: %s.", s.Name, s.Type, capital(s.Doc), value, s.Allowed)
	shown := false
	for _, t := range plans.Toggles() {
		if t.Setting == s.Name {
			shown = true
			text += fmt.Sprintf("\n\nWhat it is for: with %s, scenario %s under the preset hardened violates %s. %s\nSee it: %s", t.Off, t.Scenario, t.Invariant, t.Without(), t.Command)
		}
	}
	if try := tryIt(s); try != "" && !shown {
		text += "\n\nTry it: wavetank run " + try
	}
	return text
}

func explainSeed() string {
	return "seed (flag)\n\nThe root of every draw: equal seeds give equal runs.\nDefault: the plan's. Allowed: 0 to 18446744073709551615.\n\nTry it: wavetank run calm --seed 7"
}

// runVerdicts are the words of a run's verdict, and what they say.
var runVerdicts = [][2]string{
	{string(scenarios.Held), "every invariant held that is promised under the plan's settings and faults"},
	{string(scenarios.Violated), "an invariant was violated within its promise, or the plan expects it to be violated"},
	{string(scenarios.Inconclusive), "the run shows nothing: it used up its steps or its time, a fault never struck, or it did not show what the plan expects"},
}

func explainVerdict() string {
	text := "verdict (of a run)\n\nThe outcome of a run. It is in result.json, and determines the exit code of `wavetank run`: 0, 1 or 3.\n"
	for _, v := range runVerdicts {
		text += fmt.Sprintf("\n  %-13s %s", v[0], v[1])
	}
	return text + "\n\nA plan says what it expects under expect: wavetank explain expect"
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}
