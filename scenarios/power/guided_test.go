package power

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/internal/mutants"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/search"
	"github.com/wavetank-sim/wavetank/sim"
)

const (
	guidedTable = "WAVETANK_GUIDED_TABLE" // SEEDS STEPS WAYS that TestGuidedTable measures; without it the test is skipped
	guidedHunts = "WAVETANK_GUIDED_HUNTS" // the same, in the process that it starts
	guidedRound = 20                      // plans, which depend on what those of the rounds before have reached
	guidedStart = 500                     // steps, which take as long as a run takes to begin and to end
)

// planted are the mistakes, and the invariant by which each is told from the others. They are all in one program, as each hunt
// then looks for all of them.
var planted = map[string]string{
	"lock-renewed-too-late":            "lock-kept-by-living-holder",
	"ceiling-passed":                   "attempts-never-past-ceiling",
	"dlq-after-state":                  "failed-never-precedes-its-dlq-entry",
	"told-worker-goes-on":              "told-worker-stops",
	"early-message-dropped":            "acked-only-when-durable",
	"compensation-denied-when-allowed": "every-compensation-accounted-for",
	"one-retry-too-few":                "retries-are-used-up",
	"pool-not-looked-at":               "dispatch-respects-placement",
	"constraints-dropped":              "no-dispatch-without-decision",
	"joined-after-the-first":           "steps-in-order",
	"lock-released-for-another":        "lock-released-by-owner-or-expiry",
	"tenant-slot-given-back-early":     "tenant-limit-held",
	"void-of-the-next-epoch":           "no-dispatch-after-end",
	"stale-result-by-one":              "result-of-current-epoch",
	"once-per-worker":                  "one-dispatch-per-job",
	"poison-dropped":                   "terminated-message-has-dlq-entry",
	"alive-for-twice-the-ttl":          "no-dispatch-to-expired-worker",
	"begun-twice":                      "one-execution-at-a-time",
	"scan-forgotten":                   "every-output-is-scanned",
	"quarantine-passes":                "result-goes-as-the-policy-says",
	"status-not-checked":               "illegal-result-is-refused",
}

// moment is what an operation finds: the coverage that guides.
type moment struct {
	phase  string
	state  model.State
	lock   string // who holds the job's: "", own, another
	struck invariants.Kinds
}

func momentOf(op scenarios.Surveyed) moment {
	m := moment{phase: op.Phase, struck: op.Facts.StruckEver()}
	j := op.Facts.Jobs[op.Job]
	if j == nil {
		return m
	}
	m.state, m.struck = j.State, op.Facts.StruckBy(j, false)
	switch {
	case !j.Lock.Live(op.At):
	case j.Lock.Node == op.Node && j.Lock.Abandoned == 0:
		m.lock = "own"
	default:
		m.lock = "another"
	}
	return m
}

// way is one of those in which plans are drawn.
type way struct {
	name     string
	perturbs int                           // of four plans of a round, those that perturb one that has reached something first
	weight   func(*guide, pioneer) float64 // of each of those
	each     bool                          // a kind of strike is something that is reached, not a set of them
}

var ways = []way{
	{name: "random"},
	{name: "guided", perturbs: 2, weight: (*guide).rarity},
	{name: "guided-more", perturbs: 3, weight: (*guide).rarity},
	{name: "guided-by-each-kind", perturbs: 2, weight: (*guide).rarity, each: true},
	{name: "guided-by-worth", perturbs: 2, weight: (*guide).worth},
}

// guide is what the rounds so far have reached.
type guide struct {
	runs   map[moment]int // that have reached it
	corpus []pioneer
}

// pioneer is a plan, and what it was the first to reach.
type pioneer struct {
	plan  *plans.Plan
	first []moment
	cost  int
}

func (g *guide) learn(p *plans.Plan, cost int, has []moment) {
	var first []moment
	for _, m := range has {
		if g.runs[m]++; g.runs[m] == 1 {
			first = append(first, m)
		}
	}
	if len(first) > 0 {
		g.corpus = append(g.corpus, pioneer{p, first, cost})
	}
}

// rarity is 1/n of a plan of which the rarest that it was the first to reach has been reached by n runs.
func (g *guide) rarity(p pioneer) (most float64) {
	for _, m := range p.first {
		most = max(most, 1/float64(g.runs[m]))
	}
	return most
}

