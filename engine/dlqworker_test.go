package engine

import (
	"context"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// letters is a harness whose engine triages and replays dead letters, by a policy's YAML rules.
type letters struct {
	*harness
	r *dlq.Replayer
}

func newLetters(t *testing.T, rules string, change ...func(*settings.Settings)) *letters {
	t.Helper()
	h := newHarness(t, append([]func(*settings.Settings){hardened, func(s *settings.Settings) { s.Replay.Enabled = true }}, change...)...)
	if rules != "" {
		h.triage = triage(t, rules)
	}
	return &letters{h, h.dlqReplayer()}
}

// triage is the policy of rules in YAML.
func triage(t *testing.T, rules string) *dlq.Policy {
	t.Helper()
	p := &dlq.Policy{}
	require.NoError(t, yaml.Unmarshal([]byte("version: v1\ndlq_rules:\n"+rules), p))
	require.Nil(t, p.Validate())
	return p
}

// runs submits a job, and puts it with a worker.
func (l *letters) runs(req job.Request) {
	l.t.Helper()
	require.NoError(l.t, l.client().Submit(l.t.Context(), req))
	l.redis.HSet("job:"+req.JobID, "state", string(job.Running), "attempts", "1")
}

// ends is a worker's word about a job.
func (l *letters) ends(id string, s job.Status, code string) error {
	l.t.Helper()
	err := l.HandleJobResult(l.t.Context(), job.Result{JobID: id, WorkerID: "worker-1", Status: s, ReasonCode: code})
	l.behind.Wait()
	return err
}

// dies runs job-1, and has it fail.
func (l *letters) dies(code string) {
	l.t.Helper()
	l.runs(request("job-1"))
	require.NoError(l.t, l.ends("job-1", job.StatusFailed, code))
}

func (l *letters) entry(id string) dlq.Entry {
	l.t.Helper()
	e, err := l.dlq.Get(context.Background(), id)
	require.NoError(l.t, err)
	return e
}

// visited is a job's entry after n visits, an hour between them.
func (l *letters) visited(id string, n int) dlq.Entry {
	l.t.Helper()
	for range n {
		_, err := l.r.Visit(l.t.Context(), id)
		require.NoError(l.t, err)
		l.clock.Advance(time.Hour)
	}
	return l.entry(id)
}

func (l *letters) worker(adopted bool) *replayWorker {
	return &replayWorker{engine: l.Engine, replayer: l.r, hold: func(context.Context) error { return nil }, adopted: adopted}
}

func (l *letters) tick() {
	l.t.Helper()
	require.NoError(l.t, l.worker(true).tick(l.t.Context()))
}

func (l *letters) operator(policy *dlq.Policy) *dlq.Replayer {
	l.t.Helper()
	r, err := NewReplayer(ReplayerConfig{ClientConfig: ClientConfig{Redis: l.config.Redis, JetStream: l.config.JetStream, Clock: l.clock, Settings: l.config.Settings}, Triage: policy})
	require.NoError(l.t, err)
	return r
}

func TestATransientFailureIsReplayedUnderItsKey(t *testing.T) {
	l := newLetters(t, "")
	l.dies("timeout")
	assert.Equal(t, dlq.Scheduled, l.visited("job-1", 1).ReplayStatus)
	e := l.visited("job-1", 1)
	assert.Equal(t, dlq.Replayed, e.ReplayStatus)
	rec, err := l.store.Read(t.Context(), e.ReplayJob)
	require.NoError(t, err)
	req, err := rec.Request()
	require.NoError(t, err)
	assert.Equal(t, "key-job-1", req.IdempotencyKey)
	assert.Equal(t, map[string]string{"replay_of": "job-1", "replay_count": "1"}, req.Labels)
}

// A failover of Redis may lose that an entry was replayed, and the schedulers make the replay's record anew from its message.
// Another job of its id is nobody's replay.
func TestAReplayThatIsThereAlreadyIsThisOne(t *testing.T) {
	for name, labels := range map[string]map[string]string{"replayed": {job.LabelReplayOf: "job-1", job.LabelReplayCount: "1"}, "quarantined": nil} {
		t.Run(name, func(t *testing.T) {
			l := newLetters(t, "")
			l.dies("timeout")
			require.Equal(t, dlq.Scheduled, l.visited("job-1", 1).ReplayStatus)
			there := request("job-1-replay-1")
			there.Labels = labels
			require.NoError(t, l.client().Submit(t.Context(), there))

			e := l.visited("job-1", 1)
			assert.Equal(t, name, e.ReplayStatus)
			if name == "quarantined" {
				assert.Equal(t, "there is another job job-1-replay-1 already", e.ReplayReason)
			}
		})
	}
}

// A replay that is cancelled before there is one is made, and cancelled then.
func TestAReplayThatWasCancelledAheadIsMade(t *testing.T) {
	l := newLetters(t, "")
	l.dies("timeout")
	require.Equal(t, dlq.Scheduled, l.visited("job-1", 1).ReplayStatus)
	require.NoError(t, l.client().Cancel(t.Context(), "job-1-replay-1", "never again"))
	e := l.visited("job-1", 1)
	require.Equal(t, dlq.Replayed, e.ReplayStatus, e.ReplayReason)
	rec, err := l.store.Read(t.Context(), "job-1-replay-1")
	require.NoError(t, err)
	req, err := rec.Request()
	require.NoError(t, err)
	require.NoError(t, l.handle(req))
	rec, err = l.store.Read(t.Context(), "job-1-replay-1")
	require.NoError(t, err)
	assert.Equal(t, job.Cancelled, rec.State)
}

// An approval between a visit's look at an entry and its end is not lost.
func TestAnApprovalThatRacesTheWorkerStands(t *testing.T) {
	l := newLetters(t, "")
	l.dies("denied")
	require.Equal(t, dlq.AwaitingApproval, l.visited("job-1", 1).ReplayStatus)
	_, err := l.redis.ZAdd("dlq:replay:due", 0, "job-1") // a visit that has nothing to do
	require.NoError(t, err)
	l.faults.first[phase.DLQUpdate] = func() { assert.NoError(t, l.r.Approve(t.Context(), "job-1", dlq.Person{Name: "ana"})) }
	stays, err := l.r.Visit(t.Context(), "job-1")
	require.ErrorIs(t, err, dlq.ErrChanged)
	assert.True(t, stays)
	l.tick()
	assert.Equal(t, dlq.Replayed, l.entry("job-1").ReplayStatus)
}

// Its run tries a step again, under another idempotency key.
func TestAStepOfARunIsNotReplayed(t *testing.T) {
	l := newLetters(t, "  - {match: {reason_code: timeout}, action: auto_replay}\n")
	req := request("run-1-a-1")
	req.WorkflowID, req.IdempotencyKey = "run-1", "run-1:a"
	l.runs(req)
	require.NoError(t, l.ends(req.JobID, job.StatusFailed, "timeout"))
	e := l.visited(req.JobID, 2)
	assert.Equal(t, dlq.PendingReview, e.ReplayStatus)
	assert.Equal(t, dlq.ManualReview, e.Action)
	assert.Contains(t, e.ReplayReason, "step of run run-1")
	_, err := l.r.Replay(t.Context(), req.JobID, dlq.Person{Name: "ana"})
	assert.ErrorIs(t, err, dlq.ErrRefused)
	assert.ErrorContains(t, err, "step of run run-1")

	old := l.entry(req.JobID) // as one that does not say whose step it is
	old.Run, old.ReplayStatus, old.Action = "", dlq.Scheduled, dlq.AutoReplay
	require.NoError(t, l.dlq.Add(t.Context(), old))
	e = l.visited(req.JobID, 1)
	assert.Equal(t, dlq.PendingReview, e.ReplayStatus)
	assert.Equal(t, "run-1", e.Run)
}

func TestAFinalFailureIsLeftToAPerson(t *testing.T) {
	for rules, want := range map[string]string{"": dlq.PendingReview, "  - {match: {reason_code: timeout}, action: auto_replay}\n": dlq.Scheduled} {
		l := newLetters(t, rules)
		l.step("job-1")
		require.NoError(t, l.ends("job-1", job.StatusFailedFatal, "timeout"))
		assert.True(t, l.entry("job-1").Fatal)
		assert.Equal(t, want, l.visited("job-1", 1).ReplayStatus)
	}
}

func TestApprovalsDoNotGoPastMaxReplays(t *testing.T) {
	l := newLetters(t, "  - {match: {reason_code: partial_external_write}, action: require_approval, max_replays: 1}\n")
	l.dies("partial_external_write")
	l.visited("job-1", 1)
	require.NoError(t, l.r.Approve(t.Context(), "job-1", dlq.Person{Name: "ana"}))
	id := l.visited("job-1", 1).ReplayJob
	require.Equal(t, "job-1-replay-1", id)
	l.redis.HSet("job:"+id, "state", string(job.Running))
	require.NoError(t, l.ends(id, job.StatusFailed, "partial_external_write"))
	assert.Equal(t, dlq.Exhausted, l.visited(id, 1).ReplayStatus)
	assert.ErrorIs(t, l.r.Approve(t.Context(), id, dlq.Person{Name: "ana"}), dlq.ErrRefused)
}

func TestAnOperatorWithoutAPolicyGoesByTheSchedulers(t *testing.T) {
	l := newLetters(t, "  - {match: {reason_code: timeout}, action: quarantine, owner: team}\n")
	l.dies("timeout")
	require.Equal(t, dlq.Quarantined, l.visited("job-1", 1).ReplayStatus)
	_, err := l.operator(nil).Replay(t.Context(), "job-1", dlq.Person{Name: "ana"})
	assert.ErrorContains(t, err, "job-1 is quarantined")
}

// Whose an entry is, and what may be done with it, the schedulers have said.
func TestAPersonsPolicyMayOnlyBeStricter(t *testing.T) {
	ben := dlq.Person{Name: "ben", Groups: []string{"interns"}}
	const rules = "  - {match: {reason_code: partial_external_write}, action: manual_review, owner: payments}\n" +
		"  - {match: {reason_code: schema_invalid}, action: quarantine, owner: integration}\n" +
		"  - {match: {reason_code: timeout}, action: auto_replay, owner: platform}\n"
	for _, c := range []struct{ code, own, want string }{
		{"partial_external_write", "", "only payments may replay it"},
		{"partial_external_write", "auto_replay", "only payments may replay it"},
		{"partial_external_write", "manual_review, owner: interns", "only payments may replay it"},
		{"partial_external_write", "require_approval, approver_group: interns", "your own policy is against a replay of job-1: require_approval"},
		{"schema_invalid", "auto_replay", "job-1 is quarantined"},
		{"schema_invalid", "require_approval, approver_group: interns", "job-1 is quarantined"},
		{"timeout", "quarantine", "your own policy is against a replay of job-1: quarantine"},
		{"timeout", "manual_review", "only platform may replay it"},
		{"timeout", "", ""},
	} {
		l := newLetters(t, rules)
		l.dies(c.code)
		before := l.visited("job-1", 1)
		var own *dlq.Policy
		if c.own != "" {
			own = triage(t, "  - {match: {reason_code: "+c.code+"}, action: "+c.own+"}\n")
		}
		op := l.operator(own)
		_, err := op.Replay(t.Context(), "job-1", ben)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, c.want, c)
		assert.ErrorIs(t, op.Approve(t.Context(), "job-1", ben), dlq.ErrRefused, c)
		assert.ErrorIs(t, op.Mend(t.Context(), "job-1", []byte(`{}`), ben), dlq.ErrRefused, c)
		assert.ErrorIs(t, op.Deny(t.Context(), "job-1", ben, ""), dlq.ErrOutsider, c)
		assert.Equal(t, before, l.entry("job-1"), c)
	}
}

