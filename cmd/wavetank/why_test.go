package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// A search that was cut short has not found that nothing is to blame.
func TestWhatWhyFailsWith(t *testing.T) {
	strike := why.Tried{What: why.Strike, Says: "crash of worker-1 at 10s"}
	assert.EqualError(t, notFound(&why.Cause{Tried: []why.Tried{strike}}), "the violation comes whatever is changed: no fault and no setting is necessary")
	assert.EqualError(t, notFound(&why.Cause{Tried: []why.Tried{strike}, Unknown: []string{"without x"}}), "no cause was found, and of 1 change it is not known what comes")
	assert.ErrorContains(t, notFound(&why.Cause{Tried: []why.Tried{strike}, Hardened: why.Holds, Undivided: true}), "the preset hardened prevents it, and which parts of that it takes is not known")
	strike.Needed = true
	assert.NoError(t, notFound(&why.Cause{Tried: []why.Tried{strike}, Unknown: []string{"without x"}}))
}
