package reports

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/exhaust"
)

// tried is a certificate of two operations, of which one fault had no effect, and one broke something outside of its promise.
func tried() *exhaust.Certificate {
	return &exhaust.Certificate{
		Version: exhaust.CertificateVersion, Name: "calm", Preset: "hardened", All: 3, Complete: true, Kinds: exhaust.Kinds(),
		Sites:  []exhaust.Site{{Phase: "publish", Job: 1, Occurrence: 1, Node: "scheduler-1"}, {Phase: "effect", Job: 1, Occurrence: 1, Node: "worker-1"}},
		Counts: map[exhaust.Outcome]int{exhaust.Missed: 1, exhaust.Outside: 1, exhaust.Held: 1},
		Tries: []exhaust.Tried{
			{Fault: "fail-before on publish of job 1", Outcome: exhaust.Missed},
			{Kind: 1, Fault: "fail-after on publish of job 1", Outcome: exhaust.Outside, Invariants: []string{"one-dispatch-per-job"}, Page: "tries/000002.html"},
			{Site: 1, Fault: "fail-before on effect of job 1", Outcome: exhaust.Held},
		},
		Releases: []exhaust.Release{{Invariant: "one-dispatch-per-job", Cell: invariants.Cell{Strike: "publish-unanswered", Status: "promised with", With: []string{"epochs"}}, Tries: 1, First: 1}},
	}
}

// inPairs makes them pairs, after two single faults.
func inPairs(c *exhaust.Certificate) {
	c.Pairs, c.Firsts = true, []exhaust.First{{Fault: "a"}, {Fault: "b"}}
	for i := range c.Tries {
		c.Tries[i].First = 1
	}
}

func faultMap(t *testing.T, c *exhaust.Certificate) string {
	t.Helper()
	return written(t, func(w io.Writer) error { return FaultMap(w, c) })
}

// A fault map claims no more than was tried.
func TestAFaultMapSaysWhatWasTried(t *testing.T) {
	const notTried = "empty: it cannot strike there, or was not tried"
	for name, c := range map[string]struct {
		as         func(*exhaust.Certificate)
		title      string
		says       []string
		everything bool
	}{
		"all": {func(*exhaust.Certificate) {}, "calm, every single fault", []string{"Each of 2 operations in one run was struck alone by every kind of fault that can strike it, in a run for each."}, true},
		"reduced": {func(c *exhaust.Certificate) { c.Reduced, c.Alike, c.Aside = true, 7, 3 }, "calm, single faults", []string{
			"by every kind of fault that can strike it, in a run for each. A fault is left out where another looks the same to the jobs that the plan is about, whatever the time. Operations of jobs that the plan is not about are not struck.",
			`<dd title="operations of jobs that the plan is not about, which are not struck">3 operations</dd>`}, false},
		"some cannot be named": {func(c *exhaust.Certificate) { c.Apart = 2 }, "calm, single faults", []string{"every kind of fault that can strike it, in a run for each."}, false},
		"some phases":          {func(c *exhaust.Certificate) { c.Phases = []string{"publish", "effect"} }, "calm, single faults", []string{"Each of 2 operations of the phases publish and effect in one run was struck"}, false},
		"some kinds":           {func(c *exhaust.Certificate) { c.Kinds = c.Kinds[:2] }, "calm, single faults", []string{"by every kind of fault that was asked for and can strike it, in a run for each."}, false},
		"unfinished":           {func(c *exhaust.Certificate) { c.Complete, c.All = false, 1200 }, "calm, single faults", []string{"is to be struck alone", "So far 3 of 1,200 single faults were tried. An operation that nothing has struck yet has no row."}, false},
		"every pair": {inPairs, "calm, every pair of faults", []string{
			"Each of 2 single faults was followed by every kind of fault, at every operation that its run makes from then on, in a run for each. The single faults have a certificate of their own."}, true},
		"pairs": {func(c *exhaust.Certificate) { inPairs(c); c.Alike = 4 }, "calm, pairs of faults", []string{"that its run makes from then on, in a run for each. The single faults have a certificate of their own. A fault is left out where another pair or a single fault looks the same, whatever the time."}, false},
	} {
		t.Run(name, func(t *testing.T) {
			of := tried()
			c.as(of)
			page := faultMap(t, of)
			assert.Contains(t, page, "<title>Fault map of calm</title>")
			assert.Contains(t, page, "<h1>"+c.title+"</h1>")
			for _, says := range c.says {
				assert.Contains(t, page, says)
			}
			if c.everything {
				assert.Contains(t, page, "<li>empty: it cannot strike there</li>")
			} else {
				assert.Contains(t, page, "<li>"+notTried+"</li>")
			}
		})
	}
}

