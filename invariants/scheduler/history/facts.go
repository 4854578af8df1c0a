package history

import "github.com/wavetank-sim/wavetank/sim"

// Fact is one thing that happened in an event, in the scheduler's terms. It is valid until the next event.
type Fact struct {
	*sim.Event
	What   What
	Job    string      // the job that it concerns; if it concerns none, the run, saga or message
	Change *sim.Change // the change that shows it
	Again  bool        // the preceding fact is of the same record
}

// Facts appends the facts of an event, change by change.
func Facts(e *sim.Event, to []Fact) []Fact {
	last := ""
	for i := range e.Changes {
		c := &e.Changes[i]
		if what, of := Classify(c); what != Unknown {
			to = append(to, Fact{Event: e, What: what, Job: of, Change: c, Again: what == Record && c.Key == last})
		}
		last = c.Key
	}
	return to
}

// Field is the value that the step wrote into a field of the fact's record.
func (f *Fact) Field(name string) (value string, ok bool) {
	for i := range f.Changes {
		if c := &f.Changes[i]; c.Key == f.Change.Key && c.Field == name && !c.Gone {
			return c.Value, true
		}
	}
	return "", false
}

// Vanished says whether the record is gone: all of it, or its state. A cancellation that came before the
// record is kept in the record's place, and a failover may leave only that.
func (f *Fact) Vanished() bool {
	for i := range f.Changes {
		if c := &f.Changes[i]; c.Key == f.Change.Key && c.Gone && (c.Field == "" || c.Field == "state") {
			return true
		}
	}
	return false
}

// Worker is the worker that a message of the dispatch stream is for; "" for a topic.
func (f *Fact) Worker() string { return WorkerOf(f.Change.Subject) }
