package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

var workflowTrials = map[string]trial{
	"steps-in-order": {
		breaks: func(s *story) {
			s.run("starter", "run_create", twoSteps(1, pendingStep, pendingStep)).advances(s1, twoSteps(2, submittedStep, pendingStep))
			s.stepJob(s1, "run-1-a-1").wait(time.Minute).stepJob(s1, "run-1-b-1").stepDone("run-1-a-1", "SUCCEEDED")
		},
		says:  "scheduler-1 submitted run-1-b-1 at step 7, although step a had not succeeded (the run's record was last written at step 3)",
		holds: func(s *story) { s.aDone(31*time.Second).wait(31*time.Second).stepJob(s1, "run-1-b-1") },
	},
	"step-waits-as-asked": {
		breaks: func(s *story) { s.aDone(31 * time.Second) },
		says:   "scheduler-1 wrote at step 29 that run-1-b-1 waits until 31s; it is to wait until 30.023s",
		holds:  func(s *story) { s.aDone(30*time.Second + 23*time.Millisecond) },
	},
	"no-delay-fires-early": {
		breaks: func(s *story) { s.aDone(time.Second).wait(29*time.Second).stepJob(s1, "run-1-b-1") },
		says:   "scheduler-1 submitted run-1-b-1 at step 31, 992ms before its time (the run's record was last written at step 29)",
		holds:  func(s *story) { s.aDone(31*time.Second).wait(30*time.Second).stepJob(s1, "run-1-b-1") },
	},
	"delay-fires-on-time": {
		cfg:    hardenedRuns,
		breaks: func(s *story) { s.aDone(time.Minute).wait(53*time.Second).stepJob(s1, "run-1-b-1") }, // whatever the record says
		says:   "scheduler-1 submitted run-1-b-1 at step 31, 23.008s after its time",
		holds: func(s *story) {
			s.aDone(31*time.Second).keeps(s1).control("crash", s1).wait(45*time.Second).popsDelays(s2).stepJob(s2, "run-1-b-1")
		},
	},
	"delay-waits-for-no-poll": {
		cfg:    hardenedRuns,
		breaks: func(s *story) { s.aDone(31*time.Second).wait(35*time.Second).stepJob(s1, "run-1-b-1") },
		says:   "scheduler-1 submitted run-1-b-1 at step 31, 5.008s after a timer for it was due",
		holds:  func(s *story) { s.aDone(31*time.Second).wait(32*time.Second).stepJob(s1, "run-1-b-1") },
	},
	"no-delay-fires-twice": {
		breaks: func(s *story) {
			s.aDone(31*time.Second).wait(31*time.Second).stepJob(s1, "run-1-b-1")
			s.add(s2, sim.KindPublish, "", history.SubjectSubmit, "run-1-b-1", "submit_publish", s.store(history.StreamSys, history.SubjectSubmit, "run-1-b-1"))
		},
		says: "run-1-b-1 was stored a second time at step 33 by scheduler-2, CORDUM_SYS seq 4; the first was seq 3",
		holds: func(s *story) {
			s.aDone(31*time.Second).wait(31*time.Second).stepJob(s1, "run-1-b-1").fails()
			s.add(s1, sim.KindPublish, "", history.SubjectSubmit, "run-1-b-1", "submit_publish", s.store(history.StreamSys, history.SubjectSubmit, "run-1-b-1"))
		},
	},
	"retries-are-used-up": {
		breaks: func(s *story) { s.retried("FAILED").advances(s1, failedRun(4)) },
		says:   "scheduler-1 wrote FAILED at step 29, although no step of it has used up its retries, or ended for good",
		holds: func(s *story) {
			s.retried("FAILED").advances(s1, twoSteps(4, waitingStep(2, time.Minute), pendingStep)).wait(time.Minute).stepJob(s1, "run-1-a-2").stepDone("run-1-a-2", "FAILED").advances(s1, failedRun(5))
		},
	},
	"run-succeeds-by-its-steps": {
		breaks: func(s *story) { s.retried("FAILED").advances(s1, succeededRun()) },
		says:   "scheduler-1 wrote SUCCEEDED at step 29, although step a had not succeeded",
		holds: func(s *story) {
			s.aDone(31*time.Second).wait(time.Minute).stepJob(s1, "run-1-b-1").stepDone("run-1-b-1", "SUCCEEDED").advances(s1, succeededRun())
		},
	},
	"run-tells-of-its-steps": {
		breaks: func(s *story) {
			r := failedRun(5)
			r.Reason = "step b: run-1-b-1 is DENIED"
			s.retried("FAILED").stepJob(s1, "run-1-a-2").stepDone("run-1-a-2", "FAILED").advances(s1, r)
		},
		says: `scheduler-1 wrote FAILED at step 52 for the reason "step b: run-1-b-1 is DENIED", which names the end of no step that says FAILED`,
		holds: func(s *story) {
			s.retried("FAILED").stepJob(s1, "run-1-a-2").stepDone("run-1-a-2", "FAILED").advances(s1, failedRun(5))
		},
	},
	"run-that-is-over-rests": {
		breaks: func(s *story) { s.retried("FAILED").advances(s1, failedRun(4)).stepJob(s1, "run-1-a-2") },
		says:   "scheduler-1 submitted run-1-a-2 at step 31, although it knew the run to be FAILED, as was written at step 29",
		holds:  func(s *story) { s.aDone(31*time.Second).wait(32*time.Second).stepJob(s1, "run-1-b-1") },
	},
	"run-index-agrees-with-record": {
		breaks: func(s *story) {
			s.aDone(31 * time.Second)
			s.events[0].Changes = s.events[0].Changes[:1]
		},
		says:  "starter wrote RUNNING at step 1, and cordum:wf:runs has the run at no place",
		holds: func(s *story) { s.retried("FAILED").advances(s1, failedRun(4)) },
	},
	"run-writes-not-lost": {
		cfg: hardenedRuns,
		breaks: func(s *story) {
			s.aDone(31*time.Second).advances(s2, twoSteps(3, succeededStep, pendingStep))
		},
		says:  "scheduler-2 wrote version 3 at step 32 over version 3, which scheduler-1 had written at step 29",
		holds: func(s *story) { s.aDone(31 * time.Second) },
	},
	"run-written-by-lock-holder": {
		cfg: hardenedRuns,
		breaks: func(s *story) {
			s.aDone(31*time.Second).locksRun(s1).run(s2, "run_write", twoSteps(4, succeededStep, pendingStep))
		},
		says:  "scheduler-2 wrote the run at step 32 while scheduler-1 held its lock (since step 31)",
		holds: func(s *story) { s.aDone(31 * time.Second) },
	},
	"every-run-settles": {
		cfg:    hardenedRuns,
		breaks: func(s *story) { s.aDone(31 * time.Second).wait(time.Minute) },
		says:   "is still RUNNING: step b waits for its time",
		holds: func(s *story) {
			s.aDone(31 * time.Second) // its time is to come
		},
	},
	"replicas-contend-for-one-run": {
		breaks: func(s *story) { s.aDone(31 * time.Second) },
		holds:  func(s *story) { s.aDone(31 * time.Second).locksRun(s1).findsRunLocked(s2) },
	},
	"delay-fired-by-another": {
		breaks: func(s *story) { s.aDone(31 * time.Second).keeps(s1).wait(time.Minute).popsDelays(s1) },
		holds:  func(s *story) { s.aDone(31 * time.Second).keeps(s1).wait(time.Minute).popsDelays(s2) },
	},
	"step-tried-again": {
		breaks: func(s *story) { s.aDone(31 * time.Second) },
		holds: func(s *story) {
			s.aDone(31*time.Second).advances(s1, twoSteps(4, succeededStep, waitingStep(2, time.Minute)))
		},
	},
}
