package judge

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// A dead letter says of its job what the job's record says, and lasts for as long as the settings say.
func TestADeadLetterIsOfItsJob(t *testing.T) {
	month := 30 * 24 * time.Hour
	// filed is a job that fails with an entry that differs, and lasts.
	filed := func(differs map[string]any, lasts time.Duration) *story {
		s := newStory()
		request := `{"job_id":"job-1","topic":"job.default"}`
		s.write("submitter", job1, "submit_write", "PENDING", "attempts", "0", "request", request).asksOf(request).begins(s1, job1)
		s.write(s1, job1, "failed_write", "FAILED", "reason_code", "no_pool_mapping", "reason", "nobody serves it", "policy_snapshot", "v1")
		entry := map[string]any{"status": "FAILED", "reason_code": "no_pool_mapping", "reason": "nobody serves it", "attempts": s.attempts(job1), "policy_snapshot": "v1", "topic": "job.default", "idempotency_key": "job-1"}
		maps.Copy(entry, differs)
		data, _ := json.Marshal(entry)
		s.dlq(s1, job1, "", 0)
		e := s.last()
		e.Changes[0].Value, e.Changes[0].Expires = string(data), e.At+lasts
		s.redis[history.DlqPrefix+job1][""] = string(data)
		return s.unlock(s1, job1).ack(s1, job1, "submit_ack")
	}
	again := func(s *story, lasts time.Duration) *story { // the same, written once more an hour later
		s.wait(time.Hour).dlq(s1, job1, "", 0)
		e := s.last()
		e.Changes[0].Value, e.Changes[0].Expires = filed(nil, 0).redis[history.DlqPrefix+job1][""], e.At+lasts
		s.redis[history.DlqPrefix+job1][""] = e.Changes[0].Value
		return s
	}
	gone := func(s *story) *story { // it has expired
		s.wait(time.Minute)
		delete(s.redis, history.DlqPrefix+job1)
		return s
	}
	for name, c := range map[string]struct {
		s    *story
		says string // "" if it holds
	}{
		"as it is":                {filed(nil, month), ""},
		"another state":           {filed(map[string]any{"status": "SUCCEEDED"}, month), `has status "SUCCEEDED", but the record has "FAILED"`},
		"another reason":          {filed(map[string]any{"reason": "x"}, month), `has reason "x"`},
		"another snapshot":        {filed(map[string]any{"policy_snapshot": "v2"}, month), `has policy_snapshot "v2", but the record has "v1"`},
		"another topic":           {filed(map[string]any{"topic": "x"}, month), `has topic and idempotency_key "x, job-1", but the record has "job.default, job-1"`},
		"another key":             {filed(map[string]any{"idempotency_key": "x"}, month), `"job.default, x"`},
		"for a second":            {filed(nil, time.Second), "to last for 1s, and should have 720h0m0s"},
		"for a second, and gone":  {gone(filed(nil, time.Second)), "to last for 1s, and should have 720h0m0s"},
		"for ever":                {filed(nil, -time.Hour*24*365), "to last for 0s"},
		"again, with what it had": {again(filed(nil, month), month-time.Hour), ""},
		"again, as new":           {again(filed(nil, month), month), ""},
		"again, for less":         {again(filed(nil, month), time.Hour), "to last for 1h0m0s"},
	} {
		said := ""
		if found := outcomeOf(c.s.judge(config.Config{}), "failed-job-has-dlq-entry").Violations; len(found) > 0 {
			said = found[0].Message
		}
		if c.says == "" {
			assert.Empty(t, said, name)
		}
		assert.Contains(t, said, c.says, name)
	}
}

// The dead letters of messages and of compensations are in the index, and last as long as those of jobs.
func TestDeadLettersOfNoJobAreIndexedAndLast(t *testing.T) {
	of := map[string]func(*story, time.Duration) *story{
		"terminated-message-has-dlq-entry": func(s *story, ttl time.Duration) *story {
			s.garbles("poison-1").dlq(s1, "CORDUM_SYS:1", "parse_error", 0).last().Changes[0].Expires = s.at + ttl
			return s.message(s1, "poison-1", "submit_term", sim.KindTerm, 1).at1()
		},
		"every-compensation-accounted-for": func(s *story, ttl time.Duration) *story {
			s.pushes("stranger", "", `{"topic": 1,`).failsForGood(job2).sagaLock(s1).pops(s1)
			c := s.set("dlq:entry:saga-1", "", `{"topic":"saga:wf-1:stack","reason_code":"saga_unmarshal_failed","reason":"no JSON: {\"topic\": 1,"}`)
			c.Expires = s.at + time.Millisecond + ttl
			return s.add(s1, sim.KindRedis, "multi", c.Key, "", "saga_pop", c, s.set(history.DlqIndex, "saga-1", "1")).sagaUnlock(s1)
		},
	}
	const month = 30 * 24 * time.Hour
	for name, x := range map[string]struct {
		ttl   time.Duration
		spoil func(*story)
		says  string
	}{
		"as they should be":       {month, func(*story) {}, ""},
		"not in the index":        {month, func(s *story) { delete(s.redis, history.DlqIndex) }, "is not in dlq:index"},
		"for a minute":            {time.Minute, func(*story) {}, "to last for 1m0s, and should have 720h0m0s"},
		"for a minute, and gone":  {time.Minute, func(s *story) { s.wait(time.Hour).forget() }, "to last for 1m0s, and should have 720h0m0s"},
		"gone before their time":  {month, func(s *story) { s.forget() }, "does not exist"},
		"gone when their time is": {month, func(s *story) { s.wait(2 * month).forget() }, ""},
	} {
		for invariant, story := range of {
			s := newStory()
			x.spoil(story(s, x.ttl))
			list := outcomeOf(s.judge(durable), invariant).Violations
			assertSays(t, list, x.says, name)
		}
	}
}

// forget takes all dead letters from Redis, as their expiry does.
func (s *story) forget() {
	for key := range s.redis {
		if strings.HasPrefix(key, history.DlqPrefix) {
			delete(s.redis, key)
		}
	}
}

// A job that the kernel throttles to the end waits rightly, while the time in which it is asked again is not over.
func TestAThrottledJobNeedsNotSettle(t *testing.T) {
	givenUp := func(s *story) *story {
		return throttled(s.submit(job1)).message(s1, job1, "submit_nak", sim.KindNak, 100).at1()
	}
	later := func(s *story) { s.op(s1, "job-2", "state_read") }
	for name, c := range map[string]struct {
		replayer, settles bool
		tell              func(*story)
	}{
		"its request comes again":             {false, true, func(s *story) { throttled(s.submit(job1)) }},
		"its request does not":                {false, false, func(s *story) { later(throttled(s.submit(job1)).wait(2 * time.Minute)) }},
		"the replayer comes":                  {true, true, func(s *story) { later(givenUp(s).wait(2 * time.Minute)) }},
		"the replayer does not":               {true, false, func(s *story) { later(givenUp(s).wait(6 * time.Minute)) }},
		"its request was given up":            {false, false, func(s *story) { givenUp(s) }},
		"the kernel has allowed it since":     {true, false, func(s *story) { throttled(s.submit(job1)).calls(s1, job1).hears(s1, job1, 1) }},
		"it was scheduled, and nobody has it": {true, false, func(s *story) { throttled(s.submit(job1)).begins(s1, job1) }},
	} {
		s := newStory()
		c.tell(s)
		cfg := guarded
		cfg.PendingReplayer = c.replayer
		r := s.judge(cfg)
		assert.Equal(t, c.settles, len(outcomeOf(r, "every-job-settles").Violations) == 0, name)
	}
}
