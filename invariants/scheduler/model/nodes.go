package model

// Node is what is known of a process's node.
type Node struct {
	Down   bool
	Silent int // partitions under way in which what it sends of its heartbeats is lost
	Cut    int // likewise, from a server
	Master int // the failovers of Redis that there had been when it last asked which server is the master
	pulls  pulls
}

func (f *Facts) Node(name string) *Node {
	n := f.Nodes[name]
	if n == nil {
		n = &Node{}
		f.Nodes[name] = n
	}
	return n
}
