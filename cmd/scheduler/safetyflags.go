package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// The environment, as "Scheduler internals" names it.
const (
	envFailMode     = "POLICY_CHECK_FAIL_MODE"
	envOutputPolicy = "OUTPUT_POLICY_ENABLED"
)

// safetyFlags say where the safety kernel is, and what holds while it cannot be reached.
type safetyFlags struct {
	kernel string
	config string
}

func (f *safetyFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.kernel, "safety-kernel", "", "ask the safety kernel at `ADDR` before a job runs, such as one of `scheduler kernel` (default none: every job is allowed)")
	cmd.Flags().StringVar(&f.config, "safety-config", "", "`FILE` with input_policy.fail_mode, such as config/safety.yaml; $"+envFailMode+" wins over the file, and --set over both")
}

// fromEnvironment puts into s what the environment says of the safety kernel and of the output policy, unless a --set
// does.
func (f *safetyFlags) fromEnvironment(s *settings.Settings, sets []string) error {
	if err := f.failMode(s, sets); err != nil {
		return err
	}
	if err := f.outputPolicy(s, sets); err != nil {
		return err
	}
	return f.idle(sets)
}

// failMode puts into s what the environment or else the file says of it, unless a --set does.
func (f *safetyFlags) failMode(s *settings.Settings, sets []string) error {
	const key = enginePrefix + "policy.fail_mode"
	mode := settings.FailMode(os.Getenv(envFailMode))
	if mode != "" && mode != settings.FailModeClosed && mode != settings.FailModeOpen {
		return cli.Fail(cli.ExitUsage, "%s is %q; one of closed, open", envFailMode, mode)
	}
	if f.config != "" {
		inFile, err := readSafetyConfig(f.config)
		if err != nil {
			return err
		}
		mode = cmp.Or(mode, inFile)
	}
	if mode != "" && !gives(sets, key) {
		s.Policy.FailMode = mode
	}
	return nil
}

// outputPolicy puts into s what the environment says of the output policy, unless a --set does. It is the
// safety kernel's address that is asked about outputs.
func (f *safetyFlags) outputPolicy(s *settings.Settings, sets []string) error {
	const key = enginePrefix + "output.enabled"
	from := "--set " + key + "=true"
	if !gives(sets, key) {
		on, err := servers.EnvBool(envOutputPolicy)
		if err != nil {
			return err
		}
		from, s.Output.Enabled = envOutputPolicy, on
	}
	if s.Output.Enabled && f.kernel == "" {
		return cli.Fail(cli.ExitUsage, "%s turns the output policy on, but there is no kernel to ask; give --safety-kernel, or turn the output policy off", from)
	}
	return nil
}

// idle refuses what is said about a safety kernel where there is none: whoever says it believes that jobs are
// checked.
func (f *safetyFlags) idle(sets []string) error {
	if f.kernel != "" {
		return nil
	}
	said := ""
	for _, env := range []string{servers.EnvKernelInsecure, servers.EnvKernelTLS} {
		on, err := servers.EnvBool(env)
		if err != nil {
			return err
		}
		if on {
			said = env
		}
	}
	switch {
	case f.config != "":
		said = "--safety-config"
	case gives(sets, enginePrefix+"policy."):
		said = "--set " + enginePrefix + "policy"
	case os.Getenv(envFailMode) != "":
		said = envFailMode
	case os.Getenv(servers.EnvKernelCA) != "":
		said = servers.EnvKernelCA
	}
	if said == "" {
		return nil
	}
	return cli.Fail(cli.ExitUsage, "%s needs a safety kernel, but none is given, so every job would run unchecked; give --safety-kernel, or leave %[1]s out", said)
}

// gives says whether one of the --set is about key, or about what is under it if it ends in a dot.
func gives(sets []string, key string) bool {
	return slices.ContainsFunc(sets, func(set string) bool {
		name, _, _ := strings.Cut(set, "=")
		name = strings.TrimSpace(name)
		return name == key || strings.HasSuffix(key, ".") && strings.HasPrefix(name, key)
	})
}

// readSafetyConfig returns the fail mode that a file gives.
func readSafetyConfig(path string) (settings.FailMode, error) {
	data, err := strictyaml.ReadFile(path, "--safety-config the file of a safety config")
	if err != nil {
		return "", err
	}
	var c struct {
		InputPolicy struct {
			FailMode settings.FailMode `yaml:"fail_mode" oneof:"closed,open"`
		} `yaml:"input_policy"`
	}
	err = strictyaml.Kind{What: "a safety config", Has: "input_policy.fail_mode"}.Read(path, data, &c, func() *strictyaml.Error {
		if c.InputPolicy.FailMode == "" {
			return &strictyaml.Error{Path: "input_policy", Message: "input_policy.fail_mode is missing", Remedy: "one of closed, open"}
		}
		return nil
	})
	return c.InputPolicy.FailMode, err
}

// kernelGreeting says which kernel is asked.
func (f *safetyFlags) kernelGreeting(how string, mode settings.FailMode) string {
	return fmt.Sprintf("Safety kernel at %s, %s; fail mode %s", f.kernel, how, mode)
}
