package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Requests that are handled, and orphans that a replayer schedules, are counted.
func TestCountersOfRequestsAndOrphans(t *testing.T) {
	deliver := func(s *story, node string, n uint64) *story {
		return s.message(node, job1, "submit_deliver", sim.KindDeliver, n).at1()
	}
	ack := func(s *story, node string, n uint64) *story {
		return s.message(node, job1, "submit_ack", sim.KindAck, n).at1()
	}
	for name, c := range map[string]struct {
		received, orphans []float64 // what they may be
		story             func(*story)
	}{
		"a request":   {[]float64{1}, []float64{0}, func(s *story) { deliver(s.submit(job1), s1, 1).dispatched(s1, job1, w1).at1() }},
		"one in hand": {[]float64{0, 1}, []float64{0}, func(s *story) { deliver(s.submit(job1), s1, 1) }},
		"a redelivery": {[]float64{2}, []float64{0}, func(s *story) {
			ack(deliver(deliver(s.submit(job1), s1, 1).dispatched(s1, job1, w1).at1(), s2, 2), s2, 2)
		}},
		"one skipped": {[]float64{1}, []float64{0}, func(s *story) { ack(redelivered(s).asks(s2, job1, 1), s2, 2) }},
		"an ack that is sent again": {[]float64{1, 2}, []float64{0}, func(s *story) {
			ack(ack(deliver(deliver(s.submit(job1), s1, 1), s1, 2), s1, 1).lost(), s1, 1)
		}},
		"two skipped at once": {[]float64{1}, []float64{0}, func(s *story) {
			ack(ack(deliver(redelivered(s), s2, 3).asks(s2, job1, 1).asks(s2, job1, 1), s2, 2), s2, 3)
		}},
		"two skipped by two processes": {[]float64{1}, []float64{0}, func(s *story) {
			ack(ack(deliver(redelivered(s), s1, 3).asks(s2, job1, 1).asks(s1, job1, 1), s2, 2), s1, 3)
		}},
		"no request": {[]float64{0}, []float64{0}, func(s *story) {
			s.garbles("poison-1").message(s1, "poison-1", "submit_deliver", sim.KindDeliver, 1).at1()
		}},
		"an orphan":     {[]float64{1}, []float64{1}, func(s *story) { s.submit(job1).op(s1, job1, "replay_read").dispatched(s1, job1, w1) }},
		"a failed read": {[]float64{0}, []float64{0}, func(s *story) { s.submit(job1).op(s1, job1, "replay_read").fails() }},
		"one that another has by then": {[]float64{0, 1}, []float64{0}, func(s *story) {
			s.submit(job1).op(s1, job1, "replay_read").dispatched(s2, job1, w1).lock(s1, job1).read(s1, job1).unlock(s1, job1)
		}},
		"a write that failed": {[]float64{0, 1}, []float64{0}, func(s *story) { s.submit(job1).op(s1, job1, "replay_read").begins(s1, job1).fails() }},
		"a request of it in the same process": {[]float64{1, 2}, []float64{0, 1}, func(s *story) {
			deliver(s.submit(job1).op(s1, job1, "replay_read"), s1, 1).dispatched(s1, job1, w1).at1()
		}},
	} {
		for n := range 4 {
			for counter, may := range map[string][]float64{history.CounterReceived: c.received, history.CounterOrphans: c.orphans} {
				s := newStory()
				c.story(s)
				counted := map[string]float64{history.CounterReceived: c.received[0], history.CounterOrphans: c.orphans[0]}
				counted[counter] = float64(n)
				o := outcomeOf(s.counted(counted).judge(config.Config{IdempotencyGuard: true}), "counters-equal-trace")
				wrong := slices.ContainsFunc(o.Violations, func(v invariants.Violation) bool { return strings.HasPrefix(v.Message, counter+" is ") })
				assert.Equal(t, !slices.Contains(may, float64(n)), wrong, "%s: %s is %d", name, counter, n)
			}
		}
	}
}

// The count of jobs that went on without a decision is no less than the writes that say so. It may be more: of a write that failed.
func TestJobsThatGoOnUndecidedAreCounted(t *testing.T) {
	open := guarded
	open.Policy.FailMode = "open"
	for n, holds := range map[float64]bool{0: false, 1: true, 2: true} {
		s := newStory().submit(job1).lock(s1, job1).read(s1, job1).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 0).decided(s1, job1, "FAIL_OPEN")
		s.counted(map[string]float64{"cordum_scheduler_input_fail_open_total": n})
		found := outcomeOf(s.judge(open), "counters-equal-trace").Violations
		assert.Equal(t, holds, len(found) == 0, "%g: %v", n, found)
	}
}