// Where a cell opens nothing, the page does not say that it does.
func TestACellOfAFaultMapOpensWhatItLinksTo(t *testing.T) {
	c := tried()
	page := faultMap(t, c)
	assert.Contains(t, page, "its link, if it has one, opens that run or the plan of it")
	assert.Contains(t, page, `title="fail-before on publish of job 1: missed">–</td>`)
	assert.Contains(t, page, `title="fail-after on publish of job 1: outside (one-dispatch-per-job)"><a href="tries/000002.html">○</a></td>`)
	inPairs(c)
	c.Tries[1].Page, c.Releases = "", []exhaust.Release{}
	assert.Contains(t, faultMap(t, c), `title="a; then fail-after on publish of job 1: outside (one-dispatch-per-job)">○</td>`)
}

// What the plan breaks by itself is on the page, and is not what "nothing was broken" is said of.
func TestAFaultMapSaysWhatThePlanBreaksByItself(t *testing.T) {
	c := tried()
	require.NotContains(t, faultMap(t, c), "by itself breaks")
	c.Releases = nil
	c.Baseline = []exhaust.Break{{Outside: campaign.Outside{Invariant: "snapshot-stays-fresh"}, Cells: []invariants.Cell{{Strike: "tick-fails", Status: "impossible", Says: "it is gone"}}}}
	page := faultMap(t, c)
	assert.Contains(t, page, "The plan by itself breaks <code>snapshot-stays-fresh</code> outside of its promise: tick-fails (impossible: it is gone).")
	assert.Contains(t, page, "nothing was broken but what the plan breaks by itself: 1 run")
}

// What was not judged is on the page, and with each run. A certificate of before does not know.
func TestAFaultMapSaysWhatWasNotJudged(t *testing.T) {
	c := tried()
	require.NotContains(t, faultMap(t, c), "ot judged")
	c.Tries[1].Unjudged, c.Unjudged = []string{"one-execution-per-job"}, []exhaust.Unjudged{{Invariant: "one-execution-per-job", Tries: 1}}
	require.NoError(t, c.Check())
	page := faultMap(t, c)
	assert.Contains(t, page, "Not judged, once an invariant that it needs was violated: one-execution-per-job in 1.")
	assert.Contains(t, page, "outside (one-dispatch-per-job); not judged: one-execution-per-job")
	c.Version, c.Unjudged = 2, nil
	assert.Contains(t, faultMap(t, c), "Which invariants were not judged is not known: version 2 of a certificate does not say.")
}

// A fault whose run was not judged to its end is nothing that held.
func TestACertificateOfWhatCouldNotBeJudgedIsNotGreen(t *testing.T) {
	c := tried()
	c.Counts = map[exhaust.Outcome]int{exhaust.Inconclusive: 3}
	tone, says := certified(c)
	assert.Equal(t, []string{"warn", "None of 3 single faults broke a promise; 3 could not be judged."}, []string{tone, says})
	e := (&Stored{Dir: "runs/calm", Certificate: c}).Entry("runs", "wavetank")
	assert.Equal(t, []string{"inconclusive", "warn", ""}, []string{e.Outcome, e.Tone, e.Replay})
	c.Complete = false
	e = (&Stored{Dir: "runs/calm", Certificate: c}).Entry("runs", "wavetank")
	assert.Equal(t, []string{"cut short", "wavetank exhaust --resume runs/calm"}, []string{e.Outcome, e.Replay})
}
