package judge

import (
	"maps"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

// unrecorded lists the places of the requests for a job without a record.
func unrecorded(j *model.Job) (places []string) {
	for i := range j.Messages {
		if !j.Accepted && j.Messages[i].Consumer == history.ConsumerSubmit {
			places = append(places, model.Place(j.Messages[i].Seq))
		}
	}
	return places
}

// reportedSuccess says whether a result of that epoch reports the job's success.
func reportedSuccess(j *model.Job, epoch int64) bool {
	return slices.ContainsFunc(j.Messages, func(m model.Message) bool { return m.Succeeded() && m.Epoch == epoch })
}

// auditSettled finds jobs that are not over.
func auditSettled(f *model.Facts, t *rule.Tally) {
	rule.WithRecord(f, func(j *model.Job) {
		if f.Poisoned(j) || j.State == model.ApprovalRequired && !j.Approved {
			return
		}
		t.Exercise()
		if !j.State.Terminal() {
			t.Violation(j, "is still %s: %s", j.State, storedOf(j))
		}
	})
}

// storedOf says how far a job has come, by the streams. No stream holds its executions.
func storedOf(j *model.Job) string {
	switch n := len(j.Dispatches); {
	case slices.ContainsFunc(j.Messages, func(m model.Message) bool { return m.Consumer == history.ConsumerResult && m.Epoch >= j.Epoch }):
		return "a result of it is stored, and was not accepted"
	case n == 0:
		return "no dispatch of it is stored"
	default:
		return "no result of it is stored, after " + invariants.CountOf(n, "dispatch", "dispatches")
	}
}

// auditAttempts finds dispatches of attempts that the record has not counted.
func auditAttempts(f *model.Facts, t *rule.Tally) {
	rule.WithRecord(f, func(j *model.Job) {
		for i := range j.Dispatches {
			t.Exercise()
			if d := &j.Dispatches[i]; d.Attempt > j.Attempts || d.Attempt < 1 {
				t.Violation(j, "%s seq %d is the dispatch of attempt %d, but the record counts %d", history.StreamJobs, d.Seq, d.Attempt, j.Attempts)
			}
		}
	})
}

// auditCeiling finds records that are past the ceiling.
func auditCeiling(f *model.Facts, t *rule.Tally) {
	rule.WithRecord(f, func(j *model.Job) {
		t.Exercise()
		if j.Attempts > f.Config.MaxSchedulingRetries {
			t.Violation(j, "attempts are %d; the ceiling is %d", j.Attempts, f.Config.MaxSchedulingRetries)
		}
	})
}

// auditEpochs finds dispatches of epochs that the record has not minted.
func auditEpochs(f *model.Facts, t *rule.Tally) {
	rule.WithRecord(f, func(j *model.Job) {
		for i := range j.Dispatches {
			if d := &j.Dispatches[i]; d.Epoch != 0 {
				t.Exercise()
				if d.Epoch > j.Epoch {
					t.Violation(j, "%s seq %d is a dispatch of epoch %d, but the record's is %d", history.StreamJobs, d.Seq, d.Epoch, j.Epoch)
				}
			}
		}
	})
}

// auditIntents finds jobs that were intended for a worker, but never published.
func auditIntents(f *model.Facts, t *rule.Tally) {
	rule.WithRecord(f, func(j *model.Job) {
		due := j.State.InFlight() || j.State == model.Succeeded || j.State == model.TimedOut && !pastDeadline(f, j)
		if j.Epoch == 0 || j.Worker == "" || !due {
			return
		}
		t.Exercise()
		if !j.Holds(j.Epoch) {
			t.Violation(j, "is %s, and nothing was published of epoch %d (to %s)", j.State, j.Epoch, j.Worker)
		}
	})
}

// auditLocks finds locks that only their holder would ever remove.
func auditLocks(t *rule.Tally, end *invariants.End, ttls map[string]time.Duration) {
	for _, key := range slices.Sorted(maps.Keys(end.Redis)) {
		most, is := ttls[key]
		if what, _ := history.KeyOf(key); what == history.Lock {
			most, is = ttls[history.LockPrefix], true
		}
		if !is || end.TTLs == nil {
			continue
		}
		t.Exercise()
		switch left, expires := end.TTLs[key]; {
		case !expires:
			t.Violation(nil, "the lock %s has no expiry", key)
		case left > most+model.Slack:
			t.Violation(nil, "the lock %s lasts for another %s; its TTL is %s", key, left, most)
		}
	}
}
