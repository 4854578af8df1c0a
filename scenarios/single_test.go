package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

var everyWorld = flag.Bool("single.all", false, "strike the larger worlds of TestEverySingleFault as well")

// Each operation of a run is struck by each effect that can strike it, and its node by a crash, a pause and a
// failover as it ends. No promise breaks by that, and no more of these plans than the table says break an invariant
// outside of its promise.
func TestEverySingleFault(t *testing.T) {
	const about = -1
	for i, w := range []struct {
		scenario, preset string
		jobs             int // of the workload; 0: as in the scenario; about: struck are the jobs alone that it is about
		plans, excused   int // at most so many are excused
	}{
		{"calm", plans.PresetHardened, 2, 472, 73},
		{"calm", plans.PresetDocumented, 2, 416, 108},
		{"saga-rollback", plans.PresetHardened, 0, 1021, 180},
		{"illegal-result", plans.PresetHardened, about, 210, 41},
		{"cancel-before-record", plans.PresetHardened, about, 815, 56},
		{"policy-throttle", plans.PresetHardened, about, 376, 78},
		{"replay", plans.PresetHardened, about, 297, 42},
	} {
		t.Run(w.scenario+"/"+w.preset, func(t *testing.T) {
			if i > 0 && !*everyWorld {
				t.Skip("-single.all takes it in")
			}
			calm, err := plans.Load(w.scenario)
			require.NoError(t, err)
			require.NoError(t, calm.Set("preset="+w.preset))
			if w.jobs > 0 {
				calm.Workload.Jobs, calm.About = w.jobs, nil
			}
			ran, excused, by := 0, 0, map[string]int{}
			for _, op := range operationsOf(t, calm) {
				if w.jobs == about && !slices.Contains(calm.About, op.job) {
					continue
				}
				for _, f := range strikesOn(op) {
					p := calm.Clone()
					p.Expect, p.Faults = plans.Expect{}, append(p.Faults, f)
					require.NoError(t, p.Validate())
					res, err := Run(context.Background(), p, RunOptions{Drawn: true})
					require.NoError(t, err)
					ran++
					assert.NotEqual(t, Violated, res.Verdict, "%s on %s of job %d, occurrence %d: %s", f.Do, op.phase.Name, op.job, op.occurrence, res.Reason)
					broken := map[string]bool{}
					for _, v := range res.Violations {
						broken[fmt.Sprintf("%s by %s on %s", v.Invariant, f.Do, op.phase.Name)] = true
					}
					if len(broken) > 0 {
						excused++
					}
					for b := range broken {
						by[b]++
					}
				}
			}
			t.Logf("%d plans, %d excused", ran, excused)
			for _, b := range slices.Sorted(maps.Keys(by)) {
				t.Logf("%d %s", by[b], b)
			}
			assert.GreaterOrEqual(t, ran, w.plans)
			assert.LessOrEqual(t, excused, w.excused)
		})
	}
}

// operation is one that a calm run shows.
type operation struct {
	phase           faults.Phase
	job, occurrence int
}

func operationsOf(t *testing.T, p *plans.Plan) (list []operation) {
	phases := map[string]faults.Phase{}
	for _, phase := range p.Phases() {
		phases[phase.Name] = phase
	}
	var trace bytes.Buffer
	_, err := Run(context.Background(), p, RunOptions{Source: p.Name, Trace: &trace})
	require.NoError(t, err)
	for line := range strings.Lines(trace.String()) {
		var e struct {
			Job, Phase string
			N          int
		}
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		op := operation{phase: phases[e.Phase], occurrence: e.N}
		if op.phase.Name == "" || e.N == 0 {
			continue
		}
		if !op.phase.NoJob {
			var ok bool
			if op.job, ok = plans.JobNumber(e.Job); !ok {
				continue // of a step, or a compensation, which has no number
			}
		}
		if !slices.Contains(list, op) {
			list = append(list, op)
		}
	}
	return list
}

func strikesOn(op operation) (list []faults.Fault) {
	at := &faults.Match{Job: op.job, Phase: op.phase.Name, Occurrence: op.occurrence}
	for _, k := range faults.Kinds() {
		if k.OnNode() || !k.Strikes(op.phase) {
			continue
		}
		f := faults.Fault{On: at, Do: k.Effect}
		if k.Effect == faults.Late {
			f.For = 90 * time.Second
		}
		list = append(list, f)
	}
	return append(list,
		faults.Fault{After: at, Do: faults.Crash, Node: faults.Actor, RestartIn: 5 * time.Second},
		faults.Fault{After: at, Do: faults.Pause, Node: faults.Actor, For: 90 * time.Second},
		faults.Fault{After: at, Do: faults.Failover, Node: "redis", Lag: 500 * time.Millisecond})
}
