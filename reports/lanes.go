package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/reports/axis"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
)

const (
	lanesMax  = 16                     // nodes with a lane of their own
	gapMin    = 100 * time.Millisecond // idle virtual time that is worth a word
	elsewhere = "other nodes"
)

// laneView is the diagram as the template draws it: one column a node, one row a step.
type laneView struct {
	Nodes []string
	Rows  []laneRow
	Notes []string // what is shown, and what was left out
}

type laneRow struct {
	Gap        string // not empty: a row that stands for steps or time that are not shown
	Again      bool   // it repeats what is above, and is left out on paper
	Paper      bool   // it is there on paper alone, in the place of those
	Step       int
	Clock      string
	Tone       string // violation, fault, control or nothing
	Violations []laneViolation
	Cells      []laneCell
}

type laneViolation struct {
	Invariant, Message string
	Promised           bool
}

type laneCell struct {
	Here    bool
	Class   string // here, down (the node is crashed), cut (it is partitioned), or nothing
	Node    string // where there is no room for columns
	Other   bool   // its column is not its own
	Words   string
	Phase   string
	Outcome string
	Fault   string
	Minor   bool
	Job     string // only where more than one job is followed
	Colour  int
}

// lanes draws the rows that c kept. shown holds the steps that have a row to link to.
func lanes(c *collector, res *scenarios.Result) (view laneView, shown map[int]bool) {
	rows := c.selected()
	shown = make(map[int]bool, len(rows))
	view.Nodes = laneNodes(rows)
	column := map[string]int{}
	for i, n := range view.Nodes {
		column[n] = i
	}
	violations := map[int][]laneViolation{}
	for _, v := range res.Violations {
		violations[v.Step] = append(violations[v.Step], laneViolation{v.Invariant, clip(v.Message), v.Promised})
	}
	cut := partitionsOf(res)
	fired := map[int]string{}
	for _, f := range res.Fired {
		fired[f.Step] = f.Do
	}
	between := betweenSteps(res)
	repeats := repeatsOf(rows)
	for i, r := range rows {
		if r.fault == "" && !r.control {
			r.fault = fired[r.step]
		}
		if again := repeats[i]; again.says != "" {
			view.Rows = append(view.Rows, laneRow{Gap: again.says, Paper: true})
		}
		if gap := gapBefore(rows, i); gap != "" {
			view.Rows = append(view.Rows, laneRow{Gap: gap, Again: repeats[i].is})
		}
		for ; len(between) > 0 && between[0].at <= r.at; between = between[1:] {
			if i > 0 {
				view.Rows = append(view.Rows, laneRow{Gap: between[0].words})
			}
		}
		shown[r.step] = true
		row := c.laneRow(r, view.Nodes, column, violations[r.step], cut)
		row.Again = repeats[i].is
		view.Rows = append(view.Rows, row)
	}
	if n := len(rows); n > 0 && rows[n-1].index < c.seen-1 {
		view.Rows = append(view.Rows, laneRow{Gap: "… " + words.Counted(c.seen-1-rows[n-1].index, "later step") + " left out …"})
	}
	view.Notes = c.laneNotes(len(rows))
	return view, shown
}

// repeat says of a row whether it repeats one above. The first of its stretch says in words what comes again.
type repeat struct {
	is   bool
	says string
}

const (
	repeatMax  = 24 // rows of what comes again
	repeatsMin = 2  // times that it comes again, to be left out
)

// repeatsOf finds what comes again and again in rows. What a violation, a fault or the story is about is no repeat.
func repeatsOf(rows []row) []repeat {
	list, keys := make([]repeat, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		if keys[i] = strconv.Itoa(i); r.rank >= rankNearViolation && !r.control {
			keys[i] = withoutNumbers(r.node+" "+r.words+" "+r.outcome+" "+r.fault) + " of " + r.job
		}
	}
	for from := 0; from < len(rows); from++ {
		for period := 1; period <= repeatMax; period++ {
			to := from + period
			for to < len(rows) && keys[to] == keys[to-period] {
				to++
			}
			times := (to-from)/period - 1
			if times < repeatsMin {
				continue
			}
			first := from + period
			from = first + times*period - 1
			for i := first; i <= from; i++ {
				list[i].is = true
			}
			what := "the last step comes"
			if period > 1 {
				what = fmt.Sprintf("the last %d steps come", period)
			}
			list[first].says = fmt.Sprintf("… %s again %s, with other numbers, until %s …", what, words.Counted(times, "time"), words.Instant(rows[from].at))
			break
		}
	}
	return list
}

func withoutNumbers(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, s)
}

