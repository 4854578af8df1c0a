package exhaust

import (
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// The single length of each fault that lasts, unless every length is tried, and what faults lose. A standstill is
// longer than any lock, deadline or silence of the presets except a dispatch timeout. A process or a server that
// is down is back after startUp. A wrong clock is past every deadline.
const (
	standstill = 90 * time.Second
	startUp    = 5 * time.Second
	replicaLag = 500 * time.Millisecond
	unsynced   = time.Second
	ahead      = time.Hour
)

// longest is the longest length that is tried. A run with a longer one would only add polls.
const longest = time.Hour

// lengthsOf lists the lengths at which the outcome may change: just below and just above every duration in
// the engine's settings, up to an hour. "Just" is a hundredth, and at least a millisecond.
func lengthsOf(p *plans.Plan) (list []time.Duration) {
	for _, s := range p.Settings() {
		d, ok := s.Value.Interface().(time.Duration)
		if !ok || d <= time.Millisecond || !strings.HasPrefix(s.Name, "engine.") {
			continue
		}
		just := max(d/100, time.Millisecond)
		for _, length := range []time.Duration{d - just, d + just} {
			if length <= longest && !slices.Contains(list, length) {
				list = append(list, length)
			}
		}
	}
	slices.Sort(list)
	return list
}
