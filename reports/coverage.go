package reports

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// coverageMax caps each table of coverage, and each list of what was never met.
const coverageMax = 300

// coverage is what a campaign met, and what it never did.
type coverage struct {
	Judged        []coverageRow // always and eventually
	Reached       []coverageRow // sometimes
	FaultKinds    []coverageRow
	SettingRows   []coverageRow
	NeverJudged   missing
	NeverReached  missing
	NeverDrawn    missing // faults
	NeverFired    missing
	NeverSet      missing // settings
	CoverageShort string  // what the tables leave out
}

type coverageRow struct {
	campaign.Coverage
	Says string
	Bar  bar
}

// missing names what was never met.
type missing struct {
	What  string
	Names []string
	Left  int
	Of    int // how many could have been, met or not
}

// missingMax is how many names are told at once; more are told when they are asked for.
const missingMax = 30

// Count is how many were never met.
func (m missing) Count() int { return len(m.Names) + m.Left }

// Many says whether there are too many to tell at once.
func (m missing) Many() bool { return m.Count() > missingMax }

// bar is a number in percent of the whole that a table's bars stand for, and a part of it.
type bar struct{ All, Part string }

func barOf(all, part, whole int) bar {
	share := func(n int) string {
		if whole == 0 || n <= 0 {
			return "0"
		}
		return strconv.FormatFloat(max(0.5, min(100, 100*float64(n)/float64(whole))), 'f', 1, 64)
	}
	return bar{share(all), share(part)}
}

func coverageOf(res *campaign.Result) coverage {
	var c coverage
	never := map[string][]string{}
	for _, row := range res.Invariants {
		says := ""
		if i, known := judge.Find(row.Name); known {
			says = i.Says
		}
		r := coverageRow{row, says, barOf(row.Exercised, 0, res.Runs)}
		if row.Kind == string(invariants.Sometimes) {
			c.Reached = append(c.Reached, r)
			if row.Exercised == 0 {
				never["reached"] = append(never["reached"], row.Name)
			}
			continue
		}
		c.Judged = append(c.Judged, r)
		if row.Exercised == 0 {
			never["judged"] = append(never["judged"], row.Name)
		}
	}
	// What went wrong first, then what is missing; otherwise the order of the oracle.
	slices.SortStableFunc(c.Judged, func(a, b coverageRow) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	most := mostDrawn(res.Faults)
	for _, row := range res.Faults {
		switch {
		case row.Drawn == 0:
			never["drawn"] = append(never["drawn"], row.Name)
			continue
		case row.Exercised == 0:
			never["fired"] = append(never["fired"], row.Name)
		}
		c.FaultKinds = append(c.FaultKinds, coverageRow{row, "", barOf(row.Drawn, row.Exercised, most)})
	}
	most = mostDrawn(res.Settings)
	for _, row := range res.Settings {
		if row.Drawn == 0 {
			never["set"] = append(never["set"], row.Name)
			continue
		}
		c.SettingRows = append(c.SettingRows, coverageRow{row, "", barOf(row.Drawn, 0, most)})
	}
	judged, reached, drawn, left := len(c.Judged), len(c.Reached), len(c.FaultKinds), 0
	for _, rows := range []*[]coverageRow{&c.Judged, &c.Reached, &c.FaultKinds, &c.SettingRows} {
		var n int
		*rows, n = words.Capped(*rows, coverageMax)
		left += n
	}
	if left > 0 {
		c.CoverageShort = words.Counted(left, "more row") + " left out; result.json has them all."
	}
	name := func(what, key string, of int) missing {
		names, left := words.Capped(never[key], coverageMax)
		return missing{what, names, left, of}
	}
	c.NeverJudged = name("Never exercised:", "judged", judged)
	c.NeverReached = name("Never reached:", "reached", reached)
	c.NeverDrawn = name("Never drawn:", "drawn", len(res.Faults))
	c.NeverFired = name("Drawn, but never fired:", "fired", drawn)
	c.NeverSet = name("Always as the preset has them:", "set", len(res.Settings))
	return c
}

// mostDrawn is what the longest bar of a table stands for.
func mostDrawn(rows []campaign.Coverage) (most int) {
	for _, row := range rows {
		most = max(most, row.Drawn)
	}
	return most
}

func rankOf(r coverageRow) int {
	switch {
	case r.Broken > 0:
		return 0
	case r.Exercised == 0:
		return 1
	case r.Outside > 0:
		return 2
	}
	return 3
}
