package campaign

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// ResultVersion is the version of the format of a campaign's result.json.
const ResultVersion = 1

// Result is what a campaign found: the content of result.json. With a budget of runs it depends only on spec
// and build, not on the number of workers or on resumptions.
type Result struct {
	Version      int                       `json:"version"`
	Build        string                    `json:"build"`
	Spec         Spec                      `json:"spec"`
	Complete     bool                      `json:"complete"` // all runs of the spec were done, or its time is over
	Runs         int                       `json:"runs"`
	Verdicts     map[scenarios.Verdict]int `json:"verdicts"`           // without contained runs, which have no verdict
	Conclusive   int                       `json:"conclusive"`         // runs that were judged to their end: held or violated, neither inconclusive nor contained
	Unjudged     int                       `json:"unjudged,omitempty"` // the conclusive runs in which an invariant was not judged, at least for some job, because one that it depends on was violated
	Contained    int                       `json:"contained,omitempty"`
	Steps        int                       `json:"steps"`
	Virtual      time.Duration             `json:"virtual_ns"`
	Digest       string                    `json:"digest"`                  // computed from the digests of all runs
	Bound        float64                   `json:"bound"`                   // if no promise was broken: at most this share of plans breaks one, at 95 % (the rule of three: 3/runs, for the runs that every promise judged, Conclusive less Unjudged); 0 if one was broken, or there is no such run
	Findings     []Finding                 `json:"findings"`                // in the order of the first run that shows each
	Unexamined   int                       `json:"unexamined,omitempty"`    // runs that broke a promise after FindingsMax findings
	UnexaminedBy map[string]int            `json:"unexamined_by,omitempty"` // how many of them broke each promise that no finding explains
	Invariants   []Coverage                `json:"invariants"`              // in the order of the oracle; situations come last
	Faults       []Coverage                `json:"faults"`                  // every kind of fault that a plan can have
	Settings     []Coverage                `json:"settings"`                // every setting except the preset
	Reasons      map[string]int            `json:"inconclusive,omitempty"`  // why runs were inconclusive, without numbers and lists
}

// Coverage says in how many runs a campaign met something.
type Coverage struct {
	Name      string `json:"name"`
	Kind      string `json:"kind,omitempty"`      // invariants: always, eventually, sometimes
	Drawn     int    `json:"drawn,omitempty"`     // faults, settings: plans that have it
	Exercised int    `json:"exercised,omitempty"` // invariants: judged, or reached; faults: fired
	Broken    int    `json:"broken,omitempty"`    // invariants: broken within their promise
	Outside   int    `json:"outside,omitempty"`   // invariants: broken outside it
}

// Finding is one way in which a promise is broken: an invariant and a cause.
type Finding struct {
	Invariant  string            `json:"invariant"`            // or a Containment
	Cause      string            `json:"cause"`                // the faults and settings of the smallest plan, without numbers; findings with the same cause or the same fingerprint are one
	Kinds      []string          `json:"kinds,omitempty"`      // kinds of fault in the smallest plan, as FaultKind writes them
	Settings   []string          `json:"settings,omitempty"`   // settings of engine and world in which it differs from its preset, and how
	Why        string            `json:"why,omitempty"`        // what the violation in the smallest plan depends on; "" if unknown
	Explained  *why.Cause        `json:"explained,omitempty"`  // the same as data
	Blamed     []string          `json:"blamed,omitempty"`     // a choice of the engine without which it does not come, or a part of it that is off; otherwise kinds of strike and settings
	Operations []string          `json:"operations,omitempty"` // the operations on the path of why on which the violation depends; each once, in order of name
	Story      string            `json:"story"`                // what happens in the smallest plan's run
	File       string            `json:"file"`                 // the smallest plan, in the campaign's folder: findings/NAME.yaml, named by the fingerprint
	Plan       string            `json:"plan"`                 // the same, as YAML
	Replay     string            `json:"replay"`               // the command that runs it, from the campaign's folder
	First      int               `json:"first"`                // the first run that shows it
	Runs       int               `json:"runs"`                 // how many runs show it
	Verdict    scenarios.Verdict `json:"verdict"`              // of the smallest plan; empty if contained
	Digest     string            `json:"digest"`               // of the smallest plan's run
	Step       int               `json:"step"`                 // the step at which the promise is broken there
	Jobs       int               `json:"jobs"`                 // number in the smallest plan, like the three below
	Faults     int               `json:"faults"`               //
	Schedulers int               `json:"schedulers"`           //
	Workers    int               `json:"workers"`              //
	Tries      int               `json:"tries"`                // how many runs shrinking took
	Flaky      bool              `json:"flaky,omitempty"`      // the same plan gave another run, so it is not deterministic and was not shrunk
	Detail     string            `json:"detail,omitempty"`     // the stack, or dump, of a contained run
}

// keep names the plan and stores it in the finding.
func (f *Finding) keep(p *plans.Plan) error {
	p.Name = f.Fingerprint().Name()
	text, err := plans.Marshal(p)
	if err != nil {
		return err
	}
	f.Plan, f.File = string(text), FindingsDir+"/"+p.Name+".yaml"
	f.Replay = scenarios.RunCommand(scenarios.ProgramName, f.File)
	f.Jobs, f.Faults, f.Schedulers, f.Workers = p.Workload.Jobs, len(p.Faults), p.Topology.Schedulers, p.Topology.Workers
	return nil
}

// expected lists what a finding's plan shows, the finding's own promise first.
func expected(invariant string, broken []string) []string {
	return append([]string{invariant}, slices.DeleteFunc(broken, func(name string) bool { return name == invariant })...)
}
