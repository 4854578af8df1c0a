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

// Versions of the format of certificate.json: the one that is written, and the oldest that is read.
// Certificates before version 3 do not say what was not judged.
const (
	CertificateVersion = 3
	oldestVersion      = 2
)

// CertificateVersions lists the versions that are read, the present one first.
func CertificateVersions() []int { return []int{CertificateVersion, oldestVersion} }

// saysUnjudged says whether the certificate's version lists what was not judged.
func (c *Certificate) saysUnjudged() bool { return c.Version > oldestVersion }

// Parts of a certificate's folder.
const (
	CertificateFile = "certificate.json"
	OptionsFile     = "options.json" // what was asked for, before the first run
	CampaignDir     = "campaign"     // the campaign of the runs
	TriesDir        = "tries"        // the plans of tries that did not hold
)

// TryFile is the name of the files of the n-th try, without extension.
func TryFile(n int) string { return fmt.Sprintf("%s/%06d", TriesDir, n+1) }

// Outcome is the outcome of a try.
type Outcome string

// The outcomes, the worst first. Violations of the plan without an added fault do not count; see
// [Certificate.Baseline].
const (
	OutOfBounds  Outcome = "out of bounds" // the run took its process down, or did not end
	Broken       Outcome = "broken"        // a promise was broken
	Inconclusive Outcome = "inconclusive"  // no promise was broken, and not everything could be judged
	Outside      Outcome = "outside"       // an invariant was broken outside its promise
	Missed       Outcome = "missed"        // the fault had no effect
	Held         Outcome = "held"          // nothing was broken
)

// Certificate says what was tried on a plan, and with what outcomes.
type Certificate struct {
	Version  int             `json:"version"`
	Build    string          `json:"build"`
	Name     string          `json:"name"`                 // the plan's name
	Preset   string          `json:"preset"`               // the plan's preset
	Plan     string          `json:"plan"`                 // in YAML
	All      int             `json:"all"`                  // how many tries there are
	Alike    int             `json:"alike,omitempty"`      // faults, first or second, that were not tried because they look the same as a tried one or, for pairs, as a single fault; see LooksTheSame
	Beyond   int             `json:"beyond,omitempty"`     // for pairs: single faults without a second, because their runs took their process down
	Own      int             `json:"own,omitempty"`        // faults that were not tried because an earlier fault strikes the operation or keeps it from its server
	Reduced  bool            `json:"reduced,omitempty"`    // see Options
	Pairs    bool            `json:"pairs,omitempty"`      // each try has two faults; the single faults are in another certificate
	Unpruned bool            `json:"unpruned,omitempty"`   // pairs that look the same were tried, too
	Complete bool            `json:"complete"`             // every try was made
	Calm     string          `json:"calm"`                 // the digest of the run without a fault
	Digest   string          `json:"digest"`               // computed from the digests of all runs
	Lengths  []time.Duration `json:"lengths_ns,omitempty"` // of faults that last; none if each has its single length
	Phases   []string        `json:"phases,omitempty"`     // only operations of these phases were struck; none is all
	Apart    int             `json:"apart,omitempty"`      // operations that were not struck because no fault can name them; for pairs, those of the first faults' runs included
	Aside    int             `json:"aside,omitempty"`      // operations of jobs that the plan is not about, likewise; none unless Reduced
	Kinds    []string        `json:"kinds"`
	Sites    []Site          `json:"sites"`
	Firsts   []First         `json:"firsts,omitempty"`   // for pairs: the first faults
	Baseline []Break         `json:"baseline,omitempty"` // what the plan breaks outside promises without an added fault
	Counts   map[Outcome]int `json:"counts"`
	Tries    []Tried         `json:"tries"`
	Releases []Release       `json:"releases"`           // what releases the violations outside their promises
	Unjudged []Unjudged      `json:"unjudged,omitempty"` // what was not judged
}

// Check returns an error if a stored certificate is inconsistent.
func (c *Certificate) Check() error {
	for i, f := range c.Firsts {
		if !c.has(f.Site, f.Kind) {
			return fmt.Errorf("first fault %d names an operation or a kind that the certificate does not list", i+1)
		}
	}
	counts := map[Outcome]int{}
	for i := range c.Tries {
		t := &c.Tries[i]
		if !c.has(t.Site, t.Kind) || t.First < 0 || t.First > len(c.Firsts) || c.Pairs != (t.First > 0) {
			return fmt.Errorf("run %d names an operation or a fault that the certificate does not list", i+1)
		}
		if !t.agrees() {
			return fmt.Errorf("run %d is %q, but names %d invariants", i+1, t.Outcome, len(t.Invariants))
		}
		counts[t.Outcome]++
	}
	if made := len(c.Tries); made > c.All || c.Complete && made < c.All {
		return fmt.Errorf("it has %d of %d runs, but complete is %v", made, c.All, c.Complete)
	}
	for i := range c.Releases {
		if first := c.Releases[i].First; first < 0 || first >= len(c.Tries) {
			return fmt.Errorf("%s was first released in a run that the certificate does not have", c.Releases[i].Invariant)
		}
	}
	if !slices.Equal(unjudged(c.Tries), c.Unjudged) {
		return errors.New("the invariants that were not judged do not agree with its runs")
	}
	if !maps.Equal(counts, c.Counts) {
		return errors.New("its counts do not agree with its runs")
	}
	return nil
}