// A person's own policy is no way past the schedulers' in the moment before they triage.
func TestWhatIsAboutToBeTriagedIsNoPersonsYet(t *testing.T) {
	ana := dlq.Person{Name: "ana"}
	l := newLetters(t, "  - {match: {reason_code: timeout}, action: manual_review, owner: payments}\n")
	l.dies("timeout")
	for _, own := range []string{"auto_replay", "require_approval", "quarantine"} {
		op := l.operator(triage(t, "  - {match: {reason_code: timeout}, action: "+own+"}\n"))
		_, err := op.Replay(t.Context(), "job-1", ana)
		for _, err := range []error{err, op.Approve(t.Context(), "job-1", ana), op.Mend(t.Context(), "job-1", []byte(`{}`), ana), op.Deny(t.Context(), "job-1", ana, "")} {
			assert.ErrorContains(t, err, "the schedulers are about to triage job-1")
		}
	}
	l.visited("job-1", 1)
	_, err := l.operator(nil).Replay(t.Context(), "job-1", ana)
	assert.ErrorContains(t, err, "only payments may replay it")
}

// What a person wants replayed the schedulers replay, who alone have the ledger and the safety kernel.
func TestAPersonsReplayIsCheckedByTheSchedulers(t *testing.T) {
	l := newLetters(t, "  - {match: {reason_code: unknown_commit_state}, action: manual_review}\n")
	l.dies("unknown_commit_state")
	l.visited("job-1", 1)
	l.r.Ledger = hadAll{}
	e, err := l.operator(nil).Replay(t.Context(), "job-1", dlq.Person{Name: "ana"})
	require.NoError(t, err)
	assert.Equal(t, dlq.Scheduled, e.ReplayStatus)
	assert.Equal(t, "ana", e.DecidedBy)
	e, err = l.operator(nil).Replay(t.Context(), "job-1", dlq.Person{Name: "ben"})
	require.NoError(t, err)
	assert.Equal(t, "ana", e.DecidedBy, "it is asked for already")
	e = l.visited("job-1", 1)
	assert.Equal(t, dlq.AlreadyCommitted, e.ReplayStatus)
	assert.Empty(t, e.ReplayJob)
}

