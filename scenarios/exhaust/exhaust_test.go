package exhaust

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
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

func define(t *testing.T, text string, o Options) *Definition {
	t.Helper()
	p, err := plans.Parse("one.yaml", []byte("name: one\ntopology: {schedulers: 1, workers: 1}\nworkload: {jobs: 1}\n"+text))
	require.NoError(t, err)
	d, err := Define(t.Context(), p, o)
	require.NoError(t, err)
	return d
}

// Each try strikes: a site is an operation that a fault can name, and no two are one. Of each phase that the run meets
// there is one, and of each site and kind one try, where lengths are not varied.
func TestEachOperationIsASite(t *testing.T) {
	d := define(t, "preset: hardened", Options{})
	columns, seen, phases := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, kind := range Kinds() {
		assert.False(t, columns[kind], "%s is there twice", kind)
		columns[kind] = true
	}
	for i := range d.Tries {
		try := &d.Tries[i]
		site := d.Sites[try.Site]
		assert.True(t, columns[kindOf(&try.Fault)], "%s has no column", try.Fault)
		key := site.String() + " on " + site.Node + " by " + kindOf(&try.Fault)
		assert.False(t, seen[key], "%s is tried twice", key)
		seen[key] = true
		phases[site.Phase] = true
	}
	for _, phase := range []string{"submit_write", "submit_publish", "submit_deliver", "lock_acquire", "state_read", "dispatched_write", "publish", "effect", "result_write", "submit_ack", "heartbeat"} {
		assert.True(t, phases[phase], phase)
	}
	for _, key := range []string{
		"publish 1 of job 1 on scheduler-1 by fail-after", "publish 1 of job 1 on scheduler-1 by crash", "publish 1 of job 1 on scheduler-1 by crash until the heal",
		"publish 1 of job 1 on scheduler-1 by pause", "publish 1 of job 1 on scheduler-1 by partition from nats", "effect 1 of job 1 on worker-1 by crash",
		"state_read 1 of job 1 on scheduler-1 by hang", "dispatched_write 1 of job 1 on scheduler-1 by late", "submit_ack 1 of job 1 on scheduler-1 by lose",
		"submit_deliver 1 of job 1 on scheduler-1 by duplicate", "heartbeat 1 on worker-1 by lose", "publish 1 of job 1 on scheduler-1 by failover of redis", "publish 1 of job 1 on scheduler-1 by failover of redis with an outage",
		"heartbeat 1 on worker-1 by partition from heartbeats", "effect 1 of job 1 on worker-1 by partition from heartbeats", "publish 1 of job 1 on scheduler-1 by skew", "effect 1 of job 1 on worker-1 by skew",
		"publish 1 of job 1 on scheduler-1 by restart of nats", "publish 1 of job 1 on scheduler-1 by power-loss of redis",
	} {
		assert.True(t, seen[key], key)
	}
	assert.False(t, seen["state_read 1 of job 1 on scheduler-1 by late"], "a read changes nothing later")
	for _, try := range define(t, "preset: hardened\nthen: {heal: false}", Options{}).Tries {
		assert.NotEqual(t, kill, kindOf(&try.Fault), "where nothing heals it would never end")
	}
}

func TestLengthsAreOnBothSidesOfEveryDuration(t *testing.T) {
	d := define(t, "preset: hardened\nengine: {worker_ttl: 7s}", Options{EveryLength: true, Phases: []string{"publish"}})
	assert.Contains(t, d.Lengths, 7*time.Second-70*time.Millisecond)
	assert.Contains(t, d.Lengths, 7*time.Second+70*time.Millisecond)
	pauses := 0
	for _, try := range d.Tries {
		if try.Fault.Do == faults.Pause {
			assert.Contains(t, d.Lengths, try.Fault.For)
			pauses++
		}
	}
	assert.Len(t, d.Lengths, pauses)
	assert.LessOrEqual(t, d.Lengths[len(d.Lengths)-1], time.Hour)
}

// Compensations have no number that a fault could name.
func TestWhatNoFaultCanNameIsCounted(t *testing.T) {
	p, err := plans.Load("saga-rollback")
	require.NoError(t, err)
	o := Options{Phases: []string{"publish"}, Kinds: []string{"fail-before"}}
	singles, err := Define(t.Context(), p, o)
	require.NoError(t, err)
	assert.Positive(t, singles.Apart)
	o.Pairs = true
	pairs, err := Define(t.Context(), p, o)
	require.NoError(t, err)
	assert.Greater(t, pairs.Apart, singles.Apart, "those in the runs of first faults are not struck either")
}

