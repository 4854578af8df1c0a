package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

var checkedOutput = config.Config{
	DLQOrder: "atomic", Fence: true, Epochs: true, ResumeIntents: true, Reconciler: true,
	Output: config.OutputConfig{Enabled: true, DurableScans: true, ScanTimeout: 30 * time.Second},
}

const (
	allows = 1 + iota
	quarantines
	denies
	redacts
)

// told is a call to the output policy about the output that the record names or, while that names none, the job's raw one,
// and what came of it.
func (s *story) told(node, job, phase string, decision int, ptr string) *story {
	s.add(node, sim.KindCall, history.CallOutput, "kernel", job, phase)
	s.last().Data = fmt.Sprintf(`{"decision":%d,"redacted_ptr":%q,"reason":"rule 7"}`, decision, ptr)
	of := cmp.Or(s.redis[history.RecordPrefix+job]["result_ptr"], "res:"+job)
	return s.asking(`{"topic":%q,"tenant":"default","result_ptr":%q,"with_content":%t,"content":%q}`, "", of, phase == "output_scan", sim.Gist([]byte(s.redis[of][""])))
}

// asking is what the last step asks.
func (s *story) asking(format string, args ...any) *story {
	s.last().Asked = fmt.Sprintf(format, args...)
	return s
}

// found is part of the last step: the job's output safety record, by the part that has found it.
func (s *story) found(job, part, decision, reason, ptr string) *story {
	s.last().Changes = append(s.last().Changes, s.set("output:"+job, part, fmt.Sprintf(`{"decision":%q,"reason":%q,"ptr":%q}`, decision, reason, ptr)))
	return s
}

// answered is the handling of a result up to the policy's answer about its metadata.
func (s *story) answered(node, job string, decision int, ptr string) *story {
	s.submit(job).dispatched(s1, job, w1).effect(w1, job, "begin").effect(w1, job, "finish").replies(w1, job, `{"status":"SUCCEEDED","result_ptr":"res:`+job+`"}`)
	s.last().Changes = append(s.last().Changes, s.set("res:"+job, "", "secrets"))
	if strings.HasSuffix(ptr, ":redacted") {
		s.add(w1, sim.KindRedis, "mset", ptr, job, "output_store", s.set(ptr, "", "what is left"))
	}
	return s.message(node, job, "result_deliver", sim.KindDeliver, 1).lock(node, job).read(node, job).told(node, job, "output_check", decision, ptr)
}

// passes writes SUCCEEDED, and ends the handling.
func (s *story) passes(node, job, ptr string) *story {
	return s.write(node, job, "result_write", "SUCCEEDED", "result_ptr", ptr).keepsScan(job).unlock(node, job).ack(node, job, "result_ack")
}

// keepsScan is part of the last step: the job's scan is open.
func (s *story) keepsScan(job string) *story {
	return s.keepsScanFor(job, 2*time.Minute)
}

// keepsScanFor is likewise; others may take it up so much later.
func (s *story) keepsScanFor(job string, lasts time.Duration) *story {
	s.last().Changes = append(s.last().Changes, s.set(history.ScansKey, job, strconv.FormatInt((s.at+lasts).Milliseconds(), 10)))
	return s
}

// claimsScan puts off a scan that is due, to take it up.
func (s *story) claimsScan(node, job string, lasts time.Duration) *story {
	s.add(node, sim.KindRedis, "zrangebyscore", history.ScansKey, "", "scan_read")
	return s.add(node, sim.KindRedis, "zadd", history.ScansKey, "", "scan_read").keepsScanFor(job, lasts)
}

// scanEnds is part of the last step, likewise.
func (s *story) scanEnds(job string) *story {
	delete(s.redis[history.ScansKey], job)
	s.last().Changes = append(s.last().Changes, sim.Change{Key: history.ScansKey, Field: job, Gone: true})
	return s
}

