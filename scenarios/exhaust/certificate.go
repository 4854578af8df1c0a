package exhaust

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// The formats of certificate.json: what is written, and the oldest that is read. Certificates before version 3 do not say what
// was not judged.
const (
	CertificateVersion = 3
	oldestVersion      = 2
)

// CertificateVersions lists the formats that are read, the present one first.
func CertificateVersions() []int { return []int{CertificateVersion, oldestVersion} }

// saysUnjudged says whether the certificate's format has what was not judged.
func (c *Certificate) saysUnjudged() bool { return c.Version > oldestVersion }

// Parts of a certificate's folder.
const (
	CertificateFile = "certificate.json"
	OptionsFile     = "options.json" // what was asked for, before the first run
	CampaignDir     = "campaign"     // of the runs
	TriesDir        = "tries"        // the plans of tries that did not hold
)

// TryFile names the files of the n-th try, without their ending.
func TryFile(n int) string { return fmt.Sprintf("%s/%06d", TriesDir, n+1) }

// Outcome is what came of a try.
type Outcome string

// The outcomes, the worst first. What the plan breaks by itself does not count; see [Certificate.Baseline].
const (
	OutOfBounds  Outcome = "out of bounds" // it took its process down, or did not end
	Broken       Outcome = "broken"        // a promise was
	Inconclusive Outcome = "inconclusive"  // no promise was broken, and not everything could be judged
	Outside      Outcome = "outside"       // an invariant was broken outside of its promise
	Missed       Outcome = "missed"        // the fault had no effect
	Held         Outcome = "held"          // nothing was broken
)

// Certificate says what was tried on a plan, and what came of it.
type Certificate struct {
	Version  int             `json:"version"`
	Build    string          `json:"build"`
	Name     string          `json:"name"`                 // the plan's
	Preset   string          `json:"preset"`               // likewise
	Plan     string          `json:"plan"`                 // as YAML
	All      int             `json:"all"`                  // tries that there are
	Alike    int             `json:"alike,omitempty"`      // faults that were not tried, first or second, as one that was, or of pairs a single fault, looks the same; see LooksTheSame
	Beyond   int             `json:"beyond,omitempty"`     // of pairs: single faults that no second follows, as their runs took their process down
	Own      int             `json:"own,omitempty"`        // likewise, as a fault that comes before strikes the operation or keeps it from its server
	Reduced  bool            `json:"reduced,omitempty"`    // see Options
	Pairs    bool            `json:"pairs,omitempty"`      // each try is of two faults; the single faults are in a certificate of their own
	Unpruned bool            `json:"unpruned,omitempty"`   // pairs that are alike were tried, too
	Complete bool            `json:"complete"`             // every try was made
	Calm     string          `json:"calm"`                 // the digest of the run without a fault
	Digest   string          `json:"digest"`               // over the digests of all runs
	Lengths  []time.Duration `json:"lengths_ns,omitempty"` // of faults that last; none: one of their own
	Phases   []string        `json:"phases,omitempty"`     // operations of these alone were struck; none: all
	Apart    int             `json:"apart,omitempty"`      // operations that no fault can name, so that they were not struck; of pairs, in the runs of first faults, too
	Aside    int             `json:"aside,omitempty"`      // operations of jobs that the plan is not about, likewise; none unless Reduced
	Kinds    []string        `json:"kinds"`
	Sites    []Site          `json:"sites"`
	Firsts   []First         `json:"firsts,omitempty"`   // of pairs
	Baseline []Break         `json:"baseline,omitempty"` // what the plan breaks outside of promises by itself, in the run without an added fault
	Counts   map[Outcome]int `json:"counts"`
	Tries    []Tried         `json:"tries"`
	Releases []Release       `json:"releases"`           // why what is outside of its promise is so
	Unjudged []Unjudged      `json:"unjudged,omitempty"` // what was not judged
}

// Check says what is wrong with a stored certificate.
func (c *Certificate) Check() error {
	for i, f := range c.Firsts {
		if !c.has(f.Site, f.Kind) {
			return fmt.Errorf("first fault %d is of an operation or a kind that is not there", i+1)
		}
	}
	counts := map[Outcome]int{}
	for i := range c.Tries {
		t := &c.Tries[i]
		if !c.has(t.Site, t.Kind) || t.First < 0 || t.First > len(c.Firsts) || c.Pairs != (t.First > 0) {
			return fmt.Errorf("run %d is of an operation or a fault that is not there", i+1)
		}
		if !t.agrees() {
			return fmt.Errorf("run %d is %q, and names %d invariants", i+1, t.Outcome, len(t.Invariants))
		}
		counts[t.Outcome]++
	}
	if made := len(c.Tries); made > c.All || c.Complete && made < c.All {
		return fmt.Errorf("it has %d of %d runs, and complete is %v", made, c.All, c.Complete)
	}
	for i := range c.Releases {
		if first := c.Releases[i].First; first < 0 || first >= len(c.Tries) {
			return fmt.Errorf("%s was first released in a run that is not there", c.Releases[i].Invariant)
		}
	}
	if !slices.Equal(unjudged(c.Tries), c.Unjudged) {
		return errors.New("what was not judged is not that of its runs")
	}
	if !maps.Equal(counts, c.Counts) {
		return errors.New("its counts are not those of its runs")
	}
	return nil
}

func (c *Certificate) has(site, kind int) bool {
	return site >= 0 && site < len(c.Sites) && kind >= 0 && kind < len(c.Kinds)
}

