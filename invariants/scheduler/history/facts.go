package history

import (
	"strings"

	"github.com/wavetank-sim/wavetank/sim"
)

const findingPrefix = "output:"

// What a fact is about.
type What int

// What there is. The first are messages of the streams: stored or, if the change says so, gone.
const (
	Operation    What = iota // the event itself
	Submission               // a job's request
	Result                   // a worker's answer
	Cancellation             // a client's wish
	Dispatch                 // a job, to a worker or a topic
	Void                     // a message in a dispatch's place
	Notice                   // a word to a worker that its job is cancelled
	Record                   // a job's record
	Outbox                   // a job's entry in the outbox
	Lock                     // a job's lock
	Output                   // what the policy says of a job's output
	SagaStack                // compensations that are recorded
	Run                      // a workflow run's record; Job is the run
	Audited                  // a decision in the audit trail
)

// Fact is one thing that an event says happened, in the terms of a scheduler. It is valid until the next event.
type Fact struct {
	*sim.Event
	What   What
	Job    string      // whose it is
	Change *sim.Change // where it stands; the first of several of a record; nil for an Operation
}

// Facts appends what an event says: of each change in the servers, and then of the operation itself.
func Facts(e *sim.Event, to []Fact) []Fact {
	last := ""
	for i := range e.Changes {
		c := &e.Changes[i]
		if f := factOf(e, c); f.What != Operation && (f.What != Record || c.Key != last) {
			to = append(to, f)
		}
		last = c.Key
	}
	return append(to, Fact{Event: e, Job: e.Job})
}

func factOf(e *sim.Event, c *sim.Change) Fact {
	f := Fact{Event: e, Job: e.Job, Change: c}
	if c.Stream != "" {
		f.Job, f.What = c.Header[HeaderJob], messageOf(c)
		return f
	}
	if id := RecordOf(c.Key); id != "" {
		f.Job, f.What = id, Record
		return f
	}
	switch {
	case strings.HasPrefix(c.Key, RunLockPrefix):
	case strings.HasPrefix(c.Key, RunPrefix):
		f.Job, f.What = c.Key[len(RunPrefix):], Run
	case strings.HasPrefix(c.Key, findingPrefix):
		f.Job, f.What = c.Key[len(findingPrefix):], Output
	case strings.HasPrefix(c.Key, LockPrefix):
		f.Job, f.What = c.Key[len(LockPrefix):], Lock
	case strings.HasPrefix(c.Key, SagaPrefix) && strings.HasSuffix(c.Key, ":stack"):
		f.What = SagaStack
	case c.Key == OutboxKey:
		f.Job, f.What = c.Field, Outbox
	case c.Key == AuditKey:
		f.What = Audited
	}
	return f
}

func messageOf(c *sim.Change) What {
	switch _, notice := ToldOf(c.Subject); {
	case c.Subject == SubjectSubmit:
		return Submission
	case c.Subject == SubjectResult:
		return Result
	case c.Subject == SubjectCancel:
		return Cancellation
	case notice:
		return Notice
	case c.Header[HeaderVoid] != "":
		return Void
	}
	return Dispatch
}

// Field is what the step wrote into a field of the fact's record.
func (f *Fact) Field(name string) (value string, ok bool) {
	for i := range f.Changes {
		if c := &f.Changes[i]; c.Key == f.Change.Key && c.Field == name && !c.Gone {
			return c.Value, true
		}
	}
	return "", false
}

// Vanished says whether the whole record is gone.
func (f *Fact) Vanished() bool { return f.Change.Gone && f.Change.Field == "" }

// Worker is whom a message of the dispatch stream is for; "" for a topic.
func (f *Fact) Worker() string { return WorkerOf(f.Change.Subject) }

// WorkerOf returns the worker that a subject of the dispatch stream names, or "".
func WorkerOf(subject string) string {
	rest, ok := strings.CutPrefix(subject, "worker.")
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, ".")
	return id
}
