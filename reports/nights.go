package reports

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/wavetank-sim/wavetank/reports/plots"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/ledger"
)

var nightsTemplate = pageTemplateOf("nights.html")

// nightsView is what the template sees.
type nightsView struct {
	frame
	Nights   int
	Lead     string
	Figures  []plots.Figure
	Findings []nightsFinding
	Unmet    []ledger.Unmet
	Left     int
	Rows     []nightRow // the last first
}

type nightsFinding struct {
	Name, State, Tone, Cause, First, Last, Hit string
}

type nightRow struct {
	ledger.Past
	Met, Speed, Virtual string
}

// stateTones are the colours of states.
var stateTones = map[ledger.State]string{ledger.New: "bad", ledger.Back: "bad", ledger.Ongoing: "warn", ledger.Resolved: "good"}

// NightsPage writes a page over the nights that a ledger has kept: what they ran, met and found, how fast, and what they have
// not met for how long.
func NightsPage(w io.Writer, l *ledger.Ledger) error {
	v := nightsView{frame: newFrame("Nights", pageCSS, overviewCSS), Nights: len(l.Nights)}
	var days []string
	var plans, met, open, speed []float64
	for _, p := range l.Nights {
		days = append(days, p.Day)
		plans, open = append(plans, float64(p.Plans)), append(open, float64(p.New+p.Back+p.Ongoing))
		met, speed = append(met, shareOf(p.Met, p.Of)), append(speed, speedOf(&p))
		row := nightRow{Past: p, Virtual: words.Duration(p.Virtual), Speed: "unknown", Met: fmt.Sprintf("%s of %s", words.Count(p.Met), words.Count(p.Of))}
		if s := speedOf(&p); !math.IsNaN(s) {
			row.Speed = words.Number(s)
		}
		v.Rows = append(v.Rows, row)
	}
	slices.Reverse(v.Rows)
	v.Figures = []plots.Figure{
		plots.OverNights("Plans", "plans", days, plans),
		plots.OverNights("Coverage", "met, in %", days, met),
		plots.OverNights("Findings that are not gone", "findings", days, open),
		plots.OverNights("Speed", "plans a second", days, speed),
	}
	v.Figures[1].Notes = []string{"Of the kinds of fault, the settings, the invariants and the situations that there are: how many fired, were changed, were judged or were reached."}
	v.Figures[3].Notes = []string{"Over the real time of the campaigns, of shards that of all of them, what was found examined too."}
	left := 0
	for _, e := range l.Entries {
		if e.State != ledger.Resolved {
			left++
		}
		hit := hitBy(e.Seen)
		v.Findings = append(v.Findings, nightsFinding{e.Name(), string(e.State), stateTones[e.State], clip(e.Cause), e.First.Day, e.Last.Day, hit})
	}
	slices.SortStableFunc(v.Findings, func(a, b nightsFinding) int {
		return slices.Index([]string{"bad", "warn", "good"}, a.Tone) - slices.Index([]string{"bad", "warn", "good"}, b.Tone)
	})
	v.Unmet, v.Left = words.Capped(ledger.UnmetBy(l.Nights), coverageMax)
	v.Lead = fmt.Sprintf("%s in the ledger, of which %s not gone.", words.Counted(len(l.Entries), "finding"), isAre(left))
	return execute(w, nightsTemplate, v)
}

func isAre(n int) string {
	if n == 1 {
		return "1 is"
	}
	return words.Count(n) + " are"
}

// shareOf is n in percent of all; NaN if there is nothing.
func shareOf(n, all int) float64 {
	if all == 0 {
		return math.NaN()
	}
	return 100 * float64(n) / float64(all)
}

// speedOf is in plans a second; NaN if the time is not known.
func speedOf(p *ledger.Past) float64 {
	if p.Took <= 0 {
		return math.NaN()
	}
	return float64(p.Timed) / p.Took.Seconds()
}
