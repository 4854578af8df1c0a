package scenarios

// route draws what one job asks for of a worker or a pool, that may not be there.
func (d *drawer) route(job int) {
	n := nth(job)
	switch from(d, "asks for", "label", "requires", "topic") {
	case "label":
		d.set("topology.zones", from(d, "zones", "2", "1"))
		d.set("workload.label."+n, from(d, "label", "placement.zone=zone-1", "placement.zone=zone-2", "preferred_worker_id=worker-1", "constraint.gpu=true", "preferred_pool=gpu"))
	case "requires":
		d.set("topology.gpu_workers", from(d, "gpu workers", "1", "0"))
		d.set("workload.requires."+n, "gpu")
	default:
		d.set("topology.gpu_workers", from(d, "gpu workers", "1", "0"))
		d.set("workload.topic."+n, from(d, "topic", "job.gpu", "job.other"))
	}
}
