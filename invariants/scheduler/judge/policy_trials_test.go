package judge

import (
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
)

var policyTrials = map[string]trial{
	"no-dispatch-without-decision": {
		cfg:    guarded,
		breaks: func(s *story) { s.submit(job1).begins(s1, job1) },
		says:   "wrote SCHEDULED at step 5 without a decision",
		holds:  letThrough,
	},
	"kernel-is-asked-about-the-request": {
		cfg:    guarded,
		breaks: func(s *story) { asked(s, `{"topic":"job.a","tenant":"acme","job_hash":%q}`) },
		says:   "scheduler-1 wrote SCHEDULED at step 7, but had asked the safety kernel at step 6 with the requires [], and the request has [gpu]",
		holds:  func(s *story) { asked(s, `{"topic":"job.a","tenant":"acme","requires":["gpu"],"job_hash":%q}`) },
	},
	"no-dispatch-of-denied-job": {
		breaks: func(s *story) { deniedAtOnce(s); s.publish(s2, job1, w1) },
		says:   "of a job that is DENIED with the decision DENY",
		holds:  deniedAtOnce,
	},
	"no-check-while-circuit-open": {
		cfg:    guarded,
		breaks: func(s *story) { s.trips(s1).readsCounter(s2, job1).calls(s2, job1) },
		says:   "although it had read at step 13 that the safety circuit was open",
		holds:  func(s *story) { s.trips(s1).readsCounter(s2, job1) },
	},
	"open-circuit-stops-every-replica": {
		cfg:    guarded,
		breaks: func(s *story) { s.trips(s1).wait(2*time.Second).readsCounter(s2, job1).calls(s2, job1) },
		says:   "after the last of 3 calls in a row that had failed",
		holds:  func(s *story) { s.trips(s1).wait(31*time.Second).readsCounter(s2, job1).calls(s2, job1) },
	},
	"half-open-probes-within-limit": {
		cfg:    shared,
		breaks: func(s *story) { probing(s, true, s1, s1, s2, s2) },
		says:   "as the 4th probe of one half-open window of the safety circuit; the limit is 3, and the probes before it were steps ",
		holds:  func(s *story) { probing(s, true, s1, s1, s2) },
	},
	"half-open-closes-on-successes": {
		cfg:    guarded,
		breaks: func(s *story) { probing(s, false, s1, s1); s.hears(s1, "job-21", 1).counts(s1, "job-21", 0) },
		says:   "scheduler-1 closed the half-open safety circuit at step 18, after 1 call of its window had succeeded; it takes 2",
		holds: func(s *story) {
			probing(s, false, s1, s2)
			s.hears(s1, "job-21", 1).hears(s2, "job-22", 1).counts(s2, "job-22", 0)
		},
	},
	"circuit-opens-on-failures-alone": {
		cfg:    guarded,
		breaks: func(s *story) { s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 1).counts(s1, job1, 1) },
		says:   "scheduler-1 counted a failure of the safety circuit at step 4, although no call of its",
		holds:  func(s *story) { s.trips(s1) },
	},
	"open-circuit-ends": {
		cfg: guarded,
		breaks: func(s *story) {
			s.trips(s1)
			s.last().Changes[0].Expires += time.Hour
			s.wait(33*time.Second).readsCounter(s2, job1)
		},
		says:  "scheduler-2 found the safety circuit open at step 13, 33.002s after the last call that had failed",
		holds: func(s *story) { s.trips(s1).wait(29*time.Second).readsCounter(s2, job1) },
	},
	"closed-circuit-lets-calls-through": {
		cfg:    guarded,
		breaks: func(s *story) { s.readsCounter(s1, job1).wait(5*time.Second).readsCounter(s1, job1) },
		says:   "scheduler-1 had found the safety circuit closed at step 1, and has made no call since",
		holds: func(s *story) {
			s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 0).wait(5*time.Second).readsCounter(s1, job1)
		},
	},
	"probes-are-forgotten-in-time": {
		cfg:    shared,
		breaks: func(s *story) { s.claimsProbeFor(s1, job1, -1) },
		says:   "job-1: scheduler-1 counted a probe of the safety circuit at step 1 that is never forgotten; it should be after 30s",
		holds:  func(s *story) { s.claimsProbe(s1, job1).wait(time.Second).claimsProbe(s2, "job-2") },
	},
	"throttled-job-comes-again": {
		cfg:    guarded,
		breaks: func(s *story) { throttled(s.submit(job1)).wait(148*time.Second).calls(s2, job1) },
		says:   "job-1: was put off at 5ms, and not put to the safety kernel again within 2m28.001s",
		holds:  func(s *story) { throttled(s.submit(job1)).wait(5*time.Second).calls(s2, job1) },
	},
	"throttled-job-waits": {
		cfg:    guarded,
		breaks: func(s *story) { throttled(s).wait(4*time.Second).calls(s2, job1) },
		says:   "scheduler-2 asked the safety kernel about it at step 4, 4.001s after that had throttled it; it was to wait for 5s",
		holds:  func(s *story) { throttled(s).wait(5*time.Second).calls(s2, job1) },
	},
	"replica-alone-keeps-its-budget": {
		cfg: guarded,
		breaks: func(s *story) {
			for i := range 4 {
				job := "job-" + strconv.Itoa(11+i)
				s.readsCounter(s1, job).fails().calls(s1, job).hears(s1, job, 0)
			}
		},
		says: "although by its own count of failures the safety circuit was open",
		holds: func(s *story) {
			for i := range 3 {
				job := "job-" + strconv.Itoa(11+i)
				s.readsCounter(s1, job).fails().calls(s1, job).hears(s1, job, 0)
			}
		},
	},
	"circuit-opened":       {cfg: guarded, breaks: letThrough, holds: func(s *story) { s.trips(s1).readsCounter(s2, job1) }},
	"circuit-half-opened":  {cfg: guarded, breaks: func(s *story) { s.trips(s1) }, holds: func(s *story) { probing(s, false, s1) }},
	"circuit-closed-again": {cfg: guarded, breaks: func(s *story) { probing(s, false, s1) }, holds: func(s *story) { probing(s, false, s1); s.hears(s1, "job-21", 1).counts(s1, "job-21", 0) }},
	"replica-counts-alone": {cfg: guarded, breaks: letThrough, holds: func(s *story) { s.readsCounter(s1, job1).fails() }},
	"input-fail-open": {
		cfg:    config.Config{Policy: config.PolicyConfig{Kernel: true, SharedBreaker: true, FailMode: "open"}},
		breaks: letThrough,
		holds: func(s *story) {
			s.submit(job1).lock(s1, job1).read(s1, job1).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 0).decided(s1, job1, "FAIL_OPEN")
		},
	},
	"job-throttled": {cfg: guarded, breaks: letThrough, holds: func(s *story) { s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 5) }},
	"job-denied":    {cfg: guarded, breaks: letThrough, holds: deniedAtOnce},
}
