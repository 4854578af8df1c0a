package reports

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/shell"
	"github.com/wavetank-sim/wavetank/scenarios/visible"
)

// IndexFile is the page over several folders.
const IndexFile = "index.html"

// entriesMax is how many rows an index has.
const entriesMax = 2000

// foundMax is how many findings of a campaign its row names.
const foundMax = 3

var indexTemplate = pageTemplateOf("index.html")

// Entry is one stored folder as an index shows it.
type Entry struct {
	Href     string // to its report.html, relative to the index; empty if there is none
	Kind     string // run, campaign, sweep, comparison, certificate
	Name     string
	Preset   string
	Seed     string
	Outcome  string // the verdict, or what was found
	Tone     string // one of tones, which are in the order of the index
	Reason   string // in a sentence
	Replay   string // the command that repeats it; empty if there is none
	Problem  string // why its report could not be made; the rest is then empty but for Href
	Findings int    // of a campaign
	When     time.Time
	Runs     int           // that it is made of; 0 is unknown
	Virtual  time.Duration // in all of them; 0 is unknown
}

// Folder is where the report is, from the index; "" if its name says so.
func (e Entry) Folder() string {
	if dir := folderOf(e.Href); dir != e.Name {
		return dir
	}
	return ""
}

// folderOf is that of a link to a report, relative as the link is; "" is the page's own.
func folderOf(link string) string {
	dir, err := url.PathUnescape(path.Dir(link))
	if err != nil || dir == "." {
		return ""
	}
	return visible.Text(dir)
}

// Entry is the folder's row in the index of the folder index. Its command calls program, if it is not stored.
func (s *Stored) Entry(index, program string) Entry {
	e := Entry{Href: LinkTo(index, s.Dir), When: s.When}
	switch {
	case s.Run != nil:
		b := runBadge(s.Run.Verdict, s.Run.Violations)
		if s.Run.Expected {
			b = badge{b.Word + ", as expected", "expected"}
		}
		e.Runs, e.Virtual = 1, s.Run.Virtual
		e.Kind, e.Name, e.Preset, e.Seed = "run", s.Run.Scenario, s.Run.Preset, fmt.Sprint(s.Run.Seed)
		e.Outcome, e.Tone, e.Reason, e.Replay = b.Word, b.Tone, s.Run.Reason+".", s.Run.Replay
		if s.Run.Cause != nil {
			e.Reason += " " + s.Run.Cause.Brief()
		}
	case s.Campaign != nil:
		c := s.Campaign
		b, says := campaignVerdict(c)
		e.Kind, e.Name, e.Seed, e.Findings = "campaign", filepath.Base(s.Dir), fmt.Sprint(c.Spec.Seed), len(c.Findings)
		e.Runs, e.Virtual = c.Runs, c.Virtual
		e.Outcome, e.Tone, e.Reason = b.Word, b.Tone, says
		if c.Spec.Drawn != nil {
			e.Preset = invariants.List(c.Spec.Drawn.Presets)
		}
		if len(c.Findings) > 0 {
			groups := c.Groups()
			e.Reason = found(groups)
			e.Replay = FindingReplay(s.Dir, program, groups[0][0])
		}
	case s.Certificate != nil:
		c := s.Certificate
		e.Kind, e.Name, e.Preset, e.Outcome, e.Runs = "certificate", c.Name, c.Preset, "held", len(c.Tries)
		switch e.Tone, e.Reason = certified(c); {
		case e.Tone == "bad":
			e.Outcome = "broken"
		case !c.Complete:
			e.Outcome, e.Replay = "cut short", program+" exhaust --resume "+shell.Word(s.Dir)
		case e.Tone == "warn":
			e.Outcome = "inconclusive"
		}
	case s.Sweep != nil:
		e.Kind, e.Name, e.Seed = "sweep", s.Sweep.Name, seedsOf(s.Sweep.Seeds, s.Sweep.FirstSeed)
		b := sweepBadge(s.Sweep)
		e.Outcome, e.Tone, e.Reason = b.Word, b.Tone, sweepLead(s.Sweep)
		for i := range s.Sweep.Points {
			e.Runs += s.Sweep.Points[i].Runs
		}
	default:
		e.Kind, e.Name = "comparison", strings.Join(titlesOf(s.Comparisons), ", ")
		e.Outcome, e.Tone = "compared", "good"
		var said []string
		for _, c := range s.Comparisons {
			e.Seed = seedsOf(c.Seeds, c.FirstSeed)
			if !c.Complete {
				e.Outcome, e.Tone = "cut short", "warn"
			}
			for i := range c.Rows {
				e.Runs += c.Rows[i].Runs
			}
			if verdict := comparisonViewOf(c).Verdict; len(verdict) > 0 {
				said = append(said, c.Title+": "+strings.Join(verdict, " "))
			}
		}
		e.Reason = strings.Join(said, " ")
	}
	return e
}

