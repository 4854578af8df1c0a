package reports

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/sim"
)

const (
	rowsMax     = 400 // rows that the lanes show
	contextRows = 6   // rows kept before and after a violation or a fault
	anchorsMax  = 200 // steps that violations depend on, and as many faults, whose surroundings are kept
	textMax     = 600 // runes of one text in a row
)

// Ranks say which rows stay when there are too many: the lowest.
const (
	rankViolation = iota
	rankFault
	rankTold // a sentence of the story is about it
	rankNearViolation
	rankNearFault
	rankControl
	rankOther
)

// row is one step that the lanes may show.
type row struct {
	index       int // among the rows seen
	rank        int
	step        int
	at          time.Duration
	node        string
	job         string
	words       string
	phase       string
	outcome     string // empty when it went well
	fault       string
	minor       bool
	control     bool
	incarnation int
	down        []string // nodes that are crashed after this step; shared between rows
}

// collector takes from a trace what the page needs, in one pass.
type collector struct {
	focus   focus
	anchors map[int]int // step -> rank

	records scheduler.Records
	down    []string
	pending []row // the last contextRows rows, whose rank may still rise
	near    int   // rank of the rows that follow, while after > 0
	after   int
	other   int // rows of rankOther that were kept
	rows    []row
	seen    int

	naks      []time.Duration
	rollbacks []time.Duration
}

func newCollector(res *scenarios.Result, f focus) *collector {
	c := &collector{focus: f, anchors: map[int]int{}, records: scheduler.Records{}}
	violations, fired := 0, 0
	for _, promised := range []bool{true, false} {
		for _, v := range res.Violations {
			for _, step := range append([]int{v.Step}, v.Steps...) {
				if _, dup := c.anchors[step]; !dup && v.Promised == promised && violations < anchorsMax {
					c.anchors[step] = rankViolation
					violations++
				}
			}
		}
	}
	for _, ff := range res.Fired {
		if _, dup := c.anchors[ff.Step]; !dup && fired < anchorsMax {
			c.anchors[ff.Step] = rankFault
			fired++
		}
	}
	for _, told := range res.TellingAt {
		if _, dup := c.anchors[told.Step]; !dup && told.Step > 0 {
			c.anchors[told.Step] = rankTold
		}
	}
	return c
}

func (c *collector) add(e sim.Event) {
	if e.Kind == sim.KindNak && history.Applied(&e) {
		c.naks = append(c.naks, e.At)
	}
	if e.Phase == "rollback_write" && len(e.Changes) > 0 {
		c.rollbacks = append(c.rollbacks, e.At)
	}
	if e.Kind == sim.KindControl {
		c.control(e)
	}

	now, changed := c.records.Apply(&e)
	rank, anchored := c.anchors[e.Step]
	switch {
	case anchored:
	case e.Kind == sim.KindControl:
		rank = rankControl
	case c.focus.follows(e):
		rank = rankOther
	default:
		return
	}
	r := row{
		index: c.seen, rank: rank, step: e.Step, at: e.At, node: e.Node, job: e.Job, fault: clip(e.Fault),
		words: clip(scheduler.Describe(e, now, changed)), minor: scheduler.Minor(e) && !anchored, control: e.Kind == sim.KindControl,
		incarnation: e.Incarnation, down: c.down,
	}
	if r.control && e.Target != "" {
		r.node = e.Target
	}
	switch history.AnswerOf(&e) {
	case history.Done:
	case history.Waits:
		r.words += ", and waits"
	default:
		r.outcome = clip(e.Outcome)
	}
	if e.Phase != "" {
		r.phase = clip(e.Phase)
		if e.Occurrence > 1 {
			r.phase += ", " + words.Ordinal(e.Occurrence)
		}
	}
	c.keep(r)
}

// control follows which nodes are down. It never changes a slice that a row may hold.
func (c *collector) control(e sim.Event) {
	up := func(name string) bool { return name == e.Target }
	switch {
	case e.Name == string(faults.Crash) && !slices.Contains(c.down, e.Target):
		c.down = append(slices.Clone(c.down), e.Target)
	case e.Name == "restart":
		c.down = slices.DeleteFunc(slices.Clone(c.down), up)
	}
}

func (c *collector) keep(r row) {
	c.seen++
	if c.after > 0 {
		r.rank = min(r.rank, c.near)
		c.after--
	}
	if r.rank <= rankFault {
		c.near, c.after = r.rank+rankNearViolation, contextRows
		for i := range c.pending {
			c.pending[i].rank = min(c.pending[i].rank, c.near)
		}
	}
	c.pending = append(c.pending, r)
	if len(c.pending) > contextRows {
		c.settle(c.pending[0])
		c.pending = slices.Delete(c.pending, 0, 1)
	}
}

// settle decides on a row whose rank is final.
func (c *collector) settle(r row) {
	if r.rank >= rankControl {
		if c.other == rowsMax {
			return
		}
		c.other++
	}
	c.rows = append(c.rows, r)
}

// selected returns the rows to show, in order; at most rowsMax.
func (c *collector) selected() []row {
	for _, r := range c.pending {
		c.settle(r)
	}
	c.pending = nil
	rows := slices.Clone(c.rows)
	if len(rows) > rowsMax {
		slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.rank, b.rank) })
		rows = rows[:rowsMax]
		slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.index, b.index) })
	}
	return rows
}

func clip(s string) string {
	if len(s) <= textMax {
		return s
	}
	runes := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	if len(runes) <= textMax {
		return s
	}
	return string(runes[:textMax]) + "…"
}
