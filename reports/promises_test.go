package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants"
)

func TestThePageOfPromisesHasEveryCell(t *testing.T) {
	var page bytes.Buffer
	require.NoError(t, PromisesPage(&page))
	rows := invariants.Promises()
	assert.Equal(t, len(rows)*len(invariants.StrikeKinds()), strings.Count(page.String(), `<td class="promise `))
	for _, p := range rows {
		assert.Contains(t, page.String(), `<article id="`+p.Invariant+`">`)
	}
	for _, sign := range []string{"●", "◐", "×"} {
		assert.Contains(t, page.String(), sign)
	}
}