// hadAll is a ledger that has everything.
type hadAll struct{}

func (hadAll) Had(context.Context, string, string) (bool, error) { return true, nil }

// A group that is renamed has the approvals that wait, once the schedulers start with the policy that says so.
func TestAStartGivesWhatWaitsToTheGroupOfToday(t *testing.T) {
	const rule = "  - {match: {reason_code: timeout}, action: require_approval, approver_group: "
	ana := dlq.Person{Name: "ana", Groups: []string{"after"}}
	l := newLetters(t, rule+"before}\n")
	for _, id := range []string{"job-1", "job-2"} {
		l.runs(request(id))
		require.NoError(t, l.ends(id, job.StatusFailed, "timeout"))
		require.Equal(t, dlq.AwaitingApproval, l.visited(id, 1).ReplayStatus)
	}
	require.NoError(t, l.r.Approve(t.Context(), "job-2", dlq.Person{Name: "bea", Groups: []string{"before"}}))
	require.ErrorIs(t, l.r.Approve(t.Context(), "job-1", ana), dlq.ErrOutsider)

	l.r.Policy = triage(t, rule+"after}\n")
	require.NoError(t, l.worker(false).tick(t.Context()))
	e := l.entry("job-1")
	assert.Equal(t, dlq.AwaitingApproval, e.ReplayStatus)
	assert.Equal(t, "after", e.ApproverGroup)
	assert.Equal(t, dlq.Replayed, l.entry("job-2").ReplayStatus, "what is approved stays so")
	require.NoError(t, l.operator(nil).Approve(t.Context(), "job-1", ana))
	assert.Equal(t, dlq.Replayed, l.visited("job-1", 1).ReplayStatus)
}

