package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/wavetank-sim/wavetank/engine/audit"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/output"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/safety/safetypb"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// policy is a connection to an output policy that answers as it is told: what is allowed when it is told
// nothing. It goes through the harness's faults.
type policy struct {
	f *faults

	mu    sync.Mutex
	meta  *safetypb.CheckOutputResponse
	scan  *safetypb.CheckOutputResponse
	asked []*safetypb.CheckOutputRequest

	refuses error // what a scan brings instead of an answer
}

func (p *policy) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	return p.f.call(ctx, method, func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		r := args.(*safetypb.CheckOutputRequest)
		p.asked = append(p.asked, r)
		answer := p.meta
		if r.GetWithContent() {
			answer = p.scan
			if p.refuses != nil {
				return p.refuses
			}
		}
		out := reply.(*safetypb.CheckOutputResponse)
		if out.Decision = safetypb.OutputDecision_OUTPUT_ALLOW; answer != nil {
			out.Decision, out.Reason, out.RedactedPtr = answer.GetDecision(), answer.GetReason(), answer.GetRedactedPtr()
		}
		return nil
	})
}

func (*policy) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.New("no streams")
}

const (
	quarantines = safetypb.OutputDecision_OUTPUT_QUARANTINE
	denies      = safetypb.OutputDecision_OUTPUT_DENY
	redacts     = safetypb.OutputDecision_OUTPUT_REDACT
)

func answers(d safetypb.OutputDecision, ptr string) *safetypb.CheckOutputResponse {
	return &safetypb.CheckOutputResponse{Decision: d, Reason: "a secret", RedactedPtr: ptr}
}

// newChecked is a harness with the output policy on, and job-1 RUNNING with an output.
func newChecked(t *testing.T, change ...func(*settings.Settings)) (*harness, *policy) {
	t.Helper()
	p := &policy{}
	h := newHarnessOn(t, func(h *harness) {
		p.f = h.faults
		h.config.Output = p
	}, append(change, func(s *settings.Settings) { s.Output.Enabled = true })...)
	h.submit()
	h.force(job.Running, 1)
	require.NoError(t, h.redis.Set("res:job-1", "the output"))
	return h, p
}

func (h *harness) succeeds() error {
	return h.HandleJobResult(h.t.Context(), job.Result{JobID: "job-1", WorkerID: "worker-1", Status: job.StatusSucceeded, ResultPtr: "res:job-1"})
}

// scanned waits for the scans under way.
func (h *harness) scanned() { h.behind.Wait() }

// trail is the audit trail.
func (h *harness) trail() (events []audit.Event) {
	h.t.Helper()
	list, _ := h.redis.List(audit.Key)
	for _, text := range list {
		var e audit.Event
		require.NoError(h.t, json.Unmarshal([]byte(text), &e))
		events = append(events, e)
	}
	return events
}

func (h *harness) found(part string) (f struct{ Decision, Reason, Ptr string }) {
	h.t.Helper()
	if text := h.redis.HGet("output:job-1", part); text != "" {
		require.NoError(h.t, json.Unmarshal([]byte(text), &f))
	}
	return f
}

// kept checks the record of what a part of the policy has said of job-1's output: nothing but ALLOW goes without a reason.
func (h *harness) kept(part, decision string) {
	h.t.Helper()
	f := h.found(part)
	assert.Equal(h.t, decision, f.Decision)
	assert.Equal(h.t, decision == "ALLOW", f.Reason == "", f.Reason)
	assert.Equal(h.t, "res:job-1", f.Ptr)
	assert.Equal(h.t, h.settings.DLQEntryTTL, h.redis.TTL("output:job-1"))
}

