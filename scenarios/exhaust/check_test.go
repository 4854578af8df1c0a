package exhaust

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// lost is a plan whose own fault breaks an invariant outside of its promise.
const lost = "preset: documented\nfaults: [{on: {job: 1, phase: publish}, do: fail-after}]"

// certified makes the tries, and a certificate of them as it is read from its file.
func certified(t *testing.T, d *Definition) *Certificate {
	t.Helper()
	p, err := plans.Parse("own", []byte(d.Plan))
	require.NoError(t, err)
	var records []*campaign.Record
	for n := -1; n < len(d.Tries); n++ {
		if n >= 0 {
			p, err = d.PlanOf(n)
			require.NoError(t, err)
		}
		r, err := d.record(t.Context(), n+1, p)
		require.NoError(t, err)
		records = append(records, r)
	}
	c, err := d.Certify(records, &campaign.Result{Complete: true})
	require.NoError(t, err)
	c.Digest = c.digest()
	return copied(t, c)
}

func copied(t *testing.T, c *Certificate) *Certificate {
	data, err := json.Marshal(c)
	require.NoError(t, err)
	as := new(Certificate)
	require.NoError(t, json.Unmarshal(data, as))
	return as
}

// repeated says how runs of the certificate that are made again differ from it, and how many were made.
func repeated(t *testing.T, d *Definition, c *Certificate) (string, int) {
	t.Helper()
	differs, made, err := d.Repeat(t.Context(), c, c.Sample(0), func(int) {})
	require.NoError(t, err)
	return differs, made
}

// What the plan breaks by itself is in its certificate, and no try is blamed for the same.
func TestACertificateSaysWhatThePlanBreaksByItself(t *testing.T) {
	d := define(t, "preset: hardened", Options{Phases: []string{"publish"}})
	const invariant = "acked-only-when-durable"
	var records []*campaign.Record
	for n, outside := range []campaign.Outside{
		{Released: []string{"redis-failover"}, Jobs: []string{"job-1"}},
		{Released: []string{"redis-failover"}, Jobs: []string{"job-1"}},
		{Released: []string{"redis-death"}, Jobs: []string{"job-1"}},
		{Released: []string{"redis-death", "redis-failover"}, Jobs: []string{"job-1"}},
		{Released: []string{"redis-failover"}, Jobs: []string{"job-1", "job-2"}},
	} {
		outside.Invariant = invariant
		r := &campaign.Record{N: n, Verdict: "held", Digest: d.Calm, Outside: []campaign.Outside{outside}}
		records = append(records, r)
	}
	c, err := d.Certify(records, &campaign.Result{})
	require.NoError(t, err)
	c = copied(t, c)
	require.NoError(t, c.Check())
	require.Len(t, c.Baseline, 1)
	assert.Equal(t, invariant, c.Baseline[0].Invariant)
	assert.Equal(t, "redis-failover (promised with: wait_replica)", c.Baseline[0].Says())
	var came []string
	for i := range c.Tries {
		came = append(came, c.Tries[i].Came())
	}
	assert.Equal(t, []string{"held", "outside (acked-only-when-durable)", "held", "outside (acked-only-when-durable)"}, came,
		"the plan's own strike does not release it in the second, and another job breaks it in the last")
}

