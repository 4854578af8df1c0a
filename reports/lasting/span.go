package lasting

import "time"

// Span is what a node is at, or has, for a while.
type Span struct {
	Node    string
	Job     string // empty: it is about none
	What    What
	Of      string  // the job, the consumer, the saga, the run, the key of a lease, or the worker
	Message Message // of a handling
	From    time.Duration
	To      time.Duration // once it is over
	Step    int           // with which it began
	Slot    int           // among those of its node and kind that are under way at once, from 0

	key      string
	until    time.Duration // it runs out then; 0: it does not
	dispatch bool          // what it handles asks for an execution, which has not begun
}

// Message is a message of a stream, or of a consumer.
type Message struct {
	Subject string
	Seq     uint64
}

// What says what it is that lasts, as a verb.
type What string

// What lasts.
const (
	Handles  What = "handles"  // from a delivery to its answer
	Executes What = "executes" // a worker's execution of a job
	Locks    What = "locks"    // the lock of a job, a saga's rollback or a run, until it is given back or runs out
	Leads    What = "leads"    // the lease of a part that one replica does for all
	Lives    What = "lives"    // a worker counts as alive: a replica has a heartbeat of it that is younger than worker_ttl
)

// Title says in a few words what lasts.
func (s *Span) Title() string {
	switch s.What {
	case Leads:
		return "holds " + s.Of
	case Lives:
		return "counts as alive"
	}
	return string(s.What) + " " + s.Of
}
