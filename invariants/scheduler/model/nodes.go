package model

import "time"

// Node is what is known of a process's node.
type Node struct {
	Down   bool
	Silent int           // partitions under way in which what it sends of its heartbeats is lost
	Cut    int           // likewise, from a server
	Master int           // the failovers of Redis that there had been when it last asked which server is the master
	Waits  int           // the step at which it first waited for a replica of Redis since its start: from then on it knows that there is one; 0 for none
	Worked time.Duration // when it last began or ended an execution, or asked for more time
	pulls  pulls
	tasks  []task // dispatches that the worker was given, and is not done with, or was not until just now
	Beats  beats

	absent int           // pauses and partitions from a server under way
	since  time.Duration // when the first of those began
	away   time.Duration // for how long there were some before
}

// goes takes in that a pause or a partition of the node begins, or ends.
func (n *Node) goes(at time.Duration, by int) {
	if n.absent > 0 {
		n.away += at - n.since
	}
	n.since = at
	n.absent = max(0, n.absent+by)
}

// Away is for how long, until then, the node has been paused or cut off from a server.
func (n *Node) Away(at time.Duration) time.Duration {
	if n.absent == 0 {
		return n.away
	}
	return n.away + at - n.since
}

func (f *Facts) Node(name string) *Node {
	n := f.Nodes[name]
	if n == nil {
		n = &Node{}
		f.Nodes[name] = n
	}
	return n
}
