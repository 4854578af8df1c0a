// Package whatif finds what the violation of an invariant depends on, by running the plan again.
//
// [Explain] removes each strike and each setting of the plan, one at a time, and checks whether the violation
// still comes. A part without which it does not come is necessary. Explain also notes what else goes wrong
// without that part. One of the runs in which the invariant holds is the nearest: preferably one with the
// part of the engine that serves the invariant, or else the one that stays equal to the plan's own run the
// longest. Where the two runs part, the violation is decided. The point of no return is the first step from
// which the violation comes in every order that was tried.
//
// Effort is counted in steps, which the runs share, and never in time: equal plans have equal causes.
//
// Its files, each of which calls only those after it:
//
//	whatif.go      the cause of a violation
//	atonce.go      changes that only help together
//	otherbuild.go  where the run parts from that of another build
//	nearest.go     the nearest run that holds, and where it parts
//	path.go        how the violation came about
//	branch.go      the point of no return
//	change.go      what is removed, or set otherwise
//	trial.go       a run, compared with the plan's own
package whatif
