package plans

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// The pool of topology.gpu_workers, the topic that it alone serves, and the capability that it offers.
const (
	poolGPU    = "gpu"
	TopicGPU   = "job.gpu"
	offeredGPU = "gpu"
)

// Routing returns which pools serve which topics. Without a second pool it is the engine's default.
func (p *Plan) Routing() routing.Config {
	if p.Topology.GPUWorkers == 0 {
		return routing.Config{}
	}
	usual := []string{routing.DefaultPool, poolGPU}
	if p.Topology.FanOut { // each pool would get a job of its own
		usual = usual[:1]
	}
	return routing.Config{
		Topics: map[string][]string{Topic: usual, TopicGPU: {poolGPU}},
		Pools:  map[string]routing.Pool{poolGPU: {Capabilities: []string{offeredGPU}}},
	}
}

// Pool returns the pool of the n-th worker, from 1, and the worker's further capabilities.
func (t Topology) Pool(n int) (pool string, capabilities []string) {
	if n > t.Workers-t.GPUWorkers {
		return poolGPU, []string{offeredGPU}
	}
	return routing.DefaultPool, nil
}

// Worker returns the ID of the worker on that node, which is the n-th. With fan_out it also returns the
// topics that the worker takes jobs from.
func (t Topology) Worker(node string, n int) (id string, topics []string) {
	if !t.FanOut {
		return node, nil
	}
	id, topics = node+".host", []string{Topic} // an ID that is no token of a subject
	if pool, _ := t.Pool(n); pool == poolGPU {
		topics = []string{TopicGPU}
	}
	return id, topics
}

// WorkerLabels returns the labels of the n-th worker, from 1.
func (t Topology) WorkerLabels(n int) map[string]string {
	if t.Zones == 0 {
		return nil
	}
	zone := "zone-" + strconv.Itoa(1+(n-1)%t.Zones)
	return map[string]string{"zone": zone, "node.zone": zone}
}

// Route sets in the n-th job's request where the plan wants it to go.
func (w *Workload) Route(r *job.Request, n int) error {
	if t, ok := w.Topic[n]; ok {
		r.Topic = t
	}
	if text, ok := w.Requires[n]; ok {
		r.Requires = strings.Split(text, ",")
		if slices.Contains(r.Requires, "") {
			return fmt.Errorf("it names an empty capability")
		}
	}
	if text, ok := w.Label[n]; ok {
		r.Labels = map[string]string{}
		for entry := range strings.SplitSeq(text, ",") {
			label, value, ok := strings.Cut(strings.TrimSpace(entry), "=")
			if _, twice := r.Labels[label]; !ok || label == "" || twice {
				return fmt.Errorf("it has the entry %q", entry)
			}
			if label == job.LabelReplayOf || label == job.LabelReplayCount || strings.HasPrefix(label, "saga_") {
				return fmt.Errorf("%s is a label that schedulers set", label)
			}
			r.Labels[label] = value
		}
	}
	return nil
}

// checkRoutes returns an error for a label, requirement or topic that makes no sense.
func checkRoutes(p *Plan) *strictyaml.Error {
	w := &p.Workload
	for _, k := range perJobs {
		for _, n := range k.jobs(w) {
			one := Workload{}
			k.copy(&one, w)
			r := job.Request{JobID: JobID(n), Topic: Topic}
			err := one.Route(&r, n)
			if err == nil {
				err = r.Validate()
			}
			if err != nil {
				path := k.Prefix() + strconv.Itoa(n)
				return &strictyaml.Error{Path: path, Message: fmt.Sprintf("%s is %.80q: %v", path, k.Text(w, n), err), Remedy: "write it as in " + path + ": " + k.Example}
			}
		}
	}
	if t := p.Topology; t.GPUWorkers > t.Workers {
		return &strictyaml.Error{Path: "topology.gpu_workers", Message: fmt.Sprintf("topology.gpu_workers is %d, more than topology.workers", t.GPUWorkers), Remedy: fmt.Sprintf("give at most %d", t.Workers)}
	}
	return nil
}

// Tenant returns the tenant of the n-th job.
func (w *Workload) Tenant(n int) string { return "tenant-" + strconv.Itoa(1+(n-1)%w.Tenants) }

// Key returns the idempotency key of the n-th job.
func (w *Workload) Key(n int) string {
	if w.SharedKeys {
		return "key-" + strconv.Itoa(1+(n-1)/w.Tenants)
	}
	return JobID(n) + ":key"
}
