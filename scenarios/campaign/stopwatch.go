package campaign

import "time"

// stopwatch measures by ticks how long the run under way takes. Time in which the process was stopped, or had
// no processor, does not count.
type stopwatch struct {
	run  int64
	last time.Time
	took time.Duration
}

// tickMax is the most that one tick adds. If ticks come further apart, the process did not run between them.
const tickMax = 10 * heapEvery

func (w *stopwatch) tick(run int64, now time.Time) time.Duration {
	if run != w.run {
		w.run, w.took = run, 0
	} else {
		w.took += min(now.Sub(w.last), tickMax)
	}
	w.last = now
	return w.took
}

// tookTooLong stands for the dump of a run that moved, and did not end in time.
const tookTooLong = "the run moved, and did not end in time"
