package ledger

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/whatif"
)

// lostAck is a plan in which the ack of a job's dispatch is lost.
func lostAck(job int, seed int) string {
	return fmt.Sprintf(`version: 1
name: one-dispatch-per-job-%08d
preset: documented
topology: {schedulers: 1, workers: %d}
workload: {jobs: %d}
faults:
  - on: {job: %d, phase: publish}
    do: fail-after
seed: %d
`, seed, 1+job%3, job, job, seed)
}

// lateWrite is a plan in which a job's state is written after its writer has given up.
func lateWrite(job int, seed int) string {
	return strings.NewReplacer("phase: publish", "phase: dispatched_write", "do: fail-after", "do: late\n    for: 5s").Replace(lostAck(job, seed))
}

// explained are the operations on the path of why, by plans: to find them takes half a second.
var explained = map[string][]string{}

// found is what a campaign would make of a plan that breaks the invariant.
func found(t *testing.T, text, invariant string, runs int) campaign.Finding {
	p, err := plans.Parse("p.yaml", []byte(text))
	require.NoError(t, err)
	operations, known := explained[text]
	if !known {
		c, err := whatif.Explain(context.Background(), p, whatif.Options{Invariant: invariant, Quick: true})
		require.NoError(t, err)
		operations = c.Operations()
		explained[text] = operations
	}
	return campaign.Finding{
		Invariant: invariant, Cause: campaign.FaultKind(p.Faults[0]), Kinds: []string{campaign.FaultKind(p.Faults[0])}, Operations: operations,
		Plan: text, File: "findings/x.yaml", Runs: runs, Verdict: scenarios.Violated, Jobs: p.Workload.Jobs, Faults: len(p.Faults),
	}
}

// nightOf is a made-up night of some random plans.
func nightOf(day, runs int, found ...campaign.Finding) *Night {
	return &Night{Day: fmt.Sprintf("2026-11-%02d", day), Commit: fmt.Sprintf("c%02d", day), Campaigns: []Campaign{{
		Dir:    fmt.Sprintf("runs/%d", day),
		Result: &campaign.Result{Spec: campaign.Spec{Name: "fuzz", Seed: uint64(day), Drawn: &campaign.Drawn{}}, Runs: runs, Digest: fmt.Sprint(day), Findings: found},
	}}}
}

// The fingerprint of a finding is the same whichever job it is about, on however many nodes, and under which seed.
func TestAFingerprintSurvivesOtherJobsAndSeeds(t *testing.T) {
	ack := new(found(t, lostAck(1, 1), "one-dispatch-per-job", 1)).Fingerprint()
	assert.Equal(t, campaign.Fingerprint{Invariant: "one-dispatch-per-job", Strikes: []string{"fail-after publish"}, Operations: []string{"publish"}}, ack)
	for job, seed := range map[int]int{2: 4, 3: 8} {
		assert.Equal(t, ack, new(found(t, lostAck(job, seed), "one-dispatch-per-job", 1)).Fingerprint(), "job %d, seed %d", job, seed)
	}
	late := new(found(t, lateWrite(1, 1), "lock-mutual-exclusion", 1)).Fingerprint()
	assert.NotEqual(t, ack.Name(), late.Name())
	assert.Equal(t, late, new(found(t, lateWrite(2, 5), "lock-mutual-exclusion", 1)).Fingerprint())
}

// What went out of bounds is known by the calls that led there, whatever their lines and the numbers of functions without a name.
func TestAFingerprintSurvivesMovedLines(t *testing.T) {
	panics := func(detail string) campaign.Fingerprint {
		return (&campaign.Finding{Invariant: "no-panic", Kinds: []string{"crash of a worker at a time"}, Detail: detail}).Fingerprint()
	}
	was := panics("panic: index 3\n  engine/pick.(*Picker).weigh pick.go:80\n  engine/pick.(*Picker).Pick.func1 pick.go:31\n  engine.(*Scheduler).handle handle.go:10\n  engine.run run.go:7\n  main.main main.go:1\n")
	assert.Equal(t, []string{"engine/pick.(*Picker).weigh", "engine/pick.(*Picker).Pick", "engine.(*Scheduler).handle", "engine.run"}, was.Operations)
	assert.Equal(t, was, panics("panic: index 5\n  engine/pick.(*Picker).weigh pick.go:92\n  engine/pick.(*Picker).Pick.func2.1 pick.go:44\n  engine.(*Scheduler).handle handle.go:12\n  engine.run run.go:7\n"))
	assert.NotEqual(t, was.Name(), panics("panic: index 3\n  engine/pick.(*Picker).other pick.go:80\n").Name())
	flaky := (&campaign.Finding{Invariant: "every-job-settles", Flaky: true, Cause: "the same plan gave another run", Kinds: []string{"hang publish"}}).Fingerprint()
	assert.Equal(t, []string{"the same plan gave another run"}, flaky.Strikes)
}

