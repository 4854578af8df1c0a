package ledger

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// State says how a finding stands after a night.
type State string

// The states of a finding.
const (
	New      State = "new"      // it was found for the first time
	Ongoing  State = "ongoing"  // it was found before, and is not known to be gone
	Resolved State = "resolved" // it is gone
	Back     State = "back"     // it was resolved, and was found again
)

// When is a night.
type When struct {
	Day    string `yaml:"day,omitempty" json:"day" like:"2026-11-27"`
	Commit string `yaml:"commit,omitempty" json:"commit,omitempty"`
}

// Entry is a finding of the ledger, and the content of its file. [plans.Load] takes the file for the plan that is in it.
type Entry struct {
	Ledger      int                  `yaml:"ledger,required" min:"1" max:"1"` // the version of the format
	State       State                `yaml:"state,required" oneof:"new,ongoing,resolved,back"`
	Fingerprint campaign.Fingerprint `yaml:"fingerprint,required"`
	Cause       string               `yaml:"cause"`                 // faults and settings of the smallest plan, in words
	Blamed      []string             `yaml:"blamed,omitempty"`      // what the violation hangs on; findings of which that is the same have one cause
	First       When                 `yaml:"first_seen,required"`   // the night that found it first
	Last        When                 `yaml:"last_seen,required"`    // the last that found it
	Clean       When                 `yaml:"clean_since,omitempty"` // the first that did not, since then; of one that is back, before that
	Seen        []Count              `yaml:"seen"`                  // how often, and how long it was not
	Counted     string               `yaml:"counted,omitempty"`     // the last night that is in these numbers
	Given       strictyaml.Node      `yaml:"plan,required"`         // as it is in the file

	Plan *plans.Plan `yaml:"-"` // the smallest, of the last night that found it
}

// Name names the finding, and its file.
func (e *Entry) Name() string { return e.Fingerprint.Name() }

// marshal is the content of the entry's file.
func (e *Entry) marshal() ([]byte, error) {
	plan, err := plans.Marshal(e.Plan)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Write(strictyaml.Marshal(e, &Entry{}, nil))
	b.WriteString("plan:\n")
	for line := range strings.Lines(string(plan)) {
		b.WriteString("  " + line)
	}
	return b.Bytes(), nil
}

var entryFile = strictyaml.Kind{What: "a finding of the ledger", Has: "a fingerprint"}

// parse reads the content of the file path.
func parse(path string, data []byte) (*Entry, error) {
	e := &Entry{}
	err := entryFile.Read(path, data, e, func() *strictyaml.Error {
		name := filepath.Base(path)
		switch {
		case e.Name()+".yaml" != name:
			return &strictyaml.Error{Path: "fingerprint", Message: fmt.Sprintf("this is the fingerprint of %s", e.Name()), Remedy: fmt.Sprintf("call the file %s.yaml, or mend what was changed in it", e.Name())}
		case len(e.Seen) == 0:
			return &strictyaml.Error{Path: "seen", Message: "the finding was never seen", Remedy: "remove the file, or say how often it was"}
		case !slices.IsSortedFunc(e.Seen, func(a, b Count) int { return strings.Compare(a.Campaign, b.Campaign) }):
			return &strictyaml.Error{Path: "seen", Message: "the campaigns are not in order", Remedy: "put them in the order of their names"}
		}
		return nil
	})
	if err == nil {
		e.Plan, err = plans.ParsePart(e.Given)
	}
	e.Given = strictyaml.Node{}
	return e, err
}
