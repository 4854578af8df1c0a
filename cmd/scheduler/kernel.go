package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"reflect"
	"syscall"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	grpctls "google.golang.org/grpc/credentials"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	outputs "github.com/wavetank-sim/wavetank/engine/output"
	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/scenarios/policyfile"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

type kernelFlags struct {
	servers.LogFlags
	policy string
	listen string
	cert   string
	key    string
}

func newKernel() *cobra.Command {
	var f kernelFlags
	cmd := &cobra.Command{
		Use:   "kernel",
		Short: "Serve a safety kernel and an output policy that decide by a file of rules",
		Long: `Kernel serves a safety kernel, which a scheduler asks before a job runs, and an output
policy, which it asks about the job's output, over gRPC (cordum.safety.v1.SafetyKernel
and OutputPolicyService). It decides by a file of rules; the first rule that matches
counts:

  default: ALLOW
  rules:
    - {tenant: guest, decision: DENY, reason: guests run nothing}
    - {labels: "tier=gold", decision: ALLOW_WITH_CONSTRAINTS, constraints: "placement.zone=eu"}
    - {job_id: "batch-*", decision: REQUIRE_APPROVAL}
  output:
    - {content: password, decision: QUARANTINE}
    - {topic: job.raw, sync: true, decision: DENY}

These are the keys of a rule for jobs. A key that is left out matches any job. * stands
for any text; no other character has a special meaning:

` + keysOf("rules") + `
These are the keys of a rule for output:

` + keysOf("output") + `
A job that no rule matches gets the default, which is ALLOW unless the file says
otherwise. Output that no rule matches passes. On SIGHUP the file is read again; if it
has an error, the rules stay as they were, and the log says why.

Without --tls-cert and --tls-key it speaks plaintext, which a scheduler accepts
only with SAFETY_KERNEL_INSECURE=true. Exit codes: 0 stopped, 2 usage, or a policy
or certificate that cannot be used.`,
		Example: `  scheduler kernel --policy policy.yaml
  scheduler kernel --policy policy.yaml --listen :9443 --tls-cert kernel.crt --tls-key kernel.key
  SAFETY_KERNEL_INSECURE=true scheduler serve --safety-kernel 127.0.0.1:19443`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&f.policy, "policy", "", "the rules, a `FILE`")
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:19443", "the address at which the kernel answers, `ADDR`")
	cmd.Flags().StringVar(&f.cert, "tls-cert", "", "the kernel's certificate in PEM, a `FILE`")
	cmd.Flags().StringVar(&f.key, "tls-key", "", "the certificate's key, a `FILE`")
	f.LogFlags.Add(cmd)
	return cmd
}

// keysOf is the table of the keys of a list in a policy.
func keysOf(list string) string {
	for _, s := range strictyaml.Sections(reflect.TypeFor[kernel.Policy](), strictyaml.Section{}) {
		if s.Name == list {
			return cli.KeyTable(s, 80)
		}
	}
	panic("a policy has no " + list)
}

// kernelReceives is how large a message may be, in bytes: an output, and the labels of the largest request that
// NATS carries.
const kernelReceives = outputs.ContentMax + 2<<20

func (f *kernelFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	log, err := f.Logger(stderr)
	if err != nil {
		return err
	}
	policy, err := f.load()
	if err != nil {
		return err
	}
	server, err := kernel.NewServer(policy)
	if err != nil {
		return cli.Fail(cli.ExitUsage, "%s: %s", f.policy, cli.FirstLine(err))
	}
	options, how, err := f.tls()
	if err != nil {
		return err
	}
	if err := servers.CheckAddr("--listen", f.listen); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return cli.Fail(cli.ExitUsage, "cannot listen on %s: %v; give another address with --listen", f.listen, servers.NetReason(err))
	}
	ctx, stop := cli.Interruptible(ctx, func() {}, syscall.SIGHUP)
	defer stop()
	s := grpc.NewServer(append(options, grpc.MaxRecvMsgSize(kernelReceives))...)
	server.Register(s)
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	defer signal.Stop(again)
	p := cli.NewPrinter(stdout)
	p.Line("Safety kernel at %s, %s", p.Paint(cli.Bold, listener.Addr().String()), how)
	p.Line("  %s", f.says(policy))
	if f.cert == "" {
		p.Line("  A scheduler needs %s=true to ask it; otherwise the scheduler wants TLS.", servers.EnvKernelInsecure)
	}
	go f.reload(ctx, again, server, log)
	go func() {
		<-ctx.Done()
		s.GracefulStop()
	}()
	if err := s.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve: %w", err)
	}
	p.Line("The safety kernel has stopped.")
	return nil
}

// load reads the policy.
func (f *kernelFlags) load() (kernel.Policy, error) {
	if f.policy == "" {
		return kernel.Policy{}, cli.Fail(cli.ExitUsage, "--policy is missing; give a file of rules (`scheduler kernel --help` shows one)")
	}
	data, err := strictyaml.ReadFile(f.policy, "--policy the file of a kernel's rules")
	if err != nil {
		return kernel.Policy{}, err
	}
	return policyfile.Kernel(f.policy, data)
}

// reload reads the policy again whenever it is told to, until ctx ends.
func (f *kernelFlags) reload(ctx context.Context, again <-chan os.Signal, server *kernel.Server, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
		}
		policy, err := f.load()
		if err == nil {
			err = server.Set(policy)
		}
		if err != nil {
			log.Error("the policy stays as it was: the file cannot be used", slog.Any("error", err))
			continue
		}
		log.Info("the policy was read again", slog.String("policy", f.says(policy)))
	}
}

// says what the policy comes to.
func (f *kernelFlags) says(policy kernel.Policy) string {
	otherwise := policy.Default
	if otherwise == "" {
		otherwise = kernel.Allow + ", as it gives no default"
	}
	return fmt.Sprintf("%s: rules for jobs: %d, of others: %s; rules for output: %d, of other: %s; %s", f.policy, len(policy.Rules), otherwise, len(policy.Output), kernel.Allow, policy.Snapshot())
}

// tls is how the kernel is to be spoken to.
func (f *kernelFlags) tls() (options []grpc.ServerOption, how string, err error) {
	switch {
	case f.cert == "" && f.key == "":
		return nil, "in plaintext", nil
	case f.cert == "" || f.key == "":
		return nil, "", cli.Fail(cli.ExitUsage, "--tls-cert and --tls-key belong together; give both, or neither for plaintext")
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, "", cli.Fail(cli.ExitUsage, "--tls-cert and --tls-key cannot be used: %v; give a certificate and its key, both in PEM", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	return []grpc.ServerOption{grpc.Creds(grpctls.NewTLS(config))}, "with TLS", nil
}
