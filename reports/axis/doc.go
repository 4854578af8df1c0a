// Package axis takes from a trace what happened on each node, for a picture of the run over one axis of time: what each
// did, which message came from where, who held a lock or executed a job, and who was away.
//
// Its files, each of which calls only those after it:
//
//	collect.go  a trace, event by event
//	spans.go    what lasts
//	order.go    the order of nodes
//	axis.go     what a picture holds
package axis
