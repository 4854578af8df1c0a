package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/search"
	"github.com/wavetank-sim/wavetank/sim"
)

// SpecVersion is the version of the formats of spec.json and of the journal.
const SpecVersion = 2

// Spec says, as data, which plans a campaign runs. Equal specs give equal plans in one build, so a worker
// needs only the spec and the numbers of its runs. Exactly one of Drawn, Grid, Struck and Given is set, and
// gives the plans.
type Spec struct {
	Version int           `json:"version"`
	Name    string        `json:"name"`                // in kebab-case
	Seed    uint64        `json:"seed"`                // of every draw
	Runs    int           `json:"runs,omitempty"`      // how many plans; 0 is as many as Budget allows
	Budget  time.Duration `json:"budget_ns,omitempty"` // real time for runs; 0 is no limit; examinations may go on after it
	Drawn   *Drawn        `json:"drawn,omitempty"`
	Grid    *Grid         `json:"grid,omitempty"`
	Struck  *Struck       `json:"struck,omitempty"`
	Given   []string      `json:"given,omitempty"` // plans in YAML, which are run as they are; the first is the one that the others vary
	Shard   *Shard        `json:"shard,omitempty"` // only that part of the runs; nil is all
}

// Drawn plans are drawn by rapid, the n-th from a seed of its own.
type Drawn struct {
	Presets []string `json:"presets,omitempty"` // each plan has one of these presets; if empty, either preset, or that of the plan to perturb
	Plans   []string `json:"plans,omitempty"`   // in YAML: each run perturbs one of them; if empty, plans are drawn from nothing
	Sets    []string `json:"setting,omitempty"` // settings that every plan has, as [plans.Plan.Set] takes them
	Judged  []string `json:"judged,omitempty"`  // invariants that every plan is judged by, whatever their promises
}

// Grid is every plan at every point with every seed. All points have the same seeds, so that they can be
// compared in pairs.
type Grid struct {
	Plans  []string   `json:"plans"`  // in YAML
	Points [][]string `json:"points"` // the settings of each, as [plans.Plan.Set] takes them
	Seeds  int        `json:"seeds"`  // how many, from Spec.Seed on
}

// Struck is one plan unchanged, and then with each set of the faults added in turn.
type Struck struct {
	Plan   string         `json:"plan"` // in YAML
	Faults []faults.Fault `json:"faults"`
	Sets   [][2]int       `json:"sets,omitempty"` // pairs of indices of the faults; if empty, each fault is a set
}

// Size is the number of sets.
func (s *Struck) Size() int {
	if len(s.Sets) > 0 {
		return len(s.Sets)
	}
	return len(s.Faults)
}

// strange says whether a set has an index without a fault.
func (s *Struck) strange(set [2]int) bool {
	return slices.ContainsFunc(set[:], func(i int) bool { return i < 0 || i >= len(s.Faults) })
}

func (s *Struck) plan(n int) (*plans.Plan, error) {
	var by []faults.Fault
	switch {
	case n == 0:
	case len(s.Sets) == 0:
		by = s.Faults[n-1 : n]
	default:
		for _, i := range s.Sets[n-1] {
			by = append(by, s.Faults[i])
		}
	}
	return StruckBy(s.Plan, by...)
}

// StruckBy returns a plan, given as YAML, with more faults.
func StruckBy(plan string, by ...faults.Fault) (*plans.Plan, error) {
	p, err := plans.Parse("struck", []byte(plan))
	if err != nil {
		return nil, err
	}
	p.Faults = append(p.Faults, by...)
	return p, p.Validate()
}

// size is the number of runs in the grid.
func (g *Grid) size() int { return len(g.Plans) * len(g.Points) * g.Seeds }

// At returns the plan, point and seed of the n-th run. Seeds are outermost, so that an unfinished campaign
// has seen every point equally often.
func (g *Grid) At(n int) (plan, point, seed int) {
	points, plans := len(g.Points), len(g.Plans)
	return n / points % plans, n % points, n / points / plans
}

// size is the number of runs that the spec asks for; 0 is as many as its budget allows.
func (s *Spec) size() int {
	all := s.Runs
	switch {
	case s.Grid != nil:
		all = s.Grid.size()
	case s.Struck != nil:
		all = 1 + s.Struck.Size()
	case s.Given != nil:
		all = len(s.Given)
	}
	if s.Runs == 0 {
		return all
	}
	return min(all, s.Runs)
}

// span returns the runs to be done.
func (s *Spec) span() span {
	size := s.size()
	switch {
	case s.Shard != nil:
		return s.Shard.of(size)
	case size == 0:
		return span{0, endless}
	}
	return span{0, size}
}

// RedisServer says whether plans of the campaign use a redis-server.
func (s *Spec) RedisServer() bool {
	set := func(p *plans.Plan, sets []string) bool {
		for _, s := range sets {
			_ = p.Set(s) // the run reports errors
		}
		return p.World.Redis == plans.RedisServer
	}
	over := func(text string, sets []string) bool {
		p, err := plans.Parse("plan", []byte(text))
		return err == nil && set(p, sets)
	}
	switch {
	case s.Struck != nil:
		return over(s.Struck.Plan, nil)
	case s.Given != nil:
		return slices.ContainsFunc(s.Given, func(text string) bool { return over(text, nil) })
	case s.Grid != nil:
		return slices.ContainsFunc(s.Grid.Plans, func(text string) bool {
			return slices.ContainsFunc(s.Grid.Points, func(sets []string) bool { return over(text, sets) })
		})
	case s.Drawn == nil:
		return false
	case len(s.Drawn.Plans) == 0:
		return set(plans.Defaults(), s.Drawn.Sets)
	}
	return slices.ContainsFunc(s.Drawn.Plans, func(text string) bool { return over(text, s.Drawn.Sets) })
}

