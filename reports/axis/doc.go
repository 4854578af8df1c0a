// Package axis takes from a trace what happened on each node, for a picture of the run over one axis of time: what each
// did, which message came from where, what lasted, and who was away.
//
// Its files, each of which calls only those after it:
//
//	collect.go  a trace, event by event
//	marks.go    which steps there is room for
//	spans.go    and what lasts
//	reads.go    what a step went by
//	order.go    the order of nodes
//	axis.go     what a picture holds
package axis
