package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// broken are the violations of an invariant in a story.
func broken(cfg config.Config, of string, tell func(*story)) string {
	s := newStory()
	tell(s)
	var says []string
	for _, v := range outcomeOf(s.judge(cfg), of).Violations {
		says = append(says, v.Message)
	}
	return strings.Join(says, "\n")
}

// told asserts what a story breaks; "" is nothing.
func told(t *testing.T, name, says, is string) {
	if says == "" {
		assert.Empty(t, is, name)
	}
	assert.Contains(t, is, says, name)
}

// quarantined is a job whose output is blocked for rule 7, with an event of that.
func quarantined(s *story, at int, by, code, reason string) *story {
	s.submit(job1).write(s1, job1, "result_write", "OUTPUT_QUARANTINED", "reason_code", "output_quarantined", "reason", "rule 7")
	return s.audits(fmt.Sprintf(`{"at":%d,"kind":"output_quarantined","job_id":"job-1","by":%q,"reason_code":%q,"reason":%q}`, at, by, code, reason))
}

// An event of the audit trail is read in full.
func TestAuditEventsAreRead(t *testing.T) {
	denied := func(id, by, code, reason string) func(*story) {
		return func(s *story) {
			s.add(s1, sim.KindCall, history.MethodCheck, "kernel", "comp-1", "safety_check").last().Data = `{"decision":4,"reason":"not today","policy_snapshot":"sha256:a"}`
			s.op(s1, "", "saga_pop").audits(fmt.Sprintf(`{"kind":"saga_compensation_denied","job_id":%q,"by":%q,"reason_code":%q,"reason":%q}`, id, by, code, reason))
		}
	}
	parked := func(event string) func(*story) {
		return func(s *story) {
			s.submit(job1).write(s1, job1, "approval_write", "APPROVAL_REQUIRED", "approval_reason", "it is large").audits(event)
		}
	}
	for name, c := range map[string]struct {
		tell func(*story)
		says string
	}{
		"without its author": {func(s *story) { quarantined(s, 3, "", "output_quarantined", "rule 7") }, `by "", and that was by "output policy"`},
		"without its code":   {func(s *story) { quarantined(s, 3, "output policy", "", "rule 7") }, `with the reason code "", and that was for "output_quarantined"`},
		"without its reason": {func(s *story) { quarantined(s, 3, "output policy", "output_quarantined", "") }, `for the reason "", and that was for "rule 7"`},
		"of no time":         {func(s *story) { quarantined(s.wait(time.Minute), 0, "output policy", "output_quarantined", "rule 7") }, "as of 0s, which was at 1m0.003s"},
		"of a time to come":  {func(s *story) { quarantined(s, 1000, "output policy", "output_quarantined", "rule 7") }, "as of 1s, which was at 3ms"},
		"by a wrong clock": {func(s *story) {
			quarantined(s.control("skew", s1), 1000, "output policy", "output_quarantined", "rule 7")
		}, ""},
		"of what a scan did not see": {func(s *story) {
			s.submit(job1).op(s1, job1, "output_record").audits(`{"kind":"output_unscanned","job_id":"job-1"}`)
		}, `by "", and that was by "output policy"`},
		"of a compensation":                    {denied("comp-1", "sha256:a", "safety_denied", "compensation k of saga g: not today"), ""},
		"of a compensation, without its code":  {denied("comp-1", "sha256:a", "", "not today"), `with the reason code ""`},
		"of a compensation, by nobody":         {denied("comp-1", "", "safety_denied", "not today"), `by "", and that was by "sha256:a"`},
		"of a compensation, without a reason":  {denied("comp-1", "sha256:a", "safety_denied", "compensation k of saga g: "), `and that was for "not today"`},
		"of a compensation, by its job's name": {denied(job1, "sha256:a", "safety_denied", "not today"), `of the job "job-1", which the safety kernel has not denied to it`},
		"of an approval that is wanted":        {parked(`{"kind":"approval_required","job_id":"job-1","reason":"it is large"}`), ""},
		"of an approval, without its reason":   {parked(`{"kind":"approval_required","job_id":"job-1"}`), `for the reason "", and that was for "it is large"`},
		"of a refusal": {func(s *story) {
			s.dies(job1, "denied").op("operator", job1, "dlq_update").audits(`{"kind":"dlq_refused","job_id":"job-1","by":"ana","reason_code":"denied","reason":"ana may not"}`)
		}, ""},
		"of a refusal, without its code": {func(s *story) {
			s.dies(job1, "denied").op("operator", job1, "dlq_update").audits(`{"kind":"dlq_refused","job_id":"job-1","by":"ana","reason":"ana may not"}`)
		}, `with the reason code "", and that was for "denied"`},
	} {
		told(t, name, c.says, broken(approving, "audit-event-tells-its-change", c.tell))
	}
}

