package scenarios

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The gate runs every test of every package: those that it leaves out with the race detector it runs without, and it fails
// where either does.
func TestTheGateRunsEveryTest(t *testing.T) {
	gate, err := os.ReadFile("../.ci/run")
	require.NoError(t, err)
	for _, line := range []string{
		`go test -race .*-skip "\$plain" .*\$\(light \./\.\.\.\) >"\$raced" 2>&1 &\nrace=\$!`,
		`go test .*-run "\$plain" .*\./\.\.\. \|\| failed=1`,
		`go test -vet=off \./engine/alerts \./scenarios/alerts \./cmd/wavetank-alerts \./cmd/wavetank/deploy \|\| failed=1 #.*`,
		`wait "\$race" \|\| failed=1`,
		`if \[\[ \$failed -ne 0 \]\]; then exit 1; fi`,
	} {
		assert.Regexp(t, "(?m)^"+line+"$", string(gate))
	}
}
