package judge

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

// A MULTI that the server refuses names fields that it has not touched. If the answer is lost, the
// version tells: each write counts it up.
func TestARefusedMultiIsNoWrite(t *testing.T) {
	for name, refuse := range map[string]func(*story){
		"and says so":             func(s *story) { s.last().Outcome = history.TransactionFailed },
		"and the answer is lost":  func(s *story) { s.fails() },
		"and it comes late":       func(s *story) { s.late().last().Outcome = sim.OutcomeNil },
		"and nobody hears of it":  func(s *story) { s.unseen() },
		"and all seems well, yet": func(*story) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory().submit(job1)
			s.write(s1, job1, "scheduled_write", "SCHEDULED", "attempts", "1", "version", "2").lock(s1, job1)
			s.write(s2, job1, "scheduled_write", "SCHEDULED", "attempts", "1", "version", "2")
			refuse(s)
			r := s.judge(hardened)
			assert.Empty(t, outcomeOf(r, "attempts-equal-scheduled-writes").Violations)
			assert.Zero(t, outcomeOf(r, "ambiguous-write-applied").Exercised)
		})
	}
}

// A write from the past is not of the handling that its process has under way by now.
func TestALateWriteIsNobodysHandling(t *testing.T) {
	s := newStory().submit(job1).lock(s1, job1).op(s1, job1, "scheduled_write").fails().unlock(s1, job1).
		begins(s1, job1).scheduled(s1, job1, "scheduled_write").late().intended(s1, job1, w1).publish(s1, job1, w1)
	r := s.judge(config.Config{})
	assert.Empty(t, outcomeOf(r, "attempts-drain-by-two").Violations)
	assert.Equal(t, 1, outcomeOf(r, "ambiguous-write-applied").Exercised)
}

