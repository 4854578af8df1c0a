package engine

import "time"

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
