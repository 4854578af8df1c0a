package judge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// model is the documented dispatch path in miniature: it writes the story that a correct scheduler
// would, with whatever faults rapid draws. It guards the oracle against false alarms.
type miniature struct {
	*story
	t            *rapid.T
	publishFirst bool
	failOpen     bool
	outbox       bool
	faults       int // how many more may strike
	ceiling      int
	delay        time.Duration // for which the message at hand is sent back, if it is
}

// fate is what becomes of one operation.
type fate int

const (
	fine fate = iota
	failsBefore
	failsAfter
	hangs
	crashes // applied, then the process is gone
)

func (m *miniature) draw(phase string) fate {
	if m.faults == 0 {
		return fine
	}
	f := fate(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 1, 2, 3, 4}).Draw(m.t, phase))
	if f != fine {
		m.faults--
	}
	return f
}

// op plays one operation: apply appends its event as it is when all goes well, clean as it is when
// nothing was applied. It says whether the caller saw success and whether the process still lives.
func (m *miniature) op(node, job, phase string, kind sim.Kind, target string, apply func()) (ok, alive bool) {
	clean := func() { m.add(node, kind, string(kind), target, job, phase) }
	switch m.draw(phase) {
	case fine:
		apply()
		return true, true
	case failsBefore:
		clean()
		m.fails()
	case failsAfter:
		apply()
		m.fails()
	case hangs:
		clean()
		m.unseen().last().Fault = "hang"
		m.wait(2*time.Second).add(node, sim.KindReturn, string(kind), target, job, phase).fails()
	case crashes:
		apply()
		m.unseen()
		m.crash(node)
		return false, false
	}
	return false, true
}

// crash brings a replica back at once; its lock stays until its TTL.
func (m *miniature) crash(node string) {
	m.control("crash", node).control("restart", node)
	m.wait(time.Minute)
	for key := range m.redis { // all locks are of replicas that are gone
		if strings.HasPrefix(key, history.LockPrefix) {
			delete(m.redis, key)
		}
	}
}

func (m *miniature) record(job string) map[string]string { return m.redis[history.RecordPrefix+job] }

// locked runs f under the job's lock.
func (m *miniature) locked(node, job string, f func() (done, alive bool)) (done, alive bool) {
	ok, alive := m.op(node, job, "lock_acquire", sim.KindRedis, history.LockPrefix+job, func() { m.lock(node, job) })
	if !ok {
		if alive {
			m.wait(time.Minute)
			delete(m.redis, history.LockPrefix+job)
		}
		return false, alive
	}
	done, alive = f()
	if !alive {
		return false, false
	}
	m.add(node, sim.KindRedis, "watch", history.LockPrefix+job, job, "lock_release")
	m.add(node, sim.KindRedis, "get", history.LockPrefix+job, job, "lock_release")
	ok, alive = m.op(node, job, "lock_release", sim.KindRedis, history.LockPrefix+job, func() { m.deleteLock(node, job) })
	if !ok && alive {
		m.wait(time.Minute)
		delete(m.redis, history.LockPrefix+job)
	}
	return done, alive
}

func (m *miniature) handle(node, job string) (done, alive bool) {
	return m.locked(node, job, func() (bool, bool) {
		ok, alive := m.op(node, job, "state_read", sim.KindRedis, history.RecordPrefix+job, func() { m.read(node, job) })
		if !alive {
			return false, false
		}
		state := m.record(job)["state"]
		if !ok && !m.failOpen {
			return false, true
		}
		if !ok {
			m.write(node, job, "pending_write", "PENDING")
			state = "PENDING"
		}
		if state != "PENDING" && state != "SCHEDULED" {
			return true, true
		}
		if m.attempts(job) >= m.ceiling {
			return m.giveUp(node, job)
		}
		write := func(phase string, f func()) (bool, bool) {
			return m.op(node, job, phase, sim.KindRedis, history.RecordPrefix+job, f)
		}
		prior := m.attempts(job)
		if ok, alive := write("scheduled_write", func() { m.scheduled(node, job, "scheduled_write") }); !ok {
			return false, alive
		}
		worker := fmt.Sprintf("worker-%d", rapid.IntRange(1, 2).Draw(m.t, "worker"))
		intend := func() (bool, bool) {
			return write("dispatched_write", func() { m.intended(node, job, worker) })
		}
		if m.outbox {
			return write("dispatched_write", func() { m.enters(node, job, worker) })
		}
		if !m.publishFirst {
			if ok, alive := intend(); !ok {
				return false, alive
			}
		}
		ok, alive = m.op(node, job, "publish", sim.KindPublish, "worker."+worker+".jobs", func() { m.publish(node, job, worker) })
		if !ok {
			m.delay = min(time.Second<<min(prior, 5), 30*time.Second)
		}
		switch {
		case !alive:
			return false, false
		case !ok && m.publishFirst:
			return false, true
		case !ok && m.attempts(job) >= m.ceiling:
			return m.giveUp(node, job)
		case !ok:
			_, alive := write("rollback_write", func() { m.scheduled(node, job, "rollback_write") })
			return false, alive
		}
		if m.publishFirst {
			if ok, alive := intend(); !ok {
				return false, alive
			}
		}
		_, alive = write("running_write", func() { m.write(node, job, "running_write", "RUNNING") })
		return true, alive
	})
}

