package reports

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/reports/axis"
	"github.com/wavetank-sim/wavetank/reports/plots"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

var pageTemplate = pageTemplateOf("page.html")

// view is what the template sees.
type view struct {
	frame
	*scenarios.Result
	Badge          badge
	Lead           string
	VirtualTime    string
	World          string
	Jump           string // the first violation's anchor; empty if there is none
	JumpOutside    bool   // it is outside its invariant's promise, as all of them are
	Why            *whyView
	FindWhy        string // the command that finds it, where nobody has
	Hardened       string // the command that runs the same plan under the preset hardened; "" if nothing is violated, or if it is that
	ByName         bool   // the command to replay names the program alone, and no path to it
	TellingRows    []toldRow
	TellingLeft    int
	Violating      []violationCard
	Exercised      []invariantRow
	NotExercised   []idleRows
	Situations     []invariantRow
	Unreached      []invariantRow
	RunRows        []runRow
	RunsLeft       int
	Faults         []faultRow
	FaultsLeft     int
	UnfiredLeft    int
	JobRows        []jobRow
	JobNote        string
	Budgets        []budgetRow
	Axis           *axis.Axis // nil: there is nothing to draw
	LeftOut        string     // which steps it has not
	BarsLeftOut    string     // and what that lasts
	Lanes          laneView
	Machine        plots.Machine
	Figures        []plots.Figure
	CounterRows    []counterRow
	UnsettledShown []scenarios.Unsettled
	UnsettledLeft  int
	OpenShown      []string
	OpenLeft       int
}

// toldRow is a sentence of the story, and the step that it tells of, if any.
type toldRow struct {
	Text string
	Ref  stepRef
}

type counterRow struct{ Name, Value string }

// Page writes report.html: one page that needs nothing besides itself. events are the run's, in
// the order of steps; they are read once, and only what the page shows is kept.
func Page(w io.Writer, plan *plans.Plan, res *scenarios.Result, events iter.Seq2[sim.Event, error]) error {
	if plan == nil || res == nil {
		return errors.New("a page needs a plan and a result")
	}
	res = withDerived(res)
	f := focusOn(res)
	c, x := newCollector(res, f), axis.New(plan, res, f.jobs)
	for e, err := range events {
		if err != nil {
			return fmt.Errorf("read the trace: %w", err)
		}
		c.add(e)
		x.Add(&e)
	}
	v := viewOf(plan, res, f, c)
	script := pageJS + plotsJS
	if a := x.Axis(); len(a.Marks) > 0 {
		v.Axis, v.LeftOut, v.BarsLeftOut = a, leftOut(a), barsLeftOut(a)
		script += axisJS
	}
	v.run(script)
	return execute(w, pageTemplate, v)
}

// leftOut says in a sentence which steps the picture over time has no room for; "" if it has all.
func leftOut(a *axis.Axis) string {
	if a.Left == 0 {
		return ""
	}
	left := words.Counted(a.Left, "step")
	var from []string
	if a.Lost > 0 {
		from = append(from, "of the jobs that the page follows, from step "+strconv.Itoa(a.Lost)+" on")
	}
	if a.Struck > 0 {
		from = append(from, "of those that a fault struck, from step "+strconv.Itoa(a.Struck)+" on")
	}
	if a.LeftFrom > 0 {
		from = append(from, "of other jobs, from "+words.Instant(time.Duration(a.LeftFrom)*time.Microsecond)+" on")
	}
	kept := ""
	if a.Every > 0 {
		kept = "every " + words.Ordinal(a.Every) + " one is kept"
		if a.Every == 2 {
			kept = "every second one is kept"
		}
	}
	switch {
	case len(from) == 0 && kept == "":
		return "Not drawn: " + left + "."
	case len(from) == 0 && a.Left == 1:
		return left + " that belongs to no job is left out (" + kept + ")."
	case len(from) == 0:
		return left + " that belong to no job are left out (" + kept + ")."
	case kept != "":
		from = append(from, "of those that belong to no job, of which "+kept)
	}
	return "Not drawn: " + left + ": " + strings.Join(from, "; ") + "."
}

// barsLeftOut says for what that lasts the picture has no room.
func barsLeftOut(a *axis.Axis) string {
	var says []string
	for _, of := range []struct {
		what      axis.What
		one, many string
	}{
		{axis.Fault, "fault", "faults"}, {axis.Execution, "execution", "executions"}, {axis.Lock, "lock", "locks"}, {axis.Lease, "lease", "leases"},
		{axis.Life, "time that a worker counts as alive", "times that a worker counts as alive"},
	} {
		if n := a.SpansLeft[of.what]; n > 0 {
			says = append(says, words.Counted(n, of.one, of.many))
		}
	}
	return invariants.List(says)
}

