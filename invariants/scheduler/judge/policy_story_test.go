package judge

import (
	"fmt"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

const failuresKey = "cordum:cb:safety:failures"

// guarded is a world with a safety kernel; shared counts the probes together too.
var (
	guarded = config.Config{Policy: config.PolicyConfig{Kernel: true, SharedBreaker: true}}
	shared  = config.Config{Policy: config.PolicyConfig{Kernel: true, SharedBreaker: true, SharedProbes: true}}
	apart   = config.Config{Policy: config.PolicyConfig{Kernel: true}}
)

// readsCounter is a read of the shared counter.
func (s *story) readsCounter(node, job string) *story {
	return s.add(node, sim.KindRedis, "multi", failuresKey, job, "breaker_read")
}

// calls is a call that sets out.
func (s *story) calls(node, job string) *story {
	return s.add(node, sim.KindCall, "Check", "kernel", job, "safety_check").unseen()
}

// hears is what a call brings; 0 is an error.
func (s *story) hears(node, job string, decision int) *story {
	s.add(node, sim.KindReturn, "Check", "kernel", job, "safety_check")
	if decision == 0 {
		return s.fails()
	}
	s.last().Data = fmt.Sprintf(`{"decision":%d}`, decision)
	return s
}

// counts is a write of the shared counter; 0 is its removal.
func (s *story) counts(node, job string, failures int) *story {
	c := sim.Change{Key: failuresKey, Gone: true}
	if failures > 0 {
		c = sim.Change{Key: failuresKey, Value: strconv.Itoa(failures), Expires: s.at + time.Millisecond + 30*time.Second + model.CountKept}
	}
	return s.add(node, sim.KindRedis, "multi", failuresKey, job, "breaker_write", c)
}

// claimsProbe is a probe that is counted.
func (s *story) claimsProbe(node, job string) *story {
	return s.claimsProbeFor(node, job, 30*time.Second)
}

// claimsProbeFor is one that Redis forgets so much later, and never if that is negative.
func (s *story) claimsProbeFor(node, job string, lasts time.Duration) *story {
	c := sim.Change{Key: "cordum:cb:safety:probes", Value: "1"}
	if lasts >= 0 {
		c.Expires = s.at + time.Millisecond + lasts
	}
	return s.add(node, sim.KindRedis, "multi", c.Key, job, "breaker_probe", c)
}

// trips is three calls that fail.
func (s *story) trips(node string) *story {
	for i := range 3 {
		job := "job-" + strconv.Itoa(11+i)
		s.readsCounter(node, job).calls(node, job).hears(node, job, 0).counts(node, job, i+1)
	}
	return s
}

// decided is a handling up to its SCHEDULED write, with that decision.
func (s *story) decided(node, job, decision string) *story {
	return s.write(node, job, "scheduled_write", "SCHEDULED", "attempts", strconv.Itoa(s.attempts(job)+1), "decision", decision)
}

// letThrough is a job that the kernel allows.
func letThrough(s *story) {
	s.submit(job1).lock(s1, job1).read(s1, job1).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 1).decided(s1, job1, "ALLOW").
		intended(s1, job1, w1).publish(s1, job1, w1)
}

// asked is a job that the kernel allows once it was asked that, with the hash of the job's request.
func asked(s *story, question string) *story {
	const packet = `{"job_id":"job-1","topic":"job.a","tenant":"acme","requires":["gpu"]}`
	s.write("submitter", job1, "submit_write", "PENDING", "attempts", "0", "request", packet)
	s.lock(s1, job1).read(s1, job1).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 1).
		asking(question, history.ReadRequest(packet).Hash())
	return s.decided(s1, job1, "ALLOW")
}

func deniedAtOnce(s *story) {
	s.submit(job1).lock(s1, job1).read(s1, job1).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 4).
		write(s1, job1, "denied_write", "DENIED", "decision", "DENY", "reason_code", "safety_denied")
}

// throttled is a job that the kernel wants to be asked about again later.
func throttled(s *story) *story { return s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 5) }

// probing is a half-open window, in which each of the jobs is a probe of another replica.
func probing(s *story, claim bool, replicas ...string) {
	s.trips(s1).wait(31 * time.Second)
	for i, node := range replicas {
		job := "job-" + strconv.Itoa(21+i)
		if s.readsCounter(node, job); claim {
			s.claimsProbe(node, job)
		}
		s.calls(node, job)
	}
}
