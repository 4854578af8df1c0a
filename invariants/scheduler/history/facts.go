package history

import "github.com/wavetank-sim/wavetank/sim"

// Fact is one thing that an event says happened, in the terms of a scheduler. It is valid until the next event.
type Fact struct {
	*sim.Event
	What   What
	Job    string      // whose it is; of what is no job's, which run, saga or message it is of
	Change *sim.Change // where it stands
	Again  bool        // the fact before is of the same record
}

// Facts appends what an event says of the servers, change by change.
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

// Field is what the step wrote into a field of the fact's record.
func (f *Fact) Field(name string) (value string, ok bool) {
	for i := range f.Changes {
		if c := &f.Changes[i]; c.Key == f.Change.Key && c.Field == name && !c.Gone {
			return c.Value, true
		}
	}
	return "", false
}

// Vanished says whether the record is gone: all of it, or its state. A cancellation that came before the record is kept in
// its place, and a failover may leave that alone.
func (f *Fact) Vanished() bool {
	for i := range f.Changes {
		if c := &f.Changes[i]; c.Key == f.Change.Key && c.Gone && (c.Field == "" || c.Field == "state") {
			return true
		}
	}
	return false
}

// Worker is whom a message of the dispatch stream is for; "" for a topic.
func (f *Fact) Worker() string { return WorkerOf(f.Change.Subject) }
