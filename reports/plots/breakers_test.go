package plots

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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

func TestBreakersHaveARowEachInTheirOrder(t *testing.T) {
	list := breakersOf(storm, 60)
	var names []string
	for _, b := range list {
		names = append(names, b.name)
	}
	assert.Equal(t, []string{"scheduler-1", "scheduler-2", "scheduler-10"}, names)
	assert.Equal(t, []breakerSpan{
		{from: 0, to: 10, state: "closed"}, {from: 10, to: 40, state: "open"}, {from: 40, to: 42, state: "half-open"}, {from: 42, to: 60, state: "closed"},
	}, list[2].spans)
	assert.Equal(t, "30 s", list[2].openFor())
	assert.True(t, list[0].spans[1].alone)

	both := breakersOf(append(storm, scenarios.BreakerChange{At: 50 * time.Second, Node: "scheduler-1", Circuit: "output", State: "open"}), 60)
	assert.Len(t, both, 4)
	assert.Equal(t, "scheduler-1 output", both[0].name)
}
