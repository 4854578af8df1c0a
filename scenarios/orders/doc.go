// Package orders runs a tiny world in every order of few pre-emptions.
//
// [Define] takes a plan and how many pre-emptions there are to be at most. [Definition.Explore] runs it in the order of
// [sim.Bounded], in which whoever has begun goes on while he can, and looks at each step for what else could have gone.
// Each of those is an order of one pre-emption. Their runs show the orders of two, after the last of theirs, and so on: a
// delay-bounded search (Emmi, Qadeer, Rakamarić, POPL 2011). An order is a plan: schedule.preemptions says who goes at
// which step, and `wavetank run` runs it alone.
//
// Many orders differ in nothing but that two operations change places of different nodes that have nothing in common
// ([sim.Op.Uses]). The state after them is the same, but for the instants. So a run is hashed step by step by what happened
// before what (see class), and the search neither makes a run that begins at a state in which another has been with as
// few pre-emptions, nor looks for more orders in one from where it comes to such a state. From equal states, with the same
// operation last, everything goes alike. Tests compare what Redis and the streams hold in what is taken for one state, and what
// is left of a search of two pre-emptions with all of it.
//
// What this leaves out: virtual time passes only when nothing can move, so a pre-emption does not outlast a timeout, and no
// operation takes longer than another. A step is a nanosecond of virtual time, and two states that are taken for one may
// differ in such instants. With faults in the plan nothing is taken for one.
//
// Its files, each of which calls only those after it:
//
//	search.go      the search
//	seats.go       runs at the same time
//	result.go      what it found
//	run.go         one run
//	definition.go  what is tried
//	class.go       what has happened in a run, whatever the order of things apart
package orders
