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

// The pool of topology.gpu_workers, the topic that it alone serves, and what it offers.
const (
	poolGPU    = "gpu"
	TopicGPU   = "job.gpu"
	offeredGPU = "gpu"
)

// Routing is which pools serve which topics; without a second pool it is the engine's own default.
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

// Pool is that of the n-th worker, from 1, and what the worker can do besides.
func (t Topology) Pool(n int) (pool string, capabilities []string) {
	if n > t.Workers-t.GPUWorkers {
		return poolGPU, []string{offeredGPU}
	}
	return routing.DefaultPool, nil
}

// Worker is the id of the worker of that node, which is the n-th, and with fan_out the topics that it takes jobs from.
func (t Topology) Worker(node string, n int) (id string, topics []string) {
	if !t.FanOut {
		return node, nil
	}
	id, topics = node+".host", []string{Topic} // an id that is no token of a subject
	if pool, _ := t.Pool(n); pool == poolGPU {
		topics = []string{TopicGPU}
	}
	return id, topics
}

// WorkerLabels are those of the n-th worker, from 1.
func (t Topology) WorkerLabels(n int) map[string]string {
	if t.Zones == 0 {
		return nil
	}
	zone := "zone-" + strconv.Itoa(1+(n-1)%t.Zones)
	return map[string]string{"zone": zone, "node.zone": zone}
}

// Route gives the n-th job what the plan says of where it is to go.
func (w *Workload) Route(r *job.Request, n int) error {
	if t, ok := w.Topic[n]; ok {
		r.Topic = t
	}
	if text, ok := w.Requires[n]; ok {
		r.Requires = strings.Split(text, ",")
		if slices.Contains(r.Requires, "") {
			return fmt.Errorf("it names a capability that is empty")
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

// checkRoutes says which job's labels, requirements or topic make no sense.
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
		return &strictyaml.Error{Path: "topology.gpu_workers", Message: fmt.Sprintf("topology.gpu_workers is %d, more than there are workers", t.GPUWorkers), Remedy: fmt.Sprintf("give at most %d", t.Workers)}
	}
	return nil
}

// Tenant is whose the n-th job is.
func (w *Workload) Tenant(n int) string { return "tenant-" + strconv.Itoa(1+(n-1)%w.Tenants) }

// Key is the idempotency key of the n-th job.
func (w *Workload) Key(n int) string {
	if w.SharedKeys {
		return "key-" + strconv.Itoa(1+(n-1)/w.Tenants)
	}
	return JobID(n) + ":key"
}
