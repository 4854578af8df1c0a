package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestATableIsAsWideAsTheTerminal(t *testing.T) {
	table := &Table{
		Heads: []string{"NAME", "ALLOWED", "MEANING"},
		Rows: [][]string{
			{"short", "1 to 10", "how often a relay looks for entries that are due"},
			{"größe", "", "one word"},
		},
	}
	for columns, want := range map[int]string{
		0: "NAME   ALLOWED  MEANING\n" +
			"short  1 to 10  how often a relay looks for entries that are due\n" +
			"größe           one word\n",
		40: "NAME   ALLOWED  MEANING\n" +
			"short  1 to 10  how often a relay looks\n" +
			"                for entries that are due\n" +
			"größe           one word\n",
		20: "NAME short\n  ALLOWED  1 to 10\n  MEANING  how often\n           a relay\n           looks for\n           entries\n           that are\n           due\nNAME größe\n  MEANING  one word\n",
	} {
		var out bytes.Buffer
		require.NoError(t, table.write(&out, columns))
		assert.Equal(t, want, out.String(), "%d columns", columns)
		for line := range strings.Lines(out.String()) {
			assert.True(t, columns == 0 || utf8.RuneCountInString(line) <= columns+1, "%d columns: %q", columns, line)
		}
	}

	table.Heads, table.Command = []string{"NAME", "ALLOWED", "SEE IT"}, "SEE IT"
	var out bytes.Buffer
	require.NoError(t, table.write(&out, 40))
	assert.Contains(t, out.String(), "  SEE IT   how often a relay looks for entries that are due\n", "a command stays whole")
}
