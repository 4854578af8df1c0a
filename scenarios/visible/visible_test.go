package visible

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const evil, written = "a\u202eb\x1b[31mc\x07\x7f\u0085\u2066\u200f", `a\u202eb\x1b[31mc\a\x7f\u0085\u2066\u200f`

func TestWhatSteersIsWrittenOut(t *testing.T) {
	assert.Equal(t, written, Text(evil))
	assert.Equal(t, "größe\t☃ שלום\n", Text("größe\t☃ שלום\n"), "letters stay, of whichever direction")
}

// Who reads the document gets the text written out, and not what its escapes mean.
func TestADocumentIsAsVisible(t *testing.T) {
	const turned = "a\u202eb\u2066\\"
	document, err := json.Marshal(map[string]string{"k": turned})
	require.NoError(t, err)
	var read map[string]string
	require.NoError(t, json.Unmarshal(JSON(document), &read))
	assert.Equal(t, Text(turned), read["k"])
}
