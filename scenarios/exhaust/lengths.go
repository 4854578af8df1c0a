package exhaust

import (
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// The one length of each fault that lasts, where not every length is tried: longer than any lock, deadline or silence of
// the presets, a dispatch timeout excepted; a process that starts again; a server that is replaced. A clock that is wrong is past
// every deadline.
const (
	standstill = 90 * time.Second
	startUp    = 5 * time.Second
	replicaLag = 500 * time.Millisecond
	unsynced   = time.Second
	ahead      = time.Hour
)

// longest is how long a fault is tried at most. Past it a run is of nothing but polls.
const longest = time.Hour

// lengthsOf lists the lengths at which something may change: just below and just above every duration that the engine's
// settings name, up to an hour. Just is a hundredth, and at least a millisecond.
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
