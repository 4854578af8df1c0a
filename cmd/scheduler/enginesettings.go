package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// engineFlags change the engine's settings, in the spelling that plans have.
type engineFlags struct {
	presets []string // all that were given, to refuse those that differ
	sets    []string
}

const enginePrefix = "engine."

// tunable are the settings as --preset and --set name them.
type tunable struct {
	Preset string            `yaml:"preset" oneof:"documented,hardened"`
	Engine settings.Settings `yaml:"engine"`
}

var presetNames = []string{"documented", "hardened"}

func (f *engineFlags) add(cmd *cobra.Command, whose string) {
	cmd.Flags().StringArrayVar(&f.presets, "preset", nil, whose+" to start from, `NAME`: documented or hardened (default hardened)")
	cmd.Flags().StringArrayVar(&f.sets, "set", nil, "change one of them, `engine.key=value`; repeatable (see wavetank list settings)")
	_ = cmd.RegisterFlagCompletionFunc("preset", cobra.FixedCompletions(presetNames, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("set", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var keys []string
		for _, s := range strictyaml.Scalars(&tunable{Engine: settings.Hardened()})[1:] {
			keys = append(keys, s.Name+"="+s.Text())
		}
		return keys, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
}

// settings are the engine's, and how they differ from the preset's.
func (f *engineFlags) settings() (s settings.Settings, changes []string, err error) {
	t := tunable{Preset: "hardened"}
	chosen := strictyaml.Scalars(&t)[0]
	for i, preset := range f.presets {
		if i > 0 && preset != t.Preset {
			return s, nil, cli.Fail(cli.ExitUsage, "the preset is given twice, as %s and as %s; give one", t.Preset, preset)
		}
		if _, err := chosen.Parse(preset); err != nil {
			return s, nil, err
		}
		t.Preset = preset
	}
	base := settings.Hardened()
	if t.Preset == "documented" {
		base = settings.Documented()
	}
	t.Engine = base
	for _, set := range f.sets {
		if err := t.set(set); err != nil {
			return s, nil, err
		}
	}
	before := strictyaml.Scalars(&tunable{t.Preset, base})
	for i, s := range strictyaml.Scalars(&t) {
		if s.Text() != before[i].Text() {
			changes = append(changes, s.Name+"="+s.Text())
		}
	}
	if err := t.Engine.Validate(); err != nil {
		return s, nil, cli.Fail(cli.ExitUsage, "%s", enginePrefix+strings.TrimPrefix(cli.FirstLine(err), "settings: "))
	}
	return t.Engine, changes, nil
}

// set changes one setting of the engine: "engine.max_dispatch_retries=5".
func (t *tunable) set(assignment string) error {
	name, text, given := strings.Cut(assignment, "=")
	name, text = strings.TrimSpace(name), strings.TrimSpace(text)
	s, known := strictyaml.ScalarOf(t, name)
	switch {
	case name == "preset":
		return cli.Fail(cli.ExitUsage, "preset has its own flag; write --preset %s", text)
	case !known:
		var names []string
		for _, s := range strictyaml.Scalars(t)[1:] {
			names = append(names, s.Name)
		}
		like := name
		if whole := enginePrefix + name; slices.Contains(names, whole) {
			like = whole
		}
		return cli.Fail(cli.ExitUsage, "%q is not a setting of the engine; `wavetank list settings` names the settings%s", name, suggest.Hint(like, names))
	case !given:
		return cli.Fail(cli.ExitUsage, "%q sets nothing; write key=value, as in %s=%s", assignment, name, s.Text())
	}
	value, err := s.Parse(text)
	if err != nil {
		return err
	}
	s.Value.Set(value)
	return nil
}
