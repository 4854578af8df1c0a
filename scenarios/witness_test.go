package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/promises"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/sim"
)

// witness shows that one kind of strike is rightly in one exception of the promise matrix. Its plan breaks the invariant
// by strikes of that kind alone, and does not without them; and under its settings no other exception of the row has
// that kind.
type witness struct {
	Invariant string `yaml:"invariant"`
	Strike    string `yaml:"strike"`
	Without   string `yaml:"without,omitempty"` // what closes the exception; "" where nothing does
	Plan      string `yaml:"plan"`              // in testdata/witnesses
}

type exception = invariants.Exception[config.Config]

const (
	witnessFile  = "testdata/witnesses.yaml"
	witnessPlans = "testdata/witnesses"
)

func (w witness) String() string {
	if w.Without == "" {
		return w.Invariant + " under " + w.Strike
	}
	return w.Invariant + " under " + w.Strike + " without " + w.Without
}

// exceptions are the pairs of an exception and a kind of strike in the promise matrix: witnesses without their plans.
func exceptions(t *testing.T) map[witness]bool {
	open := map[witness]bool{}
	for name, row := range promises.Matrix {
		for _, e := range row.Except {
			for _, k := range history.Strikes.List(e.By) {
				w := witness{name, k.String(), without(e), ""}
				require.False(t, open[w], "%s is there twice", w)
				open[w] = true
			}
		}
	}
	return open
}

// without names an exception by the mechanisms that close it.
func without(e exception) string {
	var names []string
	for _, m := range e.But {
		names = append(names, cmp.Or(m.Name, m.String()))
	}
	return strings.Join(names, ", or ")
}

// applying are the exceptions of a row that have a kind of strike under the plan's settings.
func applying(p *plans.Plan, invariant string, k invariants.StrikeKind) (names []string) {
	cfg := scheduler.JudgeConfig(p)
	for _, e := range promises.Matrix[invariant].Except {
		closed := slices.ContainsFunc(e.But, func(m invariants.Mechanism[config.Config]) bool { return m.On(&cfg) })
		if e.By&history.Strikes.Set(k) != 0 && !closed {
			names = append(names, without(e))
		}
	}
	return names
}

func readWitnesses(t *testing.T) (list []witness) {
	data, err := os.ReadFile(witnessFile)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &list))
	return list
}

// judgeAlone runs a plan and returns what its judge says, whatever the plan expects.
func judgeAlone(p *plans.Plan) (invariants.Report, error) {
	if err := p.Validate(); err != nil {
		return invariants.Report{}, err
	}
	r := newRun(context.Background(), p, RunOptions{Drawn: true})
	_, err := sim.Run(r.config(), r.play)
	return r.report, err
}

func outcomeOf(r *invariants.Report, name string) *invariants.Outcome {
	for i := range r.Invariants {
		if r.Invariants[i].Name == name {
			return &r.Invariants[i]
		}
	}
	return nil
}

// kindsOf are the kinds of strike that a fault of the plan can be.
func kindsOf(p *plans.Plan, f faults.Fault) (list []invariants.StrikeKind) {
	var events []sim.Event
	control := func(verb, node string) {
		events = append(events, sim.Event{Kind: sim.KindControl, Name: verb, Target: node})
	}
	nodes := []string{f.Node}
	if f.Node == faults.Actor {
		nodes = p.Topology.Actors(f.After.Phase)
	}
	switch {
	case f.On != nil:
		events = append(events, sim.Event{Kind: sim.KindRedis, Fault: string(f.Do), Phase: f.On.Phase})
	case f.Do == faults.Restart:
		control("stop", faults.NATS)
	case f.Do == faults.PowerLoss:
		control("stop", faults.NATS)
		control("power-loss", faults.NATS)
	case f.Do == faults.Partition && f.From == "heartbeats":
		control("partition", f.Node)
	case f.Do == faults.Partition:
		control("partition "+f.From, f.Node)
	default:
		for _, node := range nodes {
			control(string(f.Do), node)
		}
	}
	for i := range events {
		if s, ok := history.StrikeOf(&events[i]); ok {
			list = append(list, s.Kind)
		}
	}
	return list
}

// only returns the plan with those of its faults that are, or are not, of a kind.
func only(p *plans.Plan, k invariants.StrikeKind, is bool) *plans.Plan {
	q := p.Clone()
	q.Faults = slices.DeleteFunc(q.Faults, func(f faults.Fault) bool { return slices.Contains(kindsOf(p, f), k) != is })
	return q
}

// shows says why the plan is no witness.
func shows(p *plans.Plan, w witness) error {
	k := invariants.StrikeKind(w.Strike)
	if names := applying(p, w.Invariant, k); len(names) != 1 || names[0] != w.Without {
		return fmt.Errorf("under its settings these exceptions have the strike: %q", names)
	}
	r, err := judgeAlone(p)
	if err != nil {
		return err
	}
	o := outcomeOf(&r, w.Invariant)
	if o.Unprovided {
		return fmt.Errorf("its settings promise nothing")
	}
	if !slices.ContainsFunc(o.Violations, func(v invariants.Violation) bool { return releasedBy(o, v) == history.Strikes.Set(k) }) {
		return fmt.Errorf("it does not break it by that alone")
	}
	if r, err = judgeAlone(only(p, k, false)); err != nil {
		return err
	}
	if n := len(outcomeOf(&r, w.Invariant).Violations); n > 0 {
		return fmt.Errorf("it breaks it without such a strike, too")
	}
	return nil
}

// releasedBy are the kinds of strike that put a violation outside of the promise.
func releasedBy(o *invariants.Outcome, v invariants.Violation) invariants.Kinds {
	return history.StrikesOf(v.Struck...) & history.StrikesOf(o.Released...)
}

// Every exception in the promise matrix has a witness for each of its kinds, and nothing else has. What nothing needs is
// promised: if that is wrong, it comes back as a false alarm of random plans, whose shrunk plan is the witness.
func TestEveryExceptionHasAWitness(t *testing.T) {
	open := exceptions(t)
	used := map[string]bool{}
	for _, w := range readWitnesses(t) {
		cell := w
		cell.Plan = ""
		assert.True(t, open[cell], "%s is promised, or has two witnesses", w)
		delete(open, cell)
		used[w.Plan+".yaml"] = true
		p, err := plans.Load(filepath.Join(witnessPlans, w.Plan+".yaml"))
		require.NoError(t, err)
		assert.NoError(t, shows(p, w), "%s, by %s", w, w.Plan)
	}
	for w := range open {
		assert.Fail(t, "a release without a witness", w.String())
	}
	files, err := os.ReadDir(witnessPlans)
	require.NoError(t, err)
	for _, f := range files {
		assert.True(t, used[f.Name()], "%s is no witness", f.Name())
	}
}
