package engine

import (
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// schedulingDelay is how long a job stays away after a handling that came to nothing for the reason of that code. The
// handling found prior attempts and left spent. For want of workers the delay is flat (Scheduler internals, section 7),
// and otherwise it doubles (section 5). With even_backoff it doubles in any case, and a handling that used up two
// attempts, for a publish that it rolled back, waits for both: all causes leave a job the same time.
func schedulingDelay(s *settings.Settings, reasonCode string, prior, spent int, jitter func() time.Duration) time.Duration {
	base, limit := s.BackoffBase, s.BackoffMax
	if reasonCode == job.ReasonNoWorkers || reasonCode == job.ReasonStaleWorker {
		if base = s.RetryDelayNoWorkers; !s.EvenBackoff {
			return base
		}
		limit = max(limit, base)
	}
	delay := backoffDelay(prior, base, jitter(), limit)
	for n := prior + 1; n < spent && s.EvenBackoff; n++ {
		delay += backoffDelay(n, base, 0, limit)
	}
	return delay
}

// infrastructureDelay is how long a message stays away, at its nth delivery, that is not to blame for it: base at
// least. With busy_backoff neither a lock that its holder has left behind nor an outage of the store nor a kernel that
// throttles uses up the message's deliveries: 100 of them last for three quarters of an hour.
func infrastructureDelay(s *settings.Settings, delivery int, base time.Duration) time.Duration {
	if !s.BusyBackoff {
		return base
	}
	return backoffDelay(max(0, delivery-1), base, 0, max(base, s.BackoffMax))
}

// backoffDelay is min(base*2^attempt + jitter, limit), the documented exponential back-off (Scheduler internals,
// section 5). Attempts are counted from 0. It does not overflow, however many there were.
func backoffDelay(attempt int, base, jitter, limit time.Duration) time.Duration {
	delay := base
	for range attempt {
		if delay > limit-delay {
			return limit
		}
		delay *= 2
	}
	if jitter >= limit-delay {
		return limit
	}
	return delay + jitter
}

// jitter is drawn from [0, bound). The modulo's bias is below bound/2^64.
func jitter(random uint64, bound time.Duration) time.Duration {
	if bound <= 0 {
		return 0
	}
	return time.Duration(random % uint64(bound))
}