// What is counted under another label than that of what came about is counted wrongly, twice.
func TestCountersGoByTheirLabels(t *testing.T) {
	stateFirst := replaying
	stateFirst.DLQOrder = "state-then-dlq"
	for name, c := range map[string]struct {
		right, wrong string
		story        func(*story)
	}{
		"a topic": {`jobs_dispatched{topic="job.gpu"}`, `jobs_dispatched{topic="worker.worker-1.jobs"}`, func(s *story) {
			s.submit(job1).write(s1, job1, "pending_write", "PENDING", "topic", "job.gpu").dispatched(s1, job1, w1)
		}},
		"a status": {`jobs_completed{status="SUCCEEDED",topic="job.gpu"}`, `jobs_completed{status="FAILED",topic="job.gpu"}`, func(s *story) {
			s.submit(job1).write(s1, job1, "pending_write", "PENDING", "topic", "job.gpu")
			s.dispatched(s1, job1, w1).executed(w1, job1).completed(s1, job1, "SUCCEEDED")
		}},
		"a phase": {`scheduler_fenced_writes_total{phase="rollback_write"}`, `scheduler_fenced_writes_total{phase="running_write"}`, func(s *story) {
			s.submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).publishFails(s1, job1, w1).looks(s1, job1, "rollback_write").unlock(s1, job1)
		}},
		"a reason code": {`dlq_entries_total{reason_code="timeout"}`, `dlq_entries_total{reason_code="other"}`, func(s *story) {
			s.dies(job1, "timeout")
		}},
		"a worker's own": {`dlq_entries_total{reason_code="other"}`, `dlq_entries_total{reason_code="out-of-paper"}`, func(s *story) {
			s.dies(job1, "out-of-paper")
		}},
		"that of a message": {`dlq_entries_total{reason_code="parse_error"}`, `dlq_entries_total{reason_code="other"}`, func(s *story) {
			s.garbles("poison-1")
			c := s.set(history.DlqPrefix+"CORDUM_SYS:1", "", `{"reason_code":"parse_error","status":"TERMINATED"}`)
			s.add(s1, sim.KindRedis, sim.NameMulti, c.Key, "poison-1", "dlq_write", c)
		}},
		"an outcome": {`dlq_replays_total{outcome="scheduled"}`, `dlq_replays_total{outcome="replayed"}`, func(s *story) {
			s.dies(job1, "timeout").putOff(job1, time.Second)
		}},
		"a denial": {`dlq_replay_denied_total{reason_code="timeout"}`, `dlq_replay_denied_total{reason_code="safety_denied"}`, func(s *story) {
			s.dies(job1, "timeout").putOff(job1, time.Second).letter(s1, job1, "timeout", "denied", map[string]any{"action": "auto_replay"})
		}},
		"a consumer": {`scheduler_messages_given_up_total{consumer="scheduler-submit"}`, `scheduler_messages_given_up_total{consumer="scheduler-result"}`, func(s *story) {
			s.submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 100).message(s1, job1, "submit_nak", sim.KindNak, 100)
		}},
	} {
		counter, _, _ := strings.Cut(c.right, "{")
		found := func(series string) (said []string) {
			s := newStory()
			c.story(s)
			for _, v := range outcomeOf(s.counted(map[string]float64{series: 1}).judge(stateFirst), "counters-equal-trace").Violations {
				if strings.HasPrefix(v.Message, counter+"{") {
					said = append(said, v.Message)
				}
			}
			return said
		}
		assert.Empty(t, found(c.right), name)
		if said := found(c.wrong); assert.Len(t, said, 2, name) {
			says := strings.Join(said, "\n")
			assert.Contains(t, says, c.right+" is 0, but the events show 1", name)
			assert.Contains(t, says, c.wrong+" is 1, but the events show 0", name)
		}
	}
}

