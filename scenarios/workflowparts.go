package scenarios

// runs has a plan start workflow runs, and turns some of their dials.
func (d *drawer) runs() {
	d.set("workload.runs", from(d, "runs", "1", "2"))
	own := drawnKnobs(func(k knob) bool { return k.needs == hasRuns })
	for range d.upTo(4, "dials of runs") {
		d.turn(evenly(d, "dial of runs", own...))
	}
}
