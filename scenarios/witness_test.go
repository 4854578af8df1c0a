package scenarios

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/search"
	"github.com/wavetank-sim/wavetank/sim"
)

// witness shows that an exception of the promise matrix is none too many: a plan that breaks the invariant by strikes of
// one kind, and does not without them.
type witness struct {
	Invariant string `yaml:"invariant"`
	Strike    string `yaml:"strike"`
	Plan      string `yaml:"plan"` // in testdata/witnesses
}

const (
	witnessFile  = "testdata/witnesses.yaml"
	witnessPlans = "testdata/witnesses"
)

func (w witness) String() string { return w.Invariant + " under " + w.Strike }

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

// shows says whether the plan is a witness.
func shows(p *plans.Plan, invariant string, k invariants.StrikeKind) error {
	r, err := judgeAlone(p)
	if err != nil {
		return err
	}
	o := outcomeOf(&r, invariant)
	if o.Unprovided {
		return fmt.Errorf("its settings promise nothing")
	}
	if !slices.Contains(o.Released, k) {
		return fmt.Errorf("its settings make it no exception")
	}
	if !slices.ContainsFunc(o.Violations, func(v invariants.Violation) bool { return slices.Contains(v.Struck, k) }) {
		return fmt.Errorf("it does not break it by that")
	}
	if r, err = judgeAlone(only(p, k, false)); err != nil {
		return err
	}
	if n := len(outcomeOf(&r, invariant).Violations); n > 0 {
		return fmt.Errorf("it breaks it without such a strike, too")
	}
	return nil
}