// The drawing of Scheduler internals, section 2, phase 1, row by row.
func TestTheCheckOfTheMetadata(t *testing.T) {
	for name, row := range map[string]struct {
		answer *safetypb.CheckOutputResponse
		fails  bool
		state  job.State
		ptr    string
		code   string
		reason string
		found  string
	}{
		"allowed":                     {state: job.Succeeded, ptr: "res:job-1", found: "ALLOW"},
		"quarantined":                 {answer: answers(quarantines, ""), state: job.OutputQuarantined, ptr: "res:job-1", code: "output_quarantined", reason: "a secret", found: "QUARANTINE"},
		"denied":                      {answer: answers(denies, ""), state: job.OutputQuarantined, ptr: "res:job-1", code: "output_denied", reason: "a secret", found: "DENY"},
		"redacted":                    {answer: answers(redacts, "res:job-1:redacted"), state: job.Succeeded, ptr: "res:job-1:redacted", found: "REDACT"},
		"redacted, but there is none": {answer: answers(redacts, ""), state: job.OutputQuarantined, ptr: "res:job-1", code: "output_quarantined", reason: "there is no redacted output: a secret", found: "REDACT"},
		"redacted, but it is gone":    {answer: answers(redacts, "res:job-1:gone"), state: job.OutputQuarantined, ptr: "res:job-1", code: "output_quarantined", reason: "there is no redacted output: a secret", found: "REDACT"},
		"not answered":                {fails: true, state: job.Succeeded, ptr: "res:job-1", found: "SKIPPED"},
		"not decided":                 {answer: answers(safetypb.OutputDecision_OUTPUT_DECISION_UNSPECIFIED, ""), state: job.Succeeded, ptr: "res:job-1", found: "SKIPPED"},
	} {
		for _, order := range []settings.DLQOrder{settings.StateThenDLQ, settings.DLQThenState, settings.AtomicDLQ} {
			t.Run(name+", "+string(order), func(t *testing.T) {
				h, p := newChecked(t, func(s *settings.Settings) { s.DLQOrder = order })
				require.NoError(t, h.redis.Set("res:job-1:redacted", "the"))
				p.meta = row.answer
				if row.fails {
					h.faults.on(phase.OutputCheck, "before")
				}
				require.NoError(t, h.succeeds())
				h.scanned()
				rec := h.record()
				assert.Equal(t, row.state, rec.State)
				assert.Equal(t, row.ptr, rec.ResultPtr)
				assert.Equal(t, row.code, rec.ReasonCode)
				h.kept("sync", row.found)
				h.unlocked()
				skipped := float64(0)
				if row.found == "SKIPPED" {
					skipped = 1
				}
				assert.Equal(t, skipped, h.metric(`output_policy_skipped{topic="job.default"}`))
				assert.EqualValues(t, 1, h.metric(`output_check_latency{phase="sync",topic="job.default"}`))
				assert.EqualValues(t, 1, h.metric(`jobs_completed{status="`+string(row.state)+`",topic="job.default"}`))
				if row.state != job.OutputQuarantined {
					assert.False(t, h.redis.Exists("dlq:entry:job-1"))
					assert.Empty(t, h.trail())
					assert.Equal(t, "ALLOW", h.found("async").Decision)
					assert.Equal(t, 2-skipped, h.metric(`output_policy_checked{topic="job.default"}`))
					assert.Equal(t, row.ptr, p.asked[len(p.asked)-1].GetResultPtr(), "what is scanned is what is handed out")
					return
				}
				entry := h.dlqEntry()
				assert.Equal(t, "OUTPUT_QUARANTINED", entry.Status)
				assert.Equal(t, row.code, entry.ReasonCode)
				assert.Equal(t, row.reason, entry.Reason)
				assert.Equal(t, "key-job-1", entry.IdempotencyKey)
				assert.Equal(t, []audit.Event{{
					At: h.clock.Now().UnixMilli(), Kind: "output_quarantined", JobID: "job-1", ReasonCode: row.code, Reason: row.reason, By: "output policy",
				}}, h.trail())
				assert.EqualValues(t, 1, h.metric(`output_policy_quarantined{topic="job.default"}`))
				assert.Len(t, p.asked, 1, "nothing is scanned that is blocked")
				require.NoError(t, h.succeeds())
				assert.Len(t, p.asked, 1, "and a redelivery asks no more")
			})
		}
	}
}

