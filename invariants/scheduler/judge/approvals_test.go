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
	s.lock(s1, job1).read(s1, job1).write(s1, job1, "approval_write", "APPROVAL_REQUIRED", "decision", "REQUIRE_APPROVAL", "job_hash", hashOf(packet)).
		audits(`{"kind":"approval_required","job_id":"job-1"}`)
	return s.unlock(s1, job1)
}

// approve grants job-1's approval, of a request that may be another than the record's.
func approve(s *story, of, packet string) *story {
	return grants(looks(s), of, packet)
}

// approver is approving, with an approver of job-1 who looks at it for a minute.
var approver = func() config.Config {
	c := approving
	c.Approvals.Looks = map[string]time.Duration{job1: time.Minute}
	return c
}()

// approves has the approver begin to approve job-1.
func approves(s *story) *story {
	return s.add("approver", sim.KindRedis, "pipeline", history.RecordPrefix+job1, job1, "approve_write")
}

// looks has the approver look at job-1.
func looks(s *story) *story {
	return s.add("approver", sim.KindRedis, "hgetall", history.RecordPrefix+job1, job1, "approve_read")
}

// grants is approve without the look.
func grants(s *story, of, packet string) *story {
	key := history.RecordPrefix + job1
	s.add("approver", sim.KindRedis, "pipeline", key, job1, "approve_write")
	s.add("approver", sim.KindRedis, "multi", key, job1, "approve_write", s.set(key, "request", bearing(packet)), s.set(key, "approval_hash", hashOf(of)))
	return s.audits(`{"kind":"approval_granted","job_id":"job-1","reason":"` + hashOf(of) + `","by":"approver"}`)
}

// audits puts an event into the audit trail, with the last step.
func (s *story) audits(event string) *story {
	s.last().Changes = append(s.last().Changes, s.set(history.AuditKey, strconv.Itoa(len(s.redis[history.AuditKey])), event))
	return s
}

// asksAgain has job-1 wait for the approval of another request.
func asksAgain(s *story, packet string, more ...sim.Change) *story {
	key := history.RecordPrefix + job1
	s.add(s1, sim.KindRedis, "multi", key, job1, "ask_again_write", append(more, s.set(key, "job_hash", hashOf(packet)))...)
	return s.audits(`{"kind":"approval_required","job_id":"job-1"}`)
}

// asksFor is asksAgain with the request, as it should be.
func asksFor(s *story, packet string) *story {
	return asksAgain(s, packet, s.set(history.RecordPrefix+job1, "request", packet))
}