// LooksTheSame says of faults that are left out, by the rule of pairs, what they have in common with one that is tried. It is
// what is known where they strike, and neither the time nor, if the search is reduced, what other jobs do.
// A pair is left out for a single fault, too, of which a certificate of single faults tells.
func LooksTheSame(reduced, pairs bool) string {
	what, to := "", ""
	if pairs {
		what = "pair or a single fault "
	}
	if reduced {
		to = " to the jobs that the plan is about"
	}
	return what + "looks the same" + to + ", whatever the time"
}

// Noun is what one try is called.
func (c *Certificate) Noun() string {
	if c.Pairs {
		return "pair"
	}
	return "single fault"
}

// Words gives the faults of the n-th try in words.
func (c *Certificate) Words(n int) string {
	t := &c.Tries[n]
	if t.First > 0 {
		return c.Firsts[t.First-1].Fault + "; then " + t.Fault
	}
	return t.Fault
}

// HasPlan says whether the folder has a plan of the n-th try: of all that did not hold, but of pairs that are outside of a
// promise only where they are examples.
func (c *Certificate) HasPlan(n int) bool {
	switch c.Tries[n].Outcome {
	case Held, Missed:
		return false
	case Outside:
		return !c.Pairs || c.IsExample(n)
	}
	return true
}

// IsExample says whether the n-th try is the first that a release was used by.
func (c *Certificate) IsExample(n int) bool {
	return slices.ContainsFunc(c.Releases, func(r Release) bool { return r.First == n })
}

// First is a fault after which others strike.
type First struct {
	Site  int    `json:"site"`
	Kind  int    `json:"kind"`
	Fault string `json:"fault"` // in words
}

// Tried is a try that was made.
type Tried struct {
	First      int      `json:"first,omitempty"` // of a pair: the number of its first fault, from 1
	Site       int      `json:"site"`
	Kind       int      `json:"kind"`
	Fault      string   `json:"fault"` // in words
	Outcome    Outcome  `json:"outcome"`
	Invariants []string `json:"invariants,omitempty"` // that were broken; or the way out of bounds
	Unjudged   []string `json:"unjudged,omitempty"`   // invariants that were not judged, of some job at least, once one that they need was violated
	Digest     string   `json:"digest,omitempty"`     // of its run
	Page       string   `json:"page,omitempty"`       // in the certificate's folder, if it has one
}

// agrees says whether the try names what it broke, or how it went out of bounds, if and only if it did.
func (t *Tried) agrees() bool {
	switch t.Outcome {
	case Broken, Outside:
		return len(t.Invariants) > 0
	case OutOfBounds:
		return len(t.Invariants) == 1
	case Inconclusive, Missed, Held:
		return len(t.Invariants) == 0
	}
	return false
}

// Came says what came of the try, and which invariants that was about.
func (t *Tried) Came() string { return came(t.Outcome, t.Invariants) }

func came(is Outcome, invariants []string) string {
	if len(invariants) == 0 {
		return string(is)
	}
	return fmt.Sprintf("%s (%s)", is, strings.Join(invariants, ", "))
}

// Unjudged is an invariant that was not judged in so many tries, of some job at least, once one that it needs was violated.
type Unjudged struct {
	Invariant string `json:"invariant"`
	Tries     int    `json:"tries"`
}

// unjudged sums up what was not judged in the tries, most often first.
func unjudged(tries []Tried) (list []Unjudged) {
	for i := range tries {
		for _, name := range tries[i].Unjudged {
			at := slices.IndexFunc(list, func(u Unjudged) bool { return u.Invariant == name })
			if at < 0 {
				at = len(list)
				list = append(list, Unjudged{Invariant: name})
			}
			list[at].Tries++
		}
	}
	slices.SortStableFunc(list, func(a, b Unjudged) int { return b.Tries - a.Tries })
	return list
}

// NotJudged says what was not judged, and in how many of the tries; "" is nothing. An old certificate does not know.
func (c *Certificate) NotJudged() string {
	if !c.saysUnjudged() {
		return fmt.Sprintf("What was not judged is not known: version %d of a certificate does not say", c.Version)
	}
	if len(c.Unjudged) == 0 {
		return ""
	}
	var says []string
	for _, u := range c.Unjudged {
		says = append(says, fmt.Sprintf("%s in %d", u.Invariant, u.Tries))
	}
	return "Not judged, once an invariant that it needs was violated: " + strings.Join(says, ", ")
}

// Break is an invariant that was broken outside of its promise, with the cells of the promise matrix that release it.
type Break struct {
	campaign.Outside
	Cells []invariants.Cell `json:"cells"`
}

// Says gives the cells in words.
func (b *Break) Says() string {
	var says []string
	for i := range b.Cells {
		says = append(says, saysOf(&b.Cells[i]))
	}
	return strings.Join(says, "; ")
}

// Release is a cell of the promise matrix that tries used: the invariant was broken, and the strike releases it.
type Release struct {
	Invariant string          `json:"invariant"`
	Cell      invariants.Cell `json:"cell"`
	Tries     int             `json:"tries"` // that used it
	First     int             `json:"first"` // of them, by its place among the tries
}

// Says gives the cell in a sentence.
func (r *Release) Says() string { return saysOf(&r.Cell) }

func saysOf(c *invariants.Cell) string {
	if c.Status == notProvided {
		return "it is promised only with " + strings.Join(c.With, ", or ")
	}
	says := c.Says
	if len(c.With) > 0 {
		says = strings.Join(c.With, ", or ")
	}
	return fmt.Sprintf("%s (%s: %s)", c.Strike, c.Status, says)
}

// notProvided is the status of a cell that no strike is behind: the settings have nothing that the promise takes.
const notProvided = "not provided"
