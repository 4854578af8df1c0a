package model

import "time"

// Node is what is known of a node.
type Node struct {
	Down   bool
	Silent int           // partitions under way that lose what it sends of its heartbeats
	Cut    int           // partitions under way that cut it off from a server
	Master int           // the number of Redis's failovers when it last asked which server is the master
	Worked time.Duration // when it last began or ended an execution, or asked for more time
	pulls  pulls
	tasks  []task // dispatches that the worker has received, and has not finished, or has finished just now
	Beats  beats

	absent int           // pauses, and partitions from a server, under way
	since  time.Duration // when the first of those began
	away   time.Duration // how long earlier ones lasted together
}

// goes notes that a pause or a partition of the node begins or ends.
func (n *Node) goes(at time.Duration, by int) {
	if n.absent > 0 {
		n.away += at - n.since
	}
	n.since = at
	n.absent = max(0, n.absent+by)
}

// Away is how long, until then, the node has been paused or cut off from a server.
func (n *Node) Away(at time.Duration) time.Duration {
	if n.absent == 0 {
		return n.away
	}
	return n.away + at - n.since
}

// Steady says whether the node is neither paused nor cut off from a server, and has not been since then.
func (n *Node) Steady(since time.Duration) bool {
	return n.absent == 0 && (n.since == 0 || n.since < since)
}

func (f *Facts) Node(name string) *Node {
	n := f.Nodes[name]
	if n == nil {
		n = &Node{}
		f.Nodes[name] = n
	}
	return n
}
