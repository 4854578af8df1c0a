package scenarios

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/promises"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/scenarios/search"
)

var (
	searchFor  = flag.Duration("witness.search", 0, "look for missing witnesses for so long, and write them")
	searchOut  = flag.String("witness.out", "testdata", "where they are written")
	searchFrom = flag.String("witness.from", "", "look first among the plans of this folder")
	searchOf   = flag.String("witness.of", "", "look only for witnesses whose names match this")
	searchSeed = flag.Uint64("witness.seed", 1, "where the search begins")
	shrinkFor  = flag.Duration("witness.shrink", 0, "make each witness of several faults smaller, for so long")
)

// With -witness.search it looks for missing witnesses: among the scenarios, the regressions and the witnesses of others,
// with settings under which the exception alone applies, with single faults of the kind, and among drawn plans.
func TestSearchForWitnesses(t *testing.T) {
	if *searchFor == 0 {
		t.Skip("-witness.search says for how long")
	}
	s := &witnessSearch{t: t, open: releases(t), random: rand.New(rand.NewPCG(*searchSeed, 1)), end: time.Now().Add(*searchFor), breaks: map[string][]*plans.Plan{}}
	for _, w := range readWitnesses(t) {
		s.list = append(s.list, w)
		w.Plan = ""
		delete(s.open, w)
	}
	maps.DeleteFunc(s.open, func(w witness, _ bool) bool { return !regexp.MustCompile(*searchOf).MatchString(w.String()) })
	for _, p := range s.bases() {
		if len(s.open) > 0 {
			s.try(p)
		}
	}
	t.Logf("%d runs, %d witnesses, %d missing, of bases", s.runs, len(s.list), len(s.open))
	for s.left() {
		for _, w := range s.missing() {
			for range 24 {
				if p := s.near(w); p != nil && s.open[w] && s.left() {
					s.try(p)
				}
			}
		}
		for range 24 {
			p := rapid.Custom(func(t *rapid.T) *plans.Plan { return search.Draw(t, search.Space{}) }).Example(s.random.IntN(1 << 30))
			if list := s.missing(); len(list) > 0 && s.left() && s.settle(p, list[s.random.IntN(len(list))]) {
				s.try(p)
			}
		}
	}
	t.Logf("%d runs, %d witnesses, %d missing", s.runs, len(s.list), len(s.open))
	for _, w := range s.missing() {
		t.Logf("none: %s", w)
	}
}

type witnessSearch struct {
	t      *testing.T
	open   map[witness]bool
	list   []witness
	random *rand.Rand
	end    time.Time
	runs   int
	breaks map[string][]*plans.Plan // by the invariants that they break
}

func (s *witnessSearch) left() bool { return time.Now().Before(s.end) && len(s.open) > 0 }

func (s *witnessSearch) missing() []witness {
	return slices.SortedFunc(maps.Keys(s.open), func(a, b witness) int { return strings.Compare(a.String(), b.String()) })
}

func pick[T any](s *witnessSearch, list ...T) T { return list[s.random.IntN(len(list))] }

// bases are the scenarios in both presets, the regressions, and the witnesses so far, from which others are not far.
func (s *witnessSearch) bases() (list []*plans.Plan) {
	if *searchFrom != "" {
		list, _ = readCorpus(*searchFrom)
	}
	for _, name := range plans.Names() {
		for _, preset := range []string{plans.PresetDocumented, plans.PresetHardened} {
			p, err := plans.Load(name)
			require.NoError(s.t, err)
			require.NoError(s.t, p.Set("preset="+preset))
			if p.Workload.Jobs <= 20 {
				list = append(list, p)
			}
		}
	}
	for _, toggle := range plans.Toggles() {
		p, err := plans.Load(toggle.Scenario)
		require.NoError(s.t, err)
		if p.Set("preset=hardened") == nil && p.Set(toggle.Setting+"="+toggle.Off) == nil {
			list = append(list, p)
		}
	}
	known, _ := readCorpus(witnessPlans)
	regressions, _ := readCorpus(corpus)
	return slices.Concat(list, known, regressions)
}

