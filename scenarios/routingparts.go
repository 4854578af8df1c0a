package scenarios

// What can be taken away of tenants' limits.
var tenantToggles = []Toggle{
	{Setting: "tenant_reserve", Off: "false", Scenario: "tenant-limit", Invariant: "tenant-limit-held",
		Says: "Two replicas count a tenant's jobs at once, and both dispatch into its last slot."},
}

// What plans draw of where jobs go: pools, labels and requirements (seed 003, section 5).
var routingDials = []dial{
	{name: "topology.zones", values: []string{"2", "1"}},
	{name: "topology.gpu_workers", values: []string{"1", "2"}},
	{name: "workload.tenants", values: []string{"2", "3"}},
	{name: "engine.tenant_limit", values: []string{"1", "2"}},
	{name: "engine.tenant_reserve", values: []string{"true", "false"}},
}

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
