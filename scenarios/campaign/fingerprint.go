package campaign

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Fingerprint is what a finding is known by in every night: which jobs and nodes its plan has, which seed, and where in the
// code something happens does not count.
type Fingerprint struct {
	Invariant  string   `yaml:"invariant,required"`   // or how the code under test went out of bounds
	Strikes    []string `yaml:"strikes,omitempty"`    // kinds of fault in the smallest plan, in order of name; of those that do the same one
	Operations []string `yaml:"operations,omitempty"` // on the path of why, on which the violation hangs; of what went out of bounds, the calls that led there
}

// Fingerprint is what the finding is known by.
func (f *Finding) Fingerprint() Fingerprint {
	p := Fingerprint{Invariant: f.Invariant, Strikes: f.Strikes(), Operations: f.Operations}
	switch {
	case f.AsDrawn():
		p.Strikes, p.Operations = []string{f.Cause}, nil // what else the plan has says little
	case f.Verdict == "":
		p.Operations = callsOf(f.Detail)
	}
	return p
}

// Name names the finding and its file, in the folder of a campaign and in the ledger: by its invariant, and a hash of the rest.
func (p Fingerprint) Name() string {
	text := strings.Join([]string{p.Invariant, strings.Join(p.Strikes, ","), strings.Join(p.Operations, ",")}, "\n")
	return fmt.Sprintf("%s-%x", p.Invariant, sha256.Sum256([]byte(text)))[:len(p.Invariant)+9]
}

// What a finding has for a cause whose plan is as it was drawn.
const (
	causeFlaky    = "the same plan gave another run"
	causeUnshrunk = "a plan that could not be shrunk"
)

// AsDrawn says whether the plan was not shrunk, so that its faults and settings say little.
func (f *Finding) AsDrawn() bool { return f.Flaky || f.Cause == causeUnshrunk }

// callsMost is how many calls of a stack tell what went out of bounds: those further out are the same for much.
const callsMost = 4

// unnamed is what the compiler calls functions without a name, by their number.
var unnamed = regexp.MustCompile(`(\.(func|gowrap|deferwrap)\d+|\.\d+)+$`)

// callsOf are the innermost calls of the first stack in a finding's detail, without their lines.
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
