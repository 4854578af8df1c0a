package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// endsBy is a job whose result is handled, message 2 of its stream, and how it ends.
func endsBy(packet, state string, fields ...string) *story {
	s := newStory()
	s.submit(job1).dispatched(s1, job1, w1).effect(w1, job1, "begin").effect(w1, job1, "finish").replies(w1, job1, packet)
	return s.message(s1, job1, "result_deliver", sim.KindDeliver, 1).of(2).lock(s1, job1).read(s1, job1).write(s1, job1, "result_write", state, fields...)
}

// A job ends in the state, with the output and with the reason code of its result.
func TestAJobEndsAsItsResultSays(t *testing.T) {
	redacts := func(ptr string) *story {
		s := newStory()
		s.submit(job1).dispatched(s1, job1, w1).executed(w1, job1)
		s.replies(w1, job1, `{"status":"SUCCEEDED","result_ptr":"res:job-1"}`)
		s.add(w1, sim.KindRedis, "mset", "res:job-1:redacted", job1, "output_store", s.set("res:job-1:redacted", "", "output"))
		s.message(s1, job1, "result_deliver", sim.KindDeliver, 1).of(3).lock(s1, job1).read(s1, job1)
		s.add(s1, sim.KindCall, history.CallOutput, "output", job1, "output_check").last().Data = `{"decision":4,"redacted_ptr":"res:job-1:redacted"}`
		return s.write(s1, job1, "result_write", "SUCCEEDED", "result_ptr", ptr)
	}
	slow := func(state string) *story { // another replica has been given the result since
		s := newStory()
		s.submit(job1).dispatched(s1, job1, w1).executed(w1, job1).message(s1, job1, "result_deliver", sim.KindDeliver, 1).of(2)
		s.replies(w1, job1, `{"status":"FAILED"}`).message(s2, job1, "result_deliver", sim.KindDeliver, 2).of(2)
		s.message(s1, job1, "result_deliver", sim.KindDeliver, 1).of(3)
		return s.lock(s1, job1).read(s1, job1).write(s1, job1, "result_write", state, "reason_code", "dispatch_failed")
	}
	for name, c := range map[string]struct {
		s    *story
		says string // "" if it holds
	}{
		"cancelled in place of succeeded": {endsBy(`{"status":"SUCCEEDED"}`, "CANCELLED"), "says SUCCEEDED, and not CANCELLED"},
		"succeeded in place of failed":    {endsBy(`{"status":"FAILED"}`, "SUCCEEDED"), "says FAILED, and not SUCCEEDED"},
		"succeeded in place of cancelled": {endsBy(`{"status":"CANCELLED"}`, "SUCCEEDED"), "says CANCELLED, and not SUCCEEDED"},
		"quarantined in place of failed":  {endsBy(`{"status":"FAILED"}`, "OUTPUT_QUARANTINED"), "says FAILED, and not OUTPUT_QUARANTINED"},
		"by a result without a status":    {endsBy(`{"status":"NONSENSE"}`, "SUCCEEDED"), "it had no result of the job in hand"},
		"by none":                         {newStory().submit(job1).dispatched(s1, job1, w1).completed(s1, job1, "TIMEOUT"), "it had no result of the job in hand"},
		"failed":                          {endsBy(`{"status":"FAILED"}`, "FAILED", "reason_code", "dispatch_failed"), ""},
		"failed for good":                 {endsBy(`{"status":"FAILED_FATAL","reason_code":"x"}`, "FAILED", "reason_code", "x"), ""},
		"timed out by its worker":         {endsBy(`{"status":"TIMEOUT","reason_code":"x"}`, "TIMEOUT"), ""},
		"quarantined":                     {endsBy(`{"status":"SUCCEEDED"}`, "OUTPUT_QUARANTINED"), ""},
		"another reason code":             {endsBy(`{"status":"FAILED","reason_code":"unknown_commit_state"}`, "FAILED", "reason_code", "timeout"), `says "unknown_commit_state", and not reason_code "timeout"`},
		"without its output":              {endsBy(`{"status":"SUCCEEDED","result_ptr":"res:job-1"}`, "SUCCEEDED"), `says "res:job-1", and not the output ""`},
		"with its output":                 {endsBy(`{"status":"SUCCEEDED","result_ptr":"res:job-1"}`, "SUCCEEDED", "result_ptr", "res:job-1"), ""},
		"with the redacted output":        {redacts("res:job-1:redacted"), ""},
		"with another output":             {redacts("res:job-2"), `says "res:job-1", and not the output "res:job-2"`},
		"by the one that it has still":    {slow("SUCCEEDED"), ""},
		"by the other":                    {slow("FAILED"), ""},
		"by neither":                      {slow("CANCELLED"), "says FAILED, and not CANCELLED"},
		"in a late write":                 {endsBy(`{"status":"SUCCEEDED"}`, "CANCELLED").later(), "says SUCCEEDED, and not CANCELLED"},
	} {
		found := outcomeOf(c.s.judge(config.Config{}), "job-ends-as-its-result-says").Violations
		if assertSays(t, found, c.says, name) {
			assert.True(t, found[0].Promised, name)
		}
	}
}

// later makes the last step one that its caller had given up.
func (s *story) later() *story { s.last().Kind = sim.KindLate; return s }

