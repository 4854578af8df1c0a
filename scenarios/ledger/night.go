package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// Night is what campaigns came to that ran over one commit.
type Night struct {
	Day       string // such as 2026-11-27
	Commit    string // "" is not known
	Campaigns []Campaign
}

// Campaign is one of them.
type Campaign struct {
	Dir    string
	Result *campaign.Result
	Took   time.Duration // real time; 0 is not known
}

// kind says which campaigns count together: those that look for the same in the same way, whatever their seed and budget.
func (c *Campaign) kind() string {
	s := c.Result.Spec
	looks := any(s.Drawn)
	switch {
	case s.Struck != nil:
		looks = s.Struck.Plan // its operations are others with each build
	case s.Given != nil:
		looks = s.Given[0]
	}
	text, err := json.Marshal(looks)
	if err != nil {
		panic(err) // it was read from JSON
	}
	return fmt.Sprintf("%s-%08x", s.Name, uint32(xxhash.Sum64(text)))
}

// key tells the campaign from all others.
func (c *Campaign) key() string {
	text := fmt.Sprintf("%s %d %d %s", c.kind(), c.Result.Spec.Seed, c.Result.Runs, c.Result.Digest)
	return fmt.Sprintf("%016x", xxhash.Sum64String(text))
}

// search tells the runs that it is of: those of its shards, of what was cut short and of the whole are the same ones.
func (c *Campaign) search() string {
	text := fmt.Sprintf("%s %d %s", c.kind(), c.Result.Spec.Seed, c.Result.Build)
	return fmt.Sprintf("%016x", xxhash.Sum64String(text))
}

// ran is how many runs of each search the night has.
func (n *Night) ran() map[string]int {
	ran := map[string]int{}
	for i := range n.Campaigns {
		ran[n.Campaigns[i].search()] += n.Campaigns[i].Result.Runs
	}
	return ran
}

// keys are those of the night's campaigns, in order.
func (n *Night) keys() (keys []string) {
	for i := range n.Campaigns {
		keys = append(keys, n.Campaigns[i].key())
	}
	slices.Sort(keys)
	return keys
}

// counted is what earlier nights have entered in the ledger.
type counted struct {
	keys map[string]bool // of campaigns, such as those of a search that takes several nights
	ran  map[string]int  // runs of each search
}

// fresh is the night without the campaigns that earlier nights have counted, or some of whose runs they have: how often those
// runs hit a finding is not kept.
func (n *Night) fresh(before counted) *Night {
	fresh := *n
	fresh.Campaigns = slices.DeleteFunc(slices.Clone(n.Campaigns), func(c Campaign) bool { return before.keys[c.key()] || before.ran[c.search()] > 0 })
	return &fresh
}

// plans is how many plans of each kind were run, without those that were counted before. Where invariant is not "", only
// campaigns count that looked into every run that broke it: what another has left unexamined may be any finding of it.
func (n *Night) plans(before counted, invariant string) map[string]int {
	plans, ran, kinds := map[string]int{}, map[string]int{}, map[string]string{}
	for _, c := range n.Campaigns {
		search := c.search()
		same := before.keys[c.key()] && before.ran[search] == 0 // another build has made the same runs
		if same || invariant != "" && c.Result.UnexaminedBy[invariant] > 0 {
			continue
		}
		ran[search] += c.Result.Runs
		kinds[search] = c.kind()
	}
	for search, runs := range ran {
		plans[kinds[search]] += max(0, runs-before.ran[search])
	}
	return plans
}

// Sighting is a finding in a night: of equal fingerprints the one with the smallest plan, and how often any was hit.
type Sighting struct {
	*campaign.Finding
	Dir    string  // of its campaign
	Counts []Count // for each kind of campaign that hit it: how often, of how many plans
}

// sightings are the night's findings, by their names.
func (n *Night) sightings() map[string]*Sighting {
	seen, ran := map[string]*Sighting{}, n.plans(counted{}, "")
	for _, c := range n.Campaigns {
		for i := range c.Result.Findings {
			f := &c.Result.Findings[i]
			name := f.Fingerprint().Name()
			s := seen[name]
			if s == nil {
				s = &Sighting{Finding: f, Dir: c.Dir}
				seen[name] = s
			}
			if campaign.BySize(f, s.Finding) < 0 {
				s.Finding, s.Dir = f, c.Dir
			}
			kind := c.kind()
			of := countOf(&s.Counts, kind)
			of.Hits, of.Plans = of.Hits+f.Runs, ran[kind]
		}
	}
	return seen
}

// unexamined counts the runs that broke a promise and were not looked into.
func (n *Night) unexamined() (runs int) {
	for _, c := range n.Campaigns {
		runs += c.Result.Unexamined
	}
	return runs
}
