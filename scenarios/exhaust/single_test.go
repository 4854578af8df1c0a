package exhaust

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

var (
	everyWorld = flag.Bool("single.all", false, "strike every world of TestEverySingleFault by everything")
	varied     = flag.Int("single.varied", 1, "how many of all strikes of other lengths, on other nodes and on servers are tried at each operation")
)

// Each operation of a run is struck alone by everything that can strike it. No promise breaks by that, and no more of these
// plans than the table says break an invariant outside of its promise. Nor does one break by strikes of other lengths, of
// several operations in a row, on other nodes and on clocks, of which some are drawn for each operation.
func TestEverySingleFault(t *testing.T) {
	const about = -1
	for _, w := range []struct {
		scenario, preset string
		jobs             int // of the workload; 0: as in the scenario; about: struck are the jobs alone that it is about
		plans, outside   int // at most so many are outside of a promise; no plans: only varied strikes are tried
	}{
		{"calm", plans.PresetHardened, 2, 1193, 93},
		{"calm", plans.PresetDocumented, 2, 1051, 330},
		{"saga-rollback", plans.PresetHardened, 0, 1611, 198},
		{"illegal-result", plans.PresetHardened, about, 334, 55},
		{"cancel-before-record", plans.PresetHardened, about, 1374, 60},
		{"policy-throttle", plans.PresetHardened, about, 660, 103},
		{"replay", plans.PresetHardened, about, 458, 72},
		{"saga-rollback", plans.PresetDocumented, 0, 0, 0},
		{"illegal-result", plans.PresetDocumented, about, 0, 0},
		{"cancel-before-record", plans.PresetDocumented, about, 0, 0},
		{"policy-throttle", plans.PresetDocumented, about, 0, 0},
		{"replay", plans.PresetDocumented, about, 0, 0},
	} {
		t.Run(w.scenario+"/"+w.preset, func(t *testing.T) {
			p, err := plans.Load(w.scenario)
			require.NoError(t, err)
			require.NoError(t, p.Set("preset="+w.preset))
			if w.jobs > 0 {
				p.Workload.Jobs, p.About = w.jobs, nil
			}
			certified := w.scenario == "calm" && w.preset == plans.PresetHardened // as by make exhaust
			p.Topology.Deduplicate = certified
			d, err := Define(t.Context(), p, Options{})
			require.NoError(t, err)
			struck := func(s *Site) bool { return w.jobs != about || slices.Contains(p.About, s.Job) }
			t.Run("effects", func(t *testing.T) {
				if !*everyWorld || w.plans == 0 {
					t.Skip("-single.all takes in those that the table counts; the first of them has a certificate")
				}
				var list []faults.Fault
				for _, try := range d.Tries {
					if struck(&d.Sites[try.Site]) {
						list = append(list, try.Fault)
					}
				}
				assert.GreaterOrEqual(t, len(list), w.plans)
				outside, cells := strike(t, p, list)
				for _, cell := range cells {
					assert.True(t, !certified || cell.Status == string(invariants.Impossible), "%s: %s", cell.Strike, cell.Status)
				}
				assert.LessOrEqual(t, outside, w.outside)
			})
			t.Run("varied", func(t *testing.T) {
				if w.scenario != "calm" && !*everyWorld {
					t.Skip("-single.all takes it in")
				}
				var drawn []faults.Fault
				for i := range d.Sites {
					s := &d.Sites[i]
					if !struck(s) {
						continue
					}
					all, key := variedAt(p, d, i), fnv.New64a()
					fmt.Fprint(key, s.Phase, s.Job, s.Occurrence)
					for _, n := range rand.New(rand.NewPCG(key.Sum64(), 1)).Perm(len(all))[:min(*varied, len(all))] {
						drawn = append(drawn, all[n])
					}
				}
				strike(t, p, drawn)
			})
		})
	}
}

// strike runs the plan with each of the faults. It returns how many runs broke an invariant outside of its promise, and the
// cells of the promise matrix behind that.
func strike(t *testing.T, calm *plans.Plan, list []faults.Fault) (outside int, cells []invariants.Cell) {
	by := map[string]int{}
	for _, f := range list {
		p := calm.Clone()
		p.Expect, p.Faults = plans.Expect{}, append(p.Faults, f)
		require.NoError(t, p.Validate())
		res, err := scenarios.Run(context.Background(), p, scenarios.RunOptions{Drawn: true})
		require.NoError(t, err)
		assert.NotEqual(t, scenarios.Violated, res.Verdict, "%s: %s", f, res.Reason)
		broken := map[string]bool{}
		for _, v := range res.Violations {
			broken[fmt.Sprintf("%s by %s", v.Invariant, f.Do)] = true
		}
		for _, o := range campaign.RecordOf(0, p, res).Outside {
			cells = append(cells, cellsOf(o)...)
		}
		if len(broken) > 0 {
			outside++
		}
		for b := range broken {
			by[b]++
		}
	}
	t.Logf("%d plans, %d outside of a promise", len(list), outside)
	for _, b := range slices.Sorted(maps.Keys(by)) {
		t.Logf("%d %s", by[b], b)
	}
	return outside, cells
}

// variedAt lists strikes of several lengths: on the operation, and as it ends on each node and server. A partition
// begins at a time, and not after an operation: at the time that the operation has without faults.
func variedAt(p *plans.Plan, d *Definition, site int) (list []faults.Fault) {
	op := &d.Sites[site]
	after := op.match()
	const s, m = time.Second, time.Minute
	for _, try := range d.Tries {
		f := try.Fault
		if try.Site != site || f.On == nil {
			continue
		}
		for _, long := range []time.Duration{10 * s, 3 * m, 11 * m} {
			if f.For = long; f.Do == faults.Late {
				list = append(list, f)
			}
		}
		for _, times := range []int{3, 30, 2000} {
			if f.For, f.Times = 0, times; f.On != nil && f.Do != faults.Late {
				list = append(list, f)
			}
		}
	}
	for _, node := range p.Nodes() {
		for _, long := range []time.Duration{10 * s, 3 * m, 7 * m, 11 * m} {
			list = append(list, faults.Fault{After: after, Do: faults.Pause, Node: node, For: long})
		}
		for _, down := range []time.Duration{5 * s, 2 * m, 0} {
			list = append(list, faults.Fault{After: after, Do: faults.Crash, Node: node, RestartIn: down})
		}
		for _, by := range []time.Duration{-10 * m, m, 10 * m} {
			list = append(list, faults.Fault{After: after, Do: faults.Skew, Node: node, By: by, For: 5 * m})
		}
	}
	for _, link := range p.FaultWorld().Links {
		for _, node := range link.Nodes {
			for _, long := range []time.Duration{30 * s, 5 * m, 12 * m} {
				list = append(list, faults.Fault{At: op.At + 1, Do: faults.Partition, Node: node, From: link.Name, For: long})
			}
		}
	}
	for _, away := range []time.Duration{s, 2 * m, 7 * m} {
		list = append(list, faults.Fault{After: after, Do: faults.Restart, Node: faults.NATS, For: away},
			faults.Fault{After: after, Do: faults.PowerLoss, Node: faults.NATS, For: away, Lag: s})
	}
	return append(list, faults.Fault{After: after, Do: faults.Failover, Node: faults.Redis, Lag: 10 * s})
}