// The trail has the reason code of a decision, and its reason.
func TestDecisionsAreAuditedInFull(t *testing.T) {
	for event, says := range map[string]string{
		`"by":"replay-worker","reason_code":"timeout","reason":"rule 1"`: "",
		`"by":"replay-worker","reason":"rule 1"`:                         `and the audit trail has the reason code "" of that`,
		`"by":"replay-worker","reason_code":"timeout"`:                   `for the reason "rule 1"; the audit trail has "" of that`,
	} {
		told(t, event, says, broken(replaying, "every-replay-decision-is-audited", func(s *story) {
			s.dies(job1, "timeout").letter(s1, job1, "timeout", "exhausted", map[string]any{"replay_reason": "rule 1"}).audits(`{"kind":"dlq_exhausted","job_id":"job-1",` + event + `}`)
		}))
	}
	told(t, "a payload that nobody has mended", `which is scheduled now, for the reason "mended"; the audit trail has "" of that, by "ana"`, broken(replaying, "every-replay-decision-is-audited", func(s *story) {
		s.dies(job1, "denied").letter(s1, job1, "denied", "quarantined", nil).audited(job1, "dlq_triaged", "replay-worker")
		s.letter("operator", job1, "denied", "scheduled", map[string]any{"decided_by": "ana", "payload": "{}", "replay_reason": "mended"}).audits(`{"kind":"dlq_mended","job_id":"job-1","by":"ana","reason_code":"denied"}`)
	}))
}

// A dead letter that is filed has what its job, its run, its message and the clock say.
func TestLettersThatAreFiled(t *testing.T) {
	files := func(more map[string]any) func(*story) {
		return func(s *story) {
			s.write("submitter", "run-1-a-1", "submit_write", "PENDING", "attempts", "0", "request", `{"workflow_id":"run-1","tenant":"tenant-1"}`)
			s.wait(time.Minute).begins(s1, "run-1-a-1").letter(s1, "run-1-a-1", "timeout", "pending_review", more)
		}
	}
	message := func(at int64, garbles func(*story)) func(*story) {
		return func(s *story) {
			garbles(s.wait(time.Minute))
			c := s.set(history.DlqPrefix+"CORDUM_SYS:1", "", fmt.Sprintf(`{"status":"TERMINATED","created_at":60000,"message_at":%d}`, at))
			c.Expires = s.at + 30*24*time.Hour
			s.add(s1, sim.KindRedis, "multi", c.Key, job1, "dlq_write", c)
		}
	}
	stored := (time.Minute + time.Millisecond).Nanoseconds()
	garbles := func(s *story) { garbled(s, "stranger") }
	right := map[string]any{"tenant": "tenant-1", "run": "run-1", "created_at": 60000}
	but := func(field string, value any) map[string]any {
		m := maps.Clone(right)
		m[field] = value
		return m
	}
	for name, c := range map[string]struct {
		tell func(*story)
		says string
	}{
		"as it should be":          {files(right), ""},
		"of no time":               {files(but("created_at", 0)), "which says that it was written at 0s"},
		"of a time to come":        {files(but("created_at", 120000)), "which says that it was written at 2m0s"},
		"of another tenant":        {files(but("tenant", "")), `is of the tenant "", and no request of it is`},
		"of no run":                {files(but("run", "")), `is of the run "", and it is a step of "run-1"`},
		"of a message":             {message(stored, garbles), ""},
		"of a message at no time":  {message(0, garbles), "which says that the stream stored its message at 0s"},
		"of a message, before it":  {message(stored-time.Minute.Nanoseconds(), garbles), "which says that the stream stored its message at 1ms"},
		"of a message, long after": {message(stored+time.Minute.Nanoseconds(), garbles), "which says that the stream stored its message at 2m0.001s"},
	} {
		told(t, name, c.says, broken(config.Config{}, "dead-letter-tells-its-failure", c.tell))
	}
}