// Kinds of fault that do the same to the world are one strike.
func TestAFingerprintSurvivesAnEqualStrike(t *testing.T) {
	of := func(kinds ...string) string {
		return (&campaign.Finding{Invariant: "x", Verdict: scenarios.Violated, Kinds: kinds}).Fingerprint().Name()
	}
	assert.Equal(t, of("fail-before publish", "late ack"), of("late ack", "hang publish"))
	assert.NotEqual(t, of("fail-before publish"), of("fail-after publish"))
}

// Ten nights, of which each is triaged by a process of its own, as it were.
func TestTenNights(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	const often, seldom = 20, 1 // of 1,000 plans
	ack := func(job, seed int) campaign.Finding {
		return found(t, lostAck(job, seed), "one-dispatch-per-job", often)
	}
	late := func(job, seed int) campaign.Finding {
		return found(t, lateWrite(job, seed), "lock-mutual-exclusion", seldom)
	}
	ackName, lateName := new(ack(1, 1)).Fingerprint().Name(), new(late(1, 1)).Fingerprint().Name()
	for i, n := range []struct {
		found []campaign.Finding
		ack   State // "" is not told
		late  State
		left  map[string]int // runs that broke a promise and were not examined
	}{
		{}, // 1
		{found: []campaign.Finding{ack(1, 1)}, ack: New},                                                                   // 2
		{found: []campaign.Finding{ack(3, 8)}, ack: Ongoing},                                                               // 3: another job, another seed
		{found: []campaign.Finding{late(2, 5)}, ack: Ongoing, late: New, left: map[string]int{"one-dispatch-per-job": 18}}, // 4: it may be among those
		{ack: Resolved, late: Ongoing, left: map[string]int{"every-job-settles": 18}},                                      // 5: 228 clean plans of one in fifty are enough; 1,000 of one in a thousand are not
		{late: Ongoing}, // 6
		{found: []campaign.Finding{late(1, 2)}, late: Ongoing}, // 7: seldom, not gone
		{late: Ongoing}, // 8
		{found: []campaign.Finding{ack(2, 4)}, ack: Back, late: Ongoing},                // 9
		{found: []campaign.Finding{ack(1, 3), late(2, 5)}, ack: Ongoing, late: Ongoing}, // 10
	} {
		night := nightOf(i+1, 1000, n.found...)
		night.Campaigns[0].Result.UnexaminedBy = n.left
		for again := range 2 { // a triage that was written counts once
			l, err := Read(dir)
			require.NoError(t, err)
			r, err := l.Triage(night)
			require.NoError(t, err)
			got := map[string]State{}
			for _, o := range r.Outcomes {
				got[o.Name()] = o.State
			}
			assert.Equal(t, n.ack, got[ackName], "night %d, time %d", i+1, again+1)
			assert.Equal(t, n.late, got[lateName], "night %d, time %d", i+1, again+1)
			assert.Equal(t, n.ack == New || n.ack == Back || n.late == New, r.Alarms() > 0, "night %d", i+1)
			require.NoError(t, l.Write())
		}
	}
	l, err := Read(dir)
	require.NoError(t, err)
	require.Len(t, l.Entries, 2)
	assert.Len(t, l.Nights, 10)
	e := l.entry(ackName)
	assert.Equal(t, When{"2026-11-02", "c02"}, e.First)
	assert.Equal(t, When{"2026-11-10", "c10"}, e.Last)
	assert.Equal(t, 4*often, e.Seen[0].Hits)
	assert.Equal(t, 4000, e.Seen[0].Plans, "those of nights in which it was gone do not count")
	assert.Equal(t, uint64(3), e.Plan.Seed, "its plan is the last that showed it")
	assert.Equal(t, 7000, l.entry(lateName).Seen[0].Plans, "those of nights in which it was there and was not hit do")

	p, err := plans.Load(l.Path(e))
	require.NoError(t, err, "a finding's file is taken for its plan")
	assert.Equal(t, e.Plan, p)
}

