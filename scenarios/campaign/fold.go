package campaign

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/buildname"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// fold aggregates the records of a campaign. Their order does not matter.
type fold struct {
	runs, contained, steps int
	unjudged               int // conclusive runs in which an invariant was not judged
	broke                  int // runs that broke a promise, or were contained
	virtual                time.Duration
	digest                 uint64
	verdicts               map[scenarios.Verdict]int
	reasons                map[string]int
	invariants             *coverage
	faults                 *coverage
	settings               *coverage
}

func newFold() *fold {
	f := &fold{verdicts: map[scenarios.Verdict]int{}, reasons: map[string]int{}}
	var judged []Coverage
	for _, inv := range judge.All() {
		judged = append(judged, Coverage{Name: inv.Name, Kind: string(inv.Kind)})
	}
	f.invariants = newCoverage(judged)
	var kinds, settings []Coverage
	for _, name := range FaultKinds() {
		kinds = append(kinds, Coverage{Name: name})
	}
	for _, s := range plans.Settings() {
		if s.Name != "preset" { // all other settings are variations of the preset
			settings = append(settings, Coverage{Name: s.Name})
		}
	}
	f.faults, f.settings = newCoverage(kinds), newCoverage(settings)
	return f
}

func (f *fold) add(r *Record) {
	f.runs++
	f.steps += r.Steps
	if f.virtual += r.Virtual; f.virtual < 0 {
		f.virtual = math.MaxInt64
	}
	f.digest += r.Share()
	if r.Contained != nil {
		f.contained++
	} else {
		f.verdicts[r.Verdict]++
	}
	if len(r.Unjudged) > 0 && (r.Verdict == scenarios.Held || r.Verdict == scenarios.Violated) {
		f.unjudged++
	}
	if r.Contained != nil || len(r.Broken) > 0 {
		f.broke++
	}
	if r.Reason != "" {
		f.reasons[sortOf(r.Reason)]++
	}
	f.invariants.count(r.Exercised, func(c *Coverage) { c.Exercised++ })
	for _, o := range r.Outside {
		f.invariants.count([]string{o.Invariant}, func(c *Coverage) { c.Outside++ })
	}
	for _, b := range r.Broken {
		f.invariants.count([]string{b.Invariant}, func(c *Coverage) { c.Broken++ })
	}
	f.faults.count(r.Drawn, func(c *Coverage) { c.Drawn++ })
	f.faults.count(r.Fired, func(c *Coverage) { c.Exercised++ })
	for _, words := range r.Settings {
		f.settings.count([]string{settingOf(words)}, func(c *Coverage) { c.Drawn++ })
	}
}

// result is the present result, without findings.
func (f *fold) result(spec Spec) *Result {
	res := &Result{
		Version: ResultVersion, Build: buildname.Of(), Spec: spec, Runs: f.runs, Verdicts: f.verdicts,
		Contained: f.contained, Steps: f.steps, Virtual: f.virtual, Digest: fmt.Sprintf("%016x", f.digest),
		Findings: []Finding{}, Invariants: f.invariants.rows, Faults: f.faults.rows, Settings: f.settings.rows, Reasons: f.reasons,
	}
	res.Conclusive = f.verdicts[scenarios.Held] + f.verdicts[scenarios.Violated]
	res.Unjudged = f.unjudged
	if judged := res.Conclusive - res.Unjudged; f.broke == 0 && judged > 0 && !spec.IsList() {
		res.Bound = min(1, 3/float64(judged)) // the rule of three
	}
	return res
}

// Share is the run's summand in the campaign's digest.
func (r *Record) Share() uint64 {
	b := binary.AppendVarint(nil, int64(r.N))
	b = append(b, r.Digest...)
	if r.Contained != nil {
		b = append(b, r.Contained.What...)
	}
	return xxhash.Sum64(b)
}

// coverage finds rows by their names.
type coverage struct {
	rows []Coverage
	at   map[string]int
}

func newCoverage(rows []Coverage) *coverage {
	c := &coverage{rows: rows, at: map[string]int{}}
	for i, r := range rows {
		c.at[r.Name] = i
	}
	return c
}

func (c *coverage) count(names []string, add func(*Coverage)) {
	for _, name := range names {
		if i, ok := c.at[name]; ok {
			add(&c.rows[i])
		}
	}
}

var number = regexp.MustCompile(`[0-9](?:[0-9a-zµ.]*[0-9a-zµ])?`)

// sortOf makes reasons equal that differ only in numbers, durations and enumerations.
func sortOf(reason string) string {
	reason, _, _ = strings.Cut(reason, ": ")
	return number.ReplaceAllString(reason, "N")
}
