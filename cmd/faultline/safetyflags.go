package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	grpctls "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/faultline-sim/faultline/engine"
	"github.com/faultline-sim/faultline/scenarios"
)

// The environment of seed 003, sections 6 and 7.
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
	cmd.Flags().StringVar(&f.kernel, "safety-kernel", "", "ask the safety kernel at `ADDR` before a job runs, as `faultline kernel` serves one (default none: every job is allowed)")
	cmd.Flags().StringVar(&f.config, "safety-config", "", "`FILE` with input_policy.fail_mode, such as config/safety.yaml; $"+envFailMode+" wins over it, and --set over both")
	_ = cmd.RegisterFlagCompletionFunc("safety-kernel", cobra.NoFileCompletions)
}

// failMode puts into s what the environment or else the file says of it, unless a --set does.
func (f *safetyFlags) failMode(s *engine.Settings, sets []string) error {
	const key = enginePrefix + "policy.fail_mode"
	mode, from := os.Getenv(envFailMode), envFailMode
	var inFile string
	if f.config != "" {
		var err error
		if inFile, err = readSafetyConfig(f.config); err != nil {
			return err
		}
	}
	if mode == "" {
		mode, from = inFile, f.config+": input_policy.fail_mode"
	}
	switch {
	case mode == "" || slices.ContainsFunc(sets, func(set string) bool { name, _, _ := strings.Cut(set, "="); return strings.TrimSpace(name) == key }):
		return nil
	case mode != string(engine.FailModeClosed) && mode != string(engine.FailModeOpen):
		return fail(exitUsage, "%s is %q; one of closed, open", from, mode)
	}
	s.Policy.FailMode = engine.FailMode(mode)
	return nil
}

// readSafetyConfig returns the fail mode that a file gives; "" is none.
func readSafetyConfig(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fail(exitUsage, "%s: %v; give --safety-config a file that can be read", path, scenarios.FileReason(err))
	}
	var c struct {
		InputPolicy struct {
			FailMode string `yaml:"fail_mode"`
		} `yaml:"input_policy"`
	}
	d := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	err = d.Decode(&c)
	var at yaml.Error
	switch {
	case err == nil && !errors.Is(d.Decode(&struct{}{}), io.EOF):
		return "", fail(exitUsage, "%s: a second document begins here; it holds input_policy.fail_mode alone", path)
	case err == nil, errors.Is(err, io.EOF):
		return c.InputPolicy.FailMode, nil
	case errors.As(err, &at) && at.GetToken() != nil:
		pos := at.GetToken().Position
		return "", fail(exitUsage, "%s:%d:%d: %s; it holds input_policy.fail_mode alone", path, pos.Line, pos.Column, at.GetMessage())
	}
	return "", fail(exitUsage, "%s: %v", path, err)
}

// dial is the connection to the kernel, or nil without one. It does no I/O: a kernel that is not there yet is
// one that cannot be reached.
func (f *safetyFlags) dial() (*grpc.ClientConn, string, error) {
	if f.kernel == "" {
		return nil, "", nil
	}
	if host, _, err := net.SplitHostPort(f.kernel); err != nil || host == "" {
		return nil, "", fail(exitUsage, "--safety-kernel is %q, which is no address; write HOST:PORT", f.kernel)
	}
	creds, how, err := kernelCredentials()
	if err != nil {
		return nil, "", err
	}
	again := backoff.DefaultConfig
	again.MaxDelay = 5 * time.Second // it is asked again at least as often
	conn, err := grpc.NewClient(f.kernel, grpc.WithTransportCredentials(creds), grpc.WithConnectParams(grpc.ConnectParams{Backoff: again, MinConnectTimeout: answerWithin}))
	if err != nil {
		return nil, "", fail(exitUsage, "--safety-kernel is %q: %v", f.kernel, err)
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
		return nil, "", fail(exitUsage, "%s asks for plaintext, which %s refuses; take one of the two away", envKernelInsecure, envKernelTLS)
	case plain && ca != "":
		return nil, "", fail(exitUsage, "%s asks for plaintext, and %s for TLS; take one of the two away", envKernelInsecure, envKernelCA)
	case plain:
		return insecure.NewCredentials(), "in plaintext", nil
	case ca == "":
		return grpctls.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12}), "with TLS, trusting the system's authorities", nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, "", fail(exitUsage, "%s is %s: %v; name a file that can be read", envKernelCA, ca, scenarios.FileReason(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, "", fail(exitUsage, "%s is %s, which holds no certificate in PEM; name the authority's", envKernelCA, ca)
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
		return false, fail(exitUsage, "%s is %q; give true or false", name, text)
	}
	return b, nil
}

// kernelGreeting says which kernel is asked.
func (f *safetyFlags) kernelGreeting(how string, mode engine.FailMode) string {
	return fmt.Sprintf("Safety kernel at %s, %s; fail mode %s", f.kernel, how, mode)
}