func (m *miniature) giveUp(node, job string) (done, alive bool) {
	ok, alive := m.op(node, job, "failed_write", sim.KindRedis, history.RecordPrefix+job, func() {
		m.write(node, job, "failed_write", "FAILED", "reason_code", "max_scheduling_retries")
	})
	if !ok {
		return false, alive
	}
	return m.op(node, job, "dlq_write", sim.KindRedis, history.DlqPrefix+job, func() {
		m.buried(node, job, "dispatch_failed")
	})
}

func (m *miniature) accept(node, job string) (done, alive bool) {
	return m.locked(node, job, func() (bool, bool) {
		ok, alive := m.op(node, job, "state_read", sim.KindRedis, history.RecordPrefix+job, func() { m.read(node, job) })
		if !ok {
			return false, alive
		}
		switch m.record(job)["state"] {
		case "DISPATCHED", "RUNNING":
			return m.op(node, job, "result_write", sim.KindRedis, history.RecordPrefix+job, func() {
				m.write(node, job, "result_write", "SUCCEEDED")
			})
		case "SCHEDULED", "PENDING":
			return false, true
		}
		return true, true
	})
}

// replicas alternate, as redelivery would have it.
func (m *miniature) replica(n int) string { return []string{s1, s2}[n%2] }

// run submits jobs and delivers their messages until nothing is left to do.
func (m *miniature) run(jobs int) {
	for n := 1; n <= jobs; n++ {
		job := fmt.Sprintf("job-%d", n)
		m.submit(job)
		executed, handled := 0, false
		for delivery := 1; delivery < 60; delivery++ {
			node := m.replica(rapid.IntRange(0, 1).Draw(m.t, "replica"))
			m.message(node, job, "submit_deliver", sim.KindDeliver, uint64(delivery))
			done, alive := true, true
			m.delay = time.Second // after a store failure
			if !handled {         // else the guard knows
				done, alive = m.handle(node, job)
			}
			if done && alive {
				m.message(node, job, "submit_ack", sim.KindAck, uint64(delivery))
				if m.draw("submit_ack") == fine {
					break
				}
				m.lost().wait(10 * time.Minute)
				handled = true
				continue
			}
			if alive {
				m.message(node, job, "submit_nak", sim.KindNak, uint64(delivery)).awayFor(m.delay).wait(30 * time.Second) // the longest back-off
			}
			if m.outbox && rapid.Bool().Draw(m.t, "relay now") {
				m.relay(m.replica(rapid.IntRange(0, 1).Draw(m.t, "relay")), job)
			}
			if rapid.Bool().Draw(m.t, "work now") {
				executed = m.work(job, executed)
			}
		}
		executed = m.work(job, executed)
		for try := 0; m.outbox && try < 10; try++ {
			m.relay(m.replica(try), job)
			executed = m.work(job, executed)
		}
		for delivery := 1; executed > 0 && delivery < 60; delivery++ {
			node := m.replica(rapid.IntRange(0, 1).Draw(m.t, "replica"))
			m.message(node, job, "result_deliver", sim.KindDeliver, uint64(delivery))
			if done, alive := m.accept(node, job); done && alive {
				m.message(node, job, "result_ack", sim.KindAck, uint64(delivery))
				break
			}
		}
	}
	m.wait(2 * time.Minute)
}

// work executes the dispatches that were stored since executed of them were.
func (m *miniature) work(job string, executed int) int {
	for _, c := range m.streams {
		if c.Stream != history.StreamJobs || c.Header[history.HeaderJob] != job {
			continue
		}
		if executed > 0 {
			executed--
			continue
		}
		worker := history.WorkerOf(c.Subject)
		m.message(worker, job, "job_deliver", sim.KindDeliver, 1).of(c.Seq)
		m.executed(worker, job).message(worker, job, "job_ack", sim.KindAck, 1).of(c.Seq)
	}
	return m.dispatches(job)
}

func (m *miniature) dispatches(job string) (n int) {
	for _, c := range m.streams {
		if c.Stream == history.StreamJobs && c.Header[history.HeaderJob] == job {
			n++
		}
	}
	return n
}

func newModel(t *rapid.T) *miniature {
	return &miniature{
		story: newStory(), t: t,
		faults:  rapid.IntRange(0, 6).Draw(t, "faults"),
		ceiling: rapid.SampledFrom([]int{4, 50}).Draw(t, "ceiling"),
	}
}

// A scheduler that follows the documentation breaks no promise, whatever fails.
func TestDocumentedPathKeepsEveryPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		m.run(rapid.IntRange(1, 3).Draw(t, "jobs"))
		for _, o := range m.injected().judge(config.Config{MaxSchedulingRetries: m.ceiling}).Invariants {
			for _, v := range o.Violations {
				if v.Promised {
					t.Fatalf("%s: %s", v.Invariant, v.Message)
				}
			}
		}
	})
}

// The alternatives that Dispatch ordering and State-read errors warn of are found out.
func TestAlternativesAreFoundOut(t *testing.T) {
	for name, set := range map[string]func(*miniature){
		"publish-first": func(m *miniature) { m.publishFirst = true },
		"fail-open":     func(m *miniature) { m.failOpen = true },
	} {
		t.Run(name, func(t *testing.T) {
			judged := rapid.Custom(func(t *rapid.T) int {
				m := newModel(t)
				set(m)
				m.run(1)
				cfg := config.Config{MaxSchedulingRetries: m.ceiling}
				if m.publishFirst {
					cfg.DispatchOrder = "publish-first"
				}
				return outcomeOf(m.injected().judge(cfg), "one-dispatch-per-job").Promised
			})
			found := 0
			for seed := 0; seed < 5000 && found == 0; seed++ {
				found = judged.Example(seed)
			}
			assert.Positive(t, found)
		})
	}
}
