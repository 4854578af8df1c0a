package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/reports/lasting"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
)

const (
	jobsMax         = 100 // rows of the table of jobs
	pathMax         = 40  // state writes told of one job
	violationsMax   = 100
	violationsLeast = 5 // of each invariant
	faultsMax       = 100
	tellingMax      = 200
)

// badge is a status: a word, and a class that colours it.
type badge struct{ Word, Tone string }

func verdictBadge(v scenarios.Verdict) badge {
	switch v {
	case scenarios.Held:
		return badge{string(v), "good"}
	case scenarios.Violated:
		return badge{string(v), "bad"}
	}
	return badge{string(v), "warn"}
}

// runBadge is that of a run. One that held is not all green if it broke something outside of a promise.
func runBadge(v scenarios.Verdict, violations []scenarios.Violation) badge {
	b := verdictBadge(v)
	if b.Tone == "good" && len(violations) > 0 {
		b.Tone = "outside"
	}
	return b
}

func statusBadge(s scenarios.Status) badge {
	switch s {
	case scenarios.StatusHeld, scenarios.StatusReached:
		return badge{string(s), "good"}
	case scenarios.StatusViolated:
		return badge{string(s), "bad"}
	case scenarios.StatusUnpromised, scenarios.StatusNotJudged:
		return badge{string(s), "warn"}
	}
	return badge{string(s), "quiet"}
}

// stepRef is a step and, if the lanes show it, a link to it.
type stepRef struct {
	Step  int
	At    string
	Shown bool
}

type violationRow struct {
	scenarios.Violation
	Ref stepRef
}

// violationCard is how an invariant was violated, within its promise or outside of it.
type violationCard struct {
	violationRow
	Says string         // what the invariant says
	Why  string         // the command that explains it; "" if the page does
	More []violationRow // in the order of time

	Left     int // that the page has no room for
	Unlisted int // that the result does not list
}

// Others is how many more there are.
func (c violationCard) Others() int { return len(c.More) + c.Left + c.Unlisted }

type runRow struct {
	*scenarios.RunResult
	Tone    string
	Jobs    int // of its steps
	StartAt string
	EndAt   string
}

type faultRow struct {
	scenarios.FiredFault
	Ref  stepRef
	Last string // how long it lasted; empty for an instant
	Nth  string
}

type invariantRow struct {
	scenarios.InvariantResult
	Badge badge
	Times string
	Since string // what was violated, of one that is not judged
}

type jobRow struct {
	scenarios.JobResult
	Colour     int    // -1 for none
	What       string // whose it is; empty for one that a client submitted
	Final      string
	Tone       string
	SubmitAt   string
	DispatchAt string
	SettleAt   string
	BlindFor   string
	BlindOpen  bool
	Unsettled  string // why it did not settle
	Path       []pathPoint
	PathLeft   int
}

// More says whether there is more to say of the job than a row holds.
func (r jobRow) More() bool {
	return len(r.Path) > 0 || r.Why != "" || r.Unsettled != "" || r.StalePicks > 0
}

type pathPoint struct {
	scenarios.JobPoint
	Ref stepRef
}

func ref(step int, at time.Duration, shown map[int]bool) stepRef {
	return stepRef{step, words.Instant(at), shown[step]}
}

