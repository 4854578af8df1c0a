package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// The guard cannot know what it was asked before the handling elsewhere was done; and what Redis could
// not say releases the promise.
func TestTheGuardIsJudgedByWhatItCouldKnow(t *testing.T) {
	s := newStory().submit(job1).message(s2, job1, "submit_deliver", sim.KindDeliver, 2).at1().asks(s2, job1, 1)
	s.remembers(s1, job1, 1).inFlight(s2, job1, 1)
	assert.Empty(t, outcomeOf(s.judge(hardened), "processed-message-not-handled-again").Violations)

	s = redelivered(newStory()).asks(s2, job1, 1).fails().inFlight(s2, job1, 1)
	assert.Empty(t, outcomeOf(s.judge(hardened), "processed-message-not-handled-again").Violations)

	s = redelivered(newStory()).wait(11*time.Minute).asks(s2, job1, 1).inFlight(s2, job1, 1)
	assert.Empty(t, outcomeOf(s.judge(hardened), "processed-message-not-handled-again").Violations, "Redis has forgotten it")
}

// Whoever acknowledges a message has noted before that it was handled, for as long as it may come again.
func TestTheGuardIsTold(t *testing.T) {
	acks := func(s *story) *story { return s.ack(s1, job1, "submit_ack") }
	refused := func() *story {
		return handled(newStory()).add(s1, sim.KindRedis, "multi", history.ProcessedPrefix+history.StreamSys+":1", job1, "processed_write").fails()
	}
	unguarded := hardened
	unguarded.IdempotencyGuard = false
	for name, c := range map[string]struct {
		s    *story
		cfg  config.Config
		says string // "" if it holds
	}{
		"it was told":                    {acks(handled(newStory()).remembers(s1, job1, 1)), hardened, ""},
		"it was not":                     {acks(handled(newStory())), hardened, "scheduler-1 acknowledged message 1 of CORDUM_SYS/scheduler-submit at step 13, and had not noted in Redis that it was handled"},
		"it forgets too soon":            {acks(handled(newStory()).remembers(s1, job1, 1).expires(time.Minute)), hardened, "Redis knows for 1m0s that message 1 of CORDUM_SYS/scheduler-submit was handled, which scheduler-1 acknowledged at step 14, and AckWait is 10m0s"},
		"it never forgets":               {acks(handled(newStory()).remembers(s1, job1, 1).expires(0)), hardened, "Redis never forgets that message 1"},
		"Redis refuses":                  {acks(refused()), hardened, ""},
		"without a guard":                {acks(handled(newStory())), unguarded, ""},
		"the message is not answered":    {handled(newStory()), hardened, ""},
		"another message had that place": {acks(handled(newStory()).add("", sim.KindControl, "power-loss", sim.NATS, "", "", sim.Change{Stream: history.StreamSys, Seq: 1, Gone: true})), hardened, ""},
	} {
		found := outcomeOf(c.s.judge(c.cfg), "processed-message-not-handled-again").Violations
		if assertSays(t, found, c.says, name) {
			assert.True(t, found[0].Promised, name)
		}
	}
}

// A request that nobody can read, and of which no entry is ever written, is lost once its deliveries are used up.
func TestWhatNobodyCanReadIsLostWithItsDeliveries(t *testing.T) {
	lost := func(s *story) *story {
		return s.garbles("poison-1").message(s1, "poison-1", "submit_deliver", sim.KindDeliver, 100).at1().
			op(s1, "poison-1", "dlq_write").fails().injected().message(s1, "poison-1", "submit_nak", sim.KindNak, 100).at1()
	}
	for name, c := range map[string]struct {
		cfg                  config.Config
		promised, unpromised int
		story                func(*story)
	}{
		"with busy_backoff":      {hardened, 1, 0, func(s *story) { lost(s) }},
		"without":                {config.Config{}, 0, 1, func(s *story) { lost(s) }},
		"its entry was written":  {hardened, 0, 0, func(s *story) { lost(s.dlq(s1, "CORDUM_SYS:1", "parse_error", 0)) }},
		"it comes again":         {hardened, 0, 0, func(s *story) { s.garbles("poison-1").message(s1, "poison-1", "submit_nak", sim.KindNak, 99).at1() }},
		"a request of some sort": {hardened, 0, 0, func(s *story) { s.submit(job1).message(s1, job1, "submit_nak", sim.KindNak, 100).at1() }},
	} {
		s := newStory()
		c.story(s)
		o := outcomeOf(s.judge(c.cfg), "terminated-message-has-dlq-entry")
		assert.Equal(t, c.promised, o.Promised, name)
		assert.Equal(t, c.unpromised, o.Unpromised, name)
	}
	o := outcomeOf(lost(newStory()).judge(hardened), "terminated-message-has-dlq-entry")
	assert.Equal(t, "poison-1: a message of it that nobody can read was given up after 100 deliveries, but dlq:entry:CORDUM_SYS:1 was never written", o.Violations[0].Message)
}