func TestAPlanThatBreaksAPromiseIsRefused(t *testing.T) {
	p, err := plans.Load("state-write-failure")
	require.NoError(t, err)
	require.NoError(t, p.Set("engine.dispatch_order=publish-first"))
	_, err = Define(t.Context(), p, Options{})
	assert.ErrorContains(t, err, "breaks a promise by itself")
}

// Reduced, the jobs that a plan is about are struck, and operations of none; and of faults that look the same to those, one. What
// those that are left out for that break, the others break, too.
func TestReducedBreaksWhatTheWholeBreaks(t *testing.T) {
	define := func(about string, o Options) *Definition {
		p, err := plans.Parse("two.yaml", []byte("name: two\npreset: documented\ntopology: {schedulers: 1, workers: 1}\nworkload: {jobs: 2, slow: {1: 1m}}\nabout: "+about))
		require.NoError(t, err)
		o.Phases = []string{"publish", "running_write", "result_publish", "replay_lock", "snapshot_write"}
		o.Kinds = []string{"fail-after", "crash"}
		d, err := Define(t.Context(), p, o)
		require.NoError(t, err)
		return d
	}
	of1, of12 := define("[1]", Options{Reduced: true}), define("[1, 2]", Options{})
	for _, s := range of1.Sites {
		assert.Contains(t, []int{0, 1}, s.Job)
	}
	of2 := slices.DeleteFunc(slices.Clone(of12.Sites), func(s Site) bool { return s.Job != 2 })
	assert.Equal(t, len(of2), of1.Aside)
	assert.True(t, slices.ContainsFunc(define("[]", Options{Reduced: true}).Sites, func(s Site) bool { return s.Job == 2 }), "about nobody is about all")
	all, reduced := of12, define("[1, 2]", Options{Reduced: true})
	assert.Equal(t, len(all.Tries), len(reduced.Tries)+reduced.Alike)
	assert.Less(t, len(reduced.Tries), len(all.Tries)*2/3)
	assert.Equal(t, findings(t, all), findings(t, reduced))
}

// What the settings promise nothing of is of no strike and no gap. A gap counts beside a strike.
func TestTheCellIsOfWhatReleased(t *testing.T) {
	for says, o := range map[string]campaign.Outside{
		"it is promised only with twice as many deliveries as attempts":                                {Invariant: "no-message-given-up", Unprovided: true, Released: []string{"delivery-lost"}},
		"delivery-lost (impossible: each lost or duplicate delivery uses up ":                          {Invariant: "no-message-given-up", Released: []string{"delivery-lost"}},
		"a kernel that still throttles at the last delivery (open: each question ":                     {Invariant: "no-message-given-up", InGap: true},
		"one of the message's deliveries); a kernel that still throttles at the last delivery (open: ": {Invariant: "no-message-given-up", InGap: true, Released: []string{"delivery-lost"}},
		"it is promised only with a job_lock_ttl of at least 1s":                                       {Invariant: "lock-kept-by-living-holder", Unprovided: true, Released: []string{"scheduler-away"}},
	} {
		b := Break{o, cellsOf(o)}
		assert.Contains(t, b.Says(), says)
		if o.Unprovided {
			assert.Equal(t, says, b.Says())
		}
	}
}

