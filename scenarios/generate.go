package scenarios

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-sim/faultline/faults"
	"github.com/faultline-sim/faultline/sim"
)

// Space says which plans [Draw] draws from.
type Space struct {
	Presets []string // each plan is of one of them; empty is all
	Base    *Plan    // plans are perturbations of it; nil draws them from nothing
	Sets    []string // settings that every plan has, as [Plan.Set] takes them
}

// Validate says what is wrong with the space, as a [*PlanError].
func (s Space) Validate() error {
	p := Defaults()
	p.Name = "drawn"
	for _, set := range s.Sets {
		if err := p.Set(set); err != nil {
			return err
		}
	}
	return nil
}

// Draw draws a plan: topology, workload, strategy, seed, and faults of a random subset of the
// kinds there are (a swarm: what is always there hides what only shows without it). It shrinks
// towards one job, one replica, one worker and no fault.
func Draw(t *rapid.T, space Space) *Plan {
	preset := rapid.SampledFrom(space.Presets).Draw(t, "preset")
	p := Defaults()
	p.Name, p.Story, p.Preset = "drawn", "", preset
	p.Engine = presetSettings(preset)
	p.Topology.Schedulers = rapid.IntRange(1, 3).Draw(t, "schedulers")
	p.Topology.Workers = rapid.IntRange(1, 3).Draw(t, "workers")
	p.Workload.Jobs = rapid.IntRange(1, 5).Draw(t, "jobs")
	p.Workload.Every = rapid.SampledFrom([]time.Duration{200 * time.Millisecond, time.Millisecond, 3 * time.Second}).Draw(t, "every")
	p.Workload.Work = rapid.SampledFrom([]time.Duration{50 * time.Millisecond, time.Millisecond, 20 * time.Second}).Draw(t, "work")
	p.Workload.Submissions = rapid.IntRange(1, 2).Draw(t, "submissions")
	p.Schedule.Strategy = rapid.SampledFrom(sim.Strategies).Draw(t, "strategy")
	p.Seed = uint64(rapid.Uint16().Draw(t, "seed"))
	on := map[string]bool{}
	for _, s := range strikes {
		on[s.name] = rapid.Bool().Draw(t, s.name)
	}
	var swarm []strike
	for _, s := range strikes {
		if on[s.name] {
			swarm = append(swarm, s)
		}
	}
	if len(swarm) > 0 {
		drawn := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) faults.Fault {
			return rapid.SampledFrom(swarm).Draw(t, "strike").draw(t, p)
		}), 0, 8).Draw(t, "faults")
		for _, f := range drawn { // no two at one operation: only one could strike
			p.Faults = append(p.Faults, f)
			if checkStrikes(p) != nil {
				p.Faults = p.Faults[:len(p.Faults)-1]
			}
		}
	}
	return p
}

// strike draws faults of one kind.
type strike struct {
	name string
	draw func(*rapid.T, *Plan) faults.Fault
}

var strikes = []strike{
	{"operation", drawOperationFault},
	{"lost-send", func(t *rapid.T, p *Plan) faults.Fault {
		return faults.Fault{On: drawMatch(t, p, faults.PlaceSend), Do: faults.Lose}
	}},
	{"scheduler-crash", func(t *rapid.T, p *Plan) faults.Fault {
		return faults.Fault{After: drawMatch(t, p, faults.PlaceStore, faults.PlacePublish), Do: faults.Crash, Node: faults.Actor, RestartIn: drawPause(t)}
	}},
	{"worker-crash", func(t *rapid.T, p *Plan) faults.Fault {
		return faults.Fault{At: drawInstant(t), Do: faults.Crash, Node: drawWorker(t, p), RestartIn: drawPause(t)}
	}},
	{"heartbeats-cut", func(t *rapid.T, p *Plan) faults.Fault {
		return faults.Fault{At: drawInstant(t), Do: faults.Partition, Node: drawWorker(t, p), From: "heartbeats", For: drawPause(t)}
	}},
}

func drawOperationFault(t *rapid.T, p *Plan) faults.Fault {
	return faults.Fault{
		On:    drawMatch(t, p, faults.PlaceStore, faults.PlacePublish),
		Do:    rapid.SampledFrom([]faults.Effect{faults.FailBefore, faults.FailAfter, faults.Hang}).Draw(t, "do"),
		Times: rapid.IntRange(1, 4).Draw(t, "times"),
	}
}

func drawMatch(t *rapid.T, p *Plan, places ...faults.Place) *faults.Match {
	var names []string
	for _, ph := range Phases() {
		if slices.Contains(places, ph.Place) && ph.Name != "heartbeat" {
			names = append(names, ph.Name)
		}
	}
	return &faults.Match{
		Job:        rapid.IntRange(1, p.Workload.Jobs).Draw(t, "job"),
		Phase:      rapid.SampledFrom(names).Draw(t, "phase"),
		Occurrence: rapid.IntRange(1, 3).Draw(t, "occurrence"),
	}
}

func drawWorker(t *rapid.T, p *Plan) string {
	return rapid.SampledFrom(nodeNames("worker", p.Topology.Workers)).Draw(t, "worker")
}

func drawInstant(t *rapid.T) time.Duration {
	return time.Duration(rapid.IntRange(1, 60).Draw(t, "at")) * time.Second
}

func drawPause(t *rapid.T) time.Duration {
	return time.Duration(rapid.IntRange(1, 60).Draw(t, "for")) * time.Second
}