// Whoever names an ordinary job as a run would name a step's has it replayed all the same.
func TestAJobThatIsCalledLikeAStep(t *testing.T) {
	l := newLetters(t, "")
	req := request("x-a-1")
	req.WorkflowID = "x"
	l.runs(req)
	require.NoError(t, l.ends("x-a-1", job.StatusFailed, "timeout"))
	assert.Empty(t, l.entry("x-a-1").Run)
	assert.Equal(t, dlq.Replayed, l.visited("x-a-1", 2).ReplayStatus)
}

func TestADenialIsNotTakenBack(t *testing.T) {
	l := newLetters(t, "")
	ana := dlq.Person{Name: "ana"}
	l.dies("unknown_commit_state")
	l.visited("job-1", 1)
	op := l.operator(nil)
	require.NoError(t, op.Deny(t.Context(), "job-1", ana, ""))
	_, err := op.Replay(t.Context(), "job-1", ana)
	assert.ErrorIs(t, err, dlq.ErrRefused)
	assert.Equal(t, dlq.Denied, l.entry("job-1").ReplayStatus)
}

func TestADenialIsCountedOnceWhoeverDenies(t *testing.T) {
	l := newLetters(t, "  - {match: {reason_code: timeout}, action: require_approval}\n")
	l.dies("timeout")
	l.visited("job-1", 1)
	require.NoError(t, l.operator(nil).Deny(t.Context(), "job-1", dlq.Person{Name: "ana"}, ""))
	for range 2 {
		l.tick()
		_, err := l.dlq.AddOnce(t.Context(), dlq.Entry{JobID: "job-1", Status: "FAILED", ReasonCode: "timeout"}) // which puts it before the worker again
		require.NoError(t, err)
	}
	assert.Equal(t, dlq.Denied, l.entry("job-1").ReplayStatus)
	assert.EqualValues(t, 1, l.metric(`dlq_replay_denied_total{reason_code="timeout"}`))
}