// How many clean plans are enough hangs on how often it was hit: (1-p)^n is at most one in a hundred.
func TestHowManyCleanPlansAreEnough(t *testing.T) {
	assert.Equal(t, 459, (&Count{Hits: 10, Plans: 1000}).Enough())
	assert.Equal(t, 4603, (&Count{Hits: 1, Plans: 1000}).Enough())
	assert.Equal(t, 1, (&Count{Hits: 5, Plans: 5}).Enough())
	assert.Greater(t, doubt([]Count{{Hits: 10, Plans: 1000, Clean: 458}}), Doubted)
	assert.LessOrEqual(t, doubt([]Count{{Hits: 10, Plans: 1000, Clean: 459}}), Doubted)
	assert.LessOrEqual(t, doubt([]Count{{Hits: 10, Plans: 1000, Clean: 230}, {Hits: 1, Plans: 100, Clean: 230}}), Doubted)
}

// Only campaigns of a kind that found it say that it is gone.
func TestAnotherSearchSaysNothing(t *testing.T) {
	l := &Ledger{Dir: t.TempDir()}
	_, err := l.Triage(nightOf(1, 1000, found(t, lostAck(1, 1), "one-dispatch-per-job", 500)))
	require.NoError(t, err)
	other := nightOf(2, 1000)
	other.Campaigns[0].Result.Spec.Drawn.Presets = []string{"hardened"}
	r, err := l.Triage(other)
	require.NoError(t, err)
	assert.Equal(t, Ongoing, r.Outcomes[0].State)
	assert.Zero(t, r.Outcomes[0].Entry.Seen[0].Clean)
	r, err = l.Triage(nightOf(3, 1000))
	require.NoError(t, err)
	assert.Equal(t, Resolved, r.Outcomes[0].State)
}

func TestALedgerThatIsBrokenSaysWhere(t *testing.T) {
	dir := t.TempDir()
	l := &Ledger{Dir: dir}
	_, err := l.Triage(nightOf(1, 1000, found(t, lostAck(1, 1), "one-dispatch-per-job", 500)))
	require.NoError(t, err)
	require.NoError(t, l.Write())
	path := l.Path(l.Entries[0])
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, c := range []struct{ was, is, says string }{
		{"state: new", "state: nwe", `:2:8: state is "nwe"; it must be new, ongoing, resolved or back`},
		{"phase: publish", "phase: publis", `unknown phase "publis"`},
		{"  strikes: [fail-after publish]", "  strikes: [fail-before publish]", "this is the fingerprint of one-dispatch-per-job-"},
		{"ledger: 1", "ledger: 2", "ledger is 2, out of range"},
	} {
		require.Contains(t, string(data), c.was)
		require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(data), c.was, c.is, 1)), 0o644))
		_, err := Read(dir)
		assert.ErrorContains(t, err, c.says)
		assert.ErrorContains(t, err, path)
	}
	require.NoError(t, os.WriteFile(path, data, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, NightsFile), []byte("{\n"), 0o644))
	_, err = Read(dir)
	require.ErrorContains(t, err, NightsFile+":1: the line is broken")
}

// A night that is older than the last is not counted again.
func TestAnOldNightIsRefused(t *testing.T) {
	l := &Ledger{Dir: t.TempDir()}
	for _, day := range []int{1, 2} {
		_, err := l.Triage(nightOf(day, 10))
		require.NoError(t, err)
	}
	_, err := l.Triage(nightOf(1, 10))
	require.ErrorContains(t, err, "these campaigns are in "+l.Dir+" already, as those of 2026-11-01, and so is a later night")
}

