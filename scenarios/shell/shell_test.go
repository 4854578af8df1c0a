package shell

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A shell takes the word for what it was, whatever that is.
func TestAShellReadsTheWord(t *testing.T) {
	assert.Equal(t, "plans/a.yaml", Word("plans/a.yaml"))
	assert.Equal(t, `'it'\''s a plan'`, Word("it's a plan"))
	assert.Equal(t, "''", Word(""))
	assert.Equal(t, []string{"a-b", "./-x", "./--x", "-"}, []string{Operand("a-b"), Operand("-x"), Operand("--x"), Operand("-")})
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[^\x00]{0,12}`).Draw(t, "word")
		got, err := exec.Command(sh, "-c", "printf %s "+Word(s)).Output()
		require.NoError(t, err)
		require.Equal(t, s, string(got))
	})
}