// worth is what a plan is worth that runs again: what it was the first to reach, by how many runs have reached it since, for
// what the run takes.
func (g *guide) worth(p pioneer) (worth float64) {
	for _, m := range p.first {
		worth += 1 / float64(g.runs[m])
	}
	return worth / float64(p.cost)
}

// pick takes a plan by chance and weight.
func (g *guide) pick(weight func(*guide, pioneer) float64, chance uint64) *plans.Plan {
	sum, upTo := 0.0, make([]float64, len(g.corpus))
	for i, p := range g.corpus {
		sum += weight(g, p)
		upTo[i] = sum
	}
	i, _ := slices.BinarySearch(upTo, sum*float64(chance>>11)/(1<<53))
	return g.corpus[i].plan
}

// plan draws the n-th plan. What is not perturbed is what a campaign draws.
func (w *way) plan(seed uint64, n int, g *guide) *plans.Plan {
	space := search.Space{}
	if n%4 < w.perturbs && len(g.corpus) > 0 {
		space.Base = g.pick(w.weight, sim.Draw(seed, "base", strconv.Itoa(n))).Clone()
		space.Base.Name = "drawn"
	}
	drawn := rapid.Custom(func(t *rapid.T) *plans.Plan { return search.Draw(t, space) })
	return drawn.Example(int(sim.Draw(seed, "plan", strconv.Itoa(n))))
}

// run runs a plan, and says what its operations have found.
func (w *way) run(t *testing.T, p *plans.Plan) (res *scenarios.Result, has []moment) {
	seen := map[moment]bool{}
	see := func(m moment) {
		if !seen[m] {
			seen[m], has = true, append(has, m)
		}
	}
	opt := scenarios.RunOptions{Modified: true, Drawn: true}
	if w.perturbs > 0 {
		opt.Survey = func(op scenarios.Surveyed) {
			m := momentOf(op)
			if !w.each || m.struck == 0 {
				see(m)
				return
			}
			for set := m.struck; set != 0; set &= set - 1 {
				m.struck = set & -set
				see(m)
			}
		}
	}
	res, err := scenarios.Run(context.Background(), p, opt)
	require.NoError(t, err)
	return res, has
}

// hunt is what came of one way under one seed.
type hunt struct {
	Way     string
	Seed    int
	Most    int // steps that it might take
	Steps   int // that it took, starts included
	Plans   int
	Reached int            // moments
	Corpus  int            // plans
	Broke   map[string]int // the steps until an invariant's promise was broken first
}

// until is how many steps it took until an invariant's promise was broken: all, if none was.
func (h *hunt) until(invariant string) int { return cmp.Or(h.Broke[invariant], h.Most) }

// hunt runs plan after plan. What a round has reached guides those after it, in whichever order its plans are run.
func (w *way) hunt(t *testing.T, seed, most int) hunt {
	h, g := hunt{Way: w.name, Seed: seed, Most: most, Broke: map[string]int{}}, &guide{runs: map[moment]int{}}
	for h.Steps < most {
		var round []func()
		for len(round) < guidedRound && h.Steps < most {
			p := w.plan(uint64(seed), h.Plans, g)
			p.Schedule.StepsMax = min(p.Schedule.StepsMax, most) // a mistake may have a run go on for ever
			res, has := w.run(t, p)
			round = append(round, func() { g.learn(p, guidedStart+res.Steps, has) })
			h.Plans++
			h.Steps += guidedStart + res.Steps
			for _, v := range res.Violations {
				if v.Promised && h.Broke[v.Invariant] == 0 && h.Steps <= most {
					h.Broke[v.Invariant] = h.Steps
				}
			}
		}
		for _, learn := range round {
			learn()
		}
	}
	h.Reached, h.Corpus = len(g.runs), len(g.corpus)
	return h
}

// asked says what the environment variable asks for.
func asked(t *testing.T, variable, otherwise string) (seeds, steps int, list []way) {
	var names string
	if _, err := fmt.Sscan(os.Getenv(variable), &seeds, &steps, &names); err != nil {
		t.Skip(otherwise)
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(ways, func(w way) bool { return w.name == name })
		require.GreaterOrEqual(t, i, 0, name)
		list = append(list, ways[i])
	}
	return seeds, steps, list
}