// A certificate counts each try once, by the worst of what came of it, and gives the cell behind what is outside of a promise.
func TestACertificateSaysWhatCameOfEachTry(t *testing.T) {
	d := define(t, "preset: hardened", Options{Phases: []string{"publish"}})
	records := []*campaign.Record{{Verdict: scenarios.Held, Digest: d.Calm, Outside: []campaign.Outside{{Invariant: "every-job-settles"}}}}
	for n := range d.Tries {
		records = append(records, &campaign.Record{N: n + 1, Verdict: scenarios.Held, Digest: "d"})
	}
	settles := campaign.Outside{Invariant: "every-job-settles"}
	records[1].Outside = []campaign.Outside{settles} // as without a fault
	records[2].Outside = []campaign.Outside{settles, {Invariant: "acked-only-when-durable", Released: []string{"redis-failover"}}}
	records[3].Verdict, records[3].Broken = scenarios.Violated, []campaign.Broken{{Invariant: "one-dispatch-per-job"}}
	records[4].Verdict, records[4].Contained = "", &campaign.Contained{What: campaign.Panicked}
	records[5].Missed = []int{0}
	records[6].Verdict = scenarios.Inconclusive
	records[7].Outside = []campaign.Outside{{Invariant: "one-effect-per-key", Unprovided: true}}
	records[8].Verdict, records[8].Outside = scenarios.Inconclusive, records[7].Outside
	records[2].Unjudged, records[3].Unjudged = []string{"one-execution-per-job"}, []string{"quarantined-output-stays", "one-execution-per-job"}
	c, err := d.Certify(records, &campaign.Result{Complete: true, Digest: "all"})
	require.NoError(t, err)
	assert.True(t, c.Complete)
	var outcomes []Outcome
	for _, try := range c.Tries[:9] {
		outcomes = append(outcomes, try.Outcome)
	}
	assert.Equal(t, []Outcome{Held, Outside, Broken, OutOfBounds, Missed, Inconclusive, Outside, Inconclusive, Held}, outcomes)
	assert.Equal(t, map[Outcome]int{Held: len(d.Tries) - 7, Outside: 2, Broken: 1, OutOfBounds: 1, Missed: 1, Inconclusive: 2}, c.Counts)
	assert.Equal(t, "Not judged, once an invariant that it needs was violated: one-execution-per-job in 2, quarantined-output-stays in 1", c.NotJudged())
	assert.Equal(t, []string{"one-execution-per-job"}, c.Tries[1].Unjudged)
	require.NoError(t, c.Check())
	c.Tries[1].Unjudged = nil
	assert.ErrorContains(t, c.Check(), "the invariants that were not judged do not agree with its runs")
	require.Len(t, c.Releases, 2)
	assert.Equal(t, "redis-failover (promised with: wait_replica)", c.Releases[0].Says())
	assert.Equal(t, 1, c.Releases[0].First)
	assert.Equal(t, "it is promised only with topology.deduplicate and replay.keep_key", c.Releases[1].Says())

	c, err = d.Certify(records[:3], &campaign.Result{})
	require.NoError(t, err)
	assert.False(t, c.Complete)

	records[0].Digest = "0" // in a worker, the plan ran otherwise
	_, err = d.Certify(records, &campaign.Result{Complete: true})
	assert.ErrorContains(t, err, "the plan is not deterministic")
	records[0].Contained = &campaign.Contained{What: campaign.Hung}
	_, err = d.Certify(records, &campaign.Result{Complete: true})
	assert.ErrorContains(t, err, "the run without a fault went out of bounds (no-hang)")
}

// The certificates that the README files link to are of this engine: a sample of their runs comes out as they say.
func TestTheCertificatesOfTheSmallestWorldStand(t *testing.T) {
	stands(t, plans.PresetDocumented)
	c := stands(t, plans.PresetHardened)
	for _, r := range c.Releases { // what no scheduler could keep
		assert.Equal(t, string(invariants.Impossible), r.Cell.Status, r.Says())
	}
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	said := regexp.MustCompile(`(\d),(\d)`).ReplaceAllString(strings.Join(strings.Fields(string(readme)), " "), "$1$2")
	assert.Contains(t, said, fmt.Sprintf("%d runs, no promise broken, no job lost. %d meet", c.All, c.Counts[Outside]))
}

// sampled is how many runs of a certificate are made again.
const sampled = 60

func stands(t *testing.T, preset string) *Certificate {
	data, err := os.ReadFile("../testdata/certificates/calm-" + preset + "/" + CertificateFile)
	require.NoError(t, err)
	c := new(Certificate)
	require.NoError(t, json.Unmarshal(data, c))
	require.NoError(t, c.Check())
	assert.True(t, c.Complete)
	assert.Zero(t, c.Counts[Broken]+c.Counts[OutOfBounds]+c.Counts[Inconclusive])

	plan, err := plans.Parse(CertificateFile, []byte(c.Plan))
	require.NoError(t, err)
	d, err := Define(t.Context(), plan, c.Options())
	require.NoError(t, err)
	const stale = "`make golden` makes the certificate anew"
	require.Equal(t, Kinds(), c.Kinds, stale)
	require.Empty(t, d.Differs(c), stale)
	differs, made, err := d.Repeat(t.Context(), c, c.Sample(sampled), func(int) {})
	require.NoError(t, err)
	require.Empty(t, differs, stale)
	assert.Equal(t, sampled, made)
	return c
}