// A person lets no more replays be had than the policy does.
func TestAPersonIsBoundByMaxReplays(t *testing.T) {
	ana := dlq.Person{Name: "ana"}
	for n, ok := range map[int]bool{1: true, 2: false, 3: false} {
		for action, do := range map[dlq.Action]func(r *dlq.Replayer) error{
			dlq.RequireApproval: func(r *dlq.Replayer) error { return r.Approve(context.Background(), "job-1", ana) },
			dlq.Quarantine:      func(r *dlq.Replayer) error { return r.Mend(context.Background(), "job-1", []byte(`{}`), ana) },
			dlq.ManualReview:    func(r *dlq.Replayer) error { _, err := r.Replay(context.Background(), "job-1", ana); return err },
		} {
			l := newLetters(t, "")
			e := dlq.Entry{JobID: "job-1", Status: "FAILED", ReasonCode: "timeout", Action: action, ReplayStatus: dlq.PendingReview, ReplayCount: n, MaxReplays: 2}
			switch action {
			case dlq.RequireApproval:
				e.ReplayStatus = dlq.AwaitingApproval
			case dlq.Quarantine:
				e.ReplayStatus = dlq.Quarantined
			}
			require.NoError(t, l.dlq.Add(t.Context(), e))
			if err := do(l.operator(nil)); ok {
				assert.NoError(t, err, "%s, replay %d", action, n)
			} else {
				assert.ErrorContains(t, err, "of 2 at most", "%s, replay %d", action, n)
			}
		}
	}
}

