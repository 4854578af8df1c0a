package sim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/sim"
)

// That a goroutine is left does not hide what the body has found.
func TestTheBodysErrorBesideAGoroutineThatIsLeft(t *testing.T) {
	found := errors.New("what the body has found")
	_, err := sim.Run(sim.Config{}, func(w *sim.World) error {
		w.Node("n", func(*sim.Process) { <-make(chan int) }).Start()
		w.Step(time.Second, nil)
		return found
	})
	assert.ErrorIs(t, err, found)
	assert.ErrorIs(t, err, sim.ErrNotEnded)
}
