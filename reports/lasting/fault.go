package lasting

import (
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios"
)

// UntilOf says when a fault of a run was over that ended at end: at once, if it is an instant. What has taken a node away and
// never gave it back lasts to the end, and so does a clock that stays wrong.
func UntilOf(f *scenarios.FiredFault, end time.Duration) time.Duration {
	switch {
	case f.Until > f.At:
		return f.Until
	case f.Until == 0 && (f.Do == string(faults.Crash) || f.Do == string(faults.Partition) || f.Do == string(faults.Skew)):
		return max(end, f.At)
	}
	return f.At
}
