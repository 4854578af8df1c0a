package judge

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// dueAfter is the deadline of a job that is written next and counts that many milliseconds from then.
func (s *story) dueAfter(ms int64) string {
	return strconv.FormatInt((s.at+time.Millisecond).Milliseconds()+ms, 10)
}

// expects makes the record of a job that asks for a deadline after so many milliseconds, and is given one after others; 0 is none.
func (s *story) expects(job string, asked, given int64) *story {
	fields := []string{"attempts", "0", "request", fmt.Sprintf(`{"job_id":%q,"budget":{"deadline_ms":%d}}`, job, asked)}
	if given != 0 {
		fields = append(fields, "deadline_at", s.dueAfter(given))
	}
	s.write("submitter", job, "submit_write", "PENDING", fields...)
	if given != 0 {
		e := s.last()
		e.Changes = append(e.Changes, s.set(history.DeadlinesKey, job, s.redis[history.RecordPrefix+job]["deadline_at"]))
	}
	return s
}

// A deadline is that of the request, and stays.
func TestADeadlineIsTheRequests(t *testing.T) {
	for name, c := range map[string]struct {
		s    *story
		says string // "" if it holds
	}{
		"as asked":    {newStory().expects(job1, 10000, 10000), ""},
		"none":        {newStory().submit(job1), ""},
		"lost":        {newStory().expects(job1, 10000, 0), "with deadline_at none; by its request it is 10001"},
		"not asked":   {newStory().expects(job1, 0, 10000), "with deadline_at 10001; by its request it is none"},
		"put off":     {newStory().expects(job1, 10000, 10000).write(s1, job1, "scheduled_write", "SCHEDULED", "deadline_at", "99999"), "with deadline_at 99999; by its request it is 10001"},
		"asked again": {newStory().expects(job1, 10000, 10000).write(s1, job1, "pending_write", "PENDING", "request", `{"job_id":"job-1","budget":{"deadline_ms":5}}`), ""},
	} {
		said := ""
		if found := outcomeOf(c.s.judge(config.Config{}), "deadline-counts-from-submission").Violations; len(found) > 0 {
			said = found[0].Message
		}
		if c.says == "" {
			assert.Empty(t, said, name)
		}
		assert.Contains(t, said, c.says, name)
	}
}

// The jobs that have a deadline and are not over are in its index, and no others are.
func TestTheIndexOfDeadlinesAgreesWithTheRecords(t *testing.T) {
	over := func(s *story) *story {
		return s.expects(job1, 10000, 10000).write(s1, job1, "timeout_write", "TIMEOUT")
	}
	without := func(s *story) *story { delete(s.redis[history.DeadlinesKey], job1); return s }
	unlisted := func(s *story) *story {
		e := s.last()
		e.Changes = e.Changes[:len(e.Changes)-1]
		return without(s)
	}
	at := func(s *story, score string) *story { s.set(history.DeadlinesKey, job1, score); return s }
	for name, c := range map[string]struct {
		s    *story
		says string
	}{
		"listed":             {newStory().expects(job1, 10000, 10000), ""},
		"never listed":       {unlisted(newStory().expects(job1, 10000, 10000)), "submitter gave it a deadline at step 1 (submit_write), and did not list it in job:deadlines"},
		"not listed":         {without(newStory().expects(job1, 10000, 10000)), "is PENDING, and its deadline is 10001, but job:deadlines has it at none"},
		"at another":         {at(newStory().expects(job1, 10000, 10000), "7"), "but job:deadlines has it at 7"},
		"over":               {without(over(newStory())), ""},
		"over, listed":       {over(newStory()), "job:deadlines lists it, but the record says TIMEOUT"},
		"without one":        {at(newStory().submit(job1), "7"), `the record says PENDING, and deadline_at ""`},
		"it was not the end": {without(over(newStory()).write(s1, job1, "running_write", "RUNNING")), ""},
	} {
		said := ""
		if found := outcomeOf(c.s.judge(config.Config{}), "redis-index-agrees-with-record").Violations; len(found) > 0 {
			said = found[0].Message
		}
		if c.says == "" {
			assert.Empty(t, said, name)
		}
		assert.Contains(t, said, c.says, name)
	}
}
