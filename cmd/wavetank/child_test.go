package main

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// seatOf has children that do these things in turn, as a shell does.
func seatOf(does ...string) *seat {
	return &seat{start: func() (*child, error) {
		do := does[0]
		does = does[1:]
		return childOf(exec.Command("sh", "-c", do))
	}}
}

const dies = "read question; kill -9 $$"

// A child that dies is started again once. An order over which two die is out of bounds, and the search goes on.
func TestAChildThatDiesIsStartedAgainOnce(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("LEFT OUT: there is no sh")
	}
	var answer int
	s := seatOf(dies, "read question; echo 7; cat >/dev/null", "exit 9")
	require.NoError(t, s.ask(t.Context(), "a child", 6, &answer))
	assert.Equal(t, 7, answer)
	s.stop()

	s = seatOf(dies, dies, `read question; echo '{"answer": {"digest": "d", "steps": 3}}'; cat >/dev/null`)
	r, err := s.order(t.Context(), []sim.Preemption{})
	require.NoError(t, err)
	assert.Equal(t, []string{"no-panic"}, r.Broken)
	assert.Contains(t, r.Reason, "a worker ended: signal: killed")
	r, err = s.order(t.Context(), []sim.Preemption{})
	require.NoError(t, err)
	assert.Equal(t, "d", r.Digest)
	s.stop()
}
