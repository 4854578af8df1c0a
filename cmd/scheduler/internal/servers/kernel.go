package servers

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	grpctls "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
)

// The environment of a connection to a safety kernel.
const (
	EnvKernelCA       = "SAFETY_KERNEL_TLS_CA"
	EnvKernelTLS      = "SAFETY_KERNEL_TLS_REQUIRED"
	EnvKernelInsecure = "SAFETY_KERNEL_INSECURE"
)

// DialKernel is the connection to the kernel, or nil without one. It does no I/O: a kernel that is not there yet is
// one that cannot be reached.
func DialKernel(addr string) (conn *grpc.ClientConn, how string, err error) {
	if addr == "" {
		return nil, "", nil
	}
	host, port, err := net.SplitHostPort(addr)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || host == "" || n < 1 || n > 65535 {
		return nil, "", cli.Fail(cli.ExitUsage, "--safety-kernel is %q, not an address; write HOST:PORT", addr)
	}
	creds, how, err := kernelCredentials()
	if err != nil {
		return nil, "", err
	}
	again := backoff.DefaultConfig
	again.MaxDelay = 5 * time.Second // it is asked again at least as often
	// What is sent to a host that vanished without a word ends the connection after the timeout (TCP_USER_TIMEOUT), and not
	// after TCP's quarter of an hour. Servers take it amiss if they are pinged more often than every 5 minutes.
	alive := keepalive.ClientParameters{Time: 5 * time.Minute, Timeout: 2 * AnswerWithin}
	conn, err = grpc.NewClient(addr, grpc.WithTransportCredentials(creds), grpc.WithKeepaliveParams(alive),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: again, MinConnectTimeout: AnswerWithin}))
	if err != nil {
		return nil, "", cli.Fail(cli.ExitUsage, "--safety-kernel is %q: %v", addr, err)
	}
	return conn, how, nil
}

// kernelCredentials follow the environment: TLS, unless plaintext is asked for and not refused.
func kernelCredentials() (creds grpctls.TransportCredentials, how string, err error) {
	required, err := EnvBool(EnvKernelTLS)
	if err != nil {
		return nil, "", err
	}
	plain, err := EnvBool(EnvKernelInsecure)
	if err != nil {
		return nil, "", err
	}
	ca := os.Getenv(EnvKernelCA)
	switch {
	case plain && required:
		return nil, "", cli.Fail(cli.ExitUsage, "%s asks for plaintext, which %s refuses; remove one of the two", EnvKernelInsecure, EnvKernelTLS)
	case plain && ca != "":
		return nil, "", cli.Fail(cli.ExitUsage, "%s asks for plaintext, and %s for TLS; remove one of the two", EnvKernelInsecure, EnvKernelCA)
	case plain:
		return insecure.NewCredentials(), "in plaintext", nil
	case ca == "":
		return grpctls.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12}), "with TLS, trusting the system's authorities", nil
	}
	pool, err := ReadAuthority(EnvKernelCA, ca)
	if err != nil {
		return nil, "", err
	}
	return grpctls.NewTLS(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}), "with TLS, trusting " + ca, nil
}

// EnvBool reads a variable that is true or false; "" is false.
func EnvBool(name string) (bool, error) {
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

// ProbeKernel asks the safety kernel nothing, and returns why it cannot be asked; "" if it can. Any answer will
// do, if only that it does not know the question.
func ProbeKernel(ctx context.Context, conn grpc.ClientConnInterface) string {
	_, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	switch status.Code(err) {
	case codes.DeadlineExceeded:
		return "no answer in time"
	case codes.Unavailable, codes.Canceled:
		return grpcReason(status.Convert(err).Message())
	}
	return ""
}

// grpcReason is the innermost of what gRPC says of a connection, which it quotes.
func grpcReason(text string) string {
	const quotes = ` desc = "`
	if i := strings.LastIndex(text, quotes); i >= 0 {
		if inner, err := strconv.Unquote(text[i+len(quotes)-1:]); err == nil {
			text = inner
		}
	}
	text = strings.TrimPrefix(text, "transport: ")
	switch {
	case strings.HasPrefix(text, "error reading server preface"):
		text += " (does it speak TLS? then leave " + EnvKernelInsecure + " out)"
	case strings.Contains(text, "does not look like a TLS handshake"):
		text += " (does it speak plaintext? then set " + EnvKernelInsecure + "=true)"
	}
	return text
}