// buries is a write of OUTPUT_QUARANTINED with its DLQ entry and its event in the audit trail.
func (s *story) buries(node, job, phase string) *story {
	s.dlq(node, job, "output_quarantined", s.attempts(job))
	entry := s.last().Changes
	s.events = s.events[:len(s.events)-1]
	event := s.set(history.AuditKey, strconv.Itoa(len(s.redis[history.AuditKey])), fmt.Sprintf(`{"kind":"output_quarantined","job_id":%q}`, job))
	s.write(node, job, phase, "OUTPUT_QUARANTINED", "reason_code", "output_quarantined", "reason", "so says rule 7", "result_ptr", "res:"+job)
	s.last().Changes = append(append(s.last().Changes, entry...), event)
	return s
}

// coded gives the last write another reason code.
func (s *story) coded(code string) *story {
	for i := range s.last().Changes {
		if c := &s.last().Changes[i]; c.Field == "reason_code" {
			c.Value = code
		}
	}
	return s
}

// downgrades is what follows from a scan that blocks.
func (s *story) downgrades(node, job string) *story {
	return s.lock(node, job).op(node, job, "quarantine_read").buries(node, job, "output_write").scanEnds(job).unlock(node, job)
}

// scanned is a job that is SUCCEEDED, and whose output is scanned.
func scanned(s *story) {
	s.answered(s1, job1, allows, "").passes(s1, job1, "res:job-1").told(s1, job1, "output_scan", allows, "")
	s.op(s1, job1, "output_record").scanEnds(job1)
}

// found1 is a job that is SUCCEEDED, and of whose output both parts are on record.
func found1(s *story) *story {
	s.answered(s1, job1, allows, "").write(s1, job1, "result_write", "SUCCEEDED", "result_ptr", "res:job-1").keepsScan(job1).
		found(job1, "sync", "ALLOW", "rule 7", "res:job-1").unlock(s1, job1)
	return s.told(s1, job1, "output_scan", allows, "").op(s1, job1, "output_record").scanEnds(job1).found(job1, "async", "ALLOW", "rule 7", "res:job-1")
}

