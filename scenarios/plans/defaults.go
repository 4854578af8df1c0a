package plans

import (
	"time"

	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/sim"
)

// Defaults is the plan on which a file's keys are applied. It has no name.
func Defaults() *Plan {
	p := &Plan{
		Version:  PlanVersion,
		Topology: Topology{Schedulers: 2, Workers: 3, MaxParallel: 4, HeartbeatEvery: 10 * time.Second, Ledger: true},
		Kernel:   Kernel{Default: NoKernel},
		Workload: Workload{Jobs: 10, Every: 200 * time.Millisecond, Work: 50 * time.Millisecond, Submissions: 1, Tenants: 1, Steps: 3, StepBackoff: 5 * time.Second},
		Then:     Then{Heal: true, SettleWithin: 45 * time.Minute}, // running_timeout, three polls, and a budget of retries
		Seed:     1,
	}
	p.World = Conditions{Start: Instant(sim.DefaultStart.Format(time.RFC3339)), Redis: RedisMini, SyncInterval: 2 * time.Minute}
	p.TakePreset(PresetHardened)
	p.Schedule = Schedule{Strategy: Latency, ChangePoints: 2, StepsMax: StepsMaxDefault(p.Workload.Jobs)}
	return p
}

// OfServers are the server settings that a preset sets.
var OfServers = []string{"world.sync_always", "world.redis_disk"}

// TakePreset sets everything that a preset sets: the engine's settings, and what the servers have on their
// disks before they acknowledge. The documentation leaves the latter at the servers' defaults, except that
// Redis has an append-only file.
func (p *Plan) TakePreset(preset string) {
	p.Preset, p.Engine = preset, PresetSettings(preset)
	p.World.RedisDisk, p.World.SyncAlways = sim.DiskEverySec, false
	if preset == PresetHardened {
		p.World.RedisDisk, p.World.SyncAlways = sim.DiskAlways, true
	}
}

// PresetSettings returns the engine settings of a preset.
func PresetSettings(preset string) settings.Settings {
	if preset == PresetDocumented {
		return settings.Documented()
	}
	return settings.Hardened()
}

// StepsMaxDefault allows a job twenty times the steps that it needs if nothing goes wrong.
func StepsMaxDefault(jobs int) int { return max(1_000_000, 1_000*jobs) }
