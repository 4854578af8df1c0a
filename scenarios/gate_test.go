package scenarios

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The gate runs every test of every package: those that it leaves out in its first step it runs in its second.
func TestTheGateRunsEveryTest(t *testing.T) {
	gate, err := os.ReadFile("../.ci/run")
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^go test -race .*-skip "\$plain" .*\$\(light \./\.\.\.\)$`, string(gate))
	assert.Regexp(t, `(?m)^go test .*-run "\$plain" .*\./\.\.\.$`, string(gate))
	assert.Regexp(t, `(?m)^go test -vet=off \./engine/alerts \./scenarios/alerts \./cmd/wavetank-alerts \./cmd/wavetank/deploy &\nothers=\$!$`, string(gate))
	assert.Regexp(t, `(?m)^wait "\$others"$`, string(gate))
}
