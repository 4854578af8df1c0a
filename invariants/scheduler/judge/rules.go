package judge

import (
	"slices"
	"sync"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/policies"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/promises"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/replay"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/workflows"
)

// All lists the invariants in a fixed order, in which each comes after those that it needs.
func All() []invariants.Invariant {
	list := make([]invariants.Invariant, 0, len(all()))
	for _, r := range all() {
		list = append(list, r.Invariant)
	}
	return list
}

// all computes each promise once: that takes longer than judging many a run.
var all = sync.OnceValue(func() []rule.Rule {
	all := []rule.Rule{
		eventsAgreeWithServers,
		oneDispatchPerJob, intentBeforeDispatch, everyIntentIsPublished, noDispatchAfterEnd, epochsNeverDecrease,
		noDispatchAfterFailedRead, noDispatchToExpiredWorker, noDispatchToOverloadedWorker, snapshotRevivesNoWorker, tiesBrokenByWorkerID, dispatchesCountAsLoad,
		heartbeatTellsTheTruth, noRetryForWantOfKnownWorkers, liveWorkerIsFound, stalePreferenceIsPassedOver, staleWorkerHasItsOwnReason, staleWorkerIsPickedAgain,
		terminalStatesFinal, documentedTransitionsOnly, deadlineCountsFromSubmission, timeoutOnlyWhenDue, noTimeoutWhileExecuting, deadWorkerIsNoticed, overdueJobFoundWithinAPoll,
		whatIsDueIsTakenUp, waitingJobIsLeftAlone,
		attemptsEqualScheduledWrites, attemptsDrainByTwo, retryWaitsItsDelay, attemptsNeverPastCeiling,
		succeededImpliesFinishedExecution, resultIsWhatWasExecuted, resultOfCurrentEpoch, jobEndsAsItsResultSays, oneExecutionPerDispatch, oneExecutionAtATime, oneExecutionPerJob,
		lockReleasedByOwnerOrExpiry, lockMutualExclusion, lockKeptByLivingHolder, lockRenewedByThirds, oneWriterATick, snapshotStaysFresh,
		ackedOnlyWhenDurable, dispatchAckedOnlyWhenAnswered, unconfirmedAckIsSentAgain, processedMessageNotHandledAgain, noMessageGivenUp, onlyPoisonIsTerminated, terminatedMessageHasDLQEntry, hangingOperationIsGivenUp,
		redisIndexAgreesWithRecord, timesAreThoseOfTheirWrites, recordNamesItsWorker, intentIsSafeBeforeDispatch, keysLastAsStated, countersEqualTrace,
		failedNeverPrecedesItsDLQEntry, failedJobHasDLQEntry, deadLetterTellsItsFailure, auditEventTellsItsChange, cancelledJobIsTold, toldWorkerStops, cancelledOnlyWhenAsked, cancellationTakesEffect, illegalResultIsRefused, dispatchIsWhatWasDecided, derivedRequestMatchesItsSource, noFailureForWantOfAttempts, givenUpOnlyAtTheCeiling, attemptsLastTheirBudget, lastCauseIsTrue, workloadIsSubmitted, nothingIsPublishedTwice, whatIsAskedIsStored, requestsCanBeRead, everyJobSettles, noLockOutlivesItsHolder,
	}
	all = slices.Concat(all, routingInvariants, policies.Invariants, workflows.Invariants, []rule.Rule{nobodyIsRescued}, replay.Invariants, situations, replay.Situations)
	for i := range all {
		if r := &all[i]; r.Kind != invariants.Sometimes {
			r.Row = promises.Matrix[r.Name]
			r.Row.Strikes = history.Strikes
			r.Promise = r.Row.Says(nil)
		}
	}
	return all
})

func find(name string) *rule.Rule {
	list := all()
	if i := slices.IndexFunc(list, func(r rule.Rule) bool { return r.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// Find returns the invariant of that name.
func Find(name string) (invariants.Invariant, bool) {
	if r := find(name); r != nil {
		return r.Invariant, true
	}
	return invariants.Invariant{}, false
}

// Promises is the promise matrix: a row for each invariant except the situations.
func Promises() (list []invariants.Promise) {
	for _, r := range all() {
		if r.Kind != invariants.Sometimes {
			list = append(list, r.Row.Promise(r.Name))
		}
	}
	return list
}

// Explain describes an invariant in a few lines of text: its meaning, the strikes under which it is promised,
// and its source.
func Explain(name string) (text string, ok bool) {
	r := find(name)
	if r == nil {
		return "", false
	}
	return r.Row.Explain(&r.Invariant), true
}