// Lasted is the virtual time in words; nothing if it is unknown.
func (e Entry) Lasted() string {
	if e.Virtual == 0 {
		return ""
	}
	return words.Duration(e.Virtual)
}

// found names what a campaign found, the first ones.
func found(groups []campaign.Group) string {
	var list []string
	for _, g := range groups[:min(len(groups), foundMax)] {
		says := g[0].Invariant + ": " + g[0].Cause
		if n := len(g) - 1; n > 0 {
			says += " (" + words.Counted(n, "more finding") + " of this cause)"
		}
		list = append(list, says)
	}
	if left := len(groups) - foundMax; left > 0 {
		list = append(list, words.Count(left)+" more")
	}
	return strings.Join(list, "; ") + "."
}

func seedsOf(seeds int, first uint64) string {
	if seeds <= 1 {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d to %d", first, first+uint64(seeds)-1)
}

// LinkTo is the link from the folder index to the page in dir.
func LinkTo(index, dir string) string {
	rel, err := filepath.Rel(absolute(index), absolute(dir))
	if err != nil {
		rel = dir
	}
	// A name with a colon in it would be taken for a scheme, and one with # or ? for more than a path.
	return (&url.URL{Path: "./" + path.Join(filepath.ToSlash(rel), PageFile)}).String()
}

// absolute is the whole path of name, as nothing leads from a relative path to an absolute one.
func absolute(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return name
}

// indexView is what the template sees.
type indexView struct {
	frame
	Entries   []Entry
	All       int // those that are left out included
	Counts    []string
	Left      int
	Tone      string
	Trend     []trendDay
	TrendLeft int // days
}

// Index writes a page over stored folders, in the order of tones: what found or broke something first, what held last;
// by kind, name and seed within each.
func Index(w io.Writer, entries []Entry) error {
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, func(a, b Entry) int {
		return cmp.Or(
			cmp.Compare(indexRank(a), indexRank(b)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
			cmp.Compare(len(a.Seed), len(b.Seed)), cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Href, b.Href))
	})
	v := indexView{frame: newFrame("Wavetank reports", pageCSS, overviewCSS), Tone: "good", All: len(entries)}
	v.Trend, v.TrendLeft = trendOf(entries)
	v.run(pageJS + indexJS)
	n := map[string]int{}
	for _, e := range sorted {
		if e.Problem != "" {
			n["unreadable"]++
			continue
		}
		n[e.Tone]++
	}
	for _, t := range tones {
		if n[t.Name] > 0 {
			v.Counts = append(v.Counts, words.Counted(n[t.Name], t.One, t.Many))
		}
		if t.Name == "bad" && n["unreadable"] > 0 {
			v.Counts = append(v.Counts, words.Counted(n["unreadable"], "that could not be read", "that could not be read"))
		}
	}
	switch {
	case n["bad"] > 0:
		v.Tone = "bad"
	case n["warn"]+n["unreadable"] > 0:
		v.Tone = "warn"
	case n["outside"] > 0:
		v.Tone = "outside"
	}
	sorted, v.Left = words.Capped(sorted, entriesMax)
	for i := range sorted {
		if sorted[i].Problem = clip(sorted[i].Problem); sorted[i].Findings == 0 { // else it is a story, which is cut by sentences
			sorted[i].Reason = clip(sorted[i].Reason)
		}
	}
	v.Entries = sorted
	return execute(w, indexTemplate, v)
}

func indexRank(e Entry) int {
	if e.Problem != "" {
		return 1
	}
	for i, t := range tones {
		if t.Name == e.Tone {
			return 2 * i
		}
	}
	return 2 * len(tones)
}

// WriteIndex writes index.html into the folder dir.
func WriteIndex(dir string, entries []Entry) error {
	return writeAll(dir, []file{{IndexFile, func(w io.Writer) error { return Index(w, entries) }}})
}