// Every exception in the promise matrix has a witness, and nothing else has. What nothing needs is promised: if that is
// wrong, it comes back as a false alarm of random plans, whose shrunk plan is the witness.
func TestEveryExceptionHasAWitness(t *testing.T) {
	open := exceptions()
	used := map[string]bool{}
	for _, w := range readWitnesses(t) {
		k := invariants.StrikeKind(w.Strike)
		require.NotZero(t, history.Strikes.Set(k), w.String())
		assert.Contains(t, open, witness{w.Invariant, w.Strike, ""}, "%s is promised", w)
		delete(open, witness{w.Invariant, w.Strike, ""})
		used[w.Plan+".yaml"] = true
		p, err := plans.Load(filepath.Join(witnessPlans, w.Plan+".yaml"))
		require.NoError(t, err)
		assert.NoError(t, shows(p, w.Invariant, k), "%s, by %s", w, w.Plan)
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

// exceptions are the cells of the promise matrix that are not promised under all settings, without their plans.
func exceptions() map[witness]bool {
	open := map[witness]bool{}
	for _, p := range judge.Promises() {
		for _, c := range p.Cells {
			if c.Status != "promised" {
				open[witness{p.Invariant, c.Strike, ""}] = true
			}
		}
	}
	return open
}

var (
	searchFor  = flag.Duration("witness.search", 0, "look for witnesses for so long, and write them")
	searchOut  = flag.String("witness.out", "testdata", "where they are written")
	searchFrom = flag.String("witness.from", "", "look only among the plans of this folder")
	searchDo   = flag.String("witness.do", "", "look only among faults with this effect")
	searchSeed = flag.Uint64("witness.seed", 1, "where the search begins")
)

// With -witness.search it looks for witnesses that are missing: among the scenarios and the regressions first, and then
// among plans with single faults and drawn ones. It says what breaks a promise, which is a cell that is missing, or a
// mistake in the engine.
func TestSearchForWitnesses(t *testing.T) {
	if *searchFor == 0 {
		t.Skip("-witness.search says for how long")
	}
	s := &witnessSearch{t: t, open: exceptions(), random: rand.New(rand.NewPCG(*searchSeed, 1)), told: map[witness]bool{}}
	if _, err := os.Stat(witnessFile); err == nil {
		for _, w := range readWitnesses(t) {
			s.list = append(s.list, w)
			delete(s.open, witness{w.Invariant, w.Strike, ""})
		}
	}
	end := time.Now().Add(*searchFor)
	bases := s.bases()
	runs := 0
	try := func(p *plans.Plan) {
		if p != nil && time.Now().Before(end) {
			runs++
			s.try(p)
		}
	}
	if *searchFrom != "" {
		plans, problems := readCorpus(*searchFrom)
		t.Log(problems)
		for _, p := range plans {
			try(p)
		}
		return
	}
	s.neighbours(try)
	if *searchSeed == 1 {
		for _, p := range bases {
			try(p)
		}
	}
	for time.Now().Before(end) && len(s.open) > 0 {
		if s.random.IntN(6) == 0 {
			space := search.Space{}
			try(rapid.Custom(func(t *rapid.T) *plans.Plan { return search.Draw(t, space) }).Example(s.random.IntN(1 << 30)))
			continue
		}
		base := bases[s.random.IntN(len(bases))]
		if base.Preset == plans.PresetHardened && s.random.IntN(3) > 0 {
			continue // most of what is open is so without hardenings
		}
		try(s.single(base))
	}
	t.Logf("%d runs, %d witnesses, %d cells without", runs, len(s.list), len(s.open))
	for _, w := range slices.SortedFunc(maps.Keys(s.open), func(a, b witness) int { return strings.Compare(a.String(), b.String()) }) {
		t.Logf("none: %s", w)
	}
}

type witnessSearch struct {
	t      *testing.T
	open   map[witness]bool
	list   []witness
	told   map[witness]bool // promises that were seen broken
	random *rand.Rand
}

// bases are the scenarios in both presets, the regressions, and the witnesses so far, from which others are not far.
func (s *witnessSearch) bases() (list []*plans.Plan) {
	for _, name := range plans.Names() {
		for _, preset := range []string{plans.PresetDocumented, plans.PresetHardened} {
			p, err := plans.Load(name)
			require.NoError(s.t, err)
			require.NoError(s.t, p.Set("preset="+preset))
			if p.Workload.Jobs > 20 {
				continue
			}
			list = append(list, p)
		}
	}
	plans, _ := readCorpus(corpus)
	known, _ := readCorpus(witnessPlans)
	return slices.Concat(list, plans, known, known)
}

// neighbours are the witnesses of each invariant with a fault of another kind, one for which there is no witness yet.
func (s *witnessSearch) neighbours(try func(*plans.Plan)) {
	cells := slices.SortedFunc(maps.Keys(s.open), func(a, b witness) int { return strings.Compare(a.String(), b.String()) })
	s.random.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	for _, cell := range cells {
		k := invariants.StrikeKind(cell.Strike)
		bases := 0
		for _, w := range slices.Clone(s.list) {
			if w.Invariant != cell.Invariant || bases == 2 {
				continue
			}
			p, err := plans.Load(filepath.Join(witnessPlans, w.Plan+".yaml"))
			if err != nil {
				continue
			}
			bases++
			for _, f := range s.faultsOf(p, k) {
				q := p.Clone()
				q.Faults, q.Schedule.StepsMax = []faults.Fault{f}, 20_000
				if s.open[cell] && f.Validate(q.FaultWorld()) == nil && plans.CheckStrikes(q) == nil {
					try(q)
				}
			}
		}
	}
}

// faultsOf are faults of one kind of strike that the plan can have.
func (s *witnessSearch) faultsOf(p *plans.Plan, k invariants.StrikeKind) (list []faults.Fault) {
	for _, ph := range p.Phases() {
		for _, e := range faults.Kinds() {
			var f faults.Fault
			switch {
			case !e.OnNode() && e.Strikes(ph):
				f = faults.Fault{On: &faults.Match{Phase: ph.Name}, Do: e.Effect, Times: []int{0, 0, 3, 100}[s.random.IntN(4)]}
			case e.OnNode() && e.Effect != faults.Partition && ph.Place != faults.PlaceNone && !strings.HasSuffix(ph.Name, "_read"):
				f = faults.Fault{After: &faults.Match{Phase: ph.Name}, Do: e.Effect, Node: faults.Actor}
				if e.Server != "" {
					f.Node = e.Server
				}
			default:
				continue
			}
			switch e.Effect {
			case faults.Late, faults.Pause, faults.Restart:
				f.For = []time.Duration{10 * time.Second, 90 * time.Second}[s.random.IntN(2)]
			case faults.Skew:
				f.For, f.By = 7*time.Minute, []time.Duration{time.Hour, -time.Hour}[s.random.IntN(2)]
			case faults.Failover:
				f.Lag = time.Second
			case faults.PowerLoss:
				f.Lag, f.For = time.Second, time.Second
			case faults.Crash:
				f.RestartIn = []time.Duration{5 * time.Second, 0}[s.random.IntN(2)]
			}
			if slices.Contains(kindsOf(p, f), k) {
				list = append(list, f)
			}
		}
	}
	s.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(14, len(list))]
}

// single is a base with one fault more, or one instead of its own, and perhaps a part taken away; nil if that makes no
// plan.
func (s *witnessSearch) single(base *plans.Plan) *plans.Plan {
	p := base.Clone()
	p.Seed, p.Schedule.StepsMax = uint64(1+s.random.IntN(3)), 20_000
	if p.Workload.Jobs > 3 {
		_ = p.Set("workload.jobs=3")
	}
	if s.random.IntN(2) == 0 {
		p.Faults = nil
	}
	if toggles := plans.Toggles(); s.random.IntN(2) == 0 {
		toggle := toggles[s.random.IntN(len(toggles))]
		_ = p.Set(toggle.Setting + "=" + toggle.Off)
	}
	phases, kinds := p.Phases(), faults.Kinds()
	ph, k := phases[s.random.IntN(len(phases))], kinds[s.random.IntN(len(kinds))]
	if i := slices.IndexFunc(kinds, func(k faults.Kind) bool { return string(k.Effect) == *searchDo }); i >= 0 {
		k, p.Faults = kinds[i], nil
	}
	m := &faults.Match{Phase: ph.Name, Occurrence: s.random.IntN(3)}
	if !ph.NoJob && s.random.IntN(3) > 0 {
		m.Job = 1 + s.random.IntN(min(3, p.Workload.Jobs))
	}
	f := faults.Fault{Do: k.Effect}
	lasts := []time.Duration{time.Second, 10 * time.Second, 90 * time.Second, 7 * time.Minute}[s.random.IntN(4)]
	at := 2*plans.Boot + time.Duration(s.random.IntN(4000))*time.Millisecond
	switch {
	case !k.OnNode():
		f.On, f.Times = m, []int{0, 0, 3, 100}[s.random.IntN(4)]
	case k.Effect == faults.Partition:
		link := p.FaultWorld().Links[s.random.IntN(len(p.FaultWorld().Links))]
		f.At, f.From, f.Node = at, link.Name, link.Nodes[s.random.IntN(len(link.Nodes))]
	case k.Server != "":
		f.After, f.Node = m, k.Server
	default:
		f.After, f.Node = m, faults.Actor
		if s.random.IntN(2) == 0 {
			f.After, f.At, f.Node = nil, at, p.Nodes()[s.random.IntN(len(p.Nodes()))]
		}
	}
	switch k.Effect {
	case faults.Late, faults.Pause, faults.Partition, faults.Restart:
		f.For = lasts
	case faults.Skew:
		f.For, f.By = lasts, []time.Duration{time.Minute, -time.Minute, time.Hour, -time.Hour}[s.random.IntN(4)]
	case faults.Failover:
		f.Lag = lasts / 10
	case faults.PowerLoss:
		f.Lag, f.For = lasts/10, lasts
	case faults.Crash:
		f.RestartIn = lasts
	}
	p.Faults = append(p.Faults, f)
	p.Expect, p.About = plans.Expect{}, nil
	if f.Validate(p.FaultWorld()) != nil || plans.CheckStrikes(p) != nil || p.Validate() != nil {
		return nil
	}
	return p
}

// try runs a plan, and keeps it for each cell without a witness that it is one of.
func (s *witnessSearch) try(p *plans.Plan) {
	p.Expect, p.About = plans.Expect{}, nil
	r, err := judgeAlone(p)
	if err != nil {
		return
	}
	for _, o := range r.Invariants {
		tried := map[invariants.StrikeKind]bool{}
		for _, v := range o.Violations {
			if v.Promised && !s.told[witness{o.Name, "", ""}] {
				s.told[witness{o.Name, "", ""}] = true
				s.keep(p, "broken-"+o.Name+"-"+fmt.Sprint(*searchSeed), "/tmp/broken")
				s.t.Logf("BROKEN %s: %s (struck by %v)", o.Name, v.Message, v.Struck)
			}
			for _, k := range v.Struck {
				if !tried[k] && s.open[witness{o.Name, k.String(), ""}] && slices.Contains(o.Released, k) && !o.Unprovided {
					tried[k] = true
					s.reduce(p, o.Name, k)
				}
			}
		}
	}
}

// reduce makes a plan that may be a witness small, and keeps it if it is one.
func (s *witnessSearch) reduce(p *plans.Plan, invariant string, k invariants.StrikeKind) {
	best := only(p, k, true)
	if len(best.Faults) == 0 {
		return
	}
	if shows(best, invariant, k) != nil {
		best = p
		if shows(best, invariant, k) != nil {
			return
		}
	}
	name := invariant + "-" + k.String()
	s.keep(best, name, filepath.Join(*searchOut, "witnesses"))
	w := witness{invariant, k.String(), ""}
	delete(s.open, w)
	w.Plan = name
	s.list = append(s.list, w)
	slices.SortFunc(s.list, func(a, b witness) int { return strings.Compare(a.String(), b.String()) })
	data, err := yaml.Marshal(s.list)
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(filepath.Join(*searchOut, "witnesses.yaml"), data, 0o644))
}

func (s *witnessSearch) keep(p *plans.Plan, name, dir string) {
	require.NoError(s.t, os.MkdirAll(dir, 0o755))
	q := p.Clone()
	q.Name, q.Story = name, ""
	text, err := plans.Marshal(q)
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, name+".yaml"), text, 0o644))
}