// violationCards has those within their promise first, and of each invariant as many as there is room for.
func violationCards(res *scenarios.Result, shown map[int]bool) (cards []violationCard) {
	sorted := slices.Clone(res.Violations)
	slices.SortStableFunc(sorted, func(a, b scenarios.Violation) int {
		if a.Promised != b.Promised {
			if a.Promised {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Step, b.Step)
	})
	counted := map[string]bool{}
	for _, v := range sorted {
		v.Message = clip(v.Message)
		row := violationRow{v, ref(v.Step, v.At, shown)}
		i := slices.IndexFunc(cards, func(c violationCard) bool { return c.Invariant == v.Invariant && c.Promised == v.Promised })
		if i >= 0 {
			cards[i].More = append(cards[i].More, row)
			continue
		}
		card := violationCard{violationRow: row}
		for _, inv := range res.Invariants {
			if inv.Name == v.Invariant {
				card.Says = inv.Says
				if !counted[inv.Name] {
					card.Unlisted, counted[inv.Name] = inv.Unlisted, true
				}
			}
		}
		cards = append(cards, card)
	}
	for i := range cards {
		cards[i].More, cards[i].Left = words.Capped(cards[i].More, max(violationsLeast, violationsMax/len(cards)))
	}
	return cards
}

func runRows(res *scenarios.Result) (rows []runRow, left int) {
	runs, left := words.Capped(res.Runs, jobsMax)
	for _, r := range runs {
		row := runRow{RunResult: r, Tone: "good", StartAt: words.Instant(r.Started)}
		if r.State != "SUCCEEDED" {
			row.Tone = "quiet"
		}
		if row.EndAt = words.Instant(r.Ended); r.Ended == 0 {
			row.EndAt, row.Tone = "never", "warn"
		}
		for _, j := range res.Derived {
			if j.Of == r.ID {
				row.Jobs++
			}
		}
		rows = append(rows, row)
	}
	return rows, left
}

func faultRows(res *scenarios.Result, shown map[int]bool) (rows []faultRow, left int) {
	fired, left := words.Capped(res.Fired, faultsMax)
	for _, f := range fired {
		r := faultRow{FiredFault: f, Ref: ref(f.Step, f.At, shown)}
		if f.Until > f.At {
			r.Last = words.Duration(f.Until - f.At)
		} else if lasting.UntilOf(&f, res.Virtual) > f.At {
			r.Last = "to the end"
		}
		if f.Occurrence > 0 {
			r.Nth = words.Ordinal(f.Occurrence)
		}
		rows = append(rows, r)
	}
	return rows, left
}

// idleRows are invariants that were not exercised, all for one reason.
type idleRows struct {
	Why  string
	Rows []invariantRow
}

// Why an invariant was not exercised.
const (
	idleRun   = "not exercised: the run had nothing to judge"
	endedSoon = "not judged: the run ended before its time"
	onDemand  = "judged only on demand"
)

func whyIdle(res *scenarios.Result, i *scenarios.InvariantResult) string {
	known, _ := judge.Find(i.Name)
	switch {
	case known.OnDemand && i.Promise == invariants.Unprovided:
		return onDemand
	case i.Kind == string(invariants.Eventually) && res.EndedSoon:
		return endedSoon
	}
	return idleRun
}

// invariantRows are the invariants, those that were not exercised, the situations that the run reached or
// that the plan expects, and those that it did not reach.
func invariantRows(plan *plans.Plan, res *scenarios.Result) (exercised []invariantRow, idle []idleRows, situations, unreached []invariantRow) {
	idle = []idleRows{{Why: idleRun}, {Why: endedSoon}, {Why: onDemand}}
	for _, i := range res.Invariants {
		row := invariantRow{InvariantResult: i, Badge: statusBadge(i.Status), Times: words.Count(i.Exercised)}
		switch stopped := i.StoppedBy; len(stopped) {
		case 0:
		case 1:
			row.Since = stopped[0] + " was violated"
		default:
			row.Since = invariants.List(stopped) + " were violated"
		}
		expected := slices.Contains(plan.Expect.Sometimes, i.Name)
		switch {
		case i.Status == scenarios.StatusNotExercised:
			n := slices.IndexFunc(idle, func(of idleRows) bool { return of.Why == whyIdle(res, &i) })
			idle[n].Rows = append(idle[n].Rows, row)
		case i.Kind != "sometimes":
			exercised = append(exercised, row)
		case i.Status == scenarios.StatusReached:
			situations = append(situations, row)
		case expected:
			row.Badge.Tone = "warn"
			situations = append(situations, row)
		default:
			unreached = append(unreached, row)
		}
	}
	// What went wrong first; otherwise the order of the catalogue.
	order := []string{"bad", "warn", "good", "quiet"}
	slices.SortStableFunc(exercised, func(a, b invariantRow) int {
		return cmp.Compare(slices.Index(order, a.Badge.Tone), slices.Index(order, b.Badge.Tone))
	})
	idle = slices.DeleteFunc(idle, func(of idleRows) bool { return len(of.Rows) == 0 })
	return exercised, idle, situations, unreached
}

// jobRows are the jobs: those in focus and those that the plan is about, those that a violation names or that
// did not settle, then the rest; in the order of their numbers within each.
func jobRows(res *scenarios.Result, f focus, shown map[int]bool) (rows []jobRow, note string) {
	named, why, what := map[string]bool{}, map[string]string{}, map[string]string{}
	for _, j := range res.Derived {
		what[j.ID] = j.What
	}
	for _, v := range res.Violations {
		named[v.Job] = true
	}
	for _, u := range res.Unsettled {
		why[u.Job] = u.Reason
	}
	rank := func(j scenarios.JobResult) int {
		_, own := f.colour[j.ID]
		switch {
		case own || j.About:
			return 0
		case named[j.ID] || why[j.ID] != "":
			return 1
		}
		return 2
	}
	jobs := slices.Clone(res.Jobs)
	slices.SortStableFunc(jobs, func(a, b scenarios.JobResult) int { return cmp.Compare(rank(a), rank(b)) })
	jobs, left := words.Capped(jobs, jobsMax)
	for _, j := range jobs {
		r := jobRowOf(j, f, why[j.ID], shown)
		r.What = what[j.ID]
		rows = append(rows, r)
	}
	if left > 0 {
		note = fmt.Sprintf("%d of %s shown: those that the plan is about, those that a violation names or that did not settle, then by number. result.json has them all.",
			len(rows), words.Counted(len(res.Jobs), "job"))
	}
	return rows, note
}

func jobRowOf(j scenarios.JobResult, f focus, why string, shown map[int]bool) jobRow {
	r := jobRow{JobResult: j, Colour: -1, Final: j.State, Unsettled: why}
	r.Why = clip(j.Why)
	if j.Submitted > 0 {
		r.SubmitAt = words.Instant(j.Submitted)
	}
	if c, own := f.colour[j.ID]; own {
		r.Colour = c
		var path []scenarios.JobPoint
		path, r.PathLeft = words.Capped(j.Path, pathMax)
		for _, p := range path {
			p.State = cmp.Or(p.State, words.NoRecord)
			r.Path = append(r.Path, pathPoint{p, ref(p.Step, p.At, shown)})
		}
	}
	switch {
	case j.State == "":
		r.Final, r.Tone = "never stored", "warn"
		if len(j.Path) > 0 {
			r.Final = words.NoRecord
		}
	case j.State == "SUCCEEDED":
		r.Tone = "good"
	case scheduler.Terminal(j.State):
		r.Tone = "quiet"
	default:
		r.Tone = "warn"
	}
	if len(j.Dispatches) > 0 {
		r.DispatchAt = words.Instant(j.Dispatches[0].At)
	}
	if j.Settled > 0 {
		r.SettleAt = words.Instant(j.Settled)
	}
	if b := j.Blind; b != nil {
		r.BlindOpen, r.BlindFor = b.Open, words.BlindFor(b)
	}
	return r
}

// budgetRow is for how long a job outlasts a cause of retries.
type budgetRow struct{ Cause, ReasonCode, Lasts, Saw string }

// budgetRows has the causes that the run met; none if it met none.
func budgetRows(plan *plans.Plan, res *scenarios.Result) (rows []budgetRow) {
	for _, b := range plan.Budgets() {
		label := fmt.Sprintf("reason_code=%q", b.ReasonCode)
		if b.ReasonCode == "" {
			label = `phase="state_read"`
		}
		retries := 0.0
		for name, n := range res.Counters {
			if strings.HasPrefix(name, "scheduler_retry_total{") && strings.Contains(name, label) {
				retries += n
			}
		}
		given, longest := 0, time.Duration(0)
		for _, j := range res.Jobs {
			if j.LastCause != "" && j.LastCause == b.ReasonCode {
				given, longest = given+1, max(longest, j.Settled-j.Submitted)
			}
		}
		saw := words.Counted(int(retries), "retry", "retries")
		if given > 0 {
			saw += fmt.Sprintf("; %s given up, after %s at most", words.Counted(given, "job"), words.Duration(longest))
		}
		if retries > 0 || given > 0 {
			rows = append(rows, budgetRow{b.Cause, b.ReasonCode, words.Duration(b.Lasts), saw})
		}
	}
	return rows
}
