package history

import "github.com/wavetank-sim/wavetank/sim"

// Idles says whether a step is only waiting: a node has slept, or asked for messages, or asked in vain.
func Idles(e *sim.Event) bool {
	return e.Kind == sim.KindTimer || e.Kind == sim.KindFetch || e.Kind == sim.KindFetchEnd
}

// Beats says whether a step belongs to a worker's heartbeat. Its tag is then the worker, not a job.
func Beats(e *sim.Event) bool { return e.Phase == "heartbeat" }