// TestGuidedHunts tells a line a hunt.
func TestGuidedHunts(t *testing.T) {
	seeds, steps, list := asked(t, guidedHunts, "TestGuidedTable runs this")
	for seed := range seeds {
		for _, w := range list {
			line, err := json.Marshal(w.hunt(t, seed+1, steps))
			require.NoError(t, err)
			fmt.Println(string(line))
		}
	}
}

// TestGuidedTable measures the table in scenarios/README.md: how soon plans that are drawn by what others have reached show
// mistakes, and how soon random ones do. Each way is compared to the first, under the same seeds.
func TestGuidedTable(t *testing.T) {
	_, _, list := asked(t, guidedTable, guidedTable+`="30 230000 random,guided" measures the table of scenarios/README.md, for ten minutes of one processor`)
	cmd := exec.Command(plant(t), "-test.run", "^TestGuidedHunts$", "-test.timeout", "0")
	cmd.Env = append(os.Environ(), guidedHunts+"="+os.Getenv(guidedTable), "GOMAXPROCS=1")
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	hunts := map[string][]hunt{}
	for line := range strings.Lines(string(out)) {
		if h := (hunt{}); json.Unmarshal([]byte(line), &h) == nil {
			hunts[h.Way] = append(hunts[h.Way], h)
		}
	}
	for _, w := range list {
		tellWay(w.name, hunts[w.name])
		if w.name != list[0].name {
			compare(hunts[list[0].name], hunts[w.name])
		}
	}
}

// plant builds the tests with the mistakes.
func plant(t *testing.T) (program string) {
	list := slices.DeleteFunc(mutants.Read(t, "../testdata/mutants.yaml"), func(m mutants.Mutant) bool { return planted[m.Name] == "" })
	require.Len(t, list, len(planted))
	program = filepath.Join(t.TempDir(), "mutants.test")
	overlay, left := mutants.Overlay(t, "../..", list...)
	require.Empty(t, left)
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay", overlay, "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// tellWay prints under how many seeds each mistake showed, and the median of the steps until then.
func tellWay(name string, hunts []hunt) {
	var all hunt
	for _, h := range hunts {
		all.Steps, all.Plans, all.Reached, all.Corpus = all.Steps+h.Steps, all.Plans+h.Plans, all.Reached+h.Reached, all.Corpus+h.Corpus
	}
	fmt.Printf("%s\t%d plans, %d of them kept, %d moments, %d steps\n", name, all.Plans, all.Corpus, all.Reached, all.Steps)
	for _, mistake := range slices.Sorted(maps.Keys(planted)) {
		shown, until := 0, []int(nil)
		for _, h := range hunts {
			if h.Broke[planted[mistake]] > 0 {
				shown++
			}
			until = append(until, h.until(planted[mistake]))
		}
		slices.Sort(until)
		fmt.Printf("%s\t%s\t%d of %d\t%d\n", name, mistake, shown, len(hunts), until[len(until)/2])
	}
}

// compare prints where one way was sooner than another, by mistakes and seeds, and by seeds alone: those of one seed depend
// on each other.
func compare(one, other []hunt) {
	var pairs, seeds signs
	for i := range other {
		ratio := 0.0
		for _, mistake := range slices.Sorted(maps.Keys(planted)) {
			invariant := planted[mistake]
			a, b := one[i].until(invariant), other[i].until(invariant)
			pairs.add(cmp.Compare(b, a))
			ratio += math.Log(float64(b)) - math.Log(float64(a))
		}
		seeds.add(cmp.Compare(ratio, 0))
	}
	fmt.Printf("%s against %s\tmistakes and seeds: %s\tseeds: %s\n", other[0].Way, one[0].Way, &pairs, &seeds)
}

// signs are how often something was less, equal and more.
type signs [3]int

func (s *signs) add(sign int) { s[1+sign]++ }

// String ends with how probable such a difference is, or a greater one, if less and more are as likely: the sign test.
func (s *signs) String() string {
	p, n := 0.0, float64(s[0]+s[2])
	for k := range min(s[0], s[2]) + 1 {
		all, _ := math.Lgamma(n + 1)
		these, _ := math.Lgamma(float64(k) + 1)
		others, _ := math.Lgamma(n - float64(k) + 1)
		p += math.Exp(all - these - others - n*math.Ln2)
	}
	return fmt.Sprintf("%d sooner, %d later, %d equal, p %.2g", s[0], s[2], s[1], min(1, 2*p))
}
