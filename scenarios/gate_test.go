package scenarios

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The gate runs the tests of every package, those of what shares memory with the race detector, too, and it fails where either does.
func TestTheGateRunsEveryTest(t *testing.T) {
	gate, err := os.ReadFile("../.ci/run")
	require.NoError(t, err)
	for _, line := range []string{
		`  go test -race -short .* \./cmd/scheduler/\.\.\. \./sim/\.\.\. \./engine/\.\.\. \./scenarios/campaign/\.\.\. \./faults/\.\.\. .*\|\| status=1`,
		`  exit "\$status"`,
		`\} >"\$raced" 2>&1 &\nrace=\$!`,
		`go test -short .* \./\.\.\. \|\| failed=1`,
		`wait "\$race" \|\| failed=1`,
		`if \[\[ \$failed -ne 0 \]\]; then exit 1; fi`,
	} {
		assert.Regexp(t, "(?m)^"+line+"$", string(gate))
	}
}
