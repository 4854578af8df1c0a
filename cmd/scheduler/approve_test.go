package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
)

// A job waits for somebody who approves what he has looked at, and goes where its labels say.
func TestApprove(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(policy, []byte("rules: [{job_id: mail-*, decision: REQUIRE_APPROVAL, reason: it sends mail}]\n"), 0o600))
	k := start(t, "kernel", "--policy", policy, "--listen", "127.0.0.1:0")
	addr := k.says(`Safety kernel at ([^\s,]+)`)
	t.Setenv("SAFETY_KERNEL_INSECURE", "true")
	s, at := alone(t, "--safety-kernel", addr)
	start(t, "worker", "--id", "worker-1", "--heartbeat", "200ms", at[2], at[3])
	start(t, "worker", "--id", "worker-2", "--heartbeat", "200ms", "--label", "zone=b", "--capability", "gpu", at[2], at[3])

	client(t, cli.ExitHeld, at, "submit", "--id", "mail-1", "--payload", `{"to":"you"}`, "--tenant", "a", "--label", "placement.zone=b,constraint.gpu=true")
	s.says(`msg="job waits for its approval".* job_id=mail-1 `)
	waits := client(t, cli.ExitInconclusive, at, "submit", "--id", "mail-1", "--payload", `{"to":"you"}`, "--tenant", "a", "--label", "placement.zone=b,constraint.gpu=true", "--wait", "--timeout", "1s")
	waits.says("(?m)^scheduler: mail-1 waits for its approval: it sends mail; `scheduler approve mail-1 --look` shows it$")
	waits.says(`(?m)^  mail-1 is APPROVAL_REQUIRED \(after 0 attempts: it sends mail\)$`)
	client(t, cli.ExitHeld, at, "show", "mail-1").says(`(?s)^mail-1 is APPROVAL_REQUIRED since .*\n  it sends mail\n  It waits for its approval: scheduler approve mail-1 --look\n.*  safety kernel: REQUIRE_APPROVAL, policy sha256:\S+\n`)
	client(t, cli.ExitViolated+1, at, "approve", "mail-2").says(`holds no job "mail-2"`)
	client(t, cli.ExitViolated, at, "approve", "mail-1", "--hash", "12").says(`^scheduler: the request of mail-1 has another hash; look at it again: scheduler approve mail-1 --look\n$`)
	look := client(t, cli.ExitHeld, at, "approve", "mail-1", "--look")
	look.says(`"tenant": "a"`)
	look.says(`(?m)^It needs an approval: it sends mail$`)
	hash := look.says(`scheduler approve mail-1 --hash ([0-9a-f]{64})`)
	client(t, cli.ExitHeld, at, "approve", "mail-1", "--hash", hash, "--by", "ops").says(`^Approved mail-1, whose hash is ` + hash + `\n$`)
	client(t, cli.ExitHeld, at, "submit", "--id", "mail-1", "--payload", `{"to":"you"}`, "--tenant", "a", "--label", "placement.zone=b,constraint.gpu=true", "--wait").says(`1 SUCCEEDED`)
	s.says(`msg="job dispatched".* job_id=mail-1 .*subject=worker\.worker-2\.`)
	client(t, cli.ExitHeld, at, "show", "mail-1").says(`(?m)^  approved by ops at `)
	client(t, cli.ExitViolated, at, "approve", "mail-1").says(`^scheduler: mail-1 has ended already: it is SUCCEEDED\n$`)
}