// A scheduler that has in hand what nobody can read, and that a power loss has taken, terminates what has its place.
func TestPoisonThatIsLostIsTerminated(t *testing.T) {
	s := newStory()
	s.submit(job1).dispatched(s1, job1, w1).answersNonsense(w1, job1)
	lost := s.last().Changes[0]
	lost.Gone = true
	s.message(s1, job1, "result_deliver", sim.KindDeliver, 1).of(2).add("", sim.KindControl, "power-loss", sim.NATS, "", "", lost)
	s.seqs[history.StreamSys]--
	s.executed(w1, job1).message(s1, job1, "result_term", sim.KindTerm, 1).of(2)
	o := outcomeOf(s.judge(config.Config{}), "only-poison-is-terminated")
	assert.Empty(t, o.Violations)
	assert.Positive(t, o.Exercised)
}

// A worker is done with a dispatch once it has answered, or was told that it need not.
func TestADispatchIsAnsweredBeforeItsAck(t *testing.T) {
	given := func() *story {
		s := newStory()
		return s.submit(job1).dispatchedAt(s1, job1, w1, 1).message(w1, job1, "job_deliver", sim.KindDeliver, 1).of(1)
	}
	told := func(epoch int) *story {
		s := given().cancels(job1).cancelled(s1, job1).tellsOf(s1, job1, w1, epoch)
		seq := s.seqs[history.StreamJobs]
		return s.message(w1, job1, "notice_deliver", sim.KindDeliver, 1).of(seq)
	}
	acks := func(s *story, worker string) *story {
		return s.message(worker, job1, "job_ack", sim.KindAck, 1).of(1)
	}
	for name, c := range map[string]struct {
		s      *story
		breaks bool
	}{
		"it has answered":                          {acks(given().answers(w1, job1, 1), w1), false},
		"that it failed":                           {acks(given().replies(w1, job1, `{"status":"FAILED"}`), w1), true}, // of no epoch
		"it has begun, and no more":                {acks(given().effect(w1, job1, "begin"), w1), true},
		"it has not said that it is done":          {acks(given().effect(w1, job1, "begin").effect(w1, job1, "finish"), w1), true},
		"another has answered":                     {acks(given().answers(w2, job1, 1), w1), true},
		"it answered the one before":               {acks(given().answers(w1, job1, 0), w1), true},
		"it was told":                              {acks(told(1), w1), false},
		"of one before":                            {acks(told(0), w1), true},
		"the process before it was told":           {acks(told(1).control("crash", w1).control("restart", w1), w1), true},
		"the ack is lost":                          {acks(given(), w1).lost(), false},
		"it is another's":                          {acks(given(), w2), false},
		"its answer went with the power":           {acks(given().answers(w1, job1, 1).control("power-loss", sim.NATS), w1), false},
		"it is none that the stream was seen with": {given().message(w1, job1, "job_ack", sim.KindAck, 1).of(7), false},
	} {
		found := outcomeOf(c.s.judge(hardened), "dispatch-acked-only-when-answered").Violations
		assert.Equal(t, c.breaks, len(found) > 0, name)
	}
}

// A job that its scheduler ends says why in its record.
func TestAnEndHasAReason(t *testing.T) {
	ends := func(phase, to, code, reason string) *story {
		s := newStory().submit(job1)
		c := s.store(history.StreamSys, history.SubjectCancel, job1)
		c.Value = `{"job_id":"job-1","reason":"mistake"}`
		s.add("submitter", sim.KindPublish, "", history.SubjectCancel, job1, "cancel_publish", c)
		return s.write(s1, job1, phase, to, "reason_code", code, "reason", reason)
	}
	kept := newStory().add("submitter", sim.KindRedis, "multi", "job:job-1", job1, "cancel_keep", sim.Change{Key: "job:job-1", Field: "cancel", Value: "mistake"})
	for name, c := range map[string]struct {
		s    *story
		says string // "" if it holds
	}{
		"timed out":                      {ends("timeout_write", "TIMEOUT", "timeout", "RUNNING for 5m0s"), ""},
		"timed out, as if cancelled":     {ends("timeout_write", "TIMEOUT", "cancelled", "RUNNING for 5m0s"), `with the reason code "cancelled"`},
		"timed out, without a reason":    {ends("timeout_write", "TIMEOUT", "timeout", ""), "it should have the code timeout, and a reason"},
		"timed out, without any":         {ends("timeout_write", "TIMEOUT", "", ""), "scheduler-1 wrote TIMEOUT at step 4 (timeout_write)"},
		"cancelled":                      {ends("cancel_write", "CANCELLED", "cancelled", "mistake"), ""},
		"cancelled, as if timed out":     {ends("cancel_write", "CANCELLED", "timeout", "mistake"), `with the reason code "timeout"`},
		"cancelled for another reason":   {ends("cancel_write", "CANCELLED", "cancelled", "other"), "and the reason of its cancellation"},
		"cancelled, without any":         {ends("cancel_write", "CANCELLED", "", ""), "scheduler-1 wrote CANCELLED at step 4 (cancel_write)"},
		"by what the record has kept":    {kept.write(s1, job1, "cancel_write", "CANCELLED", "reason_code", "cancelled", "reason", "mistake"), ""},
		"a result says why, or does not": {newStory().submit(job1).dispatched(s1, job1, w1).replies(w1, job1, `{"status":"CANCELLED"}`).completed(s1, job1, "CANCELLED"), ""},
	} {
		found := outcomeOf(c.s.judge(config.Config{}), "job-ends-as-its-result-says").Violations
		assertSays(t, found, c.says, name)
	}
}
