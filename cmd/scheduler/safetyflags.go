package main

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	grpctls "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// The environment of Scheduler internals, sections 6 and 7.
const (
	envKernelCA       = "SAFETY_KERNEL_TLS_CA"
	envKernelTLS      = "SAFETY_KERNEL_TLS_REQUIRED"
	envKernelInsecure = "SAFETY_KERNEL_INSECURE"
	envFailMode       = "POLICY_CHECK_FAIL_MODE"
)

// safetyFlags say where the safety kernel is, and what holds while it cannot be reached.
type safetyFlags struct {
	kernel string
	config string
}

func (f *safetyFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.kernel, "safety-kernel", "", "ask the safety kernel at `ADDR` before a job runs, as `scheduler kernel` serves one (default none: every job is allowed)")
	cmd.Flags().StringVar(&f.config, "safety-config", "", "`FILE` with input_policy.fail_mode, such as config/safety.yaml; $"+envFailMode+" wins over it, and --set over both")
	_ = cmd.RegisterFlagCompletionFunc("safety-kernel", cobra.NoFileCompletions)
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

// idle refuses what is said about a safety kernel where there is none: whoever says it believes that jobs are
// checked.
func (f *safetyFlags) idle(sets []string) error {
	if f.kernel != "" {
		return nil
	}
	said := ""
	for _, env := range []string{envKernelInsecure, envKernelTLS} {
		on, err := envBool(env)
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
	case os.Getenv(envKernelCA) != "":
		said = envKernelCA
	}
	if said == "" {
		return nil
	}
	return cli.Fail(cli.ExitUsage, "%s is about a safety kernel, and none is given, so that every job would run unchecked; give --safety-kernel, or take it away", said)
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

// dial is the connection to the kernel, or nil without one. It does no I/O: a kernel that is not there yet is
// one that cannot be reached.
func (f *safetyFlags) dial() (*grpc.ClientConn, string, error) {
	if f.kernel == "" {
		return nil, "", nil
	}
	host, port, err := net.SplitHostPort(f.kernel)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || host == "" || n < 1 || n > 65535 {
		return nil, "", cli.Fail(cli.ExitUsage, "--safety-kernel is %q, which is no address; write HOST:PORT", f.kernel)
	}
	creds, how, err := kernelCredentials()
	if err != nil {
		return nil, "", err
	}
	again := backoff.DefaultConfig
	again.MaxDelay = 5 * time.Second // it is asked again at least as often
	conn, err := grpc.NewClient(f.kernel, grpc.WithTransportCredentials(creds), grpc.WithConnectParams(grpc.ConnectParams{Backoff: again, MinConnectTimeout: servers.AnswerWithin}))
	if err != nil {
		return nil, "", cli.Fail(cli.ExitUsage, "--safety-kernel is %q: %v", f.kernel, err)
	}
	return conn, how, nil
}

// kernelCredentials follow the environment: TLS, unless plaintext is asked for and not refused.
func kernelCredentials() (creds grpctls.TransportCredentials, how string, err error) {
	required, err := envBool(envKernelTLS)
	if err != nil {
		return nil, "", err
	}
	plain, err := envBool(envKernelInsecure)
	if err != nil {
		return nil, "", err
	}
	ca := os.Getenv(envKernelCA)
	switch {
	case plain && required:
		return nil, "", cli.Fail(cli.ExitUsage, "%s asks for plaintext, which %s refuses; take one of the two away", envKernelInsecure, envKernelTLS)
	case plain && ca != "":
		return nil, "", cli.Fail(cli.ExitUsage, "%s asks for plaintext, and %s for TLS; take one of the two away", envKernelInsecure, envKernelCA)
	case plain:
		return insecure.NewCredentials(), "in plaintext", nil
	case ca == "":
		return grpctls.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12}), "with TLS, trusting the system's authorities", nil
	}
	pool, err := servers.ReadAuthority(envKernelCA, ca)
	if err != nil {
		return nil, "", err
	}
	return grpctls.NewTLS(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}), "with TLS, trusting " + ca, nil
}

// envBool reads a variable that is true or false; "" is false.
func envBool(name string) (bool, error) {
	text := os.Getenv(name)
	if text == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, cli.Fail(cli.ExitUsage, "%s is %q; give %s", name, text, cli.Truths)
	}
	return b, nil
}

// kernelGreeting says which kernel is asked.
func (f *safetyFlags) kernelGreeting(how string, mode settings.FailMode) string {
	return fmt.Sprintf("Safety kernel at %s, %s; fail mode %s", f.kernel, how, mode)
}