// A dead letter that is decided on names who has, and has what the policy says.
func TestLettersThatAreDecidedOn(t *testing.T) {
	type said = map[string]any
	cfg := replaying
	cfg.Replay.Rules = []config.ReplayRule{{ReasonCode: "denied", Action: "require_approval", MaxReplays: 2, Approvers: "gov"}, {ReasonCode: "timeout", Action: "auto_replay", MaxReplays: 1, Owner: "own"}}
	waits := said{"action": "require_approval", "max_replays": 2, "approver_group": "gov", "changed_by": s1}
	by := func(m said, more said) said {
		m = maps.Clone(m)
		maps.Copy(m, more)
		return m
	}
	triaged := func(m said) func(*story) {
		return func(s *story) { s.dies(job1, "denied").letter(s1, job1, "denied", "awaiting_approval", m) }
	}
	decides := func(status, kind, who string, m said) func(*story) {
		return func(s *story) {
			triaged(waits)(s)
			s.letter("operator", job1, "denied", status, by(waits, m)).audited(job1, kind, who)
		}
	}
	raised := said{"replay_snapshot": "sha256:b", "changed_by": s1}
	raises := func(m said) func(*story) {
		return func(s *story) {
			decides("scheduled", "dlq_replay_approved", "ana", said{"changed_by": "", "decided_by": "ana", "next_replay_at": 50})(s)
			s.letter(s1, job1, "denied", "awaiting_approval", by(waits, m))
		}
	}
	committed := func(why string) func(*story) {
		return func(s *story) {
			s.dies(job1, "denied").commits(job1, time.Hour).letter(s1, job1, "denied", "already_committed", said{"changed_by": s1, "replay_reason": why})
		}
	}
	for name, c := range map[string]struct {
		tell func(*story)
		says string
	}{
		"triage":                               {triaged(waits), ""},
		"triage without max_replays":           {triaged(by(waits, said{"max_replays": 0})), `with max_replays 0, owner "" and approver_group "gov"; the policy has 2, "" and "gov"`},
		"triage without approver_group":        {triaged(by(waits, said{"approver_group": ""})), `and approver_group ""; the policy has`},
		"triage by nobody":                     {triaged(by(waits, said{"changed_by": ""})), `and says that "" has changed it`},
		"a person's, by a scheduler":           {decides("scheduled", "dlq_replay_approved", "ana", said{"decided_by": "ana", "next_replay_at": 50}), `and says that "scheduler-1" has changed it`},
		"an approval":                          {decides("scheduled", "dlq_replay_approved", "ana", said{"changed_by": "", "decided_by": "ana", "next_replay_at": 50}), ""},
		"an approval by nobody":                {decides("scheduled", "dlq_replay_approved", "ana", said{"changed_by": "", "next_replay_at": 50}), `and says that "" has decided on it, which was "ana"`},
		"an approval without a time":           {decides("scheduled", "dlq_replay_approved", "ana", said{"changed_by": "", "decided_by": "ana"}), "and is to be replayed at 0"},
		"a denial":                             {decides("denied", "dlq_replay_denied", "ana", said{"changed_by": "", "decided_by": "ana", "uncounted": true}), ""},
		"a denial that nobody counts":          {decides("denied", "dlq_replay_denied", "ana", said{"changed_by": "", "decided_by": "ana"}), "uncounted is false"},
		"a denial that is to be replayed":      {decides("denied", "dlq_replay_denied", "ana", said{"changed_by": "", "decided_by": "ana", "uncounted": true, "next_replay_at": 50}), "and is to be replayed at 50"},
		"the kernel's denial":                  {decides("denied", "dlq_replay_denied", "safety-kernel", said{"changed_by": ""}), ""},
		"another policy":                       {raises(raised), ""},
		"another policy, and the old decision": {raises(by(raised, said{"decided_by": "ana"})), `and says that "ana" has decided on it, which was ""`},
		"done, by nobody":                      {committed("it has been done"), "and does not say by whom"},
		"done, by a job":                       {committed("it has been done by job-1"), ""},
		"done, by the ledger":                  {committed("only the ledger knows"), ""},
	} {
		told(t, name, c.says, broken(cfg, "dead-letter-tells-its-decision", c.tell))
	}
}

// Whose failure a result has called final, its entry calls final, and no other.
func TestEntriesOfFinalFailures(t *testing.T) {
	const fatal, other = `{"status":"FAILED_FATAL","reason_code":"timeout"}`, `{"status":"FAILED","reason_code":"timeout"}`
	for name, c := range map[string]struct {
		packet string
		more   map[string]any
		says   string
	}{
		"final":             {fatal, map[string]any{"fatal": true}, ""},
		"not final":         {other, nil, ""},
		"final, unsaid":     {fatal, nil, "its DLQ entry says that its failure is final: false; its worker's result says true"},
		"not final, but so": {other, map[string]any{"fatal": true}, "its DLQ entry says that its failure is final: true; its worker's result says false"},
	} {
		told(t, name, c.says, broken(config.Config{}, "failed-job-has-dlq-entry", func(s *story) {
			more := map[string]any{"attempts": 1, "topic": "job.default", "idempotency_key": "job-1:key"}
			maps.Copy(more, c.more)
			s.diesOf(job1, c.packet, "timeout", more)
		}))
	}
}

// What is decided on an entry leaves it the time that it has, but for as long as the change was under way.
func TestEntriesThatLastLonger(t *testing.T) {
	for by, says := range map[time.Duration]string{0: "", 3 * time.Second: "", time.Minute: "to last for 719h0m57.992s, and should have 718h59m57.992s"} {
		told(t, by.String(), says, broken(replaying, "failed-job-has-dlq-entry", func(s *story) {
			more := map[string]any{"attempts": 1, "topic": "job.default", "idempotency_key": "job-1:key"}
			s.diesOf(job1, `{"status":"FAILED","reason_code":"denied"}`, "denied", more)
			i := slices.IndexFunc(s.events, func(e sim.Event) bool { return e.Target == history.DlqPrefix+job1 })
			expires := s.events[i].Changes[0].Expires
			s.wait(time.Hour).visits(s1, job1).wait(2*time.Second).letter(s1, job1, "denied", "awaiting_approval", more)
			s.last().Changes[0].Expires = expires + by
		}))
	}
}
