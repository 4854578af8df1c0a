package invariants

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/faultline-sim/faultline/sim"
)

// AuditInput is what real servers hold once a run is over.
type AuditInput struct {
	Config  Config                       // the settings that the schedulers ran with
	Redis   map[string]map[string]string // every key: a hash's fields, a sorted set's members with their scores, a string under ""
	TTLs    map[string]time.Duration     // what the keys that expire have left
	Streams []sim.Change                 // every message of CORDUM_SYS and CORDUM_JOBS, each stream in its own order: Stream, Seq, Subject, Header, and the data as Value
	Settled bool                         // the world had its time to settle; else no Eventually is judged
}

// Audit judges a run by what it left in the servers, where no event tells how it came about. Only
// the invariants that need no history are judged; the others are of the report too, exercised by
// nothing. An audit knows of no fault, so none releases a promise: every violation counts.
func Audit(in AuditInput) Report {
	j := NewJudge(in.Config)
	f := j.facts
	for _, key := range slices.Sorted(maps.Keys(in.Redis)) {
		if id := recordOf(key); id != "" {
			f.job(id).audit(in.Redis[key])
		}
	}
	for i := range in.Streams {
		j.auditMessage(&in.Streams[i])
	}
	end := End{InTime: in.Settled, Redis: in.Redis, TTLs: in.TTLs, Streams: in.Streams}
	for i, audited := range j.audited {
		if t := j.tallies[i]; audited != nil && (in.Settled || t.inv.Kind != Eventually) {
			audited(&end)
		}
	}
	return j.report(in.Settled)
}

// audit takes a job's record for what it is now.
func (j *job) audit(record map[string]string) {
	j.accepted = true
	j.state = recordState(record)
	j.worker = record["worker"]
	j.attempts, _ = strconv.Atoi(record["attempts"])
}

// auditMessage takes in one message that a stream holds.
func (j *Judge) auditMessage(c *sim.Change) {
	about := j.facts.job(c.Header[headerJob])
	if about == nil {
		return
	}
	switch {
	case c.Stream == streamJobs:
		d := dispatch{worker: workerOf(c.Subject), subject: c.Subject, seq: c.Seq}
		for _, check := range j.stored {
			check(&step{Event: &sim.Event{}, job: about}, &d)
		}
		about.dispatches = append(about.dispatches, d)
	case c.Subject == subjectSubmit:
		about.accepted = true
	case c.Subject == subjectResult:
		var result struct {
			Status string `json:"status"`
		}
		if json.Unmarshal([]byte(c.Value), &result) == nil && result.Status == "SUCCEEDED" {
			about.finished++
		}
	}
}
