package campaign

import (
	"math"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
)

// repairs says what became of failed jobs, and how many effects were repeated.
type repairs struct {
	failed, repaired int
	missing          int           // failed, and neither the job nor a replay had its effect
	took             time.Duration // from failure to success, summed over the repaired jobs
	double           int           // effects beyond a job's first
}

// repairsOf follows each job of a client, and its replays.
func repairsOf(res *scenarios.Result) (r repairs) {
	replays := map[string][]*scenarios.JobResult{} // by the original job, also for replays of replays
	origin := map[string]string{}
	for _, d := range res.Derived {
		if !d.Replay {
			continue
		}
		of := d.Of
		if first, ok := origin[of]; ok {
			of = first
		}
		origin[d.ID] = of
		replays[of] = append(replays[of], &d.JobResult)
	}
	for i := range res.Jobs {
		j := &res.Jobs[i]
		effects := j.Effects
		repaired := time.Duration(0)
		for _, again := range replays[j.ID] {
			effects += again.Effects
			if scheduler.State(again.State) == scheduler.Succeeded && repaired == 0 {
				repaired = again.Settled
			}
		}
		r.double += max(0, effects-1)
		if s := scheduler.State(j.State); s != scheduler.Failed && s != scheduler.Timeout {
			continue
		}
		r.failed++
		if effects == 0 {
			r.missing++
		}
		if repaired > 0 {
			r.repaired++
			r.took += repaired - j.Settled
		}
	}
	return r
}

// time is the mean time to repair in seconds; NaN if nothing was repaired.
func (r repairs) time() float64 {
	if r.repaired == 0 {
		return math.NaN()
	}
	return r.took.Seconds() / float64(r.repaired)
}

// stayed is the percentage of failed jobs whose effect never came.
func (r repairs) stayed() float64 {
	if r.failed == 0 {
		return 0
	}
	return 100 * float64(r.missing) / float64(r.failed)
}