// settle gives the plan settings under which the exception applies, and no other of its row with the kind. It says
// whether there are such.
func (s *witnessSearch) settle(p *plans.Plan, w witness) bool {
	switch {
	case w.Takes != "":
		return s.without(p, w)
	case w.Gap != "":
		return true
	}
	row, k := promises.Matrix[w.Invariant], history.Strikes.Set(invariants.StrikeKind(w.Strike))
	for range 4 {
		if len(row.Takes) > 0 {
			s.set(p, true, pick(s, row.Takes...).Settings)
		}
		for _, e := range row.Except {
			switch {
			case e.By&k == 0 || len(e.But) == 0:
			case without(e) == w.Without:
				for _, m := range e.But {
					s.set(p, false, []invariants.Setting[config.Config]{pick(s, m.Settings...)})
				}
			default:
				s.set(p, true, pick(s, e.But...).Settings)
			}
		}
		cfg := scheduler.JudgeConfig(p)
		promised := len(row.Takes) == 0 || slices.ContainsFunc(row.Takes, func(m invariants.Mechanism[config.Config]) bool { return m.On(&cfg) })
		if names := applying(p, w.Invariant, invariants.StrikeKind(w.Strike)); promised && len(names) == 1 && names[0] == w.Without && p.Validate() == nil {
			return true
		}
	}
	return false
}

// without gives the plan settings that lack what the witness says, and no other that its promise takes.
func (s *witnessSearch) without(p *plans.Plan, w witness) bool {
	row := promises.Matrix[w.Invariant]
	if lacks(p, w) {
		return true
	}
	for range 8 {
		m := pick(s, row.Takes...)
		if !slices.ContainsFunc(m.Settings, func(x invariants.Setting[config.Config]) bool { return x.Name == w.Takes }) {
			continue
		}
		for _, other := range row.Takes {
			if x := pick(s, other.Settings...); !slices.ContainsFunc(m.Settings, func(y invariants.Setting[config.Config]) bool { return x.Name == y.Name }) {
				s.set(p, false, []invariants.Setting[config.Config]{x})
			}
		}
		for _, x := range m.Settings {
			s.set(p, x.Name != w.Takes, []invariants.Setting[config.Config]{x})
		}
		if lacks(p, w) && p.Validate() == nil {
			return true
		}
	}
	return false
}

func (s *witnessSearch) set(p *plans.Plan, on bool, list []invariants.Setting[config.Config]) {
	for _, setting := range list {
		cfg := scheduler.JudgeConfig(p)
		if setting.On(&cfg) == on {
			continue
		}
		require.NoError(s.t, turn(p, setting.Name, on))
	}
}

// near is a plan that may be the witness: one that breaks its invariant under other settings or by other strikes, with
// those of the exception, and with a fault of its kind. It is nil if that makes no plan.
func (s *witnessSearch) near(w witness) *plans.Plan {
	bases := s.breaks[w.Invariant]
	if len(bases) == 0 || s.random.IntN(8) == 0 {
		bases = s.breaks[""]
	}
	p, k := pick(s, bases...).Clone(), invariants.StrikeKind(w.Strike)
	p.Schedule.StepsMax = 20_000
	if s.random.IntN(3) == 0 {
		_ = p.Set("preset=" + pick(s, plans.PresetDocumented, plans.PresetHardened))
	}
	if s.random.IntN(3) == 0 {
		p.Seed = uint64(1 + s.random.IntN(5))
	}
	if !s.settle(p, w) {
		return nil
	}
	if w.Strike == "" {
		k = pick(s, history.Strikes...).Kind
		if s.random.IntN(2) == 0 {
			return p
		}
	}
	if n := s.random.IntN(5); n > 0 || len(only(p, k, true).Faults) == 0 {
		if n > 1 {
			p.Faults = nil
		}
		f := s.fault(p, k)
		if f == nil {
			return nil
		}
		p.Faults = append(p.Faults, *f)
	}
	if plans.CheckStrikes(p) != nil || p.Validate() != nil {
		return nil
	}
	return p
}

// fault is one of that kind that the plan can have; nil if none was found.
func (s *witnessSearch) fault(p *plans.Plan, k invariants.StrikeKind) *faults.Fault {
	phases := p.Phases()
	for range 200 {
		ph, e := pick(s, phases...), pick(s, faults.Kinds()...)
		m := &faults.Match{Phase: ph.Name, Occurrence: s.random.IntN(3)}
		if !ph.NoJob && s.random.IntN(3) > 0 {
			m.Job = 1 + s.random.IntN(min(3, p.Workload.Jobs))
		}
		f := faults.Fault{Do: e.Effect}
		lasts := pick(s, time.Duration(1+s.random.IntN(100))*time.Millisecond, time.Second, 5*time.Second, 10*time.Second, 30*time.Second, 90*time.Second, 3*time.Minute, 7*time.Minute, 20*time.Minute)
		at := 2*plans.Boot + time.Duration(s.random.IntN(4000))*time.Millisecond
		switch {
		case !e.OnNode():
			f.On, f.Times = m, pick(s, 0, 0, 3, 100)
		case e.Effect == faults.Partition:
			link := pick(s, p.FaultWorld().Links...)
			f.At, f.From, f.Node = at, link.Name, pick(s, link.Nodes...)
		case e.Effect.OfServer():
			f.After, f.Node = m, pick(s, e.Servers...)
		case s.random.IntN(3) == 0:
			f.At, f.Node = at, pick(s, p.Nodes()...)
		default:
			f.After, f.Node = m, faults.Actor
		}
		switch e.Effect {
		case faults.Late, faults.Pause, faults.Partition, faults.Restart:
			f.For = lasts
		case faults.Skew:
			f.For, f.By = lasts, pick(s, time.Minute, -time.Minute, time.Hour, -time.Hour)
		case faults.Failover:
			f.Lag = lasts / 10
		case faults.Refusal:
			f.For, f.With = lasts, pick(s, faults.Refusals()...)
		case faults.PowerLoss:
			f.Lag, f.For = lasts/10, pick(s, time.Second, lasts)
		case faults.Crash:
			f.RestartIn = pick(s, lasts, 0)
		}
		if f.Validate(p.FaultWorld()) == nil && slices.Contains(kindsOf(p, f), k) {
			return &f
		}
	}
	return nil
}

