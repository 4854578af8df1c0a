package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// What a file or a server says does not steer the terminal that it is printed on.
func TestTextDoesNotSteerATerminal(t *testing.T) {
	const evil, plain = "a\u202eb\x1b[31mc\x07\x7f\u0085\u2066", `a\u202eb\x1b[31mc\a\x7f\u0085\u2066`
	assert.Equal(t, plain, Visible(evil, false))
	assert.Equal(t, "größe\t☃\n", Visible("größe\t☃\n", false))

	var out bytes.Buffer
	p := &Printer{W: &out}
	p.Line("  %s", evil)
	assert.Equal(t, "  "+plain+"\n", out.String())

	out.Reset()
	p = &Printer{W: &out, colors: true}
	p.Line("%s %s", p.Paint(Red, "FOUND"), "x\x1b]0;title\x07")
	assert.Equal(t, "\x1b[31mFOUND\x1b[0m x\\x1b]0;title\\a\n", out.String(), "colours alone stay")

	out.Reset()
	report(&strictyaml.Error{File: "p.yaml", Line: 1, Column: 1, Message: "no " + evil, Source: evil}, &out)
	assert.Contains(t, out.String(), "no "+plain)
	assert.Contains(t, out.String(), "1 | "+plain)

	out.Reset()
	require.NoError(t, (&Table{Heads: []string{"A"}, Rows: [][]string{{evil[:7]}}}).Write(&out))
	assert.Equal(t, "A\n"+`a\u202eb\x1b[`+"\n", out.String())
}
