package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/scenarios"
)

// engineFlags change the engine's settings, in the spelling that plans have.
type engineFlags struct{ planFlags }

const enginePrefix = "engine."

func (f *engineFlags) add(cmd *cobra.Command, whose string) {
	cmd.Flags().StringArrayVar(&f.presets, "preset", nil, whose+" to start from, `NAME`: documented or hardened (default hardened)")
	cmd.Flags().StringArrayVar(&f.sets, "set", nil, "change one of them, `engine.key=value`; repeatable (see list settings)")
	_ = cmd.RegisterFlagCompletionFunc("preset", cobra.FixedCompletions([]string{scenarios.PresetDocumented, scenarios.PresetHardened}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("set", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var keys []string
		for _, s := range scenarios.Settings() {
			if strings.HasPrefix(s.Name, enginePrefix) {
				keys = append(keys, assignment(s))
			}
		}
		return keys, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
}

// settings are the engine's, and how they differ from the hardened ones.
func (f *engineFlags) settings() (s settings.Settings, changes []string, err error) {
	plan := scenarios.Defaults()
	plan.Name = "scheduler"
	for _, o := range f.overrides() {
		key, _, _ := strings.Cut(o, "=")
		key = strings.TrimSpace(key)
		if key != "preset" && !strings.HasPrefix(key, enginePrefix) {
			var keys []string
			for _, s := range scenarios.Settings() {
				if strings.HasPrefix(s.Name, enginePrefix) {
					keys = append(keys, s.Name)
				}
			}
			return s, nil, fail(exitUsage, "%q is no setting of the engine; `wavetank list settings` names them%s", key, suggest.Hint(key, keys))
		}
		if err := plan.Set(o); err != nil {
			return s, nil, err
		}
	}
	if err := f.consistent(); err != nil {
		return s, nil, err
	}
	changes = plan.Changes()
	plan.Kernel.Default = kernel.Allow // whether there is one, the settings do not say
	return plan.Engine, changes, plan.Validate()
}