// The drawing of Scheduler internals, section 2, phase 2.
func TestTheScanOfTheContent(t *testing.T) {
	for name, row := range map[string]struct {
		answer *safetypb.CheckOutputResponse
		code   string
		found  string
	}{
		"allowed":      {found: "ALLOW"},
		"quarantined":  {answer: answers(quarantines, ""), code: "output_quarantined", found: "QUARANTINE"},
		"denied":       {answer: answers(denies, ""), code: "output_denied", found: "DENY"},
		"redacted":     {answer: answers(redacts, "res:job-1:redacted"), code: "output_quarantined", found: "REDACT"},
		"not answered": {found: "SKIPPED"},
	} {
		t.Run(name, func(t *testing.T) {
			h, p := newChecked(t)
			p.scan = row.answer
			if row.found == "SKIPPED" {
				h.faults.on(phase.OutputScan, "before")
			}
			require.NoError(t, h.succeeds())
			h.advanceUntilScanned()
			h.kept("async", row.found)
			skipped := 0.0
			if row.found == "SKIPPED" {
				skipped = 1
			}
			assert.Equal(t, skipped, h.metric(`output_policy_skipped{topic="job.default"}`))
			assert.EqualValues(t, 1, h.metric(`output_check_latency{phase="async",topic="job.default"}`))
			rec := h.record()
			assert.Equal(t, "res:job-1", rec.ResultPtr)
			if row.code == "" {
				assert.Equal(t, job.Succeeded, rec.State)
				assert.Empty(t, h.trail())
				assert.False(t, h.redis.Exists("dlq:entry:job-1"))
				return
			}
			assert.Equal(t, job.OutputQuarantined, rec.State)
			assert.Equal(t, row.code, rec.ReasonCode)
			assert.Equal(t, row.code, h.dlqEntry().ReasonCode)
			require.Len(t, h.trail(), 1)
			assert.EqualValues(t, 1, h.metric(`output_policy_quarantined{topic="job.default"}`))
			assert.Equal(t, "the output", string(p.asked[1].GetContent()))
			h.unlocked()
		})
	}
}

// advanceUntilScanned moves the clock for a scan that waits for the job's lock.
func (h *harness) advanceUntilScanned() {
	h.t.Helper()
	done := make(chan struct{})
	go func() { h.scanned(); close(done) }()
	for {
		ctx, cancel := context.WithTimeout(h.t.Context(), 10*time.Millisecond)
		if h.clock.BlockUntilContext(ctx, 1) == nil {
			h.clock.Advance(time.Second)
		}
		cancel()
		select {
		case <-done:
			return
		default:
		}
	}
}

// Whoever holds the job's lock ends its handling first.
func TestAScanWaitsForTheJobsLock(t *testing.T) {
	h, p := newChecked(t)
	require.NoError(t, h.succeeds())
	h.scanned()
	listed := h.record()
	p.scan = answers(quarantines, "")
	require.NoError(t, h.redis.Set("cordum:scheduler:job:job-1", "another"))
	done := make(chan struct{})
	go func() { h.scan(t.Context(), &listed); close(done) }()
	waiting := make(chan struct{})
	go func() { _ = h.clock.BlockUntilContext(t.Context(), 1); close(waiting) }()
	select {
	case <-waiting:
		assert.Equal(t, job.Succeeded, h.record().State)
		h.redis.Del("cordum:scheduler:job:job-1")
		h.clock.Advance(time.Second)
		<-done
	case <-done:
		assert.Fail(t, "it has not waited")
	}
	assert.Equal(t, job.OutputQuarantined, h.record().State)
}

// A scan never downgrades a job that is in another state by then.
func TestAScanLeavesOtherStatesAlone(t *testing.T) {
	for _, s := range job.States {
		if s == job.Succeeded {
			continue
		}
		h, _ := newChecked(t)
		require.NoError(t, h.succeeds())
		h.scanned()
		listed := h.record()
		h.force(s, 1)
		err := h.withJobLock(t.Context(), listed.JobID, func(ctx context.Context) error {
			return h.downgradeLocked(ctx, &listed, output.Verdict{Decision: output.Quarantine}, output.Finding{Decision: output.Quarantine})
		})
		assert.NoError(t, err)
		assert.Equal(t, s, h.record().State)
		assert.Empty(t, h.trail(), s)
		assert.False(t, h.redis.Exists("dlq:entry:job-1"), s)
		assert.Equal(t, "QUARANTINE", h.found("async").Decision, "what was found is noted all the same")
	}
}