func TestWhatWasNotMet(t *testing.T) {
	assert.Equal(t, []Unmet{{"b", 3}, {"a", 1}}, UnmetBy([]Past{{Never: []string{"b"}}, {Never: []string{"b", "c"}}, {Never: []string{"a", "b"}}}))
	assert.Empty(t, UnmetBy(nil))
}

// A search that takes several nights is among the campaigns of each, and its runs count in the first.
func TestCampaignsOfEarlierNightsCountOnce(t *testing.T) {
	l := &Ledger{Dir: t.TempDir()}
	_, err := l.Triage(nightOf(1, 1000, found(t, lostAck(1, 1), "one-dispatch-per-job", 10)))
	require.NoError(t, err)
	both := nightOf(2, 1000)
	both.Campaigns = append(both.Campaigns, nightOf(1, 1000, found(t, lostAck(1, 1), "one-dispatch-per-job", 10)).Campaigns...)
	r, err := l.Triage(both)
	require.NoError(t, err)
	assert.Equal(t, Ongoing, r.Outcomes[0].State)
	assert.Equal(t, 10, r.Outcomes[0].Entry.Seen[0].Hits)
	assert.Equal(t, 2000, r.Outcomes[0].Entry.Seen[0].Plans)
}

// Runs count once, whether a campaign comes cut short, in shards or whole, and on whatever day.
func TestRunsCountOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	ack := func(runs int) campaign.Finding { return found(t, lostAck(1, 1), "one-dispatch-per-job", runs) }
	part := func(seed, runs int, found ...campaign.Finding) Campaign {
		c := nightOf(seed, runs, found...).Campaigns[0]
		c.Result.Digest = fmt.Sprint(seed, runs)
		return c
	}
	triage := func(day int, campaigns ...Campaign) *Entry {
		l, err := Read(dir)
		require.NoError(t, err)
		_, err = l.Triage(&Night{Day: fmt.Sprintf("2026-11-%02d", day), Campaigns: campaigns})
		require.NoError(t, err)
		require.NoError(t, l.Write())
		require.Len(t, l.Entries, 1)
		return l.Entries[0]
	}
	counts := func(e *Entry) Count { c := e.Seen[0]; c.Campaign = ""; return c }
	assert.Equal(t, Count{Hits: 2, Plans: 30}, counts(triage(1, part(1, 10, ack(2)), part(1, 11), part(1, 9))), "three shards")
	assert.Equal(t, Count{Hits: 2, Plans: 30}, counts(triage(2, part(1, 30, ack(2)))), "the whole")
	assert.Equal(t, Count{Hits: 2, Plans: 30}, counts(triage(2, part(1, 9))), "a shard again")
	assert.Equal(t, Count{Hits: 2, Plans: 30, Clean: 5}, counts(triage(3, part(2, 5))), "cut short")
	assert.Equal(t, Count{Hits: 2, Plans: 30, Clean: 8}, counts(triage(3, part(2, 8))), "gone on with")
	assert.Equal(t, Count{Hits: 2, Plans: 30, Clean: 12}, counts(triage(3, part(2, 8), part(2, 4))), "with one more shard")
	other := part(2, 12)
	other.Result.Build = "other"
	assert.Equal(t, Count{Hits: 2, Plans: 30, Clean: 24}, counts(triage(4, other)), "other runs of another build")
	equal := part(2, 12)
	equal.Result.Build = "third"
	assert.Equal(t, Count{Hits: 2, Plans: 30, Clean: 24}, counts(triage(4, part(5, 0), equal)), "equal runs of another build")
	assert.Equal(t, Count{Hits: 3, Plans: 74}, counts(triage(5, part(3, 20, ack(1)))), "another campaign")
}

// Nights are entered in their order, and each is one of some runs.
func TestNightsThatAreNotEntered(t *testing.T) {
	l := &Ledger{Dir: "ledger"}
	_, err := l.Triage(nightOf(9, 0))
	assert.EqualError(t, err, "no run of these campaigns is over, so that nobody knows what they would have found; run them, or go on with them")
	_, err = l.Triage(nightOf(9, 10))
	require.NoError(t, err)
	_, err = l.Triage(nightOf(8, 10))
	assert.EqualError(t, err, "the last night in ledger is that of 2026-11-09, and nights are entered in their order; this one is of 2026-11-08")
	assert.Len(t, l.Nights, 1)
}
