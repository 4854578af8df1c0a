package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// strikes tells of the strikes and of their ends. Of repeated strikes of one fault, and of strikes on jobs
// that the story does not follow, it tells the first and counts the others.
func (r *run) strikes(res *Result, about []*jobRecord) (lines []line) {
	type same struct {
		fault faults.Fault
		job   string
	}
	fired := r.injector.Fired()
	all := map[same][]int{}
	var order []same
	for i, f := range fired {
		key := same{f.Fault, f.Job}
		key.fault.On, key.fault.After = nil, nil
		if f.Fault.On != nil {
			key.fault.On = f.Fault.On
			if !slices.ContainsFunc(about, func(j *jobRecord) bool { return j.ID == f.Job }) {
				key.job = ""
			}
		}
		if all[key] == nil {
			order = append(order, key)
		}
		all[key] = append(all[key], i)
	}
	for _, key := range order {
		list := all[key]
		if key.fault.On == nil || len(list) <= alikeMax {
			for _, i := range list {
				lines = append(lines, r.strike(i, fired[i])...)
			}
			continue
		}
		first := r.strike(list[0], fired[list[0]])
		var others []FiredFault
		for _, i := range list[1:] {
			others = append(others, res.Fired[i])
		}
		first[0].text += "; " + again(res.Fired[list[0]], others)
		lines = append(lines, first...)
	}
	return lines
}

// again counts the strikes of a fault besides the one that is told, and the jobs that they hit.
func again(told FiredFault, others []FiredFault) string {
	jobs := map[string]bool{told.Job: true}
	for _, f := range others {
		jobs[f.Job] = true
	}
	text := fmt.Sprintf("the same fault struck %s, the last at %s", count(len(others), "more time"), at(others[len(others)-1].At))
	if others[len(others)-1].At <= told.At {
		text = fmt.Sprintf("the same fault had struck %s before", count(len(others), "time"))
	}
	if len(jobs) > 1 {
		text += fmt.Sprintf(", %d jobs in all", len(jobs))
	}
	return text
}

// Did says what a fault of the plan did, by its index. It begins with the strike that hit the violation. It
// is "" if the fault did not fire.
func (res *Result) Did(fault int, to *Violation) string {
	list := res.StrikesOf(fault, to)
	switch len(list) {
	case 0:
		return ""
	case 1:
		return list[0].Says
	}
	return list[0].Says + ", and " + again(list[0], list[1:])
}

// StrikesOf lists the strikes of a fault of the plan, by its index, in order. The first that hit the
// violation is moved to the front.
func (res *Result) StrikesOf(fault int, v *Violation) (list []FiredFault) {
	for _, f := range res.Fired {
		if f.Number == fault {
			list = append(list, f)
		}
	}
	if i := slices.IndexFunc(list, func(f FiredFault) bool { return f.Hit(v) }); i > 0 {
		hit := list[i]
		list = slices.Insert(slices.Delete(list, i, i+1), 0, hit)
	}
	return list
}

// Hit says whether a strike was on the violation's job, or at a step that the violation depends on.
func (f FiredFault) Hit(v *Violation) bool {
	return v.Job != "" && f.Job == v.Job || slices.Contains(v.Steps, f.Step)
}

// strike tells of the i-th strike, and of its end if that ended its effect.
func (r *run) strike(i int, f faults.Fired) []line {
	rank := rankStrike
	if f.Fault.After != nil && !f.Fault.Do.OfServer() {
		rank = rankAfter
	}
	begin, end := r.strikeWords(f, r.record.lossOf(f).words())
	lines := []line{always(f.At, f.Step, rank, begin, append(r.record.lossOf(f).named(), f.Job)...)}
	if end != "" && f.Until > 0 && r.injector.Freed(i) {
		l := always(f.Until, 0, rankStrike, end)
		l.ends = f.Step
		lines = append(lines, l)
	}
	return lines
}

// struck says what a strike did, without the losses.
func (r *run) struck(f faults.Fired) string {
	loss := ""
	if f.Fault.Lag > 0 {
		loss = ", " + strictyaml.DurationText(f.Fault.Lag) + " behind"
	}
	begin, _ := r.strikeWords(f, loss)
	return begin
}

// strikeWords describe a strike, by the fault's word and what it hit, and its end; end is "" if it did not
// last.
func (r *run) strikeWords(f faults.Fired, loss string) (begin, end string) {
	operation := "the " + f.Phase
	if f.Job != "" && f.Job != f.Node {
		operation += " of " + f.Job
	}
	lasts, after, by := "", "", strictyaml.DurationText(f.Fault.By.Abs())+" ahead"
	switch {
	case f.Fault.For > 0:
		lasts = " for " + strictyaml.DurationText(f.Fault.For)
	case f.Fault.Do == faults.Partition || f.Fault.Do == faults.Skew:
		lasts = " until the end of the run"
		if r.plan.Then.Heal {
			lasts = " until the heal"
		}
	}
	if f.Phase != "" {
		after = ", right after " + operation
	}
	if f.Fault.By < 0 {
		by = strictyaml.DurationText(-f.Fault.By) + " behind"
	}
	words := strings.NewReplacer("{operation}", operation+" by "+who(f.Node), "{node}", who(f.Node), "{from}", who(f.Fault.From), "{with}", f.Fault.With,
		"{for}", lasts, "{after}", after, "{by}", by, "{loss}", loss)
	k := faults.KindOf(f.Fault.Do)
	return words.Replace(k.Struck), words.Replace(k.Over)
}
