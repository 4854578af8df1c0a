package cli

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPasteable(t *testing.T) {
	old := os.Args[0]
	defer func() { os.Args[0] = old }()
	for program, want := range map[string]string{
		"wavetank": "wavetank run calm", "./bin/wavetank": "./bin/wavetank run calm", "/usr/bin/wavetank": "/usr/bin/wavetank run calm",
		"/tmp/go-build123/b001/exe/wavetank": "go run ./cmd/wavetank run calm",
	} {
		os.Args[0] = program
		assert.Equal(t, want, Pasteable("wavetank run calm"))
		assert.Equal(t, "not there; `"+want+"`\n  "+want, Pasteable("not there; `wavetank run calm`\n  wavetank run calm"))
		assert.Equal(t, "  A=b.crt "+want, Pasteable("  A=b.crt wavetank run calm"))
		assert.Equal(t, "cut short; go on with it ("+want+"), or remove it", Pasteable("cut short; go on with it (wavetank run calm), or remove it"))
		assert.Equal(t, "Wavetank runs: wavetank.yaml", Pasteable("Wavetank runs: wavetank.yaml"))
	}
}

// A variable that has the project's old name is refused, and the new name is said.
func TestRenamedVariables(t *testing.T) {
	assert.NoError(t, renamed())
	t.Setenv("WAVETANK_REDIS", "redis://localhost")
	assert.NoError(t, renamed())
	t.Setenv("FAULTLINE_REDIS", "redis://localhost")
	assert.EqualError(t, renamed(), "$FAULTLINE_REDIS has the old name of a variable, and is not read; rename it to $WAVETANK_REDIS")
}
