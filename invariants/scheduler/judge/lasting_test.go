package judge

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// noted notes that a message of the job is being handled, for so long.
func (s *story) noted(node, job string, seq uint64, ttl time.Duration) *story {
	c := s.set(fmt.Sprintf("%s%s:%d", history.InflightPrefix, history.StreamSys, seq), "", "1")
	if ttl > 0 {
		c.Expires = s.at + time.Millisecond + ttl
	}
	return s.add(node, sim.KindRedis, "set", c.Key, job, "inflight_write", c)
}

// landed deletes that note.
func (s *story) landed(node, job string, seq uint64) *story {
	key := fmt.Sprintf("%s%s:%d", history.InflightPrefix, history.StreamSys, seq)
	return s.add(node, sim.KindRedis, "del", key, job, "inflight_write", sim.Change{Key: key, Gone: true})
}

// Each sort of key lasts for its time, and what is kept for good lasts for ever.
func TestForHowLongKeysLast(t *testing.T) {
	const month = 30 * 24 * time.Hour
	for key, ttl := range map[string]time.Duration{
		history.ProcessedPrefix + "CORDUM_SYS:1": 10 * time.Minute,
		history.InflightPrefix + "CORDUM_SYS:1":  2 * time.Minute,
		history.CommittedPrefix + "key":          month,
		"output:job-1":                           month,
		"cordum:cb:safety:failures":              month + 30*time.Second,
		"cordum:cb:safety:output:probes":         30 * time.Second,
		"job:job-1":                              0,
		"job:index:PENDING":                      0,
		history.AuditKey:                         0,
	} {
		violated := func(expires time.Duration) bool {
			s := newStory().submit(job1)
			s.add(s1, sim.KindRedis, "multi", key, job1, "", sim.Change{Key: key, Field: "sync", Value: "{}", Expires: expires})
			return len(outcomeOf(s.judge(config.Config{}), "keys-last-as-stated").Violations) > 0
		}
		at := 3 * time.Millisecond
		assert.Equal(t, ttl != 0, violated(0), "%s never expires", key)
		assert.Equal(t, ttl == 0, violated(at+ttl), "%s expires in time", key)
		assert.True(t, violated(at+ttl/2), "%s expires soon", key)
		assert.True(t, violated(at+2*ttl+time.Hour), "%s expires late", key)
	}
}

// When a hash expires shows behind its fields, and counts.
func TestWhenAHashExpires(t *testing.T) {
	for expires, breaks := range map[time.Duration]bool{30*24*time.Hour + time.Millisecond: false, 0: true} {
		c := sim.Change{Key: "output:job-1", Field: "sync", Value: "{}"}
		last := c
		last.Expires = expires
		s := newStory().add(s1, sim.KindRedis, "multi", c.Key, job1, "", c, last)
		assert.Equal(t, breaks, len(outcomeOf(s.judge(config.Config{}), "keys-last-as-stated").Violations) > 0, expires)
	}
}

// The successes of a circuit last for no longer than its failures, which may have been counted some time before.
func TestTheSuccessesOfACircuitExpire(t *testing.T) {
	for expires, breaks := range map[time.Duration]bool{0: true, time.Hour: false, 31 * 24 * time.Hour: true} {
		s := newStory().add(s1, sim.KindRedis, "multi", "", "", "", sim.Change{Key: "cordum:cb:safety:successes", Value: "1", Expires: expires})
		assert.Equal(t, breaks, len(outcomeOf(s.judge(config.Config{}), "keys-last-as-stated").Violations) > 0, expires)
	}
}

// Who answers a message deletes its note before.
func TestTheNoteThatAMessageIsInFlight(t *testing.T) {
	const ttl = 2 * time.Minute
	for name, c := range map[string]struct {
		breaks bool
		tell   func(*story)
	}{
		"left":      {true, func(*story) {}},
		"deleted":   {false, func(s *story) { s.landed(s1, job1, 1) }},
		"refused":   {false, func(s *story) { s.landed(s1, job1, 1).last().Changes = nil; s.fails() }},
		"expired":   {false, func(s *story) { s.wait(ttl) }},
		"another's": {false, func(s *story) { s.landed(s1, job1, 1).noted(s2, job1, 1, ttl) }},
		"once more": {false, func(s *story) {
			s.landed(s1, job1, 1).message(s1, job1, "submit_deliver", sim.KindDeliver, 2).noted(s1, job1, 1, ttl)
		}},
		"forgotten":   {false, func(s *story) { s.control("failover", sim.Redis) }},
		"set by none": {false, func(s *story) { s.events = s.events[:len(s.events)-1] }},
	} {
		for _, kind := range []sim.Kind{sim.KindAck, sim.KindNak, sim.KindTerm} {
			s := newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).noted(s1, job1, 1, ttl)
			c.tell(s)
			s.message(s1, job1, "submit_"+string(kind), kind, 1)
			assert.Equal(t, c.breaks, len(outcomeOf(s.judge(config.Config{}), "keys-last-as-stated").Violations) > 0, "%s, and %s", name, kind)
		}
	}
}