var outputTrials = map[string]trial{
	"policy-is-asked-about-the-output": {
		cfg: checkedOutput,
		breaks: func(s *story) {
			s.answered(s1, job1, allows, "").passes(s1, job1, "res:job-1").told(s1, job1, "output_scan", allows, "").
				asking(`{"tenant":"default","result_ptr":"res:job-1","with_content":true,"content":%q}`, sim.Gist(nil))
		},
		says:  "asked the output policy at step 25 about the content sha256:e3b0c44298fc1c14 of 0 bytes, which \"res:job-1\" has not held",
		holds: scanned,
	},
	"output-check-is-on-record": {
		cfg: checkedOutput,
		breaks: func(s *story) {
			s.answered(s1, job1, denies, "").buries(s1, job1, "result_write").found(job1, "sync", "ALLOW", "rule 7", "res:job-1")
		},
		says: "scheduler-1 wrote OUTPUT_QUARANTINED at step 20 with the record \"ALLOW\" (rule 7) of res:job-1 of the output's check, but it was told DENY (rule 7) of res:job-1",
		holds: func(s *story) {
			found1(s)
			s.answered(s1, job2, denies, "").buries(s1, job2, "result_write").found(job2, "sync", "DENY", "rule 7", "res:job-2")
			s.answered(s1, "job-3", denies, "").fails().write(s1, "job-3", "result_write", "SUCCEEDED", "result_ptr", "res:job-3").
				found("job-3", "sync", "SKIPPED", "connection reset", "res:job-3")
		},
	},
	"fail-open-goes-on": {
		cfg:    checkedOutput,
		breaks: func(s *story) { s.answered(s1, job1, allows, "").fails().unlock(s1, job1) },
		says:   "scheduler-1 had no answer of the output policy, and ended its handling at step 20 with the job still RUNNING",
		holds: func(s *story) {
			s.answered(s1, job1, allows, "").fails().passes(s1, job1, "res:job-1")
			s.answered(s1, job2, allows, "").fails().op(s1, job2, "result_write").fails().unlock(s1, job2)
		},
	},
	"scans-come-in-time": {
		cfg:    checkedOutput,
		breaks: func(s *story) { found1(s.wait(0)).readsOutput(s2, job1).wait(time.Minute).readsOutput(s1, job1) },
		says:   "became SUCCEEDED at 20ms, and scheduler-1 has not begun to scan its output for 1m0.007s",
		holds: func(s *story) {
			s.answered(s1, job1, allows, "").passes(s1, job1, "res:job-1").wait(29*time.Second).readsOutput(s1, job1).wait(time.Hour)
			s.answered(s2, job2, allows, "").passes(s2, job2, "res:job-2").control("crash", s2).wait(time.Hour)
			s.answered(s1, "job-3", allows, "").passes(s1, "job-3", "res:job-3").control("pause", s1).wait(time.Hour).control("resume", s1)
			s.readsOutput(s1, "job-3")
		},
	},
	"scan-is-left-to-its-holder": {
		cfg: checkedOutput,
		breaks: func(s *story) {
			s.answered(s1, job1, allows, "").passes(s1, job1, "res:job-1").wait(2*time.Minute).op(s2, job1, "scan_read")
		},
		says: "job-1: scheduler-2 has its scan since step 25 (scan_read), and others may take it up after 0s; that should be 2m0s",
		holds: func(s *story) {
			s.answered(s1, job1, allows, "").passes(s1, job1, "res:job-1").wait(2*time.Minute).claimsScan(s2, job1, 2*time.Minute).op(s2, job1, "scan_read")
		},
	},
	"result-goes-as-the-policy-says": {
		cfg:    checkedOutput,
		breaks: func(s *story) { s.answered(s1, job1, quarantines, "").passes(s1, job1, "res:job-1") },
		says:   "scheduler-1 wrote SUCCEEDED at step 20, although it was told QUARANTINE at step 19",
		holds: func(s *story) {
			scanned(s)
			s.answered(s1, "job-2", redacts, "res:job-2:redacted").passes(s1, "job-2", "res:job-2:redacted")
			s.answered(s1, "job-3", redacts, "").buries(s1, "job-3", "result_write")
			s.answered(s1, "job-4", redacts, "res:job-4:gone").buries(s1, "job-4", "result_write")
			s.answered(s1, "job-4", denies, "").buries(s1, "job-4", "result_write")
			s.answered(s1, "job-5", denies, "").fails().passes(s1, "job-5", "res:job-5")
		},
	},
	"quarantined-only-when-blocked": {
		cfg: checkedOutput,
		breaks: func(s *story) {
			s.answered(s1, job1, allows, "").passes(s1, job1, "res:job-1").told(s1, job1, "output_scan", quarantines, "").
				downgrades(s1, job1).downgrades(s2, job1)
		},
		says: "scheduler-2 wrote OUTPUT_QUARANTINED over OUTPUT_QUARANTINED at step 34 (output_write)",
		holds: func(s *story) {
			s.answered(s1, job1, denies, "").buries(s1, job1, "result_write")
		},
	},
	"every-quarantine-is-audited": {
		cfg: checkedOutput,
		breaks: func(s *story) {
			s.answered(s1, job1, denies, "").write(s1, job1, "result_write", "OUTPUT_QUARANTINED", "reason", "rule 7")
		},
		says: "scheduler-1 wrote OUTPUT_QUARANTINED at step 20 (result_write), and the audit trail has 0 events of it",
		holds: func(s *story) {
			s.answered(s1, job1, denies, "").buries(s1, job1, "result_write").write(s1, job1, "scheduled_write", "SCHEDULED")
			s.answered(s1, job1, denies, "").buries(s1, job1, "result_write") // each time there is an event
		},
	},
	"blocked-output-ends-quarantined": {
		cfg: checkedOutput,
		breaks: func(s *story) {
			s.answered(s1, job1, allows, "").passes(s1, job1, "res:job-1").told(s1, job1, "output_scan", denies, "")
		},
		says: "job-1: is SUCCEEDED, since step 20, although the output policy told scheduler-1 DENY at step 25",
		holds: func(s *story) {
			s.answered(s1, job1, allows, "").passes(s1, job1, "res:job-1").told(s1, job1, "output_scan", redacts, "res:job-1:redacted").downgrades(s1, job1)
			// Another answer may replace it: the policy has changed.
			s.answered(s1, "job-2", allows, "").passes(s1, "job-2", "res:job-2").told(s1, "job-2", "output_scan", denies, "").told(s2, "job-2", "output_scan", allows, "")
		},
	},
	"every-output-is-scanned": {
		cfg: checkedOutput,
		breaks: func(s *story) {
			s.answered(s1, job1, allows, "").passes(s1, job1, "res:job-1").told(s1, job1, "output_scan", allows, "").fails()
		},
		says: "is SUCCEEDED, since step 20, and nobody has had an answer about the content of its output res:job-1",
		holds: func(s *story) {
			scanned(s)
			s.answered(s1, "job-2", denies, "").buries(s1, "job-2", "result_write")
		},
	},
	"scan-downgraded-a-job": {
		breaks: scanned,
		holds: func(s *story) {
			s.answered(s1, job1, allows, "").passes(s1, job1, "res:job-1").told(s1, job1, "output_scan", denies, "").downgrades(s1, job1)
		},
	},
	"output-failed-open": {
		breaks: scanned,
		holds:  func(s *story) { s.answered(s1, job1, allows, "").fails().passes(s1, job1, "res:job-1") },
	},
	"output-redacted": {
		breaks: scanned,
		holds:  func(s *story) { s.answered(s1, job1, redacts, "res:r:redacted").passes(s1, job1, "res:r:redacted") },
	},
	"scan-resumed": {
		breaks: scanned,
		holds: func(s *story) {
			s.answered(s1, job1, allows, "").passes(s1, job1, "res:job-1").op(s2, job1, "scan_read").told(s2, job1, "output_scan", allows, "")
		},
	},
}

