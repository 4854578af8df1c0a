package engine

import (
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// Budget is for how long a job outlasts what keeps it from a worker.
type Budget struct {
	Cause      string // what it meets, in words
	ReasonCode string // of its retries
	Lasts      time.Duration
	Ends       string // what becomes of it then
}

// Budgets says for how long a job outlasts each cause of retries, jitter aside, if nothing else goes wrong and the
// dispatch order is state-first. It goes by the same delays as the engine.
//
// It leaves out a replica of Redis that is away, with wait_replica. A message that waits for one lasts like one that meets a
// store that cannot be read. A dispatch to a worker, which waits likewise, counts no attempt before its dispatch timeout. With
// retry_unpublished the job goes on from there, and lasts for hours; else it ends TIMEOUT. A dispatch to a topic, or any
// without resume_intents, is rolled back each time, which counts two attempts.
func Budgets(s *settings.Settings) []Budget {
	given := "FAILED, with a dead letter"
	return []Budget{
		{"an empty pool", job.ReasonNoWorkers, attemptsLast(s, job.ReasonNoWorkers), given},
		{"a busy pool", job.ReasonPoolOverloaded, attemptsLast(s, job.ReasonPoolOverloaded), given},
		{"its tenant's limit", job.ReasonTenantLimit, attemptsLast(s, job.ReasonTenantLimit), given},
		{"a publish that fails", job.ReasonDispatchFailed, publishesLast(s), given},
		{"a store that cannot be read", "", deliveriesLast(s), "its request has used up engine.max_deliver; from then on the replayer takes the job up at its ticks, without an end, if it has a record"},
	}
}

func unjittered() time.Duration { return 0 }

// attemptsLast is how long a job's attempts last that cost one a handling.
func attemptsLast(s *settings.Settings, reasonCode string) (total time.Duration) {
	for n := 1; n < s.MaxSchedulingRetries; n++ {
		total += schedulingDelay(s, reasonCode, n-1, n, unjittered)
	}
	return total
}

// publishesLast is how long they last if every publish fails without an answer. The failed publish is rolled back at once,
// or resumed until the longest delay has passed and then rolled back; either counts an attempt beside that of SCHEDULED.
func publishesLast(s *settings.Settings) (total time.Duration) {
	resumes := s.ResumeIntents && s.VoidIntents && s.Epochs
	if resumes && !s.EvenBackoff { // by the reconciler, and scheduled anew by the replayer
		return time.Duration(s.MaxSchedulingRetries/2) * (s.DispatchTimeout + s.ScheduledAge)
	}
	delay := func(prior, spent int) time.Duration {
		return schedulingDelay(s, job.ReasonDispatchFailed, prior, spent, unjittered)
	}
	for n := 1; n < s.MaxSchedulingRetries; n += 2 {
		if !resumes {
			total += delay(n-1, n+1)
			continue
		}
		age := delay(n-1, n)
		for age < s.BackoffMax {
			age += delay(n, n)
		}
		total += age + delay(n, n+1)
	}
	return total
}

// deliveriesLast is how long a message's deliveries last that each fail at the store.
func deliveriesLast(s *settings.Settings) (total time.Duration) {
	for n := 1; n < s.MaxDeliver; n++ {
		total += infrastructureDelay(s, n, s.RetryDelayStore)
	}
	return total
}

// MaxAgeMin is the least bus.StreamOptions.MaxAge but 0; 0 is no bound. A message of CORDUM_SYS has to outlast a handler that
// died with it, and the deliveries that an outage of the store takes. With epochs, a dispatch holds its epoch's one place in
// CORDUM_JOBS, and has to outlast every repetition of its publish: as long as its job may stay DISPATCHED, the three polls
// that a tick may take to come (see settings.UntilExpiry), and the lock that a holder may have then. What is paused for
// longer is beyond any age.
func MaxAgeMin(s *settings.Settings) time.Duration {
	least := s.AckWait + deliveriesLast(s)
	if !s.Epochs {
		return least
	}
	longest := s.DispatchTimeout
	topics, _ := s.TopicTimeouts.Parse() // Validate says what is wrong
	for _, d := range topics {
		longest = max(longest, d)
	}
	return max(least, longest+3*s.PollInterval+s.JobLockTTL)
}
