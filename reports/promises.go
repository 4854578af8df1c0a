package reports

import (
	"io"
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
)

var promisesTemplate = pageTemplateOf("promises.html")

// promisesView is what the template sees.
type promisesView struct {
	frame
	Strikes invariants.Vocabulary
	Legend  []promiseMark
	Rows    []promiseRow
}

// promiseMark is one thing that a cell of the matrix can say.
type promiseMark struct {
	Class, Sign, Says string
	Cells             int
}

// The marks, in the order of the legend.
const (
	markPromised = iota
	markHardened
	markWith
	markOpen
	markImpossible
)

type promiseRow struct {
	invariants.Promise
	Says    string
	Without bool // nothing is promised under the preset hardened
	Cells   []promiseCell
}

type promiseCell struct {
	*promiseMark
	Title string
}

// PromisesPage writes the promise matrix as a page.
func PromisesPage(w io.Writer) error {
	released, err := releasedHardened()
	if err != nil {
		return err
	}
	v := promisesView{
		frame: newFrame("The promise matrix", pageCSS, overviewCSS), Strikes: history.Strikes,
		Legend: []promiseMark{
			{"promised", "●", "promised; a row that takes settings, only with them", 0},
			{"hardened", "◐", "promised with hardenings, and the preset hardened has them", 0},
			{"with", "○", "promised with settings that the preset hardened does not have", 0},
			{"open", "?", "open: a scheduler could promise it, and this one does not yet", 0},
			{"impossible", "×", "impossible: no scheduler could promise it", 0},
		},
	}
	for _, p := range judge.Promises() {
		inv, _ := judge.Find(p.Invariant)
		outcome := released[p.Invariant]
		row := promiseRow{Promise: p, Says: inv.Says, Without: outcome.Unprovided}
		for _, c := range p.Cells {
			m := &v.Legend[markOf(c, outcome)]
			m.Cells++
			row.Cells = append(row.Cells, promiseCell{m, p.Invariant + " under " + c.Strike + ": " + c.Status})
		}
		v.Rows = append(v.Rows, row)
	}
	return execute(w, promisesTemplate, v)
}

func markOf(c invariants.Cell, o invariants.Outcome) int {
	released := slices.ContainsFunc(o.Released, func(k invariants.StrikeKind) bool { return k.String() == c.Strike })
	switch {
	case c.Status == "impossible":
		return markImpossible
	case c.Status == "open":
		return markOpen
	case c.Status == "promised":
		return markPromised
	case released:
		return markWith
	}
	return markHardened
}

// releasedHardened is what each invariant comes to under the preset hardened, in a world without outages.
func releasedHardened() (map[string]invariants.Outcome, error) {
	p, err := plans.Load("calm")
	if err != nil {
		return nil, err
	}
	if err := p.Set("preset=" + plans.PresetHardened); err != nil {
		return nil, err
	}
	list := map[string]invariants.Outcome{}
	for _, o := range judge.NewJudge(scheduler.JudgeConfig(p)).Finish(invariants.End{}).Invariants {
		list[o.Name] = o
	}
	return list, nil
}