// Without the re-check the scan's word is the last, whatever has become of the job.
func TestWithoutTheRecheckAJobIsQuarantinedTwice(t *testing.T) {
	for _, recheck := range []bool{true, false} {
		h, p := newChecked(t, func(s *settings.Settings) { s.Output.Recheck = recheck })
		require.NoError(t, h.succeeds())
		h.scanned()
		listed := h.record()
		p.scan = answers(quarantines, "")
		for range 2 {
			again := listed
			h.scan(t.Context(), &again)
		}
		assert.Equal(t, job.OutputQuarantined, h.record().State)
		if recheck {
			assert.Len(t, h.trail(), 1)
		} else {
			assert.Len(t, h.trail(), 2)
		}
	}
}

// A result without an output has its metadata checked, and nothing scanned.
func TestNoOutputNoScan(t *testing.T) {
	h, p := newChecked(t, func(s *settings.Settings) { s.Output.DurableScans = true })
	require.NoError(t, h.result(job.StatusSucceeded))
	h.scanned()
	assert.Len(t, p.asked, 1)
	assert.False(t, h.redis.Exists("cordum:output:scans"))

	h, p = newChecked(t)
	require.NoError(t, h.result(job.StatusFailed))
	assert.Empty(t, p.asked, "a failure is not the output policy's")
}

// The policy has answered: a redacted output that cannot be looked for does not let the whole one through.
func TestARedactionThatCannotBeLookedFor(t *testing.T) {
	h, p := newChecked(t)
	require.NoError(t, h.redis.Set("res:job-1:redacted", "the"))
	p.meta = answers(redacts, "res:job-1:redacted")
	h.faults.on(phase.OutputRead, "before")
	assert.Equal(t, phase.OutputRead, h.retry(h.succeeds()).Phase)
	assert.Equal(t, job.Running, h.record().State)
	require.NoError(t, h.succeeds())
	assert.Equal(t, "res:job-1:redacted", h.record().ResultPtr)
}

// A scan that is kept and finds too many before it is left to a tick; a tick takes up no more than it has slots for.
func TestScansAreBounded(t *testing.T) {
	h, p := newChecked(t, func(s *settings.Settings) { s.Output.DurableScans = true })
	for range scansMax {
		h.output.slots <- struct{}{}
	}
	for range keptMax {
		h.output.kept <- struct{}{}
	}
	require.NoError(t, h.succeeds())
	idle := make(chan struct{})
	go func() { h.scanned(); close(idle) }()
	soon(t, idle, "a moment in which nothing waits")
	h.clock.Advance(time.Hour)
	require.NoError(t, h.resumeScans(t.Context()))
	h.scanned()
	require.Len(t, p.asked, 1, "of the metadata")
	<-h.output.slots
	<-h.output.kept
	require.NoError(t, h.resumeScans(t.Context()))
	h.scanned()
	assert.True(t, p.asked[1].GetWithContent())
}

// One that is kept waits for a slot while few do.
func TestAScanWaitsForItsSlot(t *testing.T) {
	h, p := newChecked(t, func(s *settings.Settings) { s.Output.DurableScans = true })
	for range scansMax {
		h.output.slots <- struct{}{}
	}
	require.NoError(t, h.succeeds())
	<-h.output.slots
	h.scanned()
	require.Len(t, p.asked, 2)
	assert.True(t, p.asked[1].GetWithContent())
}

// A scan that is kept is left to the others when the engine stops.
func TestAStopOvertakesAScan(t *testing.T) {
	h, p := newChecked(t, func(s *settings.Settings) { s.Output.DurableScans = true })
	run, stop := context.WithCancel(t.Context())
	run = context.WithValue(run, lifeKey{}, run)
	stop()
	require.NoError(t, h.HandleJobResult(context.WithoutCancel(run), job.Result{JobID: "job-1", WorkerID: "worker-1", Status: job.StatusSucceeded, ResultPtr: "res:job-1"}))
	h.scanned()
	assert.Len(t, p.asked, 1, "of the metadata")
	assert.Zero(t, h.metric(`output_policy_skipped{topic="job.default"}`))
	assert.True(t, h.redis.Exists("cordum:output:scans"))
}

