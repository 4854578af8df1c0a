package judge

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

// left is what the servers hold after a story, with the packets that the story left out.
func (s *story) left() AuditInput {
	in := AuditInput{Config: hardened, Redis: s.redis, TTLs: map[string]time.Duration{}, Streams: slices.Clone(s.streams), Settled: true}
	for i := range in.Streams {
		switch c := &in.Streams[i]; {
		case c.Value != "":
		case c.Stream == history.StreamJobs:
			c.Value = `{"attempt":1}`
		}
	}
	for key := range s.redis {
		switch what, _ := history.KeyOf(key); what {
		case history.Lock:
			in.TTLs[key] = time.Minute
		case history.Letter:
			in.TTLs[key] = 30 * 24 * time.Hour
		}
	}
	return in
}

// settled is the life of a job in the hardened order.
func settled(s *story, job string) *story {
	return s.submit(job).dispatchedAt(s1, job, w1, 1).answers(w1, job, 1).completed(s2, job, "SUCCEEDED")
}

func TestAuditOfWhatHolds(t *testing.T) {
	s := settled(newStory(), job1)
	s.submit("job-2").rejected(s1, "job-2")
	s.submit("job-3").dispatchedAt(s1, "job-3", w1, 1).cancelled(s2, "job-3").tells(s2, "job-3", w1).unlock(s2, "job-3")
	s.redis[history.RecordPrefix+"job-3"]["reason_code"] = history.ReasonCancelled
	s.submit("job-4").begins(s1, "job-4").minted(s1, "job-4", w1, 1).voids(s2, "job-4", w1, 1).cancelled(s2, "job-4").unlock(s2, "job-4")
	s.store(history.StreamSys, history.SubjectSubmit, "poison-1")
	s.dlq(s1, model.Place(s.seqs[history.StreamSys]), "parse_error", 0).lock(s1, "job-1")
	report := Audit(s.left())
	judged := []string{}
	for _, o := range report.Invariants {
		assert.Empty(t, o.Violations, o.Name)
		if o.Exercised > 0 {
			judged = append(judged, o.Name)
		}
	}
	assert.ElementsMatch(t, []string{
		"one-dispatch-per-job", "epochs-never-decrease", "attempts-equal-scheduled-writes", "attempts-never-past-ceiling",
		"succeeded-implies-finished-execution", "result-of-current-epoch", "every-intent-is-published", "cancelled-job-is-told", "redis-index-agrees-with-record",
		"failed-job-has-dlq-entry", "every-job-settles", "terminated-message-has-dlq-entry", "no-lock-outlives-its-holder",
	}, judged)
}

func TestAuditFindsWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		invariant, says string
		spoil           func(*story, *AuditInput)
	}{
		"a second dispatch": {"one-dispatch-per-job", "another dispatch of epoch 1 stored, CORDUM_JOBS seq 2 on worker.worker-2.jobs.job-1.1; the first was seq 1 on worker.worker-1.jobs.job-1.1", func(s *story, in *AuditInput) {
			in.Streams = append(in.Streams, s.epoch(s.store(history.StreamJobs, epochSubject(w2, job1, 1), job1), 1))
			in.Streams[len(in.Streams)-1].Value = `{"attempt":1}`
		}},
		"a job that is not over": {"every-job-settles", "is still RUNNING: ", func(s *story, _ *AuditInput) {
			s.write(s1, job1, "", "RUNNING")
		}},
		"a record of another type": {"redis-index-agrees-with-record", "job:job-1 is a string, and no scheduler can read it: it must be a hash", func(_ *story, in *AuditInput) {
			in.Types = map[string]string{history.RecordPrefix + job1: "string", history.IndexPrefix + "SUCCEEDED": "zset"}
			in.Redis[history.RecordPrefix+job1] = map[string]string{"": "RUNNING"}
		}},
		"an index of another type": {"redis-index-agrees-with-record", "job:index:RUNNING is a list, and no scheduler can read it: it must be a sorted set", func(_ *story, in *AuditInput) {
			in.Types = map[string]string{history.IndexPrefix + "RUNNING": "list"}
		}},
		"a FAILED job without an entry": {"failed-job-has-dlq-entry", "is FAILED, but dlq:entry:job-1 does not exist", func(s *story, _ *AuditInput) {
			s.write(s1, job1, "", "FAILED")
		}},
		"an index that has it still": {"redis-index-agrees-with-record", "job:index:RUNNING lists it, but the record says SUCCEEDED", func(s *story, _ *AuditInput) {
			s.set(history.IndexPrefix+"RUNNING", job1, "1")
		}},
		"a success that nobody reported": {"succeeded-implies-finished-execution", "holds no result that says so", func(_ *story, in *AuditInput) {
			in.Streams = slices.DeleteFunc(in.Streams, func(c sim.Change) bool { return c.Subject == history.SubjectResult })
		}},
		"a result of another epoch": {"result-of-current-epoch", "holds no result of epoch 2 that says so", func(s *story, _ *AuditInput) {
			s.set(history.RecordPrefix+job1, "epoch", "2")
		}},
		"an epoch that nobody minted": {"epochs-never-decrease", "is a dispatch of epoch 1, but the record's is 0", func(s *story, _ *AuditInput) {
			s.set(history.RecordPrefix+job1, "epoch", "0")
		}},
		"an attempt that nobody counted": {"attempts-equal-scheduled-writes", "is the dispatch of attempt 1, but the record counts 0", func(s *story, _ *AuditInput) {
			s.set(history.RecordPrefix+job1, "attempts", "0")
		}},
		"too many attempts": {"attempts-never-past-ceiling", "attempts are 51; the ceiling is 50", func(s *story, _ *AuditInput) {
			s.set(history.RecordPrefix+job1, "attempts", "51")
		}},
		"an intent that came to nothing": {"every-intent-is-published", "is TIMEOUT, and nothing was published of epoch 2 (to worker-1)", func(s *story, _ *AuditInput) {
			s.write(s1, job1, "", "TIMEOUT", "epoch", "2")
		}},
		"a worker that nobody told": {"cancelled-job-is-told", "was cancelled, but worker-1, which had it, was never told", func(s *story, _ *AuditInput) {
			s.write(s1, job1, "", "CANCELLED", "reason_code", history.ReasonCancelled)
		}},
		"a request that left nothing": {"terminated-message-has-dlq-entry", "there is neither a record nor dlq:entry:CORDUM_SYS:", func(s *story, in *AuditInput) {
			in.Streams = append(in.Streams, s.store(history.StreamSys, history.SubjectSubmit, "job-2"))
		}},
		"a lock for ever": {"no-lock-outlives-its-holder", "the lock cordum:scheduler:job:job-1 has no expiry", func(s *story, _ *AuditInput) {
			s.lock(s1, job1)
		}},
		"a lock for too long": {"no-lock-outlives-its-holder", "the lock cordum:reconciler:default lasts for another 2m0s; its TTL is 1m0s", func(s *story, in *AuditInput) {
			s.set(history.ReconcilerKey, "", "token")
			in.TTLs[history.ReconcilerKey] = 2 * time.Minute
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := settled(newStory(), job1)
			in := s.left()
			c.spoil(s, &in)
			o := outcomeOf(Audit(in), c.invariant)
			require.NotEmpty(t, o.Violations)
			assert.Contains(t, o.Violations[0].Message, c.says)
			assert.True(t, o.Violations[0].Promised, "an audit knows of no fault")
		})
	}
}

