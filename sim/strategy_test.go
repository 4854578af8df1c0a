package sim_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// race runs one process for each of the numbers, each of which does three things, and returns who
// did what in which order.
func race(t *testing.T, seed uint64, runners ...int) (order []string) {
	t.Helper()
	_, err := sim.Run(sim.Config{Seed: seed, Strategy: sim.Random{}}, func(w *sim.World) error {
		left := len(runners)
		for _, n := range runners {
			w.Node("runner-"+strconv.Itoa(n), func(p *sim.Process) {
				for _, leg := range []string{"first", "second", "third"} {
					_ = p.Do(p.Context(), "leg", leg, "", func() error {
						order = append(order, p.Node()+" "+leg)
						return nil
					})
				}
				left--
			}).Start()
		}
		require.Equal(t, sim.StopDone, w.Step(time.Minute, func() bool { return left == 0 }))
		return nil
	})
	require.NoError(t, err)
	return order
}

// What shrinking lives on: to leave something out changes nothing else.
func TestALeftOutOperationMovesNoOtherChoice(t *testing.T) {
	for seed := range uint64(10) {
		all := race(t, seed, 1, 2, 3, 4)
		require.Len(t, all, 12)
		for _, out := range []int{1, 2, 3, 4} {
			rest := slices.DeleteFunc([]int{1, 2, 3, 4}, func(n int) bool { return n == out })
			want := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s[:len("runner-1")] == "runner-"+strconv.Itoa(out) })
			assert.Equal(t, want, race(t, seed, rest...), "seed %d without runner %d", seed, out)
		}
	}
}

func TestRandomReachesEveryOrder(t *testing.T) {
	firsts, orders := map[string]int{}, map[string]bool{}
	for seed := range uint64(120) {
		order := race(t, seed, 1, 2, 3)
		firsts[order[0]]++
		orders[order[0]+order[3]+order[6]] = true
	}
	assert.Len(t, firsts, 3)
	for who, n := range firsts {
		assert.InDelta(t, 40, n, 20, who)
	}
	assert.Greater(t, len(orders), 15)
}
