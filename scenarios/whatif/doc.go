// Package whatif finds what the violation of an invariant hangs on, by running the plan again.
//
// [Explain] leaves each strike and each setting of the plan out, alone, and sees whether the violation still comes. What
// it cannot come without is necessary; what else goes wrong then is noted. Of the runs in which the invariant holds, the one
// with the part of the engine that is there for it, or else the one that goes on longest as the plan's own does, is the nearest:
// where the two part, the violation is decided. The point of no return is the first step from which the violation comes in every
// order that was tried.
//
// All of it is counted in steps, which the runs share, and none of it in time: equal plans have equal causes.
//
// Its files, each of which calls only those after it:
//
//	whatif.go      the cause of a violation
//	atonce.go      changes that only help at once
//	otherbuild.go  where it parts from the run of another build
//	nearest.go     the nearest run that holds, and where it parts
//	path.go        how it came to the violation
//	branch.go      the point of no return
//	change.go      what is left out, or set otherwise
//	trial.go       one run, beside the plan's own
package whatif
