package reports

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
)

// storm is three replicas whose breakers open together, and one that goes on alone.
var storm = []scenarios.BreakerChange{
	{At: 10 * time.Second, Node: "scheduler-10", Circuit: "safety", State: "open"},
	{At: 11 * time.Second, Node: "scheduler-2", Circuit: "safety", State: "open"},
	{At: 15 * time.Second, Node: "scheduler-1", Circuit: "safety", State: "closed", Alone: true},
	{At: 40 * time.Second, Node: "scheduler-10", Circuit: "safety", State: "half-open"},
	{At: 42 * time.Second, Node: "scheduler-10", Circuit: "safety", State: "closed"},
}

func TestBreakersAreDrawnWhereThereAreAny(t *testing.T) {
	tp := publishFailure()
	assert.Len(t, tp.figures(), 3)
	tp.res.Breakers = storm
	figures := tp.figures()
	require.Len(t, figures, 4)
	f := figures[3]
	assert.Equal(t, "Circuit breakers of each replica", f.Title)
	assert.Len(t, f.Legend, 5)
	require.Len(t, f.SVGs, 2)
	for _, svg := range f.SVGs {
		for _, name := range []string{"scheduler-1", "scheduler-2", "scheduler-10"} {
			assert.Contains(t, string(svg), name)
		}
		assert.True(t, strings.Contains(string(svg), "scheduler-10 was open for 30 s"))
	}
}