// What the hardened scan promises, the documented one does not.
func TestScansAreNotPromisedThatNobodyKeeps(t *testing.T) {
	documented := config.Config{Output: config.OutputConfig{Enabled: true, ScanTimeout: 30 * time.Second}}
	s := newStory().answered(s1, job1, allows, "").passes(s1, job1, "res:job-1")
	o := outcomeOf(s.judge(documented), "every-output-is-scanned")
	assert.True(t, o.Unprovided)
	assert.Len(t, o.Violations, 1)
	assert.False(t, o.Violations[0].Promised)

	s = newStory().answered(s1, job1, allows, "").passes(s1, job1, "res:job-1").told(s1, job1, "output_scan", denies, "").control("crash", s1)
	o = outcomeOf(s.judge(documented), "blocked-output-ends-quarantined")
	assert.Len(t, o.Violations, 1)
	assert.False(t, o.Violations[0].Promised)
	assert.True(t, outcomeOf(s.judge(checkedOutput), "blocked-output-ends-quarantined").Violations[0].Promised)
}

// What is asked, and what is found, is about the result and its request.
func TestTheOutputPolicyIsAskedAboutTheResult(t *testing.T) {
	passed := func(s *story) *story { return s.answered(s1, job1, allows, "").passes(s1, job1, "res:job-1") }
	redacted := func(s *story) *story {
		return s.answered(s1, job1, redacts, "res:job-1:redacted").passes(s1, job1, "res:job-1:redacted")
	}
	raw := `{"tenant":"default","result_ptr":"res:job-1","with_content":true,"content":"` + sim.Gist([]byte("secrets")) + `"}`
	for name, c := range map[string]struct {
		story     func(*story) *story
		invariant string
		says      string // "" if nothing is broken
	}{
		"another tenant": {func(s *story) *story {
			s.write("submitter", job1, "submit_write", "PENDING", "request", `{"job_id":"job-1","tenant":"acme"}`)
			return s.answered(s1, job1, allows, "")
		}, "policy-is-asked-about-the-output", "with the tenant default, but the request has acme"},
		"another output": {func(s *story) *story { return s.answered(s1, job1, allows, "").asking(`{"tenant":"default"}`) },
			"policy-is-asked-about-the-output", `about the output "", which no result names`},
		"no content": {func(s *story) *story {
			return passed(s).told(s1, job1, "output_scan", allows, "").asking(`{"result_ptr":"res:job-1"}`)
		}, "policy-is-asked-about-the-output", `without the content of "res:job-1"`},
		"the raw output is scanned": {func(s *story) *story { return redacted(s).told(s1, job1, "output_scan", allows, "").asking("%s", raw) },
			"every-output-is-scanned", "nobody has had an answer about the content of its output res:job-1:redacted"},
		"the redacted one is": {func(s *story) *story { return redacted(s).told(s1, job1, "output_scan", allows, "") }, "every-output-is-scanned", ""},
		"another output is written": {func(s *story) *story { return s.answered(s1, job1, allows, "").passes(s1, job1, "res:job-9") },
			"result-goes-as-the-policy-says", `wrote SUCCEEDED at step 20 with the output "res:job-9", but had asked about "res:job-1"`},
		"quarantined without its output": {func(s *story) *story {
			return s.answered(s1, job1, denies, "").write(s1, job1, "result_write", "OUTPUT_QUARANTINED", "reason", "rule 7")
		}, "result-goes-as-the-policy-says", `wrote OUTPUT_QUARANTINED at step 20 with the output "", but had asked about "res:job-1"`},
		"redacted output gone when looked for": {func(s *story) *story {
			s.answered(s1, job1, redacts, "res:job-1:redacted")
			s.control("failover", "redis").last().Changes = []sim.Change{{Key: "res:job-1:redacted", Gone: true}}
			return s.sought(s1, job1).buries(s1, job1, "result_write")
		}, "result-goes-as-the-policy-says", ""},
		"redacted output gone since": {func(s *story) *story {
			s.answered(s1, job1, redacts, "res:job-1:redacted").sought(s1, job1)
			s.control("failover", "redis").last().Changes = []sim.Change{{Key: "res:job-1:redacted", Gone: true}}
			return s.passes(s1, job1, "res:job-1:redacted")
		}, "result-goes-as-the-policy-says", ""},
		"for another reason": {func(s *story) *story {
			return s.answered(s1, job1, denies, "").write(s1, job1, "result_write", "OUTPUT_QUARANTINED", "reason", "")
		}, "quarantined-only-when-blocked", `for the reason "", which the output policy has not told it`},
		"no record of the scan": {func(s *story) *story { return passed(s).told(s1, job1, "output_scan", allows, "").scanEnds(job1) },
			"output-check-is-on-record", "and its scan is over, of which there is no record"},
		"another record of the scan": {func(s *story) *story { return found1(s).found(job1, "async", "DENY", "rule 7", "res:job-1") },
			"output-check-is-on-record", `has the record "DENY" (rule 7) of res:job-1 of its scan, which nobody was told`},
	} {
		o := outcomeOf(c.story(newStory()).judge(checkedOutput), c.invariant)
		broken := slices.ContainsFunc(o.Violations, func(v invariants.Violation) bool { return strings.Contains(v.Message, c.says) })
		assert.Equal(t, c.says != "", broken, "%s: %v", name, o.Violations)
	}
}

