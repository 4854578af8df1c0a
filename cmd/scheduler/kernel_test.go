package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/safety"
	pb "github.com/wavetank-sim/wavetank/engine/safety/safetypb"
)

// certify writes a certificate for this machine, and its key.
func certify(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kernel"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	secret, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
		return path
	}
	return write("kernel.crt", "CERTIFICATE", der), write("kernel.key", "EC PRIVATE KEY", secret)
}

// A job is denied over TLS, and waits while the kernel is away.
func TestAKernelDecides(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(policy, []byte("rules: [{job_id: bad, decision: DENY, reason: not this one}]\n"), 0o600))
	cert, key := certify(t)
	k := start(t, "kernel", "--policy", policy, "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	addr := k.says(`Safety kernel at (\S+), with TLS`)
	k.says(`policy.yaml: rules for jobs: 1, of others: ALLOW, as it gives no default; rules for output: 0, of other: ALLOW; sha256:`)

	t.Setenv(servers.EnvKernelCA, cert)
	t.Setenv(servers.EnvKernelTLS, "true")
	s, at := alone(t, "--safety-kernel", addr, "--set", "engine.policy.circuit_open_for=100ms", "--set", "engine.policy.open_delay=100ms")
	s.says(`Safety kernel at ` + addr + `, with TLS, trusting .*; fail mode closed`)
	s.is(200, `"safety_kernel":"ok"`)
	start(t, "worker", "--id", "worker-1", "--heartbeat", "200ms", at[2], at[3])
	client(t, cli.ExitHeld, at, "submit", "--id", "good", "--wait").says(`1 SUCCEEDED`)
	client(t, cli.ExitViolated, at, "submit", "--id", "bad", "--wait").says(`(?m)^1 DENIED\n  bad is DENIED \(safety_denied.*: not this one\)`)

	k.dies()
	client(t, cli.ExitInconclusive, at, "submit", "--id", "later", "--wait", "--timeout", "1s").says(`1 PENDING`)
	start(t, "kernel", "--policy", policy, "--listen", addr, "--tls-cert", cert, "--tls-key", key)
	client(t, cli.ExitHeld, at, "submit", "--id", "later", "--wait").says(`1 SUCCEEDED`)
}

// The README's commands for a kernel, and for a scheduler that asks it, understand each other.
func TestTheKernelOfTheREADMEAnswers(t *testing.T) {
	readme, err := os.ReadFile("../../engine/README.md")
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^    bin/scheduler kernel --policy rules\.yaml( [^#\n]*)?#.*\n    ((?:\w+=\w+ )*)bin/scheduler serve --safety-kernel (\S+)( [^#\n]*)?#`).FindStringSubmatch(string(readme))
	require.NotNil(t, found, "the pair of commands")
	require.Equal(t, newKernel().Flag("listen").DefValue, found[3], "where a kernel answers")

	policy := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(policy, []byte("default: ALLOW\n"), 0o600))
	k := start(t, append([]string{"kernel", "--policy", policy, "--listen", "127.0.0.1:0"}, strings.Fields(found[1])...)...)
	for _, set := range strings.Fields(found[2]) {
		name, value, _ := strings.Cut(set, "=")
		t.Setenv(name, value)
	}
	s, _ := alone(t, append([]string{"--safety-kernel", k.says(`Safety kernel at ([^,\s]+)`)}, strings.Fields(found[4])...)...)
	s.is(200, `"safety_kernel":"ok"`)
}

// A kernel that hangs does not hold up /healthz, which says what the replicas share of the circuit all the same.
func TestAKernelThatHangs(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(policy, []byte("default: ALLOW\n"), 0o600))
	k := start(t, "kernel", "--policy", policy, "--listen", "127.0.0.1:0")
	t.Setenv(servers.EnvKernelInsecure, "true")
	s, at := alone(t, "--safety-kernel", k.says(`Safety kernel at (\S+), in plaintext`))
	s.is(200, `"safety_kernel":"ok"`)

	opt, err := redis.ParseURL(at[1])
	require.NoError(t, err)
	c := redis.NewClient(opt)
	defer func() { require.NoError(t, c.Close()) }()
	require.NoError(t, c.Set(t.Context(), safety.SafetyPrefix+":failures", 100, 40*24*time.Hour).Err())
	require.NoError(t, k.cmd.Process.Signal(syscall.SIGSTOP))
	s.eventually("answer in time", func() bool {
		asked := time.Now()
		code, body := s.health()
		return time.Since(asked) < healthWithin && code == 200 && strings.Contains(body, `"safety_kernel":"no answer in time; the circuit is open"`)
	})
}

