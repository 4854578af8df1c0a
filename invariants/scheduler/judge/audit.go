package judge

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"

	"github.com/wavetank-sim/wavetank/invariants"

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
	f := j.facts
	for i := range in.Streams {
		auditMessage(f, &in.Streams[i])
	}
	in.Redis = j.auditTypes(&in)
	for _, key := range slices.Sorted(maps.Keys(in.Redis)) {
		if id := history.RecordOf(key); id != "" {
			auditRecord(f.job(id), in.Redis[key])
		}
	}
	for _, about := range f.order {
		_, about.entered = in.Redis[history.DlqPrefix+about.id]
	}
	for key := range in.Redis {
		if id, ok := strings.CutPrefix(key, history.DlqPrefix); ok {
			f.file(id, true)
		}
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

// audit takes a job's record for what it is now.
func auditRecord(j *job, record map[string]string) {
	j.accepted = true
	for field, value := range record {
		j.take(&sim.Change{Field: field, Value: value})
	}
}

// auditMessage takes in one message that a stream holds.
func auditMessage(f *facts, c *sim.Change) {
	about := f.job(c.Header[history.HeaderJob])
	if about == nil {
		return
	}
	worker, isNotice := history.ToldOf(c.Subject)
	switch {
	case c.Stream == history.StreamJobs && isNotice:
		about.told = append(about.told, notice{worker, history.EpochOf(c)})
	case c.Stream == history.StreamJobs && c.Header[history.HeaderVoid] != "":
		// nothing to do: it stands for no dispatch
	case c.Stream == history.StreamJobs:
		var d struct {
			Attempt int `json:"attempt"`
		}
		_ = json.Unmarshal([]byte(c.Value), &d) // what cannot be read names no attempt
		about.dispatches = append(about.dispatches, dispatch{
			worker: history.WorkerOf(c.Subject), subject: c.Subject, epoch: history.EpochOf(c), seq: c.Seq, attempt: d.Attempt,
		})
	case c.Stream == history.StreamSys:
		m := message{seq: c.Seq, consumer: history.ConsumerOf(c.Subject), epoch: history.EpochOf(c)}
		if c.Subject == history.SubjectResult {
			var r struct {
				Status string `json:"status"`
			}
			_ = json.Unmarshal([]byte(c.Value), &r)
			m.succeeded = r.Status == stateNames[succeeded]
		}
		about.messages = append(about.messages, m)
	}
}

// audited is every job that has a record.
func withRecord(f *facts, each func(*job)) {
	for _, j := range f.order {
		if j.accepted {
			each(j)
		}
	}
}

// unrecorded are the places of the requests for a job that has no record.
func unrecorded(j *job) (places []string) {
	for i := range j.messages {
		if !j.accepted && j.messages[i].consumer == history.ConsumerSubmit {
			places = append(places, place(j.messages[i].seq))
		}
	}
	return places
}

// succeededAt says whether a worker has reported the job's success, as a result of its record's epoch.
func reportedSuccess(j *job, epoch int64) bool {
	return slices.ContainsFunc(j.messages, func(m message) bool { return m.succeeded && m.epoch == epoch })
}

// since names the step of the last state write; an audit knows of none.
func sinceStep(j *job) string {
	if j.stateAt == 0 {
		return ""
	}
	return ", since step " + strconv.Itoa(j.stateAt)
}

// auditSettled finds jobs that are not over.
func auditSettled(f *facts, t *tally) {
	withRecord(f, func(j *job) {
		if j.state == absent && f.poisoned(j) || j.state == approvalRequired && !j.approved {
			return
		}
		t.exercise()
		if !j.state.terminal() {
			t.violated(j, "is still %s: %s", j.state, storedOf(j))
		}
	})
}

// stored says how far a job has come, by what the streams hold of it. No stream holds its executions.
func storedOf(j *job) string {
	switch n := len(j.dispatches); {
	case slices.ContainsFunc(j.messages, func(m message) bool { return m.consumer == history.ConsumerResult && m.epoch >= j.epoch }):
		return "a result of it is stored, and was not accepted"
	case n == 0:
		return "no dispatch of it is stored"
	default:
		return "no result of it is stored, after " + invariants.CountOf(n, "dispatch", "dispatches")
	}
}

// auditDuplicates finds second dispatches.
func auditDuplicates(f *facts, t *tally) {
	for _, j := range f.order {
		first := map[int64]*dispatch{}
		for i := range j.dispatches {
			d := &j.dispatches[i]
			if f.config.Epochs && d.worker == "" {
				continue
			}
			t.exercise()
			if before := first[d.epoch]; before != nil {
				t.violated(j, "another dispatch%s stored, %s seq %d on %s; the first was seq %d on %s",
					ofEpoch(d), history.StreamJobs, d.seq, d.subject, before.seq, before.subject)
				continue
			}
			first[d.epoch] = d
		}
	}
}

// auditAttempts finds dispatches of attempts that the record has not counted.
func auditAttempts(f *facts, t *tally) {
	withRecord(f, func(j *job) {
		for i := range j.dispatches {
			t.exercise()
			if d := &j.dispatches[i]; d.attempt > j.attempts || d.attempt < 1 {
				t.violated(j, "%s seq %d is the dispatch of attempt %d, but the record counts %d", history.StreamJobs, d.seq, d.attempt, j.attempts)
			}
		}
	})
}

// auditCeiling finds records that are past the ceiling.
func auditCeiling(f *facts, t *tally) {
	withRecord(f, func(j *job) {
		t.exercise()
		if j.attempts > f.config.MaxSchedulingRetries {
			t.violated(j, "attempts are %d; the ceiling is %d", j.attempts, f.config.MaxSchedulingRetries)
		}
	})
}

// auditEpochs finds dispatches of epochs that the record has not minted.
func auditEpochs(f *facts, t *tally) {
	withRecord(f, func(j *job) {
		for i := range j.dispatches {
			if d := &j.dispatches[i]; d.epoch != 0 {
				t.exercise()
				if d.epoch > j.epoch {
					t.violated(j, "%s seq %d is a dispatch of epoch %d, but the record's is %d", history.StreamJobs, d.seq, d.epoch, j.epoch)
				}
			}
		}
	})
}

// auditIntents finds jobs that were intended for a worker, and of which nothing was published.
func auditIntents(f *facts, t *tally) {
	withRecord(f, func(j *job) {
		due := j.state.inFlight() || j.state == succeeded || j.state == timedOut && !pastDeadline(j)
		if j.epoch == 0 || j.worker == "" || !due {
			return
		}
		t.exercise()
		if !j.holds(j.epoch) {
			t.violated(j, "is %s, and nothing was published of epoch %d (to %s)", j.state, j.epoch, j.worker)
		}
	})
}

// auditLocks finds locks that nothing but their holder would ever remove.
func auditLocks(t *tally, end *invariants.End, ttls map[string]time.Duration) {
	for _, key := range slices.Sorted(maps.Keys(end.Redis)) {
		most, is := ttls[key]
		if id := history.RecordOfLock(key); id != "" {
			most, is = ttls[history.LockPrefix], true
		}
		if !is || end.TTLs == nil {
			continue
		}
		t.exercise()
		switch left, expires := end.TTLs[key]; {
		case !expires:
			t.violated(nil, "the lock %s has no expiry", key)
		case left > most+slack:
			t.violated(nil, "the lock %s lasts for another %s; its TTL is %s", key, left, most)
		}
	}
}