// try runs a plan, and keeps it for each missing witness that it is.
func (s *witnessSearch) try(p *plans.Plan) {
	p.Expect, p.About = plans.Expect{}, nil
	s.runs++
	r, err := judgeAlone(p, "")
	if err != nil {
		return
	}
	s.breaks[""] = append(s.breaks[""], p)
	for w := range s.open {
		if o := outcomeOf(&r, w.Invariant); w.Strike == "" && slices.ContainsFunc(o.Violations, func(v invariants.Violation) bool { return releasedBy(v) == 0 }) {
			s.keep(p, w)
		}
	}
	for i := range r.Invariants {
		o := &r.Invariants[i]
		if len(o.Violations) > 0 && len(s.breaks[o.Name]) < 60 {
			s.breaks[o.Name] = append(s.breaks[o.Name], p)
		}
		var kinds invariants.Kinds
		for _, v := range o.Violations {
			kinds |= releasedBy(v)
		}
		for _, k := range history.Strikes.List(kinds) {
			names := applying(p, o.Name, k)
			if len(names) != 1 || o.Unprovided {
				continue
			}
			if w := (witness{Invariant: o.Name, Strike: k.String(), Without: names[0]}); s.open[w] {
				s.keep(p, w)
			}
		}
	}
}

// keep makes a plan small that may be a witness, and keeps it if it is one.
func (s *witnessSearch) keep(p *plans.Plan, w witness) {
	best := only(p, invariants.StrikeKind(w.Strike), true)
	if len(best.Faults) == 0 && w.Strike != "" {
		return
	}
	if shows(best, w) != nil {
		best = p
		if shows(best, w) != nil {
			return
		}
	}
	delete(s.open, w)
	base := w.Invariant + "-" + w.Strike
	switch {
	case w.Takes != "":
		base += "takes"
	case w.Gap != "":
		base += "gap"
	}
	name := base
	for n := 2; slices.ContainsFunc(s.list, func(other witness) bool { return other.Plan == name }); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	w.Plan = name
	s.t.Logf("%s", w)
	s.list = append(s.list, w)
	s.write(smaller(best, w, 4*time.Second), name)
	s.writeList()
}

func (s *witnessSearch) writeList() {
	slices.SortFunc(s.list, func(a, b witness) int { return strings.Compare(a.String(), b.String()) })
	data, err := yaml.Marshal(s.list)
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(filepath.Join(*searchOut, "witnesses.yaml"), data, 0o644))
}

func (s *witnessSearch) write(p *plans.Plan, name string) {
	dir := filepath.Join(*searchOut, "witnesses")
	require.NoError(s.t, os.MkdirAll(dir, 0o755))
	q := p.Clone()
	q.Name, q.Story = name, ""
	text, err := plans.Marshal(q)
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, name+".yaml"), text, 0o644))
}

// smaller shrinks a witness for so long.
func smaller(p *plans.Plan, w witness, during time.Duration) *plans.Plan {
	end := time.Now().Add(during)
	return search.Shrink(p, nil, func(q *plans.Plan) bool { return time.Now().Before(end) && shows(q, w) == nil })
}

// With -witness.shrink it makes the witnesses smaller.
func TestShrinkWitnesses(t *testing.T) {
	if *shrinkFor == 0 {
		t.Skip("-witness.shrink says for how long each")
	}
	s := &witnessSearch{t: t}
	for _, w := range readWitnesses(t) {
		if !regexp.MustCompile(*searchOf).MatchString(w.String()) {
			continue
		}
		p, err := plans.Load(filepath.Join(witnessPlans, w.Plan+".yaml"))
		require.NoError(t, err)
		if shows(p, w) == nil {
			s.write(smaller(p, w, *shrinkFor), w.Plan)
		}
	}
}