// In the fail mode open a job goes on; what the environment says wins over the file.
func TestFailModeOfAScheduler(t *testing.T) {
	config := filepath.Join(t.TempDir(), "safety.yaml")
	require.NoError(t, os.WriteFile(config, []byte("input_policy: {fail_mode: closed}\n"), 0o600))
	t.Setenv(servers.EnvKernelInsecure, "true")
	t.Setenv(envFailMode, "open")
	s, at := alone(t, "--safety-kernel", "127.0.0.1:1", "--safety-config", config)
	s.says(`Safety kernel at 127.0.0.1:1, in plaintext; fail mode open`)
	s.says(`level=WARN msg="the safety kernel cannot be asked; jobs go on unchecked until it can" .*connection refused`)
	start(t, "worker", "--id", "worker-1", "--heartbeat", "200ms", at[2], at[3])
	client(t, cli.ExitHeld, at, "submit", "--id", "job-1", "--wait").says(`1 SUCCEEDED`)
	s.says(`input policy fail-open: safety kernel unreachable`)
	_, metrics := s.get(s.says(`(http://\S+/metrics)`))
	require.Contains(t, metrics, `cordum_scheduler_input_fail_open_total{topic="job.default"} 1`)
	client(t, cli.ExitHeld, at, "submit", "--jobs", "3", "--wait").says(`3 SUCCEEDED`)
	s.is(200, `"status":"ok".*"safety_kernel":".*connection refused; the circuit is open"`)
}

// A scheduler that speaks TLS to a kernel that does not says so at its start, and what to change.
func TestAKernelSpokenToInTheWrongWay(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(policy, []byte("default: ALLOW\n"), 0o600))
	addr := start(t, "kernel", "--policy", policy, "--listen", "127.0.0.1:0").says(`(?s)Safety kernel at (\S+), in plaintext.*A scheduler needs SAFETY_KERNEL_INSECURE=true to ask it`)
	s, at := alone(t, "--safety-kernel", addr)
	s.says(`level=WARN msg="the safety kernel cannot be asked; jobs wait until it can" .*does it speak plaintext\? then set SAFETY_KERNEL_INSECURE=true`)
	s.is(200, `"safety_kernel":"authentication handshake failed`)

	// Whoever waits meanwhile is told for what.
	run := filepath.Join(t.TempDir(), "run.yaml")
	require.NoError(t, os.WriteFile(run, []byte("run_id: r1\nworkflow_id: w\nsteps:\n  - {id: a, topic: job.default}\n"), 0o600))
	client(t, cli.ExitInconclusive, at, "workflow", "start", run, "--wait", "--timeout", "12s").
		says(`scheduler: waiting for step a: r1-a-1 is PENDING, and the schedulers cannot ask their safety kernel; /healthz of a scheduler says why`)
	client(t, cli.ExitInconclusive, at, "submit", "--id", "job-1", "--wait", "--timeout", "8s").
		says(`scheduler: waiting: job-1 is PENDING, and the schedulers cannot ask their safety kernel`)
}

// On SIGHUP the file is read again; one that cannot be used changes nothing.
func TestAKernelReadsItsPolicyAgain(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(policy, []byte(text), 0o600)) }
	write("default: DENY\n")
	k := start(t, "kernel", "--policy", policy, "--listen", "127.0.0.1:0")
	conn, err := grpc.NewClient(k.says(`Safety kernel at (\S+), in plaintext`), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	decides := func(want pb.Decision) {
		answer, err := pb.NewSafetyKernelClient(conn).Check(t.Context(), &pb.CheckRequest{JobId: "job-1"})
		require.NoError(t, err)
		require.Equal(t, want, answer.GetDecision())
	}
	decides(pb.Decision_DENY)
	write("default: ALOW\n")
	require.NoError(t, k.cmd.Process.Signal(syscall.SIGHUP))
	k.says(`the policy stays as it was: the file cannot be used.*policy.yaml:1:10: default is \\"ALOW\\"; it must be ALLOW, .*did you mean`)
	decides(pb.Decision_DENY)
	write("default: THROTTLE\n")
	require.NoError(t, k.cmd.Process.Signal(syscall.SIGHUP))
	k.says(`the policy was read again.*of others: THROTTLE;`)
	decides(pb.Decision_THROTTLE)
	k.stops()
}