// leadMax is how many bytes of a story stand below the heading, where there are the sentences of why, too.
const leadMax = 400

// planned says in a sentence what is in the plan.
func planned(plan *plans.Plan) string {
	says := invariants.List(inhabitants(plan))
	var with []string
	for _, f := range plan.Faults {
		with = append(with, f.String())
	}
	for _, change := range plan.Changes() {
		if strings.HasPrefix(change, "engine.") || strings.HasPrefix(change, "world.") {
			with = append(with, change)
		}
	}
	if with, left := words.Capped(with, 4); len(with) > 0 {
		if left > 0 {
			with = append(with, words.Count(left)+" more")
		}
		says += "; " + strings.Join(with, "; ")
	}
	return clip("A plan of " + says + ".")
}

func viewOf(plan *plans.Plan, res *scenarios.Result, f focus, c *collector) view {
	diagram, shown := lanes(c, res)
	shallow := *res
	v := view{
		frame:  newFrame(fmt.Sprintf("%s, seed %d: %s", res.Scenario, res.Seed, res.Verdict), pageCSS),
		Result: &shallow, Badge: runBadge(res.Verdict, res.Violations), VirtualTime: words.Duration(res.Virtual), World: invariants.List(inhabitants(plan)),
		Lanes: diagram, Machine: plots.MachineOf(res), Figures: plots.Run(plan, res, plots.Traced{Focus: f.jobs, Naks: c.naks, Rollbacks: c.rollbacks}), CounterRows: counters(res),
	}
	v.Why, v.FindWhy, v.Hardened, v.ByName = whyOf(res, shown), findWhy(res), underHardened(res), res.Command.Program == scenarios.ProgramName
	if v.Lead = res.Story; v.Why != nil && len(res.Story) > leadMax { // it is of a finding, and tells what the path below shows
		v.Lead = planned(plan)
	}
	v.Telling, v.TellingLeft = words.Capped(res.Telling, tellingMax)
	for i, sentence := range v.Telling {
		row := toldRow{Text: sentence}
		if i < len(res.TellingAt) {
			row.Ref = ref(res.TellingAt[i].Step, 0, shown)
		}
		v.TellingRows = append(v.TellingRows, row)
	}
	v.TellingRows = withAlerts(v.TellingRows, res)
	v.Violating = violationCards(res, shown)
	v.Violating = withWhy(v.Violating, res)
	v.Exercised, v.NotExercised, v.Situations, v.Unreached = invariantRows(plan, res)
	v.RunRows, v.RunsLeft = runRows(res)
	v.Faults, v.FaultsLeft = faultRows(res, shown)
	v.Unfired, v.UnfiredLeft = words.Capped(res.Unfired, faultsMax)
	v.JobRows, v.JobNote = jobRows(res, f, shown)
	v.Budgets = budgetRows(plan, res)
	v.UnsettledShown, v.UnsettledLeft = words.Capped(res.Unsettled, violationsMax)
	v.OpenShown, v.OpenLeft = words.Capped(res.Open, violationsMax)
	if len(v.Violating) > 0 {
		v.Jump, v.JumpOutside = "violations", !v.Violating[0].Promised
		if first := v.Violating[0].Ref; first.Shown {
			v.Jump = "step-" + strconv.Itoa(first.Step)
		}
	}
	return v
}

// withAlerts puts the alerts into the story, where they fired.
func withAlerts(rows []toldRow, res *scenarios.Result) []toldRow {
	for _, a := range slices.Backward(res.Alerts) {
		i := 0
		for i < min(len(rows), len(res.TellingAt)) && res.TellingAt[i].At <= a.Fired {
			i++
		}
		rows = slices.Insert(rows, i, toldRow{Text: res.Noticed(a)})
	}
	return rows
}

// withDerived is the result with all jobs in one list: those that clients have submitted, then those that
// the schedulers have.
func withDerived(res *scenarios.Result) *scenarios.Result {
	all := *res
	all.Jobs = slices.Clone(res.Jobs)
	for _, j := range res.Derived {
		all.Jobs = append(all.Jobs, j.JobResult)
	}
	return &all
}

func counters(res *scenarios.Result) (rows []counterRow) {
	for _, name := range slices.Sorted(maps.Keys(res.Counters)) {
		rows = append(rows, counterRow{name, strconv.FormatFloat(res.Counters[name], 'f', -1, 64)})
	}
	return rows
}