// Whatever a certificate says that its runs do not come to is found once they are made again.
func TestAForgedCertificateDiffers(t *testing.T) {
	d := define(t, lost, Options{Phases: []string{"publish"}, Kinds: []string{"fail-after", "crash", "failover of redis", "partition from nats"}})
	sound := certified(t, d)
	require.NoError(t, sound.Check())
	require.NotEmpty(t, sound.Baseline)
	require.Positive(t, sound.Counts[Outside])
	require.Positive(t, sound.Counts[Held])
	require.Empty(t, d.Differs(sound))
	differs, made := repeated(t, d, sound)
	require.Empty(t, differs)
	require.Equal(t, len(sound.Tries), made)

	is := func(c *Certificate, o Outcome) *Tried {
		for n := range c.Tries {
			if c.Tries[n].Outcome == o {
				return &c.Tries[n]
			}
		}
		return nil
	}
	for name, forge := range map[string]func(*Certificate){
		"an outcome":             func(c *Certificate) { is(c, Held).Outcome = Missed },
		"what was broken hidden": func(c *Certificate) { t := is(c, Outside); t.Outcome, t.Invariants = Held, nil },
		"another invariant":      func(c *Certificate) { is(c, Outside).Invariants = []string{"every-job-settles-twice"} },
		"a baseline":             func(c *Certificate) { c.Baseline = append(c.Baseline, Break{campaign.Outside{Invariant: "x"}, nil}) },
		"no baseline":            func(c *Certificate) { c.Baseline = nil },
		"a milder cell":          func(c *Certificate) { c.Releases[0].Cell.Status = "impossible" },
		"fewer of a release":     func(c *Certificate) { c.Releases[0].Tries-- },
		"what was not judged":    func(c *Certificate) { is(c, Held).Unjudged = []string{"every-job-settles"} },
		"one release less":       func(c *Certificate) { c.Releases = c.Releases[1:] },
	} {
		c := copied(t, sound)
		forge(c)
		require.Empty(t, d.Differs(c), "%s is not seen before the runs are made", name)
		differs, _ := repeated(t, d, c)
		assert.Contains(t, differs, "the certificate says", name)
	}
	for name, forge := range map[string]func(*Certificate){
		"a name":              func(c *Certificate) { c.Name = "two" },
		"a preset":            func(c *Certificate) { c.Preset = plans.PresetHardened },
		"an operation":        func(c *Certificate) { c.Sites[0].At += time.Second },
		"one operation more":  func(c *Certificate) { c.Sites = append(c.Sites, c.Sites[0]) },
		"what was left out":   func(c *Certificate) { c.Alike++ },
		"what was not struck": func(c *Certificate) { c.Apart++ },
		"other jobs":          func(c *Certificate) { c.Aside++ },
		"what the plan keeps": func(c *Certificate) { c.Own++ },
		"lengths":             func(c *Certificate) { c.Lengths = []time.Duration{time.Second} },
		"one kind less":       func(c *Certificate) { c.Kinds = c.Kinds[:len(c.Kinds)-1] },
		"the kind of a try":   func(c *Certificate) { c.Tries[0].Kind++ },
		"a digest":            func(c *Certificate) { c.Tries[0].Digest = "0" },
		"the whole digest":    func(c *Certificate) { c.Digest = "0" },
	} {
		c := copied(t, sound)
		forge(c)
		assert.Contains(t, d.Differs(c), "the certificate says", name)
	}

	c := copied(t, sound) // it has no run that could be made again
	*is(c, Held) = Tried{Outcome: OutOfBounds, Invariants: []string{string(campaign.Panicked)}}
	_, made = repeated(t, d, c)
	assert.Equal(t, len(c.Tries)-1, made)
}

func TestACertificateAgreesWithItself(t *testing.T) {
	d := define(t, "preset: hardened", Options{Phases: []string{"publish"}, Kinds: []string{"crash", "pause"}})
	sound := certified(t, d)
	require.NoError(t, sound.Check())
	for name, forge := range map[string]func(*Certificate){
		"it has 1 of 2 runs, but complete is true":     func(c *Certificate) { c.Tries = c.Tries[:1] },
		"it has 2 of 1 runs, but complete is true":     func(c *Certificate) { c.All = 1 },
		"it has 2 of 1 runs, but complete is false":    func(c *Certificate) { c.All, c.Complete = 1, false },
		"its counts do not agree with its runs":        func(c *Certificate) { c.Counts[Missed]++ },
		`run 1 is "broken", but names 0 invariants`:    func(c *Certificate) { c.Tries[0] = Tried{Outcome: Broken} },
		`run 1 is "held", but names 1 invariants`:      func(c *Certificate) { c.Tries[0] = Tried{Outcome: Held, Invariants: []string{"x"}} },
		`run 1 is "all right", but names 0 invariants`: func(c *Certificate) { c.Tries[0].Outcome = "all right" },
	} {
		c := copied(t, sound)
		forge(c)
		assert.EqualError(t, c.Check(), name)
	}
	unfinished := copied(t, sound)
	unfinished.Complete, unfinished.Tries = false, unfinished.Tries[:1]
	unfinished.Counts = map[Outcome]int{unfinished.Tries[0].Outcome: 1}
	unfinished.Releases = nil
	assert.NoError(t, unfinished.Check())
}