// What else a scheduler says it has met is no less than events show, and no more where they show all of it.
func TestWhatSchedulersHaveMetIsCounted(t *testing.T) {
	stale := func(s *story) *story {
		s.submit(job1).dispatchedAt(s1, job1, w1, 1).answers(w1, job1, 1)
		return s.write(s1, job1, "rollback_write", "SCHEDULED", "epoch", "2").message(s2, job1, "result_deliver", sim.KindDeliver, 1)
	}
	for name, c := range map[string]struct {
		counter     string
		least, most float64
		story       func(*story)
	}{
		"a job that waits for its approval": {history.CounterApprovalsRequired, 1, 1, func(s *story) {
			s.submit(job1).lock(s1, job1).read(s1, job1).write(s1, job1, "approval_write", "APPROVAL_REQUIRED")
		}},
		"one whose write fails": {history.CounterApprovalsRequired, 0, 0, func(s *story) {
			s.submit(job1).lock(s1, job1).read(s1, job1).write(s1, job1, "approval_write", "APPROVAL_REQUIRED").fails()
		}},
		"another request in its place": {history.CounterApprovalsRequired, 2, 2, func(s *story) {
			s.submit(job1).lock(s1, job1).read(s1, job1).write(s1, job1, "approval_write", "APPROVAL_REQUIRED").unlock(s1, job1).lock(s2, job1).read(s2, job1)
			s.looks(s2, job1, "ask_again_write")
			s.add(s2, sim.KindRedis, sim.NameMulti, history.RecordPrefix+job1, job1, "ask_again_write", s.set(history.RecordPrefix+job1, "job_hash", "other"))
		}},
		"an approved job": {history.CounterApprovalsGranted, 1, 1, func(s *story) {
			s.submit(job1).write(s1, job1, "approval_write", "APPROVAL_REQUIRED").lock(s1, job1).read(s1, job1).write(s1, job1, "approved_write", "PENDING")
		}},
		"a kernel that does not answer": {history.CounterUnavailable, 1, 9, func(s *story) {
			s.submit(job1).lock(s1, job1).read(s1, job1).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 0).unlock(s1, job1)
		}},
		"one that nobody has heard of yet": {history.CounterUnavailable, 0, 9, func(s *story) {
			s.submit(job1).lock(s1, job1).read(s1, job1).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 0)
		}},
		"one that answers": {history.CounterUnavailable, 0, 9, func(s *story) { letThrough(s); s.unlock(s1, job1) }},
		"an output policy that does not answer": {history.CounterSkipped, 1, 9, func(s *story) {
			s.submit(job1).found(job1, "sync", "SKIPPED", "connection reset", "res:"+job1)
		}},
		"one that allows": {history.CounterSkipped, 0, 9, func(s *story) {
			s.submit(job1).found(job1, "sync", "ALLOW", "", "res:"+job1)
		}},
		"a stale result":            {history.CounterStaleResults, 1, 1, func(s *story) { stale(s).lock(s2, job1).read(s2, job1) }},
		"one that is read in vain":  {history.CounterStaleResults, 0, 0, func(s *story) { stale(s).lock(s2, job1).read(s2, job1).fails() }},
		"one of a job that is over": {history.CounterStaleResults, 0, 0, func(s *story) { stale(s).timesOut(s1, job1).lock(s2, job1).read(s2, job1) }},
		"one beside another": {history.CounterStaleResults, 0, 1, func(s *story) {
			stale(s).message(s2, job1, "submit_deliver", sim.KindDeliver, 2).lock(s2, job1).read(s2, job1)
		}},
		"a result of the last epoch": {history.CounterStaleResults, 0, 0, func(s *story) {
			s.submit(job1).dispatchedAt(s1, job1, w1, 1).answers(w1, job1, 1).message(s2, job1, "result_deliver", sim.KindDeliver, 1).lock(s2, job1).read(s2, job1)
		}},
		"a failed read":                   {history.CounterRedisErrors + `{operation="read"}`, 1, 1, func(s *story) { s.submit(job1).lock(s1, job1).read(s1, job1).fails() }},
		"a lock that Redis does not give": {history.CounterRedisErrors + `{operation="lock"}`, 1, 1, func(s *story) { s.submit(job1).busy(s1, job1).fails() }},
		"one that another has":            {history.CounterRedisErrors + `{operation="lock"}`, 0, 0, func(s *story) { s.submit(job1).lock(s2, job1).busy(s1, job1) }},
		"a failed write": {history.CounterRedisErrors + `{operation="write"}`, 1, 1, func(s *story) {
			s.submit(job1).lock(s1, job1).read(s1, job1).scheduled(s1, job1, "scheduled_write").fails()
		}},
		"a read for a request": {history.CounterReads + `{outcome="done"}`, 1, 1, func(s *story) {
			s.submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).lock(s1, job1).read(s1, job1)
		}},
		"one for a result": {history.CounterReads + `{outcome="done"}`, 0, 0, func(s *story) {
			s.submit(job1).executed(w1, job1).message(s1, job1, "result_deliver", sim.KindDeliver, 1).lock(s1, job1).read(s1, job1)
		}},
		"one for nobody knows whom": {history.CounterReads + `{outcome="done"}`, 0, 1, func(s *story) { s.submit(job1).lock(s1, job1).read(s1, job1) }},
		"one that fails": {history.CounterReads + `{outcome="fail_closed"}`, 1, 1, func(s *story) {
			s.submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).lock(s1, job1).read(s1, job1).fails()
		}},
		"a renewal given up": {history.CounterRenewalsAbandoned, 1, 1, func(s *story) {
			s.submit(job1).lock(s1, job1)
			for range 3 {
				s.renew(s1, job1, time.Minute).fails()
			}
		}},
		"two renewals that fail": {history.CounterRenewalsAbandoned, 0, 0, func(s *story) {
			s.submit(job1).lock(s1, job1).renew(s1, job1, time.Minute).fails().renew(s1, job1, time.Minute).fails()
		}},
		"a request sent back for a busy lock": {history.CounterRetries, 1, 9, func(s *story) {
			s.submit(job1).lock(s2, job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).busy(s1, job1).message(s1, job1, "submit_nak", sim.KindNak, 1)
		}},
		"one handed back": {history.CounterRetries, 0, 9, func(s *story) {
			s.submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).message(s1, job1, "submit_nak", sim.KindNak, 1)
		}},
		"a relay that cannot look": {history.CounterOutboxRetries + `{phase="outbox_read"}`, 1, 9, func(s *story) {
			s.add(s1, sim.KindRedis, "", "cordum:outbox", "", "outbox_read").fails()
		}},
		"a compensation that nobody can read": {history.CounterUnreadable, 1, 9, func(s *story) {
			c := s.set("dlq:entry:saga-1", "", `{"topic":"saga:wf-1:stack","reason_code":"saga_unmarshal_failed"}`)
			s.add(s1, sim.KindRedis, sim.NameMulti, c.Key, "", "saga_pop", c)
		}},
	} {
		for _, n := range []float64{0, 1, 2, 9} {
			s := newStory()
			c.story(s)
			found := outcomeOf(s.counted(map[string]float64{c.counter: n}).judge(hardened), "counters-equal-trace").Violations
			wrong := slices.ContainsFunc(found, func(v invariants.Violation) bool { return strings.HasPrefix(v.Message, c.counter+" is ") })
			assert.Equal(t, n < c.least || n > c.most, wrong, "%s: %g", name, n)
		}
	}
}

