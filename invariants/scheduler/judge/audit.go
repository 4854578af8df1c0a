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

// AuditInput is what real servers hold after a run.
type AuditInput struct {
	Config  config.Config                // the settings that the schedulers ran with
	Redis   map[string]map[string]string // by key: a hash's fields, a sorted set's members with their scores, or a string under ""
	Types   map[string]string            // the keys' types, as TYPE names them; nil if all are as they should be
	TTLs    map[string]time.Duration     // the remaining TTLs of the keys that expire
	Streams []sim.Change                 // every message of CORDUM_SYS and CORDUM_JOBS, each stream in its own order: Stream, Seq, Subject, Header, and the data as Value
	Settled bool                         // the world had its time to settle; otherwise no Eventually is judged
}

// AddMessage adds the next message of a stream.
func (in *AuditInput) AddMessage(stream string, seq uint64, subject string, header map[string]string, data string) {
	in.Streams = append(in.Streams, sim.Change{Stream: stream, Seq: seq, Subject: subject, Header: header, Value: data})
}

// Audit judges a run by what it left in the servers, where no event shows how it came about. It judges only
// invariants that need no history. The others are in the report, too, with nothing exercised. An audit knows
// of no fault, so no promise is released and every violation counts. It does not judge what the settings do
// not provide for.
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
			f.Letter(of).Entered = true
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

// partly says what an audit judges of the invariants that it can judge only in part.
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

// AuditedPart says in one sentence what an audit judges of an invariant. It is "" if the audit judges all of
// it, or nothing.
func AuditedPart(name string) string { return partly[name] }

// auditRecord takes over a job's record as its present state.
func auditRecord(j *model.Job, record map[string]string) {
	j.Accepted = true
	for field, value := range record {
		j.Take(&sim.Change{Field: field, Value: value})
	}
}

// auditMessage takes in a message that a stream holds.
func auditMessage(f *model.Facts, c *sim.Change) {
	about := f.Job(c.Header[history.HeaderJob])
	if about == nil {
		return
	}
	switch what, _ := history.Classify(c); what {
	case history.Notice:
		about.Tell(c)
	case history.Dispatch:
		d, _ := history.Read[history.Order](c.Value) // an unreadable dispatch names no attempt
		about.Dispatches = append(about.Dispatches, model.Dispatch{
			Worker: history.WorkerOf(c.Subject), Subject: c.Subject, Epoch: history.EpochOf(c), Seq: c.Seq, Attempt: d.Attempt,
		})
	case history.Submission, history.Result, history.Cancellation:
		m := model.Message{Seq: c.Seq, Consumer: history.ConsumerOf(c.Subject), Epoch: history.EpochOf(c)}
		if what == history.Result {
			r, _ := history.Read[history.Reply](c.Value)
			m.Answer = *r
		}
		about.Messages = append(about.Messages, m)
	}
}