// What keeps a job from its end is said by what the streams hold: nobody saw an execution.
func TestAuditOfAJobThatIsNotOver(t *testing.T) {
	for says, tell := range map[string]func(*story){
		"is still PENDING: no dispatch of it is stored":                    func(s *story) { s.submit(job1) },
		"is still RUNNING: no result of it is stored, after 1 dispatch":    func(s *story) { s.submit(job1).dispatchedAt(s1, job1, w1, 1) },
		"is still RUNNING: a result of it is stored, and was not accepted": func(s *story) { s.submit(job1).dispatchedAt(s1, job1, w1, 1).answers(w1, job1, 1) },
	} {
		s := newStory()
		tell(s)
		o := outcomeOf(Audit(s.left()), "every-job-settles")
		require.Len(t, o.Violations, 1, says)
		assert.Contains(t, o.Violations[0].Message, says)
	}
}

// A record that cannot be read is said once, and nothing is made of it.
func TestAuditOfARecordOfAnotherType(t *testing.T) {
	s := settled(newStory(), job1)
	in := s.left()
	in.Types = map[string]string{history.RecordPrefix + job1: "list"}
	delete(in.Redis, history.RecordPrefix+job1)
	delete(in.Redis[history.IndexPrefix+"SUCCEEDED"], job1)
	for _, o := range Audit(in).Invariants {
		if o.Name != "redis-index-agrees-with-record" {
			assert.Empty(t, o.Violations, o.Name)
		} else {
			assert.Len(t, o.Violations, 1)
		}
	}
}

// An audit says what it sees of an invariant where that is not all of it.
func TestAuditedPart(t *testing.T) {
	j := NewJudge(hardened)
	for i, tally := range j.tallies {
		if AuditedPart(tally.Name) != "" {
			assert.NotNil(t, j.audited[i], tally.Name)
			assert.NotEqual(t, tally.Says, AuditedPart(tally.Name))
		}
	}
	for name := range partly {
		_, known := Find(name)
		assert.True(t, known, name)
	}
	assert.Empty(t, AuditedPart("every-job-settles"))
}

// While the world is still at work, only what always holds is judged; and what the settings do not
// provide for never is.
func TestWhatAnAuditLeavesOut(t *testing.T) {
	s := settled(newStory(), job1).write(s1, job1, "", "CANCELLED", "reason_code", history.ReasonCancelled)
	in := s.left()
	assert.NotEmpty(t, outcomeOf(Audit(in), "cancelled-job-is-told").Violations)
	in.Config.CancelNotice = false
	assert.Empty(t, outcomeOf(Audit(in), "cancelled-job-is-told").Violations)

	s = settled(newStory(), job1).write(s1, job1, "", "RUNNING")
	in = s.left()
	in.Settled = false
	assert.Empty(t, outcomeOf(Audit(in), "every-job-settles").Violations)
	assert.False(t, Audit(in).InTime)
}

// What a run left behind is judged alike by its events and without them.
func TestAuditAgreesWithTheEvents(t *testing.T) {
	for name, tell := range map[string]func(*story){
		"all is well":       func(s *story) { settled(s, job1) },
		"a second dispatch": func(s *story) { settled(s, job1).publishes(s1, job1, w2, 1) },
		"no end":            func(s *story) { s.submit(job1).dispatchedAt(s1, job1, w1, 1) },
		"no entry": func(s *story) {
			s.submit(job1).begins(s1, job1).write(s1, job1, "failed_write", "FAILED").unlock(s1, job1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tell(s)
			seen, left := s.judge(hardened), Audit(s.left())
			for _, inv := range []string{"one-dispatch-per-job", "every-job-settles", "failed-job-has-dlq-entry", "redis-index-agrees-with-record"} {
				assert.Equal(t, outcomeOf(seen, inv).Promised, outcomeOf(left, inv).Promised, inv)
			}
		})
	}
}

func ExampleAudit() {
	report := Audit(AuditInput{
		Settled: true,
		Redis:   map[string]map[string]string{"job:job-1": {"state": "RUNNING", "updated_at": "1"}, "job:index:RUNNING": {"job-1": "1"}},
	})
	for _, o := range report.Invariants {
		for _, v := range o.Violations {
			fmt.Println(o.Name+":", v.Message)
		}
	}
	// Output: every-job-settles: job-1: is still RUNNING: no dispatch of it is stored
}