func TestAPersonWithoutAPolicyLeavesAMismatchToTheSchedulers(t *testing.T) {
	ana := dlq.Person{Name: "ana", Groups: []string{"governance"}}
	l := newLetters(t, "  - {match: {reason_code: unknown_commit_state}, action: manual_review}\n"+
		"  - {match: {reason_code: policy_snapshot_mismatch}, action: require_approval, approver_group: governance}\n")
	op := l.operator(nil)
	policy := "sha256:b"
	for _, r := range []*dlq.Replayer{l.r, op} {
		r.CheckPolicy = true
		r.Check = func(context.Context, *job.Request) (safety.Verdict, error) {
			return safety.Verdict{Decision: safety.Allow, Snapshot: policy}, nil
		}
	}
	l.runs(request("job-1"))
	l.redis.HSet("job:job-1", "policy_snapshot", "sha256:a")
	require.NoError(t, l.ends("job-1", job.StatusFailed, "unknown_commit_state"))
	require.Equal(t, dlq.PendingReview, l.visited("job-1", 1).ReplayStatus)

	e, err := op.Replay(t.Context(), "job-1", ana)
	require.NoError(t, err)
	assert.Equal(t, dlq.Scheduled, e.ReplayStatus)
	e = l.visited("job-1", 1)
	assert.Contains(t, e.ReplayReason, "policy_snapshot_mismatch: sha256:b decides, and sha256:a did; require_approval")
	assert.Equal(t, dlq.AwaitingApproval, e.ReplayStatus)
	assert.Equal(t, "governance", e.ApproverGroup)

	require.NoError(t, op.Approve(t.Context(), "job-1", ana))
	policy = "sha256:c"
	e = l.visited("job-1", 1)
	assert.Equal(t, dlq.AwaitingApproval, e.ReplayStatus, "the approval was one under sha256:b")
	assert.Empty(t, e.DecidedBy)
	require.NoError(t, op.Approve(t.Context(), "job-1", ana))
	assert.Equal(t, dlq.Replayed, l.visited("job-1", 1).ReplayStatus)
}

// Schedulers that do not triage leave no entry without a way on, and count an operator's replays.
func TestAnOperatorWithoutATriagingScheduler(t *testing.T) {
	l := newLetters(t, "", func(s *settings.Settings) { s.Replay.Enabled = false })
	l.dies("denied")
	op, asked := l.operator(nil), 0
	op.CheckPolicy = true
	op.Check = func(context.Context, *job.Request) (safety.Verdict, error) {
		asked++
		return safety.Verdict{Decision: safety.Allow}, nil
	}
	_, err := op.Replay(t.Context(), "job-1", dlq.Person{Name: "ana"})
	assert.ErrorContains(t, err, "scheduler dlq approve job-1")
	require.NoError(t, op.Approve(t.Context(), "job-1", dlq.Person{Name: "ana"}))
	e, err := op.Replay(t.Context(), "job-1", dlq.Person{Name: "ana"})
	require.NoError(t, err)
	require.Equal(t, "job-1-replay-1", e.ReplayJob)
	l.redis.HSet("job:job-1-replay-1", "state", string(job.Running))
	require.NoError(t, l.ends("job-1-replay-1", job.StatusFailed, "timeout"))
	again := l.entry("job-1-replay-1")
	assert.Equal(t, "job-1", again.ReplayOf)
	assert.Equal(t, 1, again.ReplayCount)
	e, err = op.Replay(t.Context(), "job-1-replay-1", dlq.Person{Name: "ana"})
	require.NoError(t, err)
	l.redis.HSet("job:"+e.ReplayJob, "state", string(job.Running))
	require.NoError(t, l.ends(e.ReplayJob, job.StatusSucceeded, ""))
	assert.True(t, l.redis.Exists("cordum:committed:default:key-job-1"), "a replay says what it has done")
	assert.Equal(t, 2, asked, "each replay is decided upon anew")
}

// In the order dlq-then-state an entry is written again by each try of the state.
func TestAnEntryThatComesAgainKeepsItsDecision(t *testing.T) {
	l := newLetters(t, "", func(s *settings.Settings) { s.DLQOrder = settings.DLQThenState })
	l.runs(request("job-1"))
	l.faults.on(phase.ResultWrite, "before")
	require.Error(t, l.ends("job-1", job.StatusFailed, "timeout"))
	l.visited("job-1", 1)
	require.NoError(t, l.r.Deny(t.Context(), "job-1", dlq.Person{Name: "ana"}, "sent by hand"))
	require.NoError(t, l.ends("job-1", job.StatusFailed, "timeout"))
	assert.Equal(t, dlq.Denied, l.visited("job-1", 2).ReplayStatus)
	for _, wrote := range []bool{true, false} {
		did, err := l.dlq.AddOnce(t.Context(), dlq.Entry{JobID: "job-1", Status: "FAILED", ReasonCode: "tool_error", ReplayStatus: dlq.PendingReview})
		require.NoError(t, err)
		assert.Equal(t, wrote, did)
	}
	assert.Equal(t, "tool_error", l.entry("job-1").ReasonCode, "another failure is another entry")
}

