package plans

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

// HealsFaults says whether one of the plan's faults lasts until the heal.
func (p *Plan) HealsFaults() bool {
	return slices.ContainsFunc(p.Faults, func(f faults.Fault) bool {
		return f.Rate > 0 || f.Do == faults.Crash && f.RestartIn == 0 || f.Do == faults.Partition && f.For == 0
	})
}

// Streams keeps every stream in memory, since no run outlives its process. If a fault ends nats-server, the
// streams are in files.
func (p *Plan) Streams() bus.StreamOptions {
	if slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.Do.OfServer() && f.Node == faults.NATS }) {
		return bus.StreamOptions{Storage: jetstream.FileStorage}
	}
	return bus.StreamOptions{Storage: jetstream.MemoryStorage}
}

// RedisDies says whether one of the plan's faults ends Redis.
func (p *Plan) RedisDies() bool {
	return slices.ContainsFunc(p.Faults, func(f faults.Fault) bool {
		return f.Node == faults.Redis && (f.Do == faults.Kill || f.Do == faults.PowerLoss)
	})
}

// natsLosesPower says whether one of the plan's faults is a power loss of nats-server.
func (p *Plan) natsLosesPower() bool {
	return slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.Node == faults.NATS && f.Do == faults.PowerLoss })
}

// LastTimed returns the time of the last fault that has a fixed time.
func (p *Plan) LastTimed() (last time.Duration) {
	for _, f := range p.Faults {
		last = max(last, f.At)
	}
	for _, t := range p.Kernel.Then {
		last = max(last, t.At)
	}
	return last // dying workers die before the last submission
}

// Submitted is when the last job is to be submitted.
func (p *Plan) Submitted() time.Duration {
	return 2*Boot + time.Duration(p.Workload.Jobs)*p.Workload.Every
}

// ofNoJob are the families whose operations concern no job.
var ofNoJob = []faults.Family{faults.FamilyHeartbeat, faults.FamilyTick}

// Outages is the total time for which the plan's faults may keep a message from being handled. A fault that
// strikes several operations counts as one strike per delivery. A fault that only the heal ends lasts until
// then.
func (p *Plan) Outages() (total time.Duration) {
	untilHeal := max(p.Submitted(), p.LastTimed())
	if !p.Then.Heal {
		untilHeal += p.Then.SettleWithin
	}
	for _, f := range p.Faults {
		switch {
		case f.Rate > 0, f.For == 0 && f.Do == faults.Partition, f.RestartIn == 0 && f.Do == faults.Crash:
			total += untilHeal
		case f.On != nil:
			times := max(1, f.Times)
			if f.On.Job == 0 && faults.FamilyOf(f.On.Phase) == faults.FamilyKernel {
				times *= p.Workload.Jobs // failed calls for one job open the circuit, which keeps the other jobs away, too
			}
			total += f.For + time.Duration(times)*p.Engine.BackoffMax
		default:
			times := 1
			if m := f.After; m != nil && m.Job == 0 && !slices.Contains(ofNoJob, faults.FamilyOf(m.Phase)) {
				times = p.Workload.Jobs + p.Workload.Runs*p.Workload.Steps // it strikes after an operation of each
			}
			total += time.Duration(times) * (f.For + f.RestartIn)
		}
	}
	return total
}

// Deaths are the crashes of the dying workers. The seed decides which workers die, and when.
func (p *Plan) Deaths() []faults.Fault {
	names := NodeNames("worker", p.Topology.Workers)
	order := func(name string) uint64 { return sim.Draw(p.Seed, "dying", name) }
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(order(a), order(b)) })
	span := time.Duration(p.Workload.Jobs) * p.Workload.Every
	var list []faults.Fault
	for _, name := range names[:int(math.Round(p.World.Dying*float64(len(names))))] {
		after := time.Duration(sim.Draw(p.Seed, "dies at", name) % uint64(span))
		list = append(list, faults.Fault{At: 2*Boot + after, Do: faults.Crash, Node: name})
	}
	return list
}

// Boot is when the workers start; the submitter starts at twice that time. Schedulers start first, as in a
// deployment, so that no job finds the registry empty before the first heartbeats.
const Boot = time.Second
