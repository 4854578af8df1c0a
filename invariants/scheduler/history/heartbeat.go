package history

import "bytes"

// Load is what a worker reports of itself (Scheduler internals, section 5).
type Load struct {
	Known  bool
	Worker string
	Pool   string
	Choosy bool // it takes only some topics
	active int
	slots  int
	cpu    float64
	gpu    float64

	Labels       map[string]string
	Capabilities []string
}

// Packet is a heartbeat.
type Packet struct {
	WorkerID        string            `json:"worker_id"`
	Pool            string            `json:"pool"`
	Topics          []string          `json:"topics"`
	ActiveJobs      int               `json:"active_jobs"`
	MaxParallelJobs int               `json:"max_parallel_jobs"`
	CPULoad         float64           `json:"cpu_load"`
	GPUUtilization  float64           `json:"gpu_utilization"`
	Labels          map[string]string `json:"labels"`
	Capabilities    []string          `json:"capabilities"`
}

// WorkerSnapshot is the content of sys:workers:snapshot: the workers that its writer knew.
type WorkerSnapshot struct {
	Workers []struct {
		Heartbeat Packet `json:"heartbeat"`
		LastSeen  int64  `json:"last_seen"`
	} `json:"workers"`
}

func (p *Packet) Load() Load {
	return Load{
		Known: true, Worker: p.WorkerID, Pool: p.Pool, Choosy: len(p.Topics) > 0,
		active: p.ActiveJobs, slots: p.MaxParallelJobs, cpu: p.CPULoad, gpu: p.GPUUtilization,
		Labels: p.Labels, Capabilities: p.Capabilities,
	}
}

// Active is how many jobs the worker executes.
func (l *Load) Active() int { return l.active }

func (l *Load) Score() float64 { return float64(l.active) + l.cpu/100 + l.gpu/100 }

func (l *Load) Overloaded() bool {
	return l.slots > 0 && float64(l.active)/float64(l.slots) >= 0.9 || l.cpu >= 90 || l.gpu >= 90
}

// SenderOf returns the sender of a heartbeat. It decodes nothing else, since every step with a heartbeat
// calls it.
func SenderOf(heartbeat []byte) string {
	_, rest, _ := bytes.Cut(heartbeat, []byte(`"worker_id":"`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(id)
}
