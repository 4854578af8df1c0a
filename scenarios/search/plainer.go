package search

import (
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// plainer make one fault of a plan simpler, each in its way. A function with nothing left to simplify changes
// nothing, so shrinking ends.
var plainer = []func(*faults.Fault, *plans.Plan){
	strikesOnce(1, 0), strikesOnce(1, 3), strikesOnce(2, 0), strikesOnce(3, 0),
	func(f *faults.Fault, _ *plans.Plan) {
		if f.Times > 1 {
			f.Times = 0
		}
	},
	func(f *faults.Fault, _ *plans.Plan) {
		if f.Times > 1 { // only the last
			f.On.Occurrence, f.Times = max(1, f.On.Occurrence)+f.Times-1, 0
		}
	},
	func(f *faults.Fault, _ *plans.Plan) {
		if f.Times > 1 {
			f.Times /= 2
		}
	},
	func(f *faults.Fault, _ *plans.Plan) {
		if f.Times > 1 {
			f.Times--
		}
	},
	func(f *faults.Fault, _ *plans.Plan) {
		if f.Do == faults.Hang || f.Do == faults.FailAfter || f.Do == faults.Late {
			f.Do, f.For = faults.FailBefore, 0
		}
	},
	ofMatch(func(m *faults.Match, _ *plans.Plan) { m.Node = "" }),
	ofMatch(func(m *faults.Match, _ *plans.Plan) {
		if m.Node != "" { // which node it is may depend on the order
			m.Node, m.Occurrence = "", max(1, m.Occurrence)+1
		}
	}),
	ofMatch(func(m *faults.Match, p *plans.Plan) {
		if p.Workload.Jobs == 1 && !phaseCalled(m.Phase).NoJob {
			m.Job = 1
		}
	}),
	ofMatch(func(m *faults.Match, _ *plans.Plan) { m.Occurrence = 0 }),
	ofMatch(func(m *faults.Match, _ *plans.Plan) {
		if m.Occurrence > 1 {
			m.Occurrence--
		}
	}),
	func(f *faults.Fault, _ *plans.Plan) {
		if f.After != nil && !f.Do.OfServer() {
			f.Node = faults.Actor
		}
	},
	atGrid(time.Second), atGrid(100 * time.Millisecond), atGrid(10 * time.Millisecond),
	func(f *faults.Fault, _ *plans.Plan) {
		if f.At > time.Second {
			f.At = max(time.Second, f.At/2).Truncate(time.Millisecond)
		}
	},
	lasts(0), lasts(time.Second), lasts(10 * time.Second), lasts(time.Minute),
}

// strikesOnce turns a fault by rate into one that strikes a fixed number of times.
func strikesOnce(occurrence, times int) func(*faults.Fault, *plans.Plan) {
	return func(f *faults.Fault, _ *plans.Plan) {
		if f.Rate > 0 {
			f.Rate, f.Times, f.On.Occurrence = 0, times, occurrence
		}
	}
}

func ofMatch(simpler func(*faults.Match, *plans.Plan)) func(*faults.Fault, *plans.Plan) {
	return func(f *faults.Fault, p *plans.Plan) {
		if m := plans.MatchOf(f); m != nil {
			simpler(m, p)
		}
	}
}

// atGrid moves an instant back to a multiple of step.
func atGrid(step time.Duration) func(*faults.Fault, *plans.Plan) {
	return func(f *faults.Fault, _ *plans.Plan) {
		if f.At > step {
			f.At = f.At.Truncate(step)
		}
	}
}

// lasts makes an outage or a partition shorter; 0 is until the heal.
func lasts(d time.Duration) func(*faults.Fault, *plans.Plan) {
	return func(f *faults.Fault, p *plans.Plan) {
		if d == 0 && !p.Then.Heal {
			return
		}
		if f.Do != faults.Pause && f.Do != faults.Late || d > 0 { // a pause and a late operation must have an end
			f.For = min(f.For, d)
		}
		f.RestartIn = min(f.RestartIn, d)
	}
}