// A request of a publisher of its own may come without a key. It is known by its job's id, as one of a client is.
func TestARequestWithoutAKeyIsKnownByItsJob(t *testing.T) {
	l := newLetters(t, "")
	req := request("job-1")
	req.IdempotencyKey = ""
	l.harness.worker("worker-1")
	require.NoError(t, l.handle(req))
	require.Len(t, l.dispatches(), 1)
	assert.Equal(t, "job-1", l.dispatches()[0].IdempotencyKey)
	ends := job.Result{JobID: "job-1", WorkerID: "worker-1", Epoch: 1, Status: job.StatusFailed, ReasonCode: "timeout"}
	require.NoError(t, l.HandleJobResult(t.Context(), ends))
	assert.Equal(t, dlq.Scheduled, l.visited("job-1", 1).ReplayStatus)
	ends.Status = job.StatusSucceeded // it comes late
	require.NoError(t, l.HandleJobResult(t.Context(), ends))
	assert.Equal(t, dlq.AlreadyCommitted, l.visited("job-1", 1).ReplayStatus)
}

func TestWhatIsCommittedIsATenantsOwn(t *testing.T) {
	l := newLetters(t, "")
	for _, tenant := range []string{"a", "b"} {
		req := request("job-" + tenant)
		req.Tenant, req.IdempotencyKey = tenant, "invoice-1"
		l.runs(req)
	}
	require.NoError(t, l.ends("job-a", job.StatusSucceeded, ""))
	assert.True(t, l.redis.Exists("cordum:committed:a:invoice-1"))
	require.NoError(t, l.ends("job-b", job.StatusFailed, "timeout"))
	assert.Equal(t, dlq.Replayed, l.visited("job-b", 2).ReplayStatus)
}

func TestAReplicaWithoutTheLockShowsNoGrowth(t *testing.T) {
	l := newLetters(t, "", func(s *settings.Settings) { s.Replay.GrowthAlert = 1 })
	for _, id := range []string{"job-1", "job-2"} {
		l.runs(request(id))
		require.NoError(t, l.ends(id, job.StatusFailed, "schema_invalid"))
	}
	l.tick()
	assert.EqualValues(t, 1, l.metric("dlq_growth_alert"))
	l.worker(true).idle()
	assert.Zero(t, l.metric("dlq_growth_alert"))
}

func TestAStartVisitsWhatTriageHasLeft(t *testing.T) {
	l := newLetters(t, "")
	status := map[string]string{
		"job-1": dlq.PendingReview, "job-2": dlq.Quarantined, "job-3": dlq.Scheduled, "job-4": dlq.Replayed,
		"job-5": dlq.Denied, "job-6": dlq.AwaitingApproval, "job-7": dlq.AlreadyCommitted, "job-8": dlq.Exhausted,
	}
	for id, s := range status {
		require.NoError(t, l.dlq.Add(t.Context(), dlq.Entry{JobID: id, ReplayStatus: s}))
	}
	l.redis.Del("dlq:replay:due")
	require.NoError(t, l.dlq.Adopt(t.Context(), 3))
	due, err := l.redis.ZMembers("dlq:replay:due")
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"job-1", "job-2", "job-3", "job-6"}, due)
}

// A scheduler that replays takes up what failed while none did.
func TestOldDeadLettersAreReplayed(t *testing.T) {
	l := newLetters(t, "", func(s *settings.Settings) { s.Replay.Enabled = false })
	l.dies("timeout")
	assert.False(t, l.redis.Exists("dlq:replay:due"))
	l.settings.Replay.Enabled = true
	w := l.worker(false)
	require.NoError(t, w.tick(t.Context()))
	assert.Equal(t, dlq.Scheduled, l.entry("job-1").ReplayStatus)
	l.clock.Advance(time.Hour)
	require.NoError(t, w.tick(t.Context()))
	assert.Equal(t, dlq.Replayed, l.entry("job-1").ReplayStatus)
}