// IsList says whether the campaign runs a given list of plans. Finding nothing then says nothing of other
// plans.
func (s *Spec) IsList() bool { return s.Struck != nil || s.Given != nil }

// Part describes the shard's runs; it is "" for a whole campaign.
func (s *Spec) Part() string {
	if s.Shard == nil {
		return ""
	}
	return fmt.Sprintf("shard %s: %s", s.Shard, s.span())
}

// Whole is the campaign that this is a shard of, or itself.
func (s Spec) Whole() Spec {
	s.Shard = nil
	return s
}

// Shares says whether both specs have some runs in common, as a campaign and its shard do, or two budgets of
// one search.
func (s Spec) Shares(other Spec) bool {
	ours, theirs := s.span(), other.span()
	for _, spec := range []*Spec{&s, &other} {
		spec.Shard, spec.Runs, spec.Budget = nil, 0, 0
	}
	return s.hash() == other.hash() && (ours.has(theirs.first) || theirs.has(ours.first))
}

// Validate returns an error if the spec is invalid.
func (s *Spec) Validate() error {
	switch {
	case s.Version != SpecVersion:
		return fmt.Errorf("the campaign's format is version %d; this build reads version %d: use the build that wrote it", s.Version, SpecVersion)
	case s.sources() != 1:
		return errors.New("a campaign draws its plans, has a grid, strikes one plan, or is given plans; give exactly one of the four")
	case s.Runs < 0 || s.Budget < 0:
		return errors.New("a campaign's budget must not be negative")
	case s.size() == 0 && s.Budget == 0:
		return errors.New("a campaign needs a budget: runs, or time")
	}
	if s.Shard != nil {
		if s.Budget > 0 {
			return errors.New("a campaign with shards has its budget in runs: how many runs fit into a time differs from machine to machine")
		}
		if err := s.Shard.validate(); err != nil {
			return err
		}
	}
	if s.Struck != nil && slices.ContainsFunc(s.Struck.Sets, s.Struck.strange) {
		return errors.New("a set names a fault that the plan does not have")
	}
	if s.Grid != nil && s.Grid.size() == 0 {
		return errors.New("a grid needs a plan, a point and a seed")
	}
	first := 1
	if s.Drawn != nil {
		first = max(1, len(s.Drawn.Plans)) // each plan that is perturbed, once
	}
	if s.Given != nil {
		first = len(s.Given)
	}
	for n := range first {
		if _, err := s.Plan(n); err != nil {
			return err
		}
	}
	return nil
}

// sources counts the fields that give plans.
func (s *Spec) sources() (n int) {
	for _, there := range []bool{s.Drawn != nil, s.Grid != nil, s.Struck != nil, s.Given != nil} {
		if there {
			n++
		}
	}
	return n
}

// Plan returns the n-th plan, from 0.
func (s *Spec) Plan(n int) (*plans.Plan, error) {
	switch {
	case s.Grid != nil:
		return s.Grid.plan(s.Seed, n)
	case s.Struck != nil:
		return s.Struck.plan(n)
	case s.Given != nil:
		return plans.Parse("given", []byte(s.Given[n]))
	}
	space := search.Space{Presets: s.Drawn.Presets, Sets: s.Drawn.Sets, Judged: s.Drawn.Judged}
	if k := len(s.Drawn.Plans); k > 0 {
		base, err := plans.Parse(s.Name, []byte(s.Drawn.Plans[n%k]))
		if err != nil {
			return nil, err
		}
		space.Base = base
	}
	if err := space.Validate(); err != nil {
		return nil, err
	}
	drawn := rapid.Custom(func(t *rapid.T) *plans.Plan { return search.Draw(t, space) })
	return drawn.Example(int(sim.Draw(s.Seed, "plan", strconv.Itoa(n)))), nil
}

func (g *Grid) plan(first uint64, n int) (*plans.Plan, error) {
	plan, point, seed := g.At(n)
	p, err := plans.Parse("grid", []byte(g.Plans[plan]))
	if err != nil {
		return nil, err
	}
	for _, set := range g.Points[point] {
		if err := p.Set(set); err != nil {
			return nil, err
		}
	}
	p.Seed = first + uint64(seed)
	return p, p.Validate()
}

// fixed names the settings that every plan has, whatever else is drawn.
func (s *Spec) fixed() (names []string) {
	if s.Drawn == nil {
		return nil
	}
	for _, set := range s.Drawn.Sets {
		names = append(names, plans.NameOf(set))
	}
	return names
}

// hash identifies the spec.
func (s *Spec) hash() string {
	return fmt.Sprintf("%016x", hashOf(s))
}

func hashOf(content any) uint64 {
	text, err := json.Marshal(content)
	if err != nil {
		panic(err) // it was read from JSON
	}
	return xxhash.Sum64(text)
}
