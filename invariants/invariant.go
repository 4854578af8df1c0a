package invariants

import (
	"slices"
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

	row   row // of the promise matrix
	check func(*facts, *tally) checker
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
	saved     func(*step, *job)                // a path of rescue did what another should have done, for a job or a run
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
		failedNeverPrecedesItsDLQEntry, failedJobHasDLQEntry, cancelledJobIsTold, cancellationTakesEffect, illegalResultIsRefused, dispatchIsWhatWasDecided, nobodyIsRescued, noFailureForWantOfAttempts, everyJobSettles, noLockOutlivesItsHolder,
	}
	all = slices.Concat(all, routingInvariants, tenantInvariants, approvalInvariants, policyInvariants, outputInvariants, sagaInvariants, workflowInvariants, replayInvariants, situations, replaySituations)
	for i := range all {
		if inv := &all[i]; inv.Kind != Sometimes {
			inv.row = matrix[inv.Name]
			inv.Promise = inv.row.says(nil)
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