// sought is a look for the job's redacted output.
func (s *story) sought(node, job string) *story {
	return s.add(node, sim.KindRedis, "exists", "res:"+job+":redacted", job, "output_read")
}

// readsOutput begins a scan.
func (s *story) readsOutput(node, job string) *story {
	return s.add(node, sim.KindRedis, "strlen", "res:"+job, job, "output_read")
}

// A scan that is kept waits for the replayer no longer than it takes whoever has it to be gone.
func TestKeptScansAreTakenUp(t *testing.T) {
	ticks := func(s *story, n int) *story {
		for range n {
			s.wait(time.Minute).ticks(s2, history.ReplayerKey, "replay_lock", time.Minute).add(s2, sim.KindRedis, "zrangebyscore", history.ScansKey, "", "scan_read")
		}
		return s
	}
	left := func() *story {
		return newStory().answered(s1, job1, allows, "").passes(s1, job1, "res:job-1").control("crash", s1).control("restart", s1)
	}
	violations := func(s *story) []invariants.Violation {
		return outcomeOf(s.judge(checkedOutput), "scans-come-in-time").Violations
	}
	assert.Empty(t, violations(ticks(left(), 3)))
	late := violations(ticks(left(), 5))
	if assert.Len(t, late, 2) {
		assert.Contains(t, late[0].Message, "its scan was open at 20ms, and nobody has taken it up for 4m")
	}
	assert.Empty(t, violations(ticks(ticks(left(), 3).op(s2, job1, "scan_read").keepsScan(job1), 3)), "somebody has it")
	assert.Empty(t, violations(ticks(ticks(left(), 3).op(s2, job1, "output_record").scanEnds(job1), 9)), "it is over")
}

