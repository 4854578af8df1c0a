package plots

import (
	"cmp"
	"fmt"
	"math"

	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
)

// Machine is the documented state machine ([scheduler.Transitions]), with what the jobs of a run made of it.
type Machine struct {
	Width, Height float64
	States        []machineState
	Moves         []machineMove // the documented ones in their order, then others that were made all the same
	Label         string
}

type machineState struct {
	Name       scheduler.State
	X, Y, W, H float64 // the box; for Absent a dot
	MidX, MidY float64
	Terminal   bool
	Jobs       int // that ended here
}

type machineMove struct {
	From, To     scheduler.State
	Why, Source  string
	Times        int    // it was made
	Undocumented bool   //
	Path         string // of an SVG
	X, Y         float64
}

const (
	boxHeight = 32.0
	midRow    = 132.0 // the row of a job's way to success
	endRow    = 268.0 // the row of its other ends
)

// places lays the states out: a job's way to success from left to right, its other ends below.
var places = map[scheduler.State]struct{ x, y, w float64 }{
	scheduler.Absent:            {14, midRow, 10},
	scheduler.Pending:           {112, midRow, 96},
	scheduler.ApprovalRequired:  {112, 30, 168},
	scheduler.Scheduled:         {284, midRow, 110},
	scheduler.Dispatched:        {462, midRow, 116},
	scheduler.Running:           {630, midRow, 92},
	scheduler.Succeeded:         {796, midRow, 110},
	scheduler.OutputQuarantined: {986, midRow, 180},
	scheduler.Denied:            {112, endRow, 86},
	scheduler.Cancelled:         {284, endRow, 110},
	scheduler.Timeout:           {462, endRow, 96},
	scheduler.Failed:            {630, endRow, 86},
}

// MachineOf counts the moves that the jobs' records show.
func MachineOf(res *scenarios.Result) Machine {
	type move struct{ from, to scheduler.State }
	times := map[move]int{}
	ends := map[scheduler.State]int{}
	var made []move
	for _, j := range res.Jobs {
		from := scheduler.Absent
		for _, p := range j.Path {
			m := move{from, scheduler.State(p.State)}
			if times[m]++; times[m] == 1 {
				made = append(made, m)
			}
			from = m.to
		}
		ends[from]++
	}
	v := Machine{Width: 1088, Height: 300, Label: "The state machine of a job."}
	for _, s := range append([]scheduler.State{scheduler.Absent}, scheduler.States...) {
		p := places[s]
		v.States = append(v.States, machineState{Name: s, X: p.x - p.w/2, Y: p.y - boxHeight/2, W: p.w, H: boxHeight, MidX: p.x, MidY: p.y, Terminal: s.Terminal(), Jobs: ends[s]})
	}
	for _, t := range scheduler.Transitions {
		v.Moves = append(v.Moves, drawn(machineMove{From: t.From, To: t.To, Why: t.Why, Source: t.Source, Times: times[move{t.From, t.To}]}))
	}
	for _, m := range made {
		if _, known := places[m.to]; known && !scheduler.CanMove(m.from, m.to) {
			v.Moves = append(v.Moves, drawn(machineMove{From: m.from, To: m.to, Why: "not documented", Times: times[m], Undocumented: true}))
		}
	}
	for _, m := range v.Moves {
		if m.Times > 0 {
			v.Label += fmt.Sprintf(" %s to %s: %s.", orStart(m.From), cmp.Or(string(m.To), words.NoRecord), words.Counted(m.Times, "time"))
		}
	}
	return v
}

func orStart(s scheduler.State) string {
	if s == scheduler.Absent {
		return "Submitted"
	}
	return string(s)
}

// drawn gives a move its line: straight to a neighbour and down to an end, in an arc over what lies
// between, and back underneath.
func drawn(m machineMove) machineMove {
	a, b := places[m.From], places[m.To]
	half := boxHeight / 2
	switch {
	case m.From == m.To:
		y := a.y - half
		m.Path = fmt.Sprintf("M%g %g C%g %g %g %g %g %g", a.x-22, y, a.x-30, y-38, a.x+14, y-38, a.x+6, y)
		m.X, m.Y = a.x-8, y-28
	case a.y != b.y:
		from, to := a.y+half, b.y-half
		if a.y > b.y {
			from, to = a.y-half, b.y+half
		}
		shift := 0.0
		if a.x == b.x { // there and back need two lines
			shift = math.Copysign(14, a.y-b.y)
		}
		m.Path = fmt.Sprintf("M%g %g L%g %g", a.x+shift, from, b.x+shift, to)
		m.X, m.Y = a.x+(b.x-a.x)*.38+shift, from+(to-from)*.38
	case b.x < a.x:
		y, dip := a.y+half, 26+(a.x-b.x)/12
		m.Path = fmt.Sprintf("M%g %g C%g %g %g %g %g %g", a.x-18, y, a.x-34, y+dip, b.x+34, y+dip, b.x+18, y)
		m.X, m.Y = (a.x+b.x)/2, y+dip*.75
	case b.x-a.x < 200 && (m.From != scheduler.Running || m.To == scheduler.Succeeded):
		m.Path = fmt.Sprintf("M%g %g L%g %g", a.x+a.w/2, a.y, b.x-b.w/2, b.y)
		m.X, m.Y = (a.x+a.w/2+b.x-b.w/2)/2, a.y
	default:
		y, rise := a.y-half, 20+(b.x-a.x)/7
		m.Path = fmt.Sprintf("M%g %g C%g %g %g %g %g %g", a.x+10, y, a.x+50, y-rise, b.x-50, y-rise, b.x-10, y)
		m.X, m.Y = (a.x+b.x)/2, y-rise*.75
	}
	return m
}
