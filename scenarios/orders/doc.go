// Package orders runs a tiny world in every order with few pre-emptions.
//
// [Define] takes a plan and the largest number of pre-emptions. [Definition.Explore] runs the plan in the
// order of [sim.Bounded], in which an actor goes on while it can, and notes at each step what else could have
// gone. Each of those operations makes an order with one pre-emption. Their runs show the orders with two, at
// steps after the first, and so on: a delay-bounded search (Emmi, Qadeer, Rakamarić, POPL 2011). An order is
// a plan: schedule.preemptions says who goes at which step, and `wavetank run` runs it alone.
//
// Many orders differ only in that two independent operations of different nodes ([sim.Op.Uses]) change
// places. The state after both is the same, except for the instants. So each run is hashed, step by step, by
// what happened before what (see class). The search makes no run that begins at a state that another run has
// reached with as few pre-emptions. It does not look for further orders from such a state on. From equal
// states, with the same last operation, everything goes alike. Tests compare the contents of Redis and the
// streams in states that are taken for one. They also compare a pruned search with two pre-emptions with the
// full one.
//
// Limits: virtual time passes only when nothing can move, so a pre-emption does not outlast a timeout, and no
// operation takes longer than another. A step is a nanosecond of virtual time, and two states that are taken
// for one may differ in such instants. If the plan has faults, no states are taken for one.
//
// Its files, each of which calls only those after it:
//
//	search.go      the search
//	seats.go       runs in parallel
//	result.go      what the search found
//	run.go         one run
//	definition.go  what is tried
//	class.go       what has happened in a run, without the order of independent operations
package orders
