package reports

import (
	"io"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/diff"
	"github.com/wavetank-sim/wavetank/scenarios/exhaust"
	"github.com/wavetank-sim/wavetank/scenarios/ledger"
	"github.com/wavetank-sim/wavetank/scenarios/power"
)

// poisonedPages is a page of each kind over many runs, with s wherever it has words of others.
func poisonedPages(t require.TestingT, s string) map[string]string {
	return map[string]string{
		"campaign": campaignHTML(t, poisoned(s)), "sweep": sweepHTML(t, poisonedSweep(s)), "comparison": comparisonHTML(t, poisonedTables(s)),
		"index":      indexHTML(t, []Entry{{Href: "./x/report.html", Kind: s, Name: s, Preset: s, Seed: s, Outcome: s, Tone: "bad", Reason: s, Replay: s}, {Href: s, Problem: s}}),
		"difference": written(t, func(w io.Writer) error { return DifferencePage(w, poisonedRuns(s), "no") }),
		"nights":     written(t, func(w io.Writer) error { return NightsPage(w, poisonedLedger(s)) }),
		"fault map":  written(t, func(w io.Writer) error { return FaultMap(w, poisonedCertificate(s, false)) }),
		"pairs":      written(t, func(w io.Writer) error { return FaultMap(w, poisonedCertificate(s, true)) }),
		"power":      written(t, func(w io.Writer) error { return PowerPage(w, poisonedPower(s)) }),
	}
}

func poisonedRuns(s string) *diff.Difference {
	d := twoRuns()
	for _, side := range []*diff.Side{&d.A, &d.B} {
		side.Scenario, side.Preset, side.Build, side.Reason, side.Digest, side.About = s, s, s, s, s, []string{s}
		side.Fired = []scenarios.FiredFault{{Step: 7, At: time.Second, Fault: s, Node: s, Phase: s}}
		side.Alone = []scenarios.Violation{{Invariant: s, Promised: true, Job: s, Step: 8, At: time.Second, Message: s}}
		side.Violations = side.Alone
	}
	d.Unlisted = []string{s}
	p := &diff.Point{Step: 5, At: 2 * time.Millisecond, Node: s, Phase: s, Job: s, Says: s}
	d.Parting.Common, d.Parting.A, d.Parting.B, d.Parting.Differ = []diff.Point{*p}, p, p, []diff.Value{{Key: s, A: s, B: s}}
	d.Plans = []diff.Value{{Key: s, A: s, B: s}, {Key: s, A: s, B: s, Follows: true}}
	for i := range d.Story {
		d.Story[i].Says = s
	}
	d.Before[0].Says, d.Story[1].A.Violates = s, s
	return d
}

func poisonedLedger(s string) *ledger.Ledger {
	at := ledger.When{Day: s, Commit: s}
	return &ledger.Ledger{
		Entries: []*ledger.Entry{{State: ledger.New, Fingerprint: campaign.Fingerprint{Invariant: s, Strikes: []string{s}, Operations: []string{s}}, Cause: s, Blamed: []string{s}, First: at, Last: at, Seen: []ledger.Count{{Campaign: s + "-0", Hits: 1, Plans: 2}}}},
		Nights:  []ledger.Past{{When: at, Plans: 1, Never: []string{s}}, {When: at, Plans: 2, Never: []string{s}}},
	}
}

func poisonedCertificate(s string, pairs bool) *exhaust.Certificate {
	c := &exhaust.Certificate{
		Build: s, Name: s, Preset: s, Plan: s, All: 2, Pairs: pairs, Calm: s, Digest: s, Phases: []string{s}, Kinds: []string{s, s}, Counts: map[exhaust.Outcome]int{exhaust.Outside: 1, exhaust.Broken: 1},
		Sites:    []exhaust.Site{{Phase: s, Occurrence: 1, Node: s}},
		Tries:    []exhaust.Tried{{Fault: s, Outcome: exhaust.Outside, Invariants: []string{s}, Digest: s, Page: s}, {Kind: 1, Fault: s, Outcome: exhaust.Broken, Invariants: []string{s}, Digest: s}},
		Baseline: []exhaust.Break{{Outside: campaign.Outside{Invariant: s, Released: []string{s}}, Cells: []invariants.Cell{{Strike: s, Status: s, Says: s}}}},
		Releases: []exhaust.Release{{Invariant: s, Cell: invariants.Cell{Strike: s, Status: s, With: []string{s}, Says: s}, Tries: 1}},
	}
	if pairs {
		c.Firsts = []exhaust.First{{Fault: s}}
		c.Tries[0].First, c.Tries[1].First = 1, 1
	}
	return c
}

func poisonedPower(s string) *power.Result {
	r := fourMutants()
	r.Build = s
	for i := range r.Rows {
		row := &r.Rows[i]
		row.Operator, row.File, row.Old, row.New = power.Operator(s), s, s, s
		for k := range row.Kills {
			row.Kills[k].Search = []string{s, "scenarios"}[k]
		}
	}
	r.Rows[0].Kills[0].By = []string{s}
	return r
}