// A scan that fails for what the output is comes to its end, with a word in the audit trail, and says nothing
// of the policy: the next output is scanned.
func TestAnOutputThatCannotBeScanned(t *testing.T) {
	for name, unfit := range map[string]func(h *harness, p *policy){
		"too large": func(h *harness, _ *policy) { _ = h.redis.Set("res:job-1", strings.Repeat("x", output.ContentMax+1)) },
		"no string": func(h *harness, _ *policy) { h.redis.Del("res:job-1"); h.redis.HSet("res:job-1", "a", "b") },
		"is refused": func(_ *harness, p *policy) {
			p.refuses = status.Error(codes.ResourceExhausted, "grpc: received message larger than max (5 vs. 4)")
		},
	} {
		h, p := newChecked(t, func(s *settings.Settings) { s.Output.DurableScans, s.Policy.CircuitFailBudget = true, 1 })
		unfit(h, p)
		require.NoError(t, h.succeeds(), name)
		h.scanned()
		assert.Equal(t, job.Succeeded, h.record().State, name)
		assert.Equal(t, "SKIPPED", h.found("async").Decision, name)
		assert.False(t, h.redis.Exists("cordum:output:scans"), name)
		require.Len(t, h.trail(), 1, name)
		assert.Equal(t, "output_unscanned", h.trail()[0].Kind, name)
		assert.Equal(t, 30*24*time.Hour, h.redis.TTL("output:job-1"), name)
		assert.EqualValues(t, 1, h.metric(`output_policy_skipped{topic="job.default"}`), name)
		assert.False(t, h.redis.Exists("cordum:cb:safety:output:failures"), name)
	}
}

// An output that is gone cannot be scanned, ever.
func TestAnOutputThatIsGone(t *testing.T) {
	h, _ := newChecked(t, func(s *settings.Settings) { s.Output.DurableScans = true })
	h.redis.Del("res:job-1")
	require.NoError(t, h.succeeds())
	h.scanned()
	assert.Equal(t, "SKIPPED", h.found("async").Decision)
	assert.Contains(t, h.found("async").Reason, "there is no such output")
	assert.False(t, h.redis.Exists("cordum:output:scans"))
}

// A quarantine whose write is lost does not let the result through: the redelivery asks again.
func TestAFailedQuarantineIsRetried(t *testing.T) {
	h, p := newChecked(t)
	p.meta = answers(quarantines, "")
	h.faults.on(phase.ResultWrite, "before")
	assert.Equal(t, phase.ResultWrite, h.retry(h.succeeds()).Phase)
	assert.Equal(t, job.Running, h.record().State)
	require.NoError(t, h.succeeds())
	assert.Equal(t, job.OutputQuarantined, h.record().State)
	assert.Len(t, p.asked, 2)
}

// The caveat of Dead letters is true of a quarantined job, too: in the documented order its entry can be lost.
func TestAQuarantinedJobsEntry(t *testing.T) {
	h, p := newChecked(t)
	p.meta = answers(quarantines, "")
	h.faults.on(phase.DLQWrite, "before")
	assert.Equal(t, phase.DLQWrite, h.retry(h.succeeds()).Phase)
	require.NoError(t, h.succeeds())
	assert.Equal(t, job.OutputQuarantined, h.record().State)
	assert.False(t, h.redis.Exists("dlq:entry:job-1"))
	assert.Len(t, h.trail(), 1)
	assert.EqualValues(t, 1, h.metric(`output_policy_quarantined{topic="job.default"}`))
}