// A run is not over while a scan is still to come.
func TestOpenScans(t *testing.T) {
	open := func(cfg config.Config, s *story) []string {
		j := NewJudge(cfg)
		for i := range s.events {
			j.Observe(&s.events[i])
		}
		return j.Open()
	}
	passed := func() *story { return newStory().answered(s1, job1, allows, "").passes(s1, job1, "res:job-1") }
	assert.Equal(t, []string{"the scan of the output of job-1 is still to be done"}, open(checkedOutput, passed()))
	s := newStory()
	scanned(s)
	assert.Empty(t, open(checkedOutput, s))

	documented := config.Config{Output: config.OutputConfig{Enabled: true, ScanTimeout: 30 * time.Second}}
	bare := func() *story {
		return newStory().answered(s1, job1, allows, "").write(s1, job1, "result_write", "SUCCEEDED", "result_ptr", "res:job-1")
	}
	assert.Equal(t, []string{"scheduler-1 has still to scan the output of job-1"}, open(documented, bare()))
	assert.Empty(t, open(documented, bare().told(s1, job1, "output_scan", allows, "")))
	assert.Empty(t, open(documented, bare().told(s1, job1, "output_scan", allows, "").fails()))
	assert.Empty(t, open(documented, bare().control("crash", s1)), "nobody will")
	assert.Empty(t, open(documented, bare().wait(2*time.Minute).op(s2, job1, "state_read")), "nobody will any more")
	assert.NotEmpty(t, open(documented, bare().told(s1, job1, "output_scan", denies, "")))
}

// What the policy told of a result counts in the handling in which it was asked. In the next one the policy is asked
// again, unless a circuit that is open keeps the question back: then there is no answer.
func TestTheOutputPolicyIsAskedInEachHandling(t *testing.T) {
	unasked := func(s *story) *story {
		return s.submit(job1).dispatched(s1, job1, w1).executed(w1, job1).message(s1, job1, "result_deliver", sim.KindDeliver, 1).lock(s1, job1).read(s1, job1)
	}
	again := func(s *story, decision int) *story {
		return s.answered(s1, job1, decision, "").op(s1, job1, "result_write").fails().unlock(s1, job1).lock(s1, job1).read(s1, job1)
	}
	opens := func(s *story) *story {
		for range 3 { // its budget
			s.told(s1, "job-2", "output_check", allows, "").fails()
		}
		return s
	}
	closes := func(s *story) *story { return s.wait(time.Minute).told(s1, "job-2", "output_check", allows, "") }
	const noCircuit, neverAsked = "and no circuit kept it from that", "although it had not asked the output policy"
	for name, c := range map[string]struct {
		write func(*story)
		says  string // "" if nothing is broken
	}{
		"never asked":                      {func(s *story) { unasked(s).passes(s1, job1, "res:job-1") }, noCircuit},
		"kept from asking":                 {func(s *story) { unasked(opens(s)).passes(s1, job1, "res:job-1") }, ""},
		"kept from asking, and blocked":    {func(s *story) { unasked(opens(s)).buries(s1, job1, "result_write") }, neverAsked},
		"asked before only":                {func(s *story) { again(s, allows).passes(s1, job1, "res:job-1") }, noCircuit},
		"asked before, blocked":            {func(s *story) { again(s, denies).buries(s1, job1, "result_write") }, noCircuit},
		"then kept from it":                {func(s *story) { again(opens(s), denies).passes(s1, job1, "res:job-1") }, noCircuit}, // that answer has closed the circuit
		"kept from it since":               {func(s *story) { opens(again(s, denies)).passes(s1, job1, "res:job-1") }, ""},
		"kept from it until somebody else": {func(s *story) { closes(opens(again(s, denies))).passes(s1, job1, "res:job-1") }, ""},
		"free to ask long ago":             {func(s *story) { unasked(closes(opens(s))).passes(s1, job1, "res:job-1") }, noCircuit},
	} {
		s := newStory()
		c.write(s)
		cfg := checkedOutput
		cfg.Policy.CloseAfter, cfg.Policy.OpenFor = 1, 30*time.Second
		o := outcomeOf(s.judge(cfg), "result-goes-as-the-policy-says")
		assert.Equal(t, 1, o.Exercised, name)
		assertSays(t, o.Violations, c.says, name)
	}
}

