package history

import "github.com/wavetank-sim/wavetank/sim"

// Idles says whether a step is nothing but waiting: a node has slept, or asked for messages, or asked in vain.
func Idles(e *sim.Event) bool {
	return e.Kind == sim.KindTimer || e.Kind == sim.KindFetch || e.Kind == sim.KindFetchEnd
}

// Beats says whether a step is of a worker's heartbeat. Its tag is the worker then, and no job.
func Beats(e *sim.Event) bool { return e.Phase == "heartbeat" }