// betweenSteps is what the story tells of no step, such as that a lock ran out; the end of a fault has a row of its own.
func betweenSteps(res *scenarios.Result) (told []row) {
	for i, when := range res.TellingAt[:min(len(res.TellingAt), len(res.Telling))] {
		ends := slices.ContainsFunc(res.Fired, func(f scenarios.FiredFault) bool { return f.Until == when.At })
		if when.Step == 0 && !ends {
			told = append(told, row{at: when.At, words: res.Telling[i]})
		}
	}
	return told
}

func (c *collector) laneRow(r row, nodes []string, column map[string]int, violations []laneViolation, cut partitions) laneRow {
	out := laneRow{Step: r.step, Clock: words.Instant(r.at), Violations: violations, Cells: make([]laneCell, len(nodes))}
	switch {
	case len(violations) > 0:
		out.Tone = "violation"
	case r.fault != "" || r.rank == rankFault:
		out.Tone = "fault"
	case r.control:
		out.Tone = "control"
	}
	for i, n := range nodes {
		if slices.Contains(r.down, n) {
			out.Cells[i].Class = "down"
		} else if cut.covers(n, r.at) {
			out.Cells[i].Class = "cut"
		}
	}
	at, own := column[r.node]
	if !own {
		at = len(nodes) - 1
	}
	cell := &out.Cells[at]
	*cell = laneCell{
		Here: true, Class: strings.TrimSpace(cell.Class + " here"), Node: cmp.Or(r.node, "harness"), Other: !own,
		Words: r.words, Phase: r.phase, Outcome: r.outcome, Fault: r.fault, Minor: r.minor, Colour: -1,
	}
	colour, followed := c.focus.colour[r.job]
	if followed {
		cell.Colour = colour
	}
	if r.job != "" && (!followed || len(c.focus.jobs) > 1) {
		cell.Job = r.job
	}
	return out
}

// partitions are the times in which a node is cut off.
type partitions []scenarios.FiredFault

func partitionsOf(res *scenarios.Result) (all partitions) {
	for _, f := range res.Fired {
		if f.Do == string(faults.Partition) && len(all) < anchorsMax {
			all = append(all, f)
		}
	}
	return all
}

func (p partitions) covers(node string, at time.Duration) bool {
	return slices.ContainsFunc(p, func(f scenarios.FiredFault) bool {
		return f.Node == node && f.At <= at && (f.Until == 0 || at < f.Until)
	})
}

// laneNodes picks the columns: the nodes with rows, the busiest where there are too many, in their
// natural order, and one column for the rest.
func laneNodes(rows []row) []string {
	busy := map[string]int{}
	var nodes []string
	rest := false
	for _, r := range rows {
		if r.node == "" {
			rest = true
			continue
		}
		if busy[r.node] == 0 {
			nodes = append(nodes, r.node)
		}
		busy[r.node]++
	}
	slices.SortFunc(nodes, axis.ByNode)
	if len(nodes) > lanesMax {
		slices.SortStableFunc(nodes, func(a, b string) int { return cmp.Compare(busy[b], busy[a]) })
		nodes, rest = nodes[:lanesMax], true
		slices.SortFunc(nodes, axis.ByNode)
	}
	if rest {
		nodes = append(nodes, elsewhere)
	}
	return nodes
}

// gapBefore says what lies between rows[i] and the row before it, if that is worth a word.
func gapBefore(rows []row, i int) string {
	r, left, idle, others := rows[i], rows[i].index, time.Duration(0), 0
	if i > 0 {
		before := rows[i-1]
		left, idle, others = r.index-before.index-1, r.at-before.at, r.step-before.step-1
	}
	if left == 0 && idle < gapMin {
		return ""
	}
	parts := []string{}
	if idle > 0 {
		parts = append(parts, words.Duration(idle))
	}
	switch {
	case left > 0:
		parts = append(parts, words.Counted(left, "step")+" left out")
	case others > 0:
		parts = append(parts, words.Counted(others, "step")+" of others")
	}
	return "… " + strings.Join(parts, ", ") + " …"
}

func (c *collector) laneNotes(shown int) []string {
	var notes []string
	what := invariants.List(c.focus.jobs)
	switch {
	case len(c.focus.jobs) == 0:
		what = "no job"
	case c.focus.sample:
		what += ", which stands for all: the plan is about no job in particular"
	}
	notes = append(notes, fmt.Sprintf("The steps of %s, and what the harness did. Times are virtual, since the world began.", what))
	if c.focus.left > 0 {
		notes = append(notes, words.Counted(c.focus.left, "other job")+" that the plan is about, or that a violation or its Why names, left out.")
	}
	if c.seen > shown {
		notes = append(notes, fmt.Sprintf("%s of %s shown: those around violations and faults, those that the story tells, then the earliest. trace.jsonl has them all.",
			words.Count(shown), words.Counted(c.seen, "step")))
	}
	return notes
}