// The reason code of a job whose output is blocked says whether it was denied.
func TestTheReasonCodeOfABlockedOutput(t *testing.T) {
	const quarantined, denied = "output_quarantined", "output_denied"
	for _, c := range []struct {
		decision   int
		code, says string
	}{
		{denies, denied, ""},
		{denies, quarantined, `but the output policy told it DENY, which is output_denied`},
		{quarantines, quarantined, ""},
		{quarantines, denied, `with the reason code "output_denied", but the output policy told it QUARANTINE, which is output_quarantined`},
		{redacts, quarantined, ""},
	} {
		for _, s := range []*story{
			newStory().answered(s1, job1, c.decision, "").buries(s1, job1, "result_write").coded(c.code),
			newStory().answered(s1, job1, allows, "").passes(s1, job1, "res:job-1").told(s1, job1, "output_scan", c.decision, "").buries(s1, job1, "output_write").coded(c.code),
		} {
			found := outcomeOf(s.judge(checkedOutput), "result-goes-as-the-policy-says").Violations
			assertSays(t, found, c.says, c)
		}
	}
}

// Who takes up a scan has it for its time, and so has who wrote SUCCEEDED, whatever their clocks say.
func TestAScanIsLeftToItsHolder(t *testing.T) {
	const has = 2 * time.Minute
	left := func() *story {
		return newStory().answered(s1, job1, allows, "").passes(s1, job1, "res:job-1").wait(has)
	}
	taken := func() *story { return left().claimsScan(s1, job1, has).op(s1, job1, "scan_read") }
	opened := newStory().answered(s1, job1, allows, "").write(s1, job1, "result_write", "SUCCEEDED", "result_ptr", "res:job-1").keepsScanFor(job1, time.Minute)
	for name, c := range map[string]struct {
		story  *story
		broken bool
	}{
		"opened for too short":          {opened, true},
		"taken up for too short":        {left().claimsScan(s1, job1, time.Minute), true},
		"taken up again":                {taken().wait(has).claimsScan(s2, job1, has).op(s2, job1, "scan_read"), false},
		"taken up without a claim":      {taken().op(s2, job1, "scan_read"), true},
		"taken up again, with no claim": {taken().op(s1, job1, "scan_read"), true},
		"claimed twice, taken up twice": {left().claimsScan(s1, job1, has).wait(has).claimsScan(s1, job1, has).op(s1, job1, "scan_read").op(s1, job1, "scan_read"), false},
		"it is over":                    {taken().op(s1, job1, "output_record").scanEnds(job1).op(s2, job1, "scan_read"), false},
		"put off long ago":              {left().claimsScan(s1, job1, time.Minute).late(), false},
		"listed before another's claim": {left().claimsScan(s1, job1, has).add(s2, sim.KindRedis, "zadd", history.ScansKey, "", "scan_read").keepsScanFor(job1, has), false},
		"by clocks that are wrong":      {left().claimsScan(s1, job1, time.Hour).claimsScan(s2, job1, time.Hour+has), false},
		"forgotten by a failover":       {taken().control("failover", sim.Redis).keepsScanFor(job1, 0).claimsScan(s2, job1, has).op(s2, job1, "scan_read"), false},
	} {
		assert.Equal(t, c.broken, len(outcomeOf(c.story.judge(checkedOutput), "scan-is-left-to-its-holder").Violations) > 0, name)
	}
}
