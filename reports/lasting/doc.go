// Package lasting follows what lasts in a run: the handling of a message, an execution, a lock, a lease, the time for
// which a worker counts as alive, and a fault. Pictures and exports draw it, and look for none of it themselves.
//
// Its files, each of which calls only those after it:
//
//	follow.go  a trace, event by event
//	fault.go   a fault
//	span.go    what lasts
package lasting
