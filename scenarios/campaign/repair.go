package campaign

import (
	"math"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
)

// repairs are what became of the jobs of a run that failed, and of effects that should be had once.
type repairs struct {
	failed, repaired int
	missing          int           // failed, and had no effect, nor had a replay
	took             time.Duration // from failure to success, of all that were repaired
	double           int           // effects beyond the first
}

// repairsOf follows each job that a client submitted, and its replays.
func repairsOf(res *scenarios.Result) (r repairs) {
	replays := map[string][]*scenarios.JobResult{} // by the job of which they are, whatever lies between
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

// time is the mean time to repair, in seconds; not a number where nothing was repaired.
func (r repairs) time() float64 {
	if r.repaired == 0 {
		return math.NaN()
	}
	return r.took.Seconds() / float64(r.repaired)
}

// stayed is the percentage of failures that left what they were to do undone.
func (r repairs) stayed() float64 {
	if r.failed == 0 {
		return 0
	}
	return 100 * float64(r.missing) / float64(r.failed)
}
