package main

import (
	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// envOutputPolicy turns the output policy on or off (Scheduler internals, section 7).
const envOutputPolicy = "OUTPUT_POLICY_ENABLED"

// outputPolicy puts into s what the environment says of the output policy, unless a --set does. It is the
// safety kernel's address that is asked about outputs.
func (f *safetyFlags) outputPolicy(s *settings.Settings, sets []string) error {
	const key = enginePrefix + "output.enabled"
	from := "--set " + key + "=true"
	if !gives(sets, key) {
		on, err := envBool(envOutputPolicy)
		if err != nil {
			return err
		}
		from, s.Output.Enabled = envOutputPolicy, on
	}
	if s.Output.Enabled && f.kernel == "" {
		return cli.Fail(cli.ExitUsage, "%s turns the output policy on, and there is nobody to ask; give --safety-kernel, or turn it off", from)
	}
	return nil
}
