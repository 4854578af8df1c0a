package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// commands runs n Redis writes spread over four nodes, and returns the steps it took.
func commands(tb testing.TB, n int, ungated bool) int {
	sum, err := sim.Run(sim.Config{Seed: 1, Ungated: ungated}, func(w *sim.World) error {
		done := 0
		for i := range 4 {
			w.Node(fmt.Sprintf("node-%d", i), func(p *sim.Process) {
				for k := range n / 4 {
					p.Redis().HSet(p.Context(), "h:"+p.Node(), "f", k)
				}
				done++
			}).Start()
		}
		w.Step(time.Hour, func() bool { return done == 4 })
		return nil
	})
	require.NoError(tb, err)
	return sum.Steps
}

func BenchmarkGated(b *testing.B) {
	for range b.N {
		commands(b, 4000, false)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*4000), "ns/op-in-world")
}

func BenchmarkUngated(b *testing.B) {
	for range b.N {
		commands(b, 4000, true)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*4000), "ns/op-in-world")
}

func BenchmarkEmptyWorld(b *testing.B) {
	for b.Loop() {
		_, err := sim.Run(sim.Config{}, func(*sim.World) error { return nil })
		require.NoError(b, err)
	}
}
