package diff

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/buildname"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Version is the format of a difference as JSON.
const Version = 1

// Run is one of the two, as its folder has it.
type Run struct {
	Dir    string
	Plan   *plans.Plan
	Result *scenarios.Result
	Trace  io.Reader
}

// Difference is in what two runs differ.
type Difference struct {
	Version int     `json:"version"`
	Equal   bool    `json:"equal"` // events, verdict and violations are
	A       Side    `json:"a"`
	B       Side    `json:"b"`
	Plans   []Value `json:"plans"`
	// Unlisted are the invariants of which a run has more violations than its result lists.
	Unlisted []string `json:"unlisted,omitempty"`
	Parting  *Parting `json:"parting"` // nil: the traces are equal
	Before   []Told   `json:"before"`  // both stories up to there, each in its own order
	Story    []Told   `json:"story"`   // and from there
}

// Side is one of the runs.
type Side struct {
	Dir        string                 `json:"dir"`
	Scenario   string                 `json:"scenario"`
	Preset     string                 `json:"preset"`
	Seed       uint64                 `json:"seed"`
	Build      string                 `json:"build"`
	Verdict    scenarios.Verdict      `json:"verdict"`
	Reason     string                 `json:"reason"`
	Digest     string                 `json:"digest"`
	Steps      int                    `json:"steps"`
	Virtual    time.Duration          `json:"virtual_ns"`
	About      []string               `json:"about"` // the jobs that its story tells of
	Fired      []scenarios.FiredFault `json:"faults_fired"`
	Violations []scenarios.Violation  `json:"violations"`
	Alone      []scenarios.Violation  `json:"violations_alone"` // that the other run does not have
}

// Value is what both runs have of one thing.
type Value struct {
	Key     string `json:"key"`
	A       string `json:"a"` // "" if it has none
	B       string `json:"b"`
	Follows bool   `json:"follows,omitempty"` // neither plan gives it: it is the default under its preset
}

// Of compares two runs. It reads their traces line by line, up to the first that differs.
func Of(a, b Run) (*Difference, error) {
	parting, err := partingOf(a.Trace, b.Trace)
	if err != nil {
		return nil, err
	}
	d := &Difference{Version: Version, A: sideOf(a, b, parting == nil), B: sideOf(b, a, parting == nil), Plans: valuesOf(a.Plan, b.Plan), Parting: parting}
	for _, list := range [][]scenarios.InvariantResult{a.Result.Invariants, b.Result.Invariants} {
		for _, i := range list {
			if i.Unlisted > 0 && !slices.Contains(d.Unlisted, i.Name) {
				d.Unlisted = append(d.Unlisted, i.Name)
			}
		}
	}
	d.Equal = parting == nil && d.A.Verdict == d.B.Verdict && len(d.A.Alone)+len(d.B.Alone) == 0
	d.Before, d.Story = together(a.Result, b.Result, parting)
	return d, nil
}

func sideOf(r, other Run, equal bool) Side {
	res, about := r.Result, []string{}
	for _, j := range res.Jobs {
		if j.Told {
			about = append(about, j.ID)
		}
	}
	return Side{
		Dir: r.Dir, Scenario: res.Scenario, Preset: res.Preset, Seed: res.Seed, Build: res.Build, Verdict: res.Verdict, Reason: res.Reason,
		Digest: res.Digest, Steps: res.Steps, Virtual: res.Virtual, About: about,
		Fired: res.Fired, Violations: res.Violations, Alone: alone(res, other.Result, equal),
	}
}

// alone are the violations of a run that the other has not: of that invariant, for that job, as often. If their events are equal, the
// step and the message must be, too. Where the other lists not all of an invariant, that is not known.
func alone(res, other *scenarios.Result, equal bool) []scenarios.Violation {
	left, found := slices.Clone(other.Violations), []scenarios.Violation{}
	for _, v := range res.Violations {
		if other.Invariant(v.Invariant).Unlisted > 0 {
			continue
		}
		i := slices.IndexFunc(left, func(o scenarios.Violation) bool {
			return o.Invariant == v.Invariant && o.Job == v.Job && o.Promised == v.Promised && (!equal || o.Step == v.Step && o.Message == v.Message)
		})
		if i < 0 {
			found = append(found, v)
		} else {
			left = slices.Delete(left, i, i+1)
		}
	}
	return found
}

// Says is the difference in two sentences or three.
func (d *Difference) Says() string {
	says := "The traces are equal."
	if p := d.Parting; p != nil {
		says = fmt.Sprintf("The traces part at step %d, %s.", p.Step, invariants.Instant(p.At()))
	}
	if d.A.Verdict == d.B.Verdict {
		says += fmt.Sprintf(" The verdict of both: %s.", d.A.Verdict)
	} else {
		says += fmt.Sprintf(" The verdicts: A %s, B %s.", d.A.Verdict, d.B.Verdict)
	}
	if len(d.Unlisted) > 0 {
		says += fmt.Sprintf(" There are so many violations of %s that no result lists them all: which of them only one run has is not known.", strings.Join(d.Unlisted, ", "))
	}
	if !d.Equal && d.Parting == nil && d.A.Verdict == d.B.Verdict {
		says += " The violations that count differ."
	}
	if d.Equal && len(d.Plans) > 0 {
		says += " The plans differ, and it makes no difference."
	}
	return says
}

// Given are the differences that a plan gives, and those that follow from the presets.
func (d *Difference) Given() (given, follow []Value) {
	for _, v := range d.Plans {
		if v.Follows {
			follow = append(follow, v)
		} else {
			given = append(given, v)
		}
	}
	return given, follow
}

// TellsOf says of which jobs the stories tell, if not of the same.
func (d *Difference) TellsOf() string {
	if slices.Equal(d.A.About, d.B.About) {
		return ""
	}
	of := func(jobs []string) string { return cmp.Or(strings.Join(jobs, ", "), "no job") }
	return fmt.Sprintf("A tells of %s, B of %s.", of(d.A.About), of(d.B.About))
}

// Builds says whether two builds made the runs.
func (d *Difference) Builds() string {
	if d.A.Build != d.B.Build {
		return fmt.Sprintf("A is of build %s, B of build %s.", d.A.Build, d.B.Build)
	}
	switch {
	case d.A.Build == buildname.Devel:
		return "Neither build has a name, as both were made outside of git, or by go run or go test. They may be two."
	case strings.HasSuffix(d.A.Build, buildname.Dirty):
		return fmt.Sprintf("Both are of build %s, a commit with changes that it does not have. They may be two.", d.A.Build)
	}
	return fmt.Sprintf("Both are of build %s.", d.A.Build)
}
