package campaign

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Fingerprint identifies a finding across campaigns. It ignores the jobs, nodes and seed of the plan, and the
// line of code where something happens.
type Fingerprint struct {
	Invariant  string   `yaml:"invariant,required"`   // or the way in which the code under test went out of bounds
	Strikes    []string `yaml:"strikes,omitempty"`    // kinds of fault in the smallest plan, in order of name; kinds with the same effect count as one
	Operations []string `yaml:"operations,omitempty"` // the operations on the path of why on which the violation depends; for what went out of bounds, the calls that led there
}

// Fingerprint returns the finding's fingerprint.
func (f *Finding) Fingerprint() Fingerprint {
	p := Fingerprint{Invariant: f.Invariant, Strikes: f.Strikes(), Operations: f.Operations}
	switch {
	case f.AsDrawn():
		p.Strikes, p.Operations = []string{f.Cause}, nil // the rest of the plan says little
	case f.Verdict == "":
		p.Operations = callsOf(f.Detail)
	}
	return p
}

// Name names the finding and its file, in the folder of a campaign and in the ledger. It consists of the
// invariant and a hash of the rest.
func (p Fingerprint) Name() string {
	text := strings.Join([]string{p.Invariant, strings.Join(p.Strikes, ","), strings.Join(p.Operations, ",")}, "\n")
	return fmt.Sprintf("%s-%x", p.Invariant, sha256.Sum256([]byte(text)))[:len(p.Invariant)+9]
}

// Causes of findings whose plans were not shrunk.
const (
	causeFlaky    = "the same plan gave another run"
	causeUnshrunk = "a plan that could not be shrunk"
)

// AsDrawn says whether the plan was not shrunk. Its faults and settings then say little.
func (f *Finding) AsDrawn() bool { return f.Flaky || f.Cause == causeUnshrunk }

// callsMost is how many calls of a stack identify what went out of bounds. Calls further out are common to
// many.
const callsMost = 4

// unnamed matches the compiler's numbered names for function literals.
var unnamed = regexp.MustCompile(`(\.(func|gowrap|deferwrap)\d+|\.\d+)+$`)

// callsOf lists the innermost calls of the first stack in a finding's detail, without line numbers.
func callsOf(detail string) (calls []string) {
	for line := range strings.Lines(detail) {
		name, isCall := strings.CutPrefix(line, "  ")
		if !isCall && len(calls) > 0 || len(calls) == callsMost {
			break
		}
		if fields := strings.Fields(name); isCall && len(fields) > 0 {
			if call := unnamed.ReplaceAllString(fields[0], ""); !slices.Contains(calls, call) {
				calls = append(calls, call)
			}
		}
	}
	return calls
}
