package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
)

func TestThePageOfPromisesHasEveryCell(t *testing.T) {
	var page bytes.Buffer
	require.NoError(t, PromisesPage(&page))
	rows := judge.Promises()
	assert.Equal(t, len(rows)*len(history.Strikes), strings.Count(page.String(), `<td class="promise `))
	for _, p := range rows {
		assert.Contains(t, page.String(), `<article id="`+p.Invariant+`">`)
	}
	for _, sign := range []string{"●", "◐", "×"} {
		assert.Contains(t, page.String(), sign)
	}
}