func TestAReplayCountBelowOneIsNone(t *testing.T) {
	l := newLetters(t, "")
	req := request("job-1")
	req.Labels = map[string]string{"replay_of": "job-0", "replay_count": "-100"}
	l.runs(req)
	require.NoError(t, l.ends("job-1", job.StatusFailed, "timeout"))
	assert.Zero(t, l.entry("job-1").ReplayCount)
	assert.Equal(t, "job-1-replay-1", l.visited("job-1", 2).ReplayJob)
}

// The example of Dead letters says denied.
func TestARuleForDeniedIsOneForSafetyDenied(t *testing.T) {
	p := triage(t, "  - {match: {reason_code: denied}, action: quarantine}\n")
	assert.Equal(t, dlq.Quarantine, p.Decide(&dlq.Entry{ReasonCode: job.ReasonSafetyDenied}).Action)
	p = triage(t, "  - {match: {reason_code: denied}, action: quarantine}\n  - {match: {reason_code: safety_denied}, action: manual_review}\n")
	assert.Equal(t, dlq.ManualReview, p.Decide(&dlq.Entry{ReasonCode: job.ReasonSafetyDenied}).Action)
	assert.Equal(t, dlq.Quarantine, p.Decide(&dlq.Entry{ReasonCode: "denied"}).Action)
}

func TestWhatIsForAGroupIsRefusedToOthers(t *testing.T) {
	ana, ben := dlq.Person{Name: "ana", Groups: []string{"governance", "integration"}}, dlq.Person{Name: "ben", Groups: []string{"interns"}}
	l := newLetters(t, "  - {match: {reason_code: partial_external_write}, action: require_approval, approver_group: governance}\n"+
		"  - {match: {reason_code: schema_invalid}, action: quarantine, owner: integration}\n")
	l.dies("partial_external_write")
	l.visited("job-1", 1)
	for _, op := range []*dlq.Replayer{l.r, l.operator(nil)} {
		assert.ErrorContains(t, op.Approve(t.Context(), "job-1", ben), "job-1: only governance may approve its replay, and ben is not of that group")
	}
	own := triage(t, "  - {match: {reason_code: partial_external_write}, action: auto_replay}\n")
	assert.ErrorContains(t, l.operator(own).Approve(t.Context(), "job-1", ben), "only governance may approve its replay", "whatever policy ben brings along")
	for _, op := range []*dlq.Replayer{l.r, l.operator(nil), l.operator(own)} {
		assert.ErrorContains(t, op.Deny(t.Context(), "job-1", ben, ""), "only governance may deny its replay")
	}
	assert.ErrorContains(t, l.r.Mend(t.Context(), "job-1", []byte(`{}`), ana), "is not quarantined: it is awaiting_approval")
	require.NoError(t, l.r.Approve(t.Context(), "job-1", ana))
}

func TestAMendedPayloadIsReplayed(t *testing.T) {
	ana := dlq.Person{Name: "ana", Groups: []string{"integration"}}
	l := newLetters(t, "  - {match: {reason_code: schema_invalid}, action: quarantine, owner: integration}\n")
	l.dies("schema_invalid")
	require.Equal(t, dlq.Quarantined, l.visited("job-1", 1).ReplayStatus)
	assert.ErrorIs(t, l.r.Mend(t.Context(), "job-1", []byte(`{}`), dlq.Person{Name: "ben"}), dlq.ErrRefused)
	assert.ErrorContains(t, l.r.Mend(t.Context(), "job-1", []byte(`{`), ana), "the payload is not JSON")
	require.NoError(t, l.operator(nil).Mend(t.Context(), "job-1", []byte(`{"fits":true}`), ana))
	e := l.visited("job-1", 1)
	require.Equal(t, "job-1-replay-1", e.ReplayJob)
	rec, err := l.store.Read(t.Context(), e.ReplayJob)
	require.NoError(t, err)
	req, err := rec.Request()
	require.NoError(t, err)
	assert.JSONEq(t, `{"fits":true}`, string(req.Payload))
	assert.Equal(t, "key-job-1", req.IdempotencyKey)
}