// For how long a message is sent back goes by what its handling met. Where that is not known for sure, it is anything from the
// shortest of all delays to the longest.
func TestForHowLongAMessageIsSentBack(t *testing.T) {
	nobody := func(s *story) { s.begins(s1, job1).unlock(s1, job1) }
	fails := func(s *story) *story { return s.begins(s1, job1).intended(s1, job1, w1).publishFails(s1, job1, w1) }
	back := func(s *story) { fails(s).scheduled(s1, job1, "rollback_write").unlock(s1, job1) }
	unread := func(s *story) { s.lock(s1, job1).read(s1, job1).fails().unlock(s1, job1) }
	busy := func(s *story) { s.busy(s1, job1) }
	asks := func(s *story) { s.lock(s1, job1).read(s1, job1) }
	exactly := func(d time.Duration) config.Span { return config.Span{Least: d, Most: d} }
	drawn := func(d time.Duration) config.Span { return config.Span{Least: d, Most: d + 500*time.Millisecond} }
	anything := config.Span{Least: 500 * time.Millisecond, Most: time.Minute}
	even := config.Config{EvenBackoff: true}
	kernel := config.Config{Policy: config.PolicyConfig{Kernel: true, SharedBreaker: true}}
	for name, it := range map[string]struct {
		before   int // attempts
		delivery uint64
		meets    func(s *story)
		cfg      config.Config
		due      config.Span
	}{
		"a publish that failed":                    {0, 1, back, config.Config{}, drawn(time.Second)},
		"another one":                              {2, 1, back, config.Config{}, drawn(4 * time.Second)},
		"the last but one":                         {40, 1, back, config.Config{}, exactly(30 * time.Second)},
		"a publish that failed, with even_backoff": {0, 1, back, even, drawn(3 * time.Second)},
		"at the ceiling":                           {2, 1, back, config.Config{MaxSchedulingRetries: 4}, anything},
		"no workers":                               {4, 1, nobody, config.Config{}, exactly(2 * time.Second)},
		"no workers, with even_backoff":            {3, 1, nobody, even, drawn(16 * time.Second)},
		"a pool that is overloaded":                {4, 1, func(s *story) { nobody(s.beats(w1, 9, s1)) }, config.Config{}, drawn(16 * time.Second)},
		"what may be a stale worker":               {4, 1, func(s *story) { nobody(s.beats(w1, 0, s1)) }, config.Config{}, config.Span{Least: 2 * time.Second, Most: 16500 * time.Millisecond}},
		"a busy lock":                              {4, 1, busy, config.Config{}, exactly(500 * time.Millisecond)},
		"a busy lock again, with busy_backoff":     {4, 3, busy, config.Config{BusyBackoff: true}, exactly(2 * time.Second)},
		"a busy lock for long, with busy_backoff":  {4, 90, busy, config.Config{BusyBackoff: true}, exactly(30 * time.Second)},
		"a lock that cannot be asked for":          {4, 1, func(s *story) { s.busy(s1, job1).fails() }, config.Config{}, exactly(time.Second)},
		"two who ask for the lock":                 {4, 1, func(s *story) { s.busy(s1, job1).busy(s1, job1) }, config.Config{}, anything},
		"a read that failed":                       {4, 1, unread, config.Config{}, exactly(time.Second)},
		"a read that failed, failing open":         {4, 1, unread, config.Config{ReadError: "fail-open"}, anything},
		"a replica that does not confirm":          {0, 1, func(s *story) { s.op(s1, job1, "replica_wait").fails() }, config.Config{}, exactly(time.Second)},
		"a void that is not published": {0, 1, func(s *story) {
			asks(s)
			s.add(s1, sim.KindPublish, "", "", job1, "void_publish").fails().unlock(s1, job1)
		}, config.Config{}, exactly(2 * time.Second)},
		"a kernel that gives no answer": {0, 3, func(s *story) {
			asks(s)
			s.calls(s1, job1).hears(s1, job1, 0).unlock(s1, job1)
		}, kernel, drawn(4 * time.Second)},
		"a kernel that throttles": {0, 3, func(s *story) {
			asks(s)
			s.calls(s1, job1).hears(s1, job1, 5).unlock(s1, job1)
		}, kernel, exactly(5 * time.Second)},
		"a circuit that is open": {0, 1, func(s *story) {
			c := s.set("cordum:cb:safety:failures", "", "3")
			c.Expires = 30*time.Second + model.CountKept
			s.add(s1, sim.KindRedis, "multi", c.Key, "", "breaker_write", c)
			asks(s)
			s.add(s1, sim.KindRedis, "pipeline", c.Key, job1, "breaker_read").unlock(s1, job1)
		}, kernel, exactly(5 * time.Second)},
		"a rollback that failed": {4, 1, func(s *story) { fails(s).op(s1, job1, "rollback_write").fails().unlock(s1, job1) }, config.Config{}, anything},
		"the stream's refusal":   {4, 1, func(s *story) { s.begins(s1, job1).minted(s1, job1, w1, 1).refused(s1, job1, w1, 1).unlock(s1, job1) }, hardened, anything},
		"the handling of a replayer": {4, 1, func(s *story) {
			s.add(s1, sim.KindRedis, "", history.RecordPrefix+job1, job1, "replay_read")
			nobody(s)
		}, config.Config{}, anything},
	} {
		for delay, violations := range map[time.Duration]int{it.due.Least - 1: 1, it.due.Least: 0, it.due.Most: 0, it.due.Most + 1: 1} {
			s := newStory().submit(job1).write(s2, job1, "submit_write", "PENDING", "attempts", strconv.Itoa(it.before))
			s.message(s1, job1, "submit_deliver", sim.KindDeliver, it.delivery)
			it.meets(s)
			s.message(s1, job1, "submit_nak", sim.KindNak, it.delivery).awayFor(delay)
			assert.Len(t, outcomeOf(s.judge(it.cfg), "retry-waits-its-delay").Violations, violations, "%s: for %s", name, delay)
		}
	}
}

