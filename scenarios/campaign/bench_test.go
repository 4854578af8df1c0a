package campaign

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// BenchmarkRun measures campaigns of 400 drawn plans in pairs, with one worker and with two: runs a
// second of each, and their ratio. `go test -bench Run -benchtime 5x` gives five pairs; nothing else
// should run meanwhile.
func BenchmarkRun(b *testing.B) {
	const runs = 400
	spec := Spec{Version: SpecVersion, Name: "bench", Seed: 1, Runs: runs, Drawn: &Drawn{Presets: []string{plans.PresetDocumented, plans.PresetHardened}}}
	took := map[int]time.Duration{}
	for n := 0; b.Loop(); n++ {
		for _, workers := range []int{1, 2} {
			dir := filepath.Join(b.TempDir(), fmt.Sprint(n, "-", workers))
			require.NoError(b, Create(dir, spec))
			began := time.Now()
			res, err := Run(context.Background(), dir, Options{Workers: workers, Command: worker("")})
			took[workers] += time.Since(began)
			require.NoError(b, err)
			require.Equal(b, runs, res.Runs)
		}
	}
	total := float64(runs * b.N)
	b.ReportMetric(total/took[1].Seconds(), "runs/s-1")
	b.ReportMetric(total/took[2].Seconds(), "runs/s-2")
	b.ReportMetric(took[1].Seconds()/took[2].Seconds(), "ratio")
}