// A request whose approval does not count is refused, and that is counted, by the reason.
func TestRefusedApprovalsAreCounted(t *testing.T) {
	first, second := packetOf(job1, 1), packetOf(job1, 2)
	for name, c := range map[string]struct {
		reason string
		count  float64
		story  func(*story)
	}{
		"too old":             {"expired", 1, func(s *story) { takesUp(approve(parks(s, first), first, first).wait(2*time.Minute), first) }},
		"young enough":        {"expired", 0, func(s *story) { takesUp(approve(parks(s, first), first, first), first) }},
		"of another request":  {"changed", 1, func(s *story) { takesUp(approve(parks(s, first), second, first), first) }},
		"of the very request": {"changed", 0, func(s *story) { takesUp(approve(parks(s, first), first, first), first) }},
	} {
		for n := range 3 {
			s := newStory()
			c.story(s)
			series := history.CounterApprovalsRefused + `{reason="` + c.reason + `",topic="job.default"}`
			found := outcomeOf(s.counted(map[string]float64{series: float64(n)}).judge(approving), "counters-equal-trace").Violations
			wrong := slices.ContainsFunc(found, func(v invariants.Violation) bool { return strings.HasPrefix(v.Message, series+" is ") })
			assert.Equal(t, float64(n) != c.count, wrong, "%s: %d", name, n)
		}
	}
}

// The gauges of what is under way are 0 once nothing is.
func TestGaugesOfWhatIsUnderWay(t *testing.T) {
	rolls := func(s *story) *story { return s.succeeds(job1).failsForGood(job2).sagaLock(s1) }
	for name, c := range map[string]struct {
		gauge string
		most  float64
		story func(*story)
	}{
		"a message in hand": {history.GaugeHandling, 1, func(s *story) { s.submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1) }},
		"one that is acknowledged": {history.GaugeHandling, 0, func(s *story) {
			s.submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).ack(s1, job1, "submit_ack")
		}},
		"one that went with a node": {history.GaugeHandling, 0, func(s *story) {
			s.submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).control("crash", s1)
		}},
		"a rollback":                  {history.GaugeRollingBack, 1, func(s *story) { rolls(s) }},
		"one that outlasts its lock":  {history.GaugeRollingBack, 1, func(s *story) { rolls(s).wait(time.Hour) }},
		"one that is over":            {history.GaugeRollingBack, 0, func(s *story) { rolls(s).sagaUnlocks(s1) }},
		"one that goes with its node": {history.GaugeRollingBack, 0, func(s *story) { rolls(s).control("crash", s1) }},
	} {
		for n := range 3 {
			s := newStory()
			c.story(s)
			found := outcomeOf(s.counted(map[string]float64{c.gauge: float64(n)}).judge(hardened), "counters-equal-trace").Violations
			wrong := slices.ContainsFunc(found, func(v invariants.Violation) bool { return strings.HasPrefix(v.Message, c.gauge+" is ") })
			assert.Equal(t, float64(n) > c.most, wrong, "%s: %d", name, n)
		}
	}
}
