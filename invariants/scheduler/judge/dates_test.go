package judge

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/sim"
)

func misdated(s *story) bool {
	return len(outcomeOf(s.judge(config.Config{}), "times-are-those-of-their-writes").Violations) > 0
}

// A record is made once, and dated with each write, by whatever the clock of its writer says.
func TestTheTimesOfARecord(t *testing.T) {
	for name, c := range map[string]struct {
		breaks bool
		tell   func(*story)
	}{
		"as it is":          {false, func(*story) {}},
		"made another time": {true, func(s *story) { s.events[0].Changes[4].Value = "57000" }},
		"made anew": {true, func(s *story) {
			s.lock(s1, job1).write(s1, job1, "scheduled_write", "SCHEDULED", "created_at", "57001")
		}},
		"made by a wrong clock": {false, func(s *story) {
			s.events[0].Changes[1].Value, s.events[0].Changes[4].Value = "7", "7"
			s.events = append([]sim.Event{{Step: 1, At: s.at, Kind: sim.KindControl, Name: "skew", Target: "submitter"}}, s.events...)
		}},
		"seconds old": {false, func(s *story) {
			s.lock(s1, job1).write(s1, job1, "scheduled_write", "SCHEDULED", "updated_at", fmt.Sprint(s.at.Milliseconds()-1900))
		}},
		"too old": {true, func(s *story) {
			s.lock(s1, job1).write(s1, job1, "scheduled_write", "SCHEDULED", "updated_at", fmt.Sprint(s.at.Milliseconds()-2100))
		}},
		"to come": {true, func(s *story) {
			s.lock(s1, job1).write(s1, job1, "scheduled_write", "SCHEDULED", "updated_at", fmt.Sprint(s.at.Milliseconds()+100))
		}},
		"late": {false, func(s *story) {
			s.lock(s1, job1).write(s1, job1, "scheduled_write", "SCHEDULED", "updated_at", fmt.Sprint(s.at.Milliseconds()-9000)).last().Kind = sim.KindLate
		}},
		"after a pause": {false, func(s *story) {
			s.lock(s1, job1).stalls(s1).write(s1, job1, "scheduled_write", "SCHEDULED", "updated_at", fmt.Sprint(s.at.Milliseconds()-9000))
		}},
	} {
		s := newStory().wait(time.Minute).submit(job1)
		c.tell(s)
		assert.Equal(t, c.breaks, misdated(s), name)
	}
}

// So is a run.
func TestTheTimesOfARun(t *testing.T) {
	for name, c := range map[string]struct {
		breaks           bool
		created, updated int64 // by its second write, at 1m0.003s; the first is at 1ms
	}{
		"as it is":          {false, 1, 60_003},
		"not dated anew":    {true, 1, 1},
		"created once more": {true, 60_003, 60_003},
	} {
		r := twoSteps(1, pendingStep, pendingStep)
		r.CreatedAt, r.UpdatedAt = 1, 1
		s := newStory().run("starter", "run_create", r).wait(time.Minute)
		r.Version, r.CreatedAt, r.UpdatedAt = 2, c.created, c.updated
		assert.Equal(t, c.breaks, misdated(s.advances(s1, r)), name)
	}
	r := twoSteps(1, pendingStep, pendingStep)
	r.CreatedAt, r.UpdatedAt = 0, 1
	assert.True(t, misdated(newStory().run("starter", "run_create", r)), "never created")
}

// And what is on record of an output, when it is written, and not when its other part is.
func TestTheTimesOfAFinding(t *testing.T) {
	finds := func(s *story, fields ...string) *story {
		var changes []sim.Change
		for i := 0; i < len(fields); i += 2 {
			changes = append(changes, s.set("output:"+job1, fields[i], fields[i+1]))
		}
		return s.add(s1, sim.KindRedis, "multi", "output:"+job1, job1, "result_write", changes...)
	}
	checked := finds(newStory().submit(job1), "sync", `{"decision":"ALLOW","at":3}`).wait(time.Minute)
	scanned := func(at string) *story {
		s := *checked
		return finds(&s, "async", `{"decision":"ALLOW","at":`+at+`}`, "sync", `{"decision":"ALLOW","at":3}`)
	}
	assert.False(t, misdated(scanned("60004")))
	assert.True(t, misdated(scanned("3")))
	assert.True(t, misdated(finds(newStory().submit(job1).wait(time.Minute), "sync", `{"decision":"ALLOW"}`)), "never dated")
}
