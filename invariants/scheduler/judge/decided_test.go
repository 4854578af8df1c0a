package judge

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// payload is a request of the job with that payload.
func payload(n int) string {
	return fmt.Sprintf(`{"job_id":"job-1","topic":"job.default","payload":{"n":%d}}`, n)
}

// asksOf stores a request of the job.
func (s *story) asksOf(packet string) *story {
	c := s.store(history.StreamSys, history.SubjectSubmit, job1)
	c.Value = packet
	s.streams[len(s.streams)-1] = c
	return s.add("submitter", sim.KindPublish, "", history.SubjectSubmit, job1, "submit_publish", c)
}

// keepsRequest is a SCHEDULED write that keeps a request, and more.
func (s *story) keepsRequest(packet string, more ...string) *story {
	return s.lock(s1, job1).read(s1, job1).write(s1, job1, "scheduled_write", "SCHEDULED", append([]string{"request", packet}, more...)...)
}

// sends is a dispatch whose body is that.
func (s *story) sends(body string) *story {
	s.intended(s1, job1, w1).publish(s1, job1, w1).last().Changes[0].Value = body
	return s
}

// order is a dispatch to the worker that says so much of it.
func order(rest string) string {
	return `{"job_id":"job-1","worker_id":"worker-1","topic":"job.default",` + rest + `}`
}

func TestADispatchIsWhatWasDecided(t *testing.T) {
	const marked = `{"job_id":"job-1","topic":"job.default","labels":{"saga_job_id":"job-9"},"env":{"DRY_RUN":"true"}}`
	for name, c := range map[string]struct {
		tell func(*story)
		says string // "" if nothing is broken
	}{
		"with its labels and its environment": {tell: func(s *story) {
			s.keepsRequest(marked, "decision", "ALLOW").sends(order(`"labels":{"saga_job_id":"job-9"},"env":{"DRY_RUN":"true"}`))
		}},
		"without its labels": {
			tell: func(s *story) {
				s.keepsRequest(marked, "decision", "ALLOW").sends(order(`"env":{"DRY_RUN":"true"}`))
			},
			says: "is not the request that was decided upon: they differ in the labels",
		},
		"of its attempt": {tell: func(s *story) {
			s.keepsRequest(payload(1), "decision", "ALLOW", "attempts", "2").sends(order(`"attempt":2,"payload":{"n":1}`))
		}},
		"of another attempt": {
			tell: func(s *story) {
				s.keepsRequest(payload(1), "decision", "ALLOW", "attempts", "2").sends(order(`"attempt":99,"payload":{"n":1}`))
			},
			says: "is of attempt 99, and its handling has counted attempt 2",
		},
		"without its environment": {
			tell: func(s *story) {
				s.keepsRequest(marked, "decision", "ALLOW").sends(order(`"labels":{"saga_job_id":"job-9"}`))
			},
			says: "is not the request that was decided upon: they differ in the environment",
		},
		"with the kernel's constraints": {tell: func(s *story) {
			s.keepsRequest(marked, "decision", "ALLOW_WITH_CONSTRAINTS", "constraints", `{"placement.zone":"zone-1"}`)
			s.sends(order(`"labels":{"saga_job_id":"job-9","placement.zone":"zone-1"},"env":{"DRY_RUN":"true"}`))
		}},
		"without the labels of its approval": {tell: func(s *story) {
			s.keepsRequest(`{"job_id":"job-1","topic":"job.default","labels":{"approval_granted":"true"}}`, "decision", "REQUIRE_APPROVAL").sends(order(`"labels":{}`))
		}},
		"that nobody can read": {
			tell: func(s *story) { s.keepsRequest(payload(1), "decision", "ALLOW").sends("not json") },
			says: "nobody can read the dispatch stored at step 6, CORDUM_JOBS seq 1",
		},
		"to another worker": {
			tell: func(s *story) {
				s.keepsRequest(payload(1), "decision", "ALLOW").sends(`{"job_id":"job-1","worker_id":"worker-2"}`)
			},
			says: `is for "worker-1", and names "worker-2"`,
		},
		"of another job": {
			tell: func(s *story) {
				s.keepsRequest(payload(1), "decision", "ALLOW").sends(`{"job_id":"job-2","worker_id":"worker-1"}`)
			},
			says: `names the job "job-2"`,
		},
		"swapped since": {
			tell: func(s *story) {
				s.keepsRequest(payload(1), "decision", "ALLOW").asksOf(payload(2)).keepsRequest(payload(2)).sends(order(`"payload":{"n":2}`))
			},
			says: "is not the request that was decided upon: they differ in the payload",
		},
		"decided upon anew": {tell: func(s *story) {
			s.keepsRequest(payload(1), "decision", "ALLOW").asksOf(payload(2)).keepsRequest(payload(2), "decision", "ALLOW").sends(order(`"payload":{"n":2}`))
		}},
		"no kernel, the first request":  {tell: func(s *story) { s.keepsRequest(payload(1)).asksOf(payload(2)).sends(order(`"payload":{"n":1}`)) }},
		"no kernel, the second request": {tell: func(s *story) { s.keepsRequest(payload(1)).asksOf(payload(2)).sends(order(`"payload":{"n":2}`)) }},
		"no kernel, what the record kept before": {tell: func(s *story) {
			s.keepsRequest(payload(1)).keepsRequest(payload(2)).sends(order(`"payload":{"n":1}`))
		}},
		"no kernel, and nobody asked for it": {
			tell: func(s *story) { s.keepsRequest(payload(1)).asksOf(payload(2)).sends(order(`"payload":{"n":3}`)) },
			says: "is no request of the job: it differs in the payload",
		},
	} {
		s := newStory().write("submitter", job1, "submit_write", "PENDING", "attempts", "0")
		c.tell(s)
		o := outcomeOf(s.judge(config.Config{}), "dispatch-is-what-was-decided")
		assert.Equal(t, 1, o.Exercised, name)
		if assertSays(t, o.Violations, c.says, name) {
			assert.True(t, o.Violations[0].Promised, name)
		}
	}
}
