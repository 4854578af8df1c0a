package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// task is a dispatch that was delivered to a process of a worker.
type task struct {
	job      string
	seq      uint64
	begun    bool
	began    time.Duration
	finished bool          // its execution has ended, or the worker has answered it
	done     bool          // the worker has nothing more to do with it
	over     time.Duration // since when
}

// beats are the heartbeats of a worker.
type beats struct {
	last time.Duration // when the last heartbeat was sent, or the process began
	away time.Duration // for how long the node had been away by then
	Gap  time.Duration // from one heartbeat to the next, without the time for which the node was away
	sent []sent        // heartbeats that may still be under way
}

// sent is a heartbeat.
type sent struct {
	at          time.Duration
	known       bool // what it may report is known
	least, most int  // how many jobs the worker executed, or was about to
}

// starts notes that a worker's process begins.
func (n *Node) starts(at time.Duration) {
	n.tasks = nil
	n.Beats.last, n.Beats.away = at, n.Away(at)
}

// Given notes that a dispatch is delivered to a worker.
func (n *Node) Given(e *sim.Event) {
	n.tasks = slices.DeleteFunc(n.tasks, func(t task) bool { return t.done && e.At-t.over > Doubt })
	if !slices.ContainsFunc(n.tasks, func(t task) bool { return t.seq == e.Seq && !t.done }) {
		n.tasks = append(n.tasks, task{job: e.Job, seq: e.Seq})
	}
}

// Answers notes that a worker answers a dispatch. If the answer is lost, the worker may not know.
func (n *Node) Answers(e *sim.Event) {
	for i := range n.tasks {
		if t := &n.tasks[i]; t.seq == e.Seq && !t.done {
			t.finished, t.over = true, e.At
			t.done = history.Applied(e) && !history.AnswerOf(e).Failed()
		}
	}
}

// Executes notes that a worker begins an execution, or ends one.
func (n *Node) Executes(e *sim.Event) {
	begins := e.Name == "begin"
	i := slices.IndexFunc(n.tasks, func(t task) bool { return t.job == e.Job && t.begun != begins && !t.finished })
	switch {
	case i < 0 && begins:
		n.tasks = append(n.tasks, task{job: e.Job, begun: true, began: e.At})
	case i < 0:
	case begins:
		n.tasks[i].begun, n.tasks[i].began = true, e.At
	default:
		n.tasks[i].finished = true
	}
}

// Executions counts a worker's executions under way that have lasted for at least ago.
func (n *Node) Executions(at, ago time.Duration) (count int) {
	for i := range n.tasks {
		if t := &n.tasks[i]; t.begun && !t.finished && at-t.began >= ago {
			count++
		}
	}
	return count
}

// Beat notes that a worker sends a heartbeat.
func (f *Facts) Beat(e *sim.Event) {
	n := f.Node(e.Node)
	b, away := &n.Beats, n.Away(e.At)
	b.Gap = e.At - b.last - (away - b.away)
	b.last, b.away = e.At, away
	under := f.Config.HeartbeatLag + Doubt
	b.sent = slices.DeleteFunc(b.sent, func(s sent) bool { return e.At-s.at > under })
	s := sent{at: e.At, known: n.absent == 0 && (n.since == 0 || e.At-n.since > Doubt), least: n.Executions(e.At, Doubt)}
	for i := range n.tasks {
		if t := &n.tasks[i]; !t.done || e.At-t.over <= Doubt {
			s.most++
		}
	}
	b.sent = append(b.sent, s)
}

// Quiet is how long a running worker has sent no heartbeat, without the time for which its node was away.
func (f *Facts) Quiet(worker string, at time.Duration) time.Duration {
	n := f.Nodes[f.Config.Workers[worker].Node]
	if n == nil || n.Down {
		return 0
	}
	return at - n.Beats.last - (n.Away(at) - n.Beats.away)
}

// lie says how a heartbeat differs from what the plan says of its worker; "" if it does not.
func (f *Facts) lie(p *history.Packet) string {
	if len(f.Config.Workers) == 0 {
		return ""
	}
	w, ok := f.Config.Workers[p.WorkerID]
	if !ok {
		return "there is no such worker"
	}
	load := func(each int) float64 { return float64(min(100, p.ActiveJobs*each)) }
	for _, x := range []struct {
		what     string
		said, is any
	}{
		{"pool", p.Pool, w.Pool},
		{"topics", p.Topics, w.Topics},
		{"max_parallel_jobs", p.MaxParallelJobs, w.MaxParallel},
		{"labels", p.Labels, w.Labels},
		{"capabilities", p.Capabilities, w.Capabilities},
		{"cpu_load", p.CPULoad, load(w.CPU)},
		{"gpu_utilization", p.GPUUtilization, load(w.GPU)},
	} {
		if said, is := fmt.Sprint(x.said), fmt.Sprint(x.is); said != is { // nil lists are equal to empty ones
			return fmt.Sprintf("%s is %s, and should be %s", x.what, said, is)
		}
	}
	return ""
}
