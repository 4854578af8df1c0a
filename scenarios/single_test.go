package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

var (
	everyWorld = flag.Bool("single.all", false, "strike the larger worlds of TestEverySingleFault as well")
	varied     = flag.Int("single.varied", 1, "how many of all strikes of other lengths, on other nodes and on servers are tried at each operation")
)

// Each operation of a run is struck by each effect that can strike it, and its node by a crash, a pause and a
// failover as it ends. No promise breaks by that, and no more of these plans than the table says break an invariant
// outside of its promise. Nor does one break by strikes of other lengths, on other nodes and on servers, of which some
// are drawn for each operation.
func TestEverySingleFault(t *testing.T) {
	const about = -1
	for i, w := range []struct {
		scenario, preset string
		jobs             int // of the workload; 0: as in the scenario; about: struck are the jobs alone that it is about
		plans, excused   int // at most so many are excused; no plans: only varied strikes are tried
	}{
		{"calm", plans.PresetHardened, 2, 472, 73},
		{"calm", plans.PresetDocumented, 2, 416, 108},
		{"saga-rollback", plans.PresetHardened, 0, 1021, 177},
		{"illegal-result", plans.PresetHardened, about, 210, 41},
		{"cancel-before-record", plans.PresetHardened, about, 815, 56},
		{"policy-throttle", plans.PresetHardened, about, 376, 78},
		{"replay", plans.PresetHardened, about, 297, 42},
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
			sites := operationsOf(t, p)
			if w.jobs == about {
				sites = slices.DeleteFunc(sites, func(op operation) bool { return !slices.Contains(p.About, op.job) })
			}
			t.Run("effects", func(t *testing.T) {
				if i > 0 && !*everyWorld || w.plans == 0 {
					t.Skip("-single.all takes in those that the table counts")
				}
				ran, excused := strikeEach(t, p, sites, strikesOn)
				assert.GreaterOrEqual(t, ran, w.plans)
				assert.LessOrEqual(t, excused, w.excused)
			})
			t.Run("varied", func(t *testing.T) {
				if w.scenario != "calm" && !*everyWorld {
					t.Skip("-single.all takes it in")
				}
				strikeEach(t, p, sites, func(op operation) (drawn []faults.Fault) {
					all, key := strikesAt(p, op), fnv.New64a()
					fmt.Fprint(key, op.phase.Name, op.job, op.occurrence)
					for _, n := range rand.New(rand.NewPCG(key.Sum64(), 1)).Perm(len(all))[:min(*varied, len(all))] {
						drawn = append(drawn, all[n])
					}
					return drawn
				})
			})
		})
	}
}

// strikeEach runs the plan with each strike on each operation. It returns how many plans there were, and how many broke
// an invariant outside of its promise.
func strikeEach(t *testing.T, calm *plans.Plan, sites []operation, strikes func(operation) []faults.Fault) (ran, excused int) {
	by := map[string]int{}
	for _, op := range sites {
		for _, f := range strikes(op) {
			p := calm.Clone()
			p.Expect, p.Faults = plans.Expect{}, append(p.Faults, f)
			require.NoError(t, p.Validate())
			res, err := Run(context.Background(), p, RunOptions{Drawn: true})
			require.NoError(t, err)
			ran++
			assert.NotEqual(t, Violated, res.Verdict, "%s: %s", f, res.Reason)
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
	return ran, excused
}

// operation is one that a calm run shows.
type operation struct {
	phase           faults.Phase
	job, occurrence int
	at              time.Duration
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
			At         time.Duration `json:"at_ns"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		op := operation{phase: phases[e.Phase], occurrence: e.N, at: e.At}
		if op.phase.Name == "" || e.N == 0 {
			continue
		}
		if !op.phase.NoJob {
			var ok bool
			if op.job, ok = plans.JobNumber(e.Job); !ok {
				continue // of a step, or a compensation, which has no number
			}
		}
		same := func(o operation) bool {
			return o.phase.Name == op.phase.Name && o.job == op.job && o.occurrence == op.occurrence
		}
		if !slices.ContainsFunc(list, same) {
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

// strikesAt lists strikes of several lengths: on the operation, and as it ends on each node and server. A partition
// begins at a time, and not after an operation: at the time that the operation has without faults.
func strikesAt(p *plans.Plan, op operation) (list []faults.Fault) {
	after := &faults.Match{Job: op.job, Phase: op.phase.Name, Occurrence: op.occurrence}
	const s, m = time.Second, time.Minute
	for _, f := range strikesOn(op) {
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
				list = append(list, faults.Fault{At: op.at + 1, Do: faults.Partition, Node: node, From: link.Name, For: long})
			}
		}
	}
	for _, away := range []time.Duration{s, 2 * m, 7 * m} {
		list = append(list, faults.Fault{After: after, Do: faults.Restart, Node: faults.NATS, For: away},
			faults.Fault{After: after, Do: faults.PowerLoss, Node: faults.NATS, For: away, Lag: s})
	}
	return append(list, faults.Fault{After: after, Do: faults.Failover, Node: faults.Redis, Lag: 10 * s})
}
