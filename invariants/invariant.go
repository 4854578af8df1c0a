package invariants

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Kind says when an invariant is judged.
type Kind string

// The kinds of invariant.
const (
	Always     Kind = "always"     // after every step
	Eventually Kind = "eventually" // once the world has settled
	Sometimes  Kind = "sometimes"  // never violated: a situation that a campaign must reach
)

// Invariant is one thing that a run is judged by. [All] lists them.
type Invariant struct {
	Name     string   // kebab-case; stable, since plans name it
	Says     string   // one sentence
	Kind     Kind     //
	Promise  string   // the faults under which it is promised, in words: whatever the settings, or in a [Report] under those of the run
	Source   string   // the paragraph of the documentation that it is from
	OnDemand bool     // where the settings do not provide for it, nearly every run breaks it: it is then judged only if somebody asks for it
	Needs    []string // once one of these is violated for a job, or for the run, this one is no longer judged there

	releases class   // a job that met one of these is outside the promise
	covered  []cover // settings under which some of those release nothing
	timed    bool    // it goes by times that nodes' clocks have told: a wrong one releases it
	survives bool    // not even a loss of what Redis held releases it
	check    func(*facts, *tally) checker
}

// checker is what an invariant hooks into; any of its functions may be nil. Each is called with the
// facts already up to date.
type checker struct {
	read      func(*step)                      // a state read has ended
	wrote     func(*step, *write)              // a job's record was written
	sent      func(*step)                      // a dispatch's publish was granted, whatever came of it
	stored    func(*step, *dispatch)           // a stream stored a dispatch; it is not among the job's yet
	voided    func(*step)                      // a stream stored a void in a dispatch's place
	locked    func(*step, *lockChange)         // a lock's key changed
	overdue   func(*step)                      // a handling was seen to go on after its lock had expired, for the first time
	released  func(*step)                      // a handling ended
	acked     func(*step, *message)            // a scheduler acknowledged a message; nil if the stream was not seen to store it
	again     func(*step, *message)            // a message whose handling is known to be done was delivered again
	twice     func(*step, *message)            // and is handled again
	given     func(*job, *message)             // JetStream delivers a message no more, which nobody has acknowledged; likewise
	ticked    func(*step, *tick)               // a replica began a tick, or wrote what its tick is for
	ran       func(*step, *wfRun, *runWrite)   // a run's record was written
	fired     func(*step, *stepJob)            // the record of a step's job was made
	submitted func(*step, *stepJob, stepAgain) // a stream stored the request of one
	effect    func(*step)                      // a worker began or finished an execution
	ended     func(*End)                       // the run is over
	audited   func(*End)                       // only what the servers hold is known, and no event
}

// All lists the invariants in a fixed order, in which each comes after those that it needs.
func All() []Invariant { return slices.Clone(all()) }

// all says once what each is promised under, which takes longer than many a run's judging.
var all = sync.OnceValue(func() []Invariant {
	all := []Invariant{
		eventsAgreeWithServers,
		oneDispatchPerJob, intentBeforeDispatch, everyIntentIsPublished, noDispatchAfterEnd, epochsNeverDecrease,
		noDispatchAfterFailedRead, noDispatchToExpiredWorker, snapshotRevivesNoWorker, tiesBrokenByWorkerID, dispatchesCountAsLoad,
		noRetryForWantOfKnownWorkers, staleWorkerHasItsOwnReason,
		terminalStatesFinal, documentedTransitionsOnly, timeoutOnlyWhenDue, noTimeoutWhileExecuting, deadWorkerIsNoticed, overdueJobFoundWithinAPoll,
		attemptsEqualScheduledWrites, attemptsDrainByTwo, attemptsNeverPastCeiling,
		succeededImpliesFinishedExecution, resultOfCurrentEpoch, oneExecutionPerDispatch,
		lockReleasedByOwnerOrExpiry, lockMutualExclusion, lockKeptByLivingHolder, oneWriterATick,
		ackedOnlyWhenDurable, processedMessageNotHandledAgain, noMessageGivenUp, terminatedMessageHasDLQEntry,
		redisIndexAgreesWithRecord, countersEqualTrace,
		failedNeverPrecedesItsDLQEntry, failedJobHasDLQEntry, cancelledJobIsTold, everyJobSettles, noLockOutlivesItsHolder,
	}
	all = slices.Concat(all, routingInvariants, tenantInvariants, approvalInvariants, policyInvariants, outputInvariants, sagaInvariants, workflowInvariants, replayInvariants, situations, replaySituations)
	for i := range all {
		inv := &all[i]
		if inv.Kind == Sometimes {
			continue
		}
		if inv.timed {
			inv.releases |= clockWrong
		}
		inv.Promise = promise(inv.releases, inv.covered)
		if !inv.survives {
			inv.releases |= dataLost
		}
	}
	return all
})

// Find returns the invariant of that name.
func Find(name string) (Invariant, bool) {
	for _, inv := range All() {
		if inv.Name == name {
			return inv, true
		}
	}
	return Invariant{}, false
}

// Explain says what the invariant of that name means, under which faults it is promised and where
// it comes from, in a few lines of text.
func Explain(name string) (text string, ok bool) {
	inv, ok := Find(name)
	if !ok {
		return "", false
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n\n%s\n\n", inv.Name, inv.Kind, inv.Says)
	switch inv.Kind {
	case Always:
		b.WriteString("Judged after every step, from what the step changed in Redis and in the streams.\n")
	case Eventually:
		b.WriteString("Judged once the faults are over and the world had its time to settle.\n")
	case Sometimes:
		b.WriteString("Never violated: a situation that is worth reaching. A plan that expects it and does not reach it is inconclusive.\n")
	}
	if inv.Kind != Sometimes {
		fmt.Fprintf(&b, "Promised: %s.\n", inv.Promise)
		for _, l := range losses {
			if inv.releases&l.class == 0 {
				continue
			}
			b.WriteString(l.what + " releases it")
			if with := without(l.class, inv.covered); with != "" {
				b.WriteString(", without " + with)
			}
			b.WriteString(".\n")
		}
		if inv.releases != 0 {
			b.WriteString("Outside of that it is checked all the same, and a violation is reported as outside the promise.\n")
		}
		if inv.OnDemand {
			b.WriteString("Where the settings do not provide for it, nearly every run breaks it, and it is judged only if a plan or --judge asks for it.\n")
		}
	}
	if len(inv.Needs) > 0 {
		fmt.Fprintf(&b, "Depends on: %s. Once that is violated, this one is no longer judged there.\n", strings.Join(inv.Needs, ", "))
	}
	fmt.Fprintf(&b, "Source: %s.\n", inv.Source)
	return b.String(), true
}