// A message that nobody can read is sent back for 5 s if its DLQ entry cannot be written.
func TestForHowLongAnUnreadableMessageIsSentBack(t *testing.T) {
	for delay, violations := range map[time.Duration]int{time.Second: 1, 5 * time.Second: 0, 6 * time.Second: 1} {
		s := newStory()
		c := s.store(history.StreamSys, history.SubjectSubmit, job1)
		c.Value = "{"
		s.add("submitter", sim.KindPublish, "", history.SubjectSubmit, job1, "submit_publish", c).message(s1, job1, "submit_deliver", sim.KindDeliver, 1)
		s.add(s1, sim.KindRedis, "watch", history.DlqPrefix+model.Place(1), job1, "dlq_write").fails()
		s.message(s1, job1, "submit_nak", sim.KindNak, 1).awayFor(delay)
		assert.Len(t, outcomeOf(s.judge(config.Config{}), "retry-waits-its-delay").Violations, violations, delay)
	}
}

// A message that was sent back comes again no sooner.
func TestWhatWasSentBackStaysAway(t *testing.T) {
	for after, violations := range map[time.Duration]int{time.Second - 2*time.Millisecond: 1, time.Second: 0} {
		s := newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1)
		s.message(s1, job1, "submit_nak", sim.KindNak, 1).wait(after-time.Millisecond).message(s2, job1, "submit_deliver", sim.KindDeliver, 2)
		assert.Len(t, outcomeOf(s.judge(config.Config{}), "retry-waits-its-delay").Violations, violations, after)
	}
}

// A message that comes again for another reason may come at any time.
func TestWhatWasNotSentBackMayComeAtOnce(t *testing.T) {
	for name, then := range map[string]func(s *story){
		"the nak was lost":                    func(s *story) { s.lost() },
		"a delivery was lost":                 func(s *story) { s.message(s1, job1, "submit_deliver", sim.KindDeliver, 2).lost() },
		"nats-server was killed":              func(s *story) { s.control("kill", sim.NATS).control("start", sim.NATS) },
		"somebody has it":                     func(s *story) { s.message(s1, job1, "submit_deliver", sim.KindDeliver, 2) },
		"there is a delivery nobody has seen": func(s *story) {},
	} {
		s := newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1)
		if name == "somebody has it" {
			s.message(s2, job1, "submit_deliver", sim.KindDeliver, 1)
		}
		s.message(s1, job1, "submit_nak", sim.KindNak, 1)
		then(s)
		s.message(s1, job1, "submit_deliver", sim.KindDeliver, 3)
		assert.Empty(t, outcomeOf(s.judge(config.Config{}), "retry-waits-its-delay").Violations, name)
	}
}

// A jitter that is the same eight times is none.
func TestTheJitterIsDrawn(t *testing.T) {
	alike := func(n int, jitter func(i int) time.Duration) bool {
		f := &model.Facts{Config: config.Config{}.WithDefaults()}
		r := find("retry-waits-its-delay")
		unkept := false
		tally := &rule.Tally{Tally: invariants.Tally{Outcome: invariants.Outcome{Invariant: r.Invariant}}, Facts: f, Unkept: &unkept}
		c := r.Check(f, tally)
		for i := range n {
			for range 2 { // the answer, and the same again
				s := &model.Step{Event: &sim.Event{Answers: i + 1, Delay: time.Second + jitter(i)}, About: &model.Job{}}
				c.SentBack(s, &model.Message{Due: config.Span{Least: time.Second, Most: 1500 * time.Millisecond}})
			}
		}
		c.Ended(&invariants.End{})
		return len(tally.Violations) > 0
	}
	none := func(int) time.Duration { return 0 }
	assert.True(t, alike(8, none))
	assert.False(t, alike(7, none), "so few may be alike")
	assert.False(t, alike(8, func(i int) time.Duration { return time.Duration(i/7) * time.Millisecond }))
}