// takesUp has scheduler-1 handle the request that bears job-1's approval as far as its look at the age of that.
func takesUp(s *story, packet string) *story {
	change := s.store(history.StreamSys, history.SubjectSubmit, job1)
	change.Value = bearing(packet)
	s.add("approver", sim.KindPublish, "", history.SubjectSubmit, job1, "approve_publish", change)
	s.message(s1, job1, "submit_deliver", sim.KindDeliver, 1).lock(s1, job1).read(s1, job1)
	return s.add(s1, sim.KindRedis, "time", "", job1, "approval_age")
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
	"approval-is-of-what-was-seen": {
		cfg: approving,
		breaks: func(s *story) {
			grants(asksFor(looks(parks(s, packetOf(job1, 1))), packetOf(job1, 2)), packetOf(job1, 2), packetOf(job1, 2))
		},
		says: "; what it had looked at has ",
		holds: func(s *story) {
			approve(asksFor(looks(parks(s, packetOf(job1, 1))), packetOf(job1, 2)), packetOf(job1, 2), packetOf(job1, 2))
		},
	},
	"approval-names-what-waits": {
		cfg:    approving,
		breaks: func(s *story) { asksAgain(parks(s, packetOf(job1, 1)), packetOf(job1, 2)) },
		says:   "left it waiting for an approval at step 9 (ask_again_write) of a request with the hash",
		holds:  func(s *story) { asksFor(parks(s, packetOf(job1, 1)), packetOf(job1, 2)) },
	},
	"every-approval-is-audited": {
		cfg: approving,
		breaks: func(s *story) {
			parks(s, packetOf(job1, 1)).add(s1, sim.KindRedis, "multi", history.RecordPrefix+job1, job1, "ask_again_write",
				s.set(history.RecordPrefix+job1, "approval_reason", "it has changed"))
		},
		says: "wrote at step 9 (ask_again_write) that it waits for an approval, and the audit trail has 0 events of it",
		holds: func(s *story) {
			approve(asksFor(parks(s, packetOf(job1, 1)), packetOf(job1, 2)), packetOf(job1, 2), packetOf(job1, 2))
		},
	},
	"approval-not-expired": {
		cfg: approving,
		breaks: func(s *story) {
			goesOn(approve(parks(s, packetOf(job1, 1)), packetOf(job1, 1), packetOf(job1, 1)).wait(2*time.Minute), 1)
		},
		says:  "after it was approved; an approval counts for 1m0s",
		holds: func(s *story) { goesOn(approve(parks(s, packetOf(job1, 1)), packetOf(job1, 1), packetOf(job1, 1)), 1) },
	},
	"approval-is-given": {
		cfg:    approver,
		breaks: func(s *story) { approves(looks(parks(s, packetOf(job1, 1)))) },
		says:   "job-1: the approver saw that it waits for an approval, and nothing was in the way from step 10 on, but it was not approved",
		holds:  func(s *story) { approve(parks(s, packetOf(job1, 1)), packetOf(job1, 1), packetOf(job1, 1)) },
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
			asksFor(parks(s, packetOf(job1, 1)), packetOf(job1, 2))
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

// An approval is given while its job waits, and to what its giver has seen.
func TestAnApprovalIsOfAJobThatWaits(t *testing.T) {
	one := packetOf(job1, 1)
	for name, c := range map[string]struct {
		tell func(*story)
		says string
	}{
		"seen":                 {func(s *story) { approve(parks(s, one), one, one) }, ""},
		"unseen":               {func(s *story) { grants(parks(s, one), one, one) }, "what it had looked at has none"},
		"was refused its look": {func(s *story) { grants(looks(parks(s, one)).fails(), one, one) }, "what it had looked at has none"},
		"cancelled meanwhile": {func(s *story) {
			looks(parks(s, one)).write("canceller", job1, "cancel_write", "CANCELLED")
			grants(s, one, one)
		}, "approver approved it at step 12, when it was CANCELLED"},
	} {
		s := newStory()
		c.tell(s)
		o := outcomeOf(s.judge(approving), "approval-is-of-what-was-seen")
		assertSays(t, o.Violations, c.says, name)
	}
}

// An approval counts for its time, and no longer.
func TestAnApprovalCountsForItsTime(t *testing.T) {
	one := packetOf(job1, 1)
	for name, c := range map[string]struct {
		after time.Duration
		goes  bool
		more  func(*story)
		says  string
	}{
		"young, and goes on":       {after: 50 * time.Second, goes: true},
		"young, and left":          {after: 50 * time.Second, says: "scheduler-1 left it APPROVAL_REQUIRED at step 17, although its approval was 50.006s old when it looked at step 16"},
		"young, and Redis refuses": {after: 50 * time.Second, more: func(s *story) { s.op(s1, job1, "approved_write").fails() }},
		"too old, and left":        {after: 61 * time.Second},
		"too old, and goes on":     {after: 61 * time.Second, goes: true, says: "wrote PENDING at step 17, although its approval was 1m1.006s old when it looked at step 16"},
	} {
		s := approve(parks(newStory(), one), one, one).wait(c.after)
		takesUp(s, one)
		if c.goes {
			s.write(s1, job1, "approved_write", "PENDING")
		}
		if c.more != nil {
			c.more(s)
		}
		s.unlock(s1, job1)
		o := outcomeOf(s.judge(approving), "approval-not-expired")
		assertSays(t, o.Violations, c.says, name)
	}
}

// A job that waits for an approval says why in the words of the safety kernel.
func TestAnApprovalIsAskedForInTheKernelsWords(t *testing.T) {
	cfg := approving
	cfg.Policy.Kernel = true
	for reason, broken := range map[string]int{"it sends mail": 0, "": 1} {
		s := newStory().submit(job1).lock(s1, job1).read(s1, job1).calls(s1, job1).hears(s1, job1, 3)
		s.last().Data = `{"decision":3,"reason":"it sends mail"}`
		s.write(s1, job1, "approval_write", "APPROVAL_REQUIRED", "decision", "REQUIRE_APPROVAL", "approval_reason", reason)
		assert.Len(t, outcomeOf(s.judge(cfg), "approval-names-what-waits").Violations, broken, reason)
	}
}

func TestWhoMayApproveDoes(t *testing.T) {
	one, two := packetOf(job1, 1), packetOf(job1, 2)
	for name, c := range map[string]struct {
		tell   func(*story)
		breaks bool
	}{
		"looks in vain":            {func(s *story) { looks(looks(parks(s, one)).wait(2 * time.Minute)) }, true},
		"has looked for a while":   {func(s *story) { looks(parks(s, one)).wait(time.Minute).beat(w1, s1) }, false},
		"is away":                  {func(s *story) { looks(parks(s, one)).wait(time.Hour).control("crash", "approver") }, false},
		"is refused":               {func(s *story) { approves(looks(parks(s, one))).op("approver", job1, "approve_write").fails() }, false},
		"meets another request":    {func(s *story) { approves(asksFor(looks(parks(s, one)), two)) }, false},
		"meets the request":        {func(s *story) { approves(looks(asksFor(parks(s, one), two))) }, true},
		"meets what waits no more": {func(s *story) { approves(looks(parks(s, one)).write("canceller", job1, "cancel_write", "CANCELLED")) }, false},
	} {
		s := newStory()
		c.tell(s)
		assert.Equal(t, c.breaks, len(outcomeOf(s.judge(approver), "approval-is-given").Violations) > 0, name)
	}
}

func TestAnApprovalIsOfWhatWaits(t *testing.T) {
	one, two := packetOf(job1, 1), packetOf(job1, 2)
	key := history.RecordPrefix + job1
	for name, c := range map[string]struct {
		tell func(*story)
		says string
	}{
		"of another than waits": {func(s *story) { approve(parks(s, one), one, two) }, "; what waits has "},
		"by somebody else": {func(s *story) {
			approve(parks(s, one), one, one).last().Changes = append(s.last().Changes, s.set(key, "approved_by", "ana"))
		}, `at no time as "ana" by the record, and its request does not say so`},
		"at another time": {func(s *story) {
			approve(parks(s, one), one, one).last().Changes = append(s.last().Changes, s.set(key, "approved_at", "5"))
		}, `at 5 as "" by the record, and its request does not say so`},
	} {
		s := newStory()
		c.tell(s)
		if o := outcomeOf(s.judge(approving), "approval-is-of-what-was-seen"); assert.Len(t, o.Violations, 1, name) {
			assert.Contains(t, o.Violations[0].Message, c.says, name)
		}
	}
}
