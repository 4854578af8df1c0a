package scenarios

// saga makes jobs belong to workflows, and leave compensations behind.
func (d *drawer) saga(int) { d.set("workload.saga", from(d, "jobs of a saga", "3", "2", "5", "1")) }

// rollBack has a job of a saga fail for good.
func (d *drawer) rollBack(job int) {
	d.saga(job)
	d.set("workload.answer."+nth(job), from(d, "answer", "FAILED_FATAL", "FAILED_FATAL", "FAILED_FATAL", "FAILED"))
}

// unreadable puts onto the stack of the first saga what nobody can read.
func (d *drawer) unreadable(int) {
	d.rollBack(1)
	d.set("workload.unreadable", from(d, "unreadable", "1", "2"))
}