func (c *Certificate) has(site, kind int) bool {
	return site >= 0 && site < len(c.Sites) && kind >= 0 && kind < len(c.Kinds)
}

// LooksTheSame says in what a fault that was left out equals one that was tried, by the rule for pairs. That
// is what is known at the strike, without the time and, if the search is reduced, without what other jobs do.
// A pair may also be left out because of a single fault, whose outcome is in a certificate of single faults.
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

// Noun is the word for one try.
func (c *Certificate) Noun() string {
	if c.Pairs {
		return "pair"
	}
	return "single fault"
}

// Words describes the faults of the n-th try.
func (c *Certificate) Words(n int) string {
	t := &c.Tries[n]
	if t.First > 0 {
		return c.Firsts[t.First-1].Fault + "; then " + t.Fault
	}
	return t.Fault
}

// HasPlan says whether the folder has a plan of the n-th try. Tries that did not hold have one. Of pairs
// outside a promise, only the examples do.
func (c *Certificate) HasPlan(n int) bool {
	switch c.Tries[n].Outcome {
	case Held, Missed:
		return false
	case Outside:
		return !c.Pairs || c.IsExample(n)
	}
	return true
}

// IsExample says whether the n-th try is the first that uses some release.
func (c *Certificate) IsExample(n int) bool {
	return slices.ContainsFunc(c.Releases, func(r Release) bool { return r.First == n })
}

// First is a first fault of pairs.
type First struct {
	Site  int    `json:"site"`
	Kind  int    `json:"kind"`
	Fault string `json:"fault"` // in words
}

// Tried is a try that was made.
type Tried struct {
	First      int      `json:"first,omitempty"` // for a pair: the number of its first fault, from 1
	Site       int      `json:"site"`
	Kind       int      `json:"kind"`
	Fault      string   `json:"fault"` // in words
	Outcome    Outcome  `json:"outcome"`
	Invariants []string `json:"invariants,omitempty"` // the invariants that were broken, or the way out of bounds
	Unjudged   []string `json:"unjudged,omitempty"`   // invariants that were not judged, at least for some job, because one that they depend on was violated
	Digest     string   `json:"digest,omitempty"`     // of its run
	Page       string   `json:"page,omitempty"`       // its page in the certificate's folder, if there is one
}

// agrees says whether the try names invariants if its outcome calls for them, and only then.
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

// Came gives the outcome of the try, and the invariants concerned.
func (t *Tried) Came() string { return came(t.Outcome, t.Invariants) }

func came(is Outcome, invariants []string) string {
	if len(invariants) == 0 {
		return string(is)
	}
	return fmt.Sprintf("%s (%s)", is, strings.Join(invariants, ", "))
}

// Unjudged is an invariant, and the number of tries in which it was not judged, at least for some job,
// because one that it depends on was violated.
type Unjudged struct {
	Invariant string `json:"invariant"`
	Tries     int    `json:"tries"`
}

// unjudged counts what was not judged in the tries, most frequent first.
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

// NotJudged says what was not judged, and in how many of the tries. It is "" if everything was judged, or the
// certificate is too old to say.
func (c *Certificate) NotJudged() string {
	if !c.saysUnjudged() {
		return fmt.Sprintf("Which invariants were not judged is not known: version %d of a certificate does not say", c.Version)
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

// Break is an invariant that was broken outside its promise, with the cells of the promise matrix that
// release it.
type Break struct {
	campaign.Outside
	Cells []invariants.Cell `json:"cells"`
}

// Says describes the cells.
func (b *Break) Says() string {
	var says []string
	for i := range b.Cells {
		says = append(says, saysOf(&b.Cells[i]))
	}
	return strings.Join(says, "; ")
}

// Release is a cell of the promise matrix that tries used: they broke the invariant, and the cell releases
// it.
type Release struct {
	Invariant string          `json:"invariant"`
	Cell      invariants.Cell `json:"cell"`
	Tries     int             `json:"tries"` // how many tries used it
	First     int             `json:"first"` // the index of the first of them
}

// Says describes the cell in a sentence.
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

// notProvided is the status of a cell without a strike: the settings lack what the promise takes.
const notProvided = "not provided"
