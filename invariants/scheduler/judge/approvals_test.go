package judge

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

var approving = config.Config{Fence: true, PendingReplayer: true, Approvals: config.ApprovalConfig{Kernel: true, Bind: true, TTL: time.Minute}}

// packetOf is a request with a payload.
func packetOf(job string, payload int) string {
	return fmt.Sprintf(`{"job_id":%q,"topic":"job.default","idempotency_key":"%s:key","payload":{"n":%d}}`, job, job, payload)
}

func hashOf(packet string) string {
	r, _ := history.Read[history.Request](packet)
	return r.Hash()
}

// bearing is the same with an approval.
func bearing(packet string) string {
	hash := hashOf(packet)
	return packet[:len(packet)-1] + fmt.Sprintf(`,"labels":{"approval_granted":"true","approval_hash":%q}}`, hash)
}

// parks has job-1 wait for its approval.
func parks(s *story, packet string) *story {
	s.submit(job1)
	s.last().Changes[0].Value = packet
	s.events[0].Changes = append(s.events[0].Changes, s.set(history.RecordPrefix+job1, "request", packet))
	s.lock(s1, job1).read(s1, job1).write(s1, job1, "approval_write", "APPROVAL_REQUIRED", "decision", "REQUIRE_APPROVAL")
	return s.unlock(s1, job1)
}

// approve grants job-1's approval, of a request that may be another than the record's.
func approve(s *story, of, packet string) *story {
	hash := hashOf(of)
	key := history.RecordPrefix + job1
	return s.add("approver", sim.KindRedis, "multi", key, job1, "approve_write",
		s.set(key, "request", bearing(packet)), s.set(key, "approval_hash", hash))
}

// goesOn takes job-1 from PENDING to its dispatch with that payload.
func goesOn(s *story, payload int) *story {
	s.lock(s1, job1).read(s1, job1).write(s1, job1, "approved_write", "PENDING").
		write(s1, job1, "scheduled_write", "SCHEDULED", "attempts", "1", "decision", "REQUIRE_APPROVAL").intended(s1, job1, w1).publish(s1, job1, w1)
	s.last().Changes[0].Value = packetOf(job1, payload)
	return s
}

var approvalTrials = map[string]trial{
	"no-dispatch-without-approval": {
		cfg:    approving,
		breaks: func(s *story) { goesOn(parks(s, packetOf(job1, 1)), 1) },
		says:   "scheduler-1 wrote SCHEDULED at step 12, although nobody has approved it",
		holds:  func(s *story) { goesOn(approve(parks(s, packetOf(job1, 1)), packetOf(job1, 1), packetOf(job1, 1)), 1) },
	},
	"approval-not-expired": {
		cfg: approving,
		breaks: func(s *story) {
			goesOn(approve(parks(s, packetOf(job1, 1)), packetOf(job1, 1), packetOf(job1, 1)).wait(2*time.Minute), 1)
		},
		says:  "after it was approved; an approval counts for 1m0s",
		holds: func(s *story) { goesOn(approve(parks(s, packetOf(job1, 1)), packetOf(job1, 1), packetOf(job1, 1)), 1) },
	},
	"approved-job-goes-on": {
		cfg:    approving,
		breaks: func(s *story) { approve(parks(s, packetOf(job1, 1)), packetOf(job1, 1), packetOf(job1, 1)) },
		says:   "is still APPROVAL_REQUIRED",
		holds:  func(s *story) { goesOn(approve(parks(s, packetOf(job1, 1)), packetOf(job1, 1), packetOf(job1, 1)), 1) },
	},
	"approval-expired": {
		cfg:    approving,
		breaks: func(s *story) { approve(parks(s, packetOf(job1, 1)), packetOf(job1, 1), packetOf(job1, 1)) },
		holds: func(s *story) {
			approve(parks(s, packetOf(job1, 1)), packetOf(job1, 1), packetOf(job1, 1)).wait(time.Hour).beat(w1, s1)
		},
	},
	"approval-granted": {
		cfg:    approving,
		breaks: func(s *story) { parks(s, packetOf(job1, 1)) },
		holds:  func(s *story) { approve(parks(s, packetOf(job1, 1)), packetOf(job1, 1), packetOf(job1, 1)) },
	},
	"approval-asked-again": {
		cfg:    approving,
		breaks: func(s *story) { parks(s, packetOf(job1, 1)) },
		holds: func(s *story) {
			parks(s, packetOf(job1, 1)).add(s1, sim.KindRedis, "multi", history.RecordPrefix+job1, job1, "ask_again_write", s.set(history.RecordPrefix+job1, "job_hash", "x"))
		},
	},
}

