package judge

import (
	"maps"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

// AuditInput is what real servers hold once a run is over.
type AuditInput struct {
	Config  config.Config                // the settings that the schedulers ran with
	Redis   map[string]map[string]string // every key: a hash's fields, a sorted set's members with their scores, a string under ""
	Types   map[string]string            // the keys' types, as the command TYPE says them; nil is that all are what they should be
	TTLs    map[string]time.Duration     // what the keys that expire have left
	Streams []sim.Change                 // every message of CORDUM_SYS and CORDUM_JOBS, each stream in its own order: Stream, Seq, Subject, Header, and the data as Value
	Settled bool                         // the world had its time to settle; else no Eventually is judged
}

// AddMessage takes in the next message of a stream.
func (in *AuditInput) AddMessage(stream string, seq uint64, subject string, header map[string]string, data string) {
	in.Streams = append(in.Streams, sim.Change{Stream: stream, Seq: seq, Subject: subject, Header: header, Value: data})
}

// Audit judges a run by what it left in the servers, where no event tells how it came about. Only
// the invariants that need no history are judged; the others are of the report too, exercised by
// nothing. An audit knows of no fault, so none releases a promise: every violation counts. What the
// settings do not provide for is not judged.
func Audit(in AuditInput) invariants.Report {
	j := NewJudge(in.Config)
	f := j.Facts
	for i := range in.Streams {
		auditMessage(f, &in.Streams[i])
	}
	in.Redis = j.auditTypes(&in)
	for _, key := range slices.Sorted(maps.Keys(in.Redis)) {
		switch what, of := history.KeyOf(key); what {
		case history.Record:
			auditRecord(f.Job(of), in.Redis[key])
		case history.MessageLetter:
			f.FileMessage(of, true)
		}
	}
	for _, about := range f.Order {
		_, about.Entered = in.Redis[history.DlqPrefix+about.ID]
	}
	end := invariants.End{InTime: in.Settled, Redis: in.Redis, TTLs: in.TTLs, Streams: in.Streams}
	for i, audited := range j.audited {
		t := j.tallies[i]
		if audited == nil || !in.Settled && t.Kind == invariants.Eventually || t.Unprovided {
			continue
		}
		audited(&end)
	}
	return j.report(in.Settled)
}

// partly says what an audit judges of those invariants of which it sees less than they say.
var partly = map[string]string{
	epochsNeverDecrease.Name:               "No stored dispatch is of an epoch that its job's record has not reached.",
	everyIntentIsPublished.Name:            "Something is published of the last epoch of a job that is with a worker, or was to its end.",
	attemptsEqualScheduledWrites.Name:      "No stored dispatch is of an attempt that its job's record has not counted.",
	succeededImpliesFinishedExecution.Name: "A result that is stored says of each SUCCEEDED job that it succeeded.",
	resultOfCurrentEpoch.Name:              "A result of its record's epoch that is stored says of each SUCCEEDED job that it succeeded.",
	cancelledJobIsTold.Name:                "A notice to its worker is stored of each job that was cancelled after its dispatch was stored.",
	terminatedMessageHasDLQEntry.Name:      "Each stored request for a job without a record has an entry of its own in the DLQ.",
	noLockOutlivesItsHolder.Name:           "Each lock expires, and within its TTL.",
}

// AuditedPart is what an audit judges of the invariant of that name, in one sentence; "" is all that the
// invariant says, or nothing.
func AuditedPart(name string) string { return partly[name] }

// auditRecord takes a job's record for what it is now.
func auditRecord(j *model.Job, record map[string]string) {
	j.Accepted = true
	for field, value := range record {
		j.Take(&sim.Change{Field: field, Value: value})
	}
}

// auditMessage takes in one message that a stream holds.
func auditMessage(f *model.Facts, c *sim.Change) {
	about := f.Job(c.Header[history.HeaderJob])
	if about == nil {
		return
	}
	switch what, _ := history.Classify(c); what {
	case history.Notice:
		about.Told = append(about.Told, model.Notice{Worker: history.WorkerOf(c.Subject), Epoch: history.EpochOf(c)})
	case history.Dispatch:
		d, _ := history.Read[history.Order](c.Value) // what cannot be read names no attempt
		about.Dispatches = append(about.Dispatches, model.Dispatch{
			Worker: history.WorkerOf(c.Subject), Subject: c.Subject, Epoch: history.EpochOf(c), Seq: c.Seq, Attempt: d.Attempt,
		})
	case history.Submission, history.Result, history.Cancellation:
		m := model.Message{Seq: c.Seq, Consumer: history.ConsumerOf(c.Subject), Epoch: history.EpochOf(c)}
		if what == history.Result {
			r, _ := history.Read[history.Reply](c.Value)
			m.Succeeded = r.Status == model.StateNames[model.Succeeded]
		}
		about.Messages = append(about.Messages, m)
	}
}

// withRecord is every job that has a record.
func withRecord(f *model.Facts, each func(*model.Job)) {
	for _, j := range f.Order {
		if j.Accepted {
			each(j)
		}
	}
}

// unrecorded are the places of the requests for a job that has no record.
func unrecorded(j *model.Job) (places []string) {
	for i := range j.Messages {
		if !j.Accepted && j.Messages[i].Consumer == history.ConsumerSubmit {
			places = append(places, model.Place(j.Messages[i].Seq))
		}
	}
	return places
}

// reportedSuccess says whether a worker has reported the job's success, as a result of its record's epoch.
func reportedSuccess(j *model.Job, epoch int64) bool {
	return slices.ContainsFunc(j.Messages, func(m model.Message) bool { return m.Succeeded && m.Epoch == epoch })
}

// sinceStep names the step of the last state write; an audit knows of none.
func sinceStep(j *model.Job) invariants.Clause {
	if j.StateAt == 0 {
		return invariants.Clause{}
	}
	return invariants.Say(", since step %d", stepNo(j.StateAt))
}

// auditSettled finds jobs that are not over.
func auditSettled(f *model.Facts, t *tally) {
	withRecord(f, func(j *model.Job) {
		if j.State == model.Absent && f.Poisoned(j) || j.State == model.ApprovalRequired && !j.Approved {
			return
		}
		t.exercise()
		if !j.State.Terminal() {
			t.violated(j, "is still %s: %s", j.State, storedOf(j))
		}
	})
}

// storedOf says how far a job has come, by what the streams hold of it. No stream holds its executions.
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
func auditAttempts(f *model.Facts, t *tally) {
	withRecord(f, func(j *model.Job) {
		for i := range j.Dispatches {
			t.exercise()
			if d := &j.Dispatches[i]; d.Attempt > j.Attempts || d.Attempt < 1 {
				t.violated(j, "%s seq %d is the dispatch of attempt %d, but the record counts %d", history.StreamJobs, d.Seq, d.Attempt, j.Attempts)
			}
		}
	})
}

// auditCeiling finds records that are past the ceiling.
func auditCeiling(f *model.Facts, t *tally) {
	withRecord(f, func(j *model.Job) {
		t.exercise()
		if j.Attempts > f.Config.MaxSchedulingRetries {
			t.violated(j, "attempts are %d; the ceiling is %d", j.Attempts, f.Config.MaxSchedulingRetries)
		}
	})
}

// auditEpochs finds dispatches of epochs that the record has not minted.
func auditEpochs(f *model.Facts, t *tally) {
	withRecord(f, func(j *model.Job) {
		for i := range j.Dispatches {
			if d := &j.Dispatches[i]; d.Epoch != 0 {
				t.exercise()
				if d.Epoch > j.Epoch {
					t.violated(j, "%s seq %d is a dispatch of epoch %d, but the record's is %d", history.StreamJobs, d.Seq, d.Epoch, j.Epoch)
				}
			}
		}
	})
}

// auditIntents finds jobs that were intended for a worker, and of which nothing was published.
func auditIntents(f *model.Facts, t *tally) {
	withRecord(f, func(j *model.Job) {
		due := j.State.InFlight() || j.State == model.Succeeded || j.State == model.TimedOut && !pastDeadline(f, j)
		if j.Epoch == 0 || j.Worker == "" || !due {
			return
		}
		t.exercise()
		if !j.Holds(j.Epoch) {
			t.violated(j, "is %s, and nothing was published of epoch %d (to %s)", j.State, j.Epoch, j.Worker)
		}
	})
}

// auditLocks finds locks that nothing but their holder would ever remove.
func auditLocks(t *tally, end *invariants.End, ttls map[string]time.Duration) {
	for _, key := range slices.Sorted(maps.Keys(end.Redis)) {
		most, is := ttls[key]
		if what, _ := history.KeyOf(key); what == history.Lock {
			most, is = ttls[history.LockPrefix], true
		}
		if !is || end.TTLs == nil {
			continue
		}
		t.exercise()
		switch left, expires := end.TTLs[key]; {
		case !expires:
			t.violated(nil, "the lock %s has no expiry", key)
		case left > most+model.Slack:
			t.violated(nil, "the lock %s lasts for another %s; its TTL is %s", key, left, most)
		}
	}
}
