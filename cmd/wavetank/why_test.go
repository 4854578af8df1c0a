package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// A search that was cut short has not found that nothing is to blame.
func TestWhatWhyFailsWith(t *testing.T) {
	strike := why.Tried{What: why.Strike, Says: "crash of worker-1 at 10s"}
	assert.EqualError(t, notFound(&why.Cause{Tried: []why.Tried{strike}}), "the violation comes in spite of every change: no fault and no setting is necessary")
	assert.EqualError(t, notFound(&why.Cause{Tried: []why.Tried{strike}, Unknown: []string{"without x"}}), "no cause was found, and what comes with 1 change is not known")
	assert.ErrorContains(t, notFound(&why.Cause{Tried: []why.Tried{strike}, Hardened: why.Holds, Undivided: true}), "the preset hardened prevents the violation, but which of its parts do is not known")
	strike.Needed = true
	assert.NoError(t, notFound(&why.Cause{Tried: []why.Tried{strike}, Unknown: []string{"without x"}}))
}