func TestAnApprovalIsOfWhatIsDispatched(t *testing.T) {
	one, two := packetOf(job1, 1), packetOf(job1, 2)
	for name, c := range map[string]struct {
		tell func(*story)
		says string
	}{
		"another was approved":  {func(s *story) { goesOn(approve(parks(s, two), one, two), 2) }, "for a request with the hash"},
		"another is dispatched": {func(s *story) { goesOn(approve(parks(s, one), one, one), 2) }, "which is not what was approved"},
		"approved twice":        {func(s *story) { goesOn(approve(approve(parks(s, one), one, one).wait(time.Hour), one, one), 1) }, ""},
		"allowed in the end": {func(s *story) {
			parks(s, one).lock(s1, job1).read(s1, job1).write(s1, job1, "approved_write", "PENDING").
				write(s1, job1, "scheduled_write", "SCHEDULED", "attempts", "1", "decision", "ALLOW").intended(s1, job1, w1).publish(s1, job1, w1)
		}, ""},
	} {
		s := newStory()
		c.tell(s)
		o := outcomeOf(s.judge(approving), "no-dispatch-without-approval")
		if c.says == "" {
			assert.Empty(t, o.Violations, name)
		} else if assert.NotEmpty(t, o.Violations, name) {
			assert.Contains(t, o.Violations[0].Message, c.says, name)
		}
	}
}

// How old an approval is goes by the world's time, and not by what the scheduler dates its record.
func TestAnApprovalAgesByTheWorldsTime(t *testing.T) {
	one := packetOf(job1, 1)
	s := approve(parks(newStory(), one), one, one)
	then := strconv.FormatInt(s.at.Milliseconds(), 10)
	s.wait(2*time.Minute).lock(s1, job1).read(s1, job1).write(s1, job1, "approved_write", "PENDING").
		write(s1, job1, "scheduled_write", "SCHEDULED", "attempts", "1", "decision", "REQUIRE_APPROVAL", "updated_at", then)
	o := outcomeOf(s.judge(approving), "approval-not-expired")
	require.Len(t, o.Violations, 1)
	assert.Contains(t, o.Violations[0].Message, "2m0.004s after it was approved")
}

// A job that waits for an approval which nobody has given, or that grew too old, waits rightly.
func TestWhoWaitsRightly(t *testing.T) {
	one := packetOf(job1, 1)
	for name, c := range map[string]struct {
		tell    func(*story)
		settles bool
	}{
		"not approved":      {func(s *story) { parks(s, one) }, true},
		"approved":          {func(s *story) { approve(parks(s, one), one, one) }, false},
		"too long ago":      {func(s *story) { approve(parks(s, one), one, one).wait(time.Hour).beat(w1, s1) }, true},
		"approved as other": {func(s *story) { approve(parks(s, one), packetOf(job1, 2), one) }, true},
	} {
		s := newStory()
		c.tell(s)
		r := s.judge(approving)
		assert.Equal(t, c.settles, len(outcomeOf(r, "every-job-settles").Violations) == 0, name)
		assert.Equal(t, c.settles, len(outcomeOf(r, "approved-job-goes-on").Violations) == 0, name)
	}
}

// The hash is over all of a request but its trace id and its approval.
func TestTheHashOfARequest(t *testing.T) {
	plain := hashOf(`{"job_id":"job-1","topic":"job.default","labels":{"a":"b"},"payload":{"n":1},"budget":{"deadline_ms":5}}`)
	require.Len(t, plain, 64)
	same := hashOf(`{"job_id":"job-1","topic":"job.default","labels":{"approved_by":"x","a":"b","approval_granted":"true","approval_hash":"y","approved_at":"1"},"payload":{"n":1},"trace_id":"t","budget":{"deadline_ms":5}}`)
	assert.Equal(t, plain, same)
	other := hashOf(`{"job_id":"job-1","topic":"job.default","labels":{"a":"c"},"payload":{"n":1},"budget":{"deadline_ms":5}}`)
	assert.NotEqual(t, plain, other)
}

// A request may be acknowledged while its job is PENDING by its approval, whose own request is still to come; another's
// does not count.
func TestWhatAnAckedRequestMayLeaveToItsApproval(t *testing.T) {
	for name, c := range map[string]struct {
		packet     string
		violations int
	}{
		"the approval's request":       {bearing(packetOf(job1, 1)), 0},
		"one without an approval":      {packetOf(job1, 1), 1},
		"an approval that nobody gave": {bearing(packetOf(job1, 2)), 1},
	} {
		s := approve(parks(newStory(), packetOf(job1, 1)), packetOf(job1, 1), packetOf(job1, 1))
		change := s.store(history.StreamSys, history.SubjectSubmit, job1)
		change.Value = c.packet
		s.add("approver", sim.KindPublish, "", history.SubjectSubmit, job1, "approve_publish", change)
		s.lock(s1, job1).read(s1, job1).write(s1, job1, "approved_write", "PENDING").ack(s1, job1, "submit_ack").at1()
		assert.Len(t, outcomeOf(s.judge(approving), "acked-only-when-durable").Violations, c.violations, name)
	}
}