// What a scan could not finish is there for the replayer's tick, of any replica.
func TestScansThatAreKept(t *testing.T) {
	h, p := newChecked(t, func(s *settings.Settings) { s.Output.DurableScans = true })
	h.faults.on(phase.OutputScan, "before")
	require.NoError(t, h.succeeds())
	h.scanned()
	assert.Empty(t, h.found("async"))
	score, err := h.redis.ZScore("cordum:output:scans", "job-1")
	require.NoError(t, err)
	assert.EqualValues(t, h.clock.Now().Add(2*time.Minute).UnixMilli(), score)

	resume := func() {
		require.NoError(t, h.resumeScans(t.Context()))
		h.advanceUntilScanned()
	}
	resume()
	assert.Len(t, p.asked, 1, "it is not due yet: who began it may be at it still")
	h.clock.Advance(2 * time.Minute)
	h.faults.on(phase.OutputScan, "before")
	resume()
	assert.True(t, h.redis.Exists("cordum:output:scans"), "for as long as there is no answer")
	h.clock.Advance(2 * time.Minute)
	p.scan = answers(quarantines, "")
	resume()
	assert.Equal(t, job.OutputQuarantined, h.record().State)
	assert.False(t, h.redis.Exists("cordum:output:scans"))
	assert.Equal(t, "QUARANTINE", h.found("async").Decision)
	resume()
	assert.Len(t, h.trail(), 1)
}

// A scan of a job that is over otherwise, or that has no record any more, is dropped.
func TestAScanThatIsOutOfDate(t *testing.T) {
	for _, gone := range []bool{true, false} {
		h, p := newChecked(t, func(s *settings.Settings) { s.Output.DurableScans = true })
		h.faults.on(phase.OutputScan, "before")
		require.NoError(t, h.succeeds())
		h.scanned()
		if gone {
			h.redis.Del("job:job-1")
		} else {
			h.force(job.OutputQuarantined, 1)
		}
		h.clock.Advance(2 * time.Minute)
		require.NoError(t, h.resumeScans(t.Context()))
		h.scanned()
		assert.False(t, h.redis.Exists("cordum:output:scans"))
		assert.Len(t, p.asked, 1)
	}
}

// An engine that stops finishes its scans, unless another can take them up.
func TestAStopAndTheScansUnderWay(t *testing.T) {
	for _, durable := range []bool{false, true} {
		h, _ := newChecked(t, func(s *settings.Settings) { s.Output.DurableScans = durable })
		life, stop := context.WithCancel(t.Context())
		h.faults.mu.Lock()
		h.faults.first[phase.OutputRead] = stop
		h.faults.mu.Unlock()
		require.NoError(t, h.HandleJobResult(context.WithValue(t.Context(), lifeKey{}, life), job.Result{
			JobID: "job-1", WorkerID: "worker-1", Status: job.StatusSucceeded, ResultPtr: "res:job-1",
		}))
		h.scanned()
		if durable {
			assert.True(t, h.redis.Exists("cordum:output:scans"))
			assert.Empty(t, h.found("async"))
		} else {
			assert.Equal(t, "ALLOW", h.found("async").Decision)
		}
	}
}

func TestTheOutputPolicyWantsAConnection(t *testing.T) {
	h := newHarness(t)
	c := h.config
	c.Registerer = nil
	c.Settings.Output.Enabled = true
	_, err := New(c)
	assert.ErrorContains(t, err, "output.enabled is set, but there is no Output: pass a connection to the output policy, or turn it off")
}

// With the policy off a result's pointer is kept, and nothing else happens, though there is a policy to ask.
func TestWithoutTheOutputPolicy(t *testing.T) {
	h := newHarnessOn(t, func(h *harness) { h.config.Output = &policy{f: h.faults} })
	h.submit()
	h.force(job.Running, 1)
	require.NoError(t, h.succeeds())
	assert.Equal(t, "res:job-1", h.record().ResultPtr)
	h.scanned()
	assert.False(t, h.redis.Exists("output:job-1"))
}

// An open circuit is no answer either: nobody is asked, and both parts fail open.
func TestAnOpenCircuitToTheOutputPolicyFailsOpen(t *testing.T) {
	h, p := newChecked(t)
	require.NoError(t, h.redis.Set("cordum:cb:safety:output:failures", "3"))
	h.redis.SetTTL("cordum:cb:safety:output:failures", 31*24*time.Hour)
	require.NoError(t, h.succeeds())
	h.scanned()
	assert.Equal(t, job.Succeeded, h.record().State)
	assert.Empty(t, p.asked)
	h.kept("sync", "SKIPPED")
	assert.EqualValues(t, 2, h.metric(`output_policy_skipped{topic="job.default"}`))
	assert.Equal(t, "output policy: output policy circuit open", h.found("async").Reason)
}
