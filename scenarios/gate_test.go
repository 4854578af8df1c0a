package scenarios

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The gate runs the tests of every package, with the race detector or without it, and it fails where either does.
func TestTheGateRunsEveryTest(t *testing.T) {
	gate, err := os.ReadFile("../.ci/run")
	require.NoError(t, err)
	for _, line := range []string{
		`shared=\$\(go list \./cmd/scheduler/\.\.\. \./sim/\.\.\. \./engine/\.\.\. \./faults/\.\.\. \| grep -v '/engine/alerts\$'\).*`,
		`  go test -race -short .* \$shared \./scenarios/campaign/\.\.\. \|\| status=1`,
		`  exit "\$status"`,
		`\} >"\$raced" 2>&1 &\nrace=\$!`,
		`go test -short .* \$\(go list \./\.\.\. \| grep -vxF "\$shared"\) \|\| failed=1`,
		`wait "\$race" \|\| failed=1`,
		`if \[\[ \$failed -ne 0 \]\]; then exit 1; fi`,
	} {
		assert.Regexp(t, "(?m)^"+line+"$", string(gate))
	}
}
