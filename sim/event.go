package sim

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Kind is the kind of an operation, in the words of the library that it goes through.
type Kind string

// The kinds of operation. A service may add kinds through [Process.Do].
const (
	KindStart    Kind = "start"    // a process's main function begins
	KindRedis    Kind = "redis"    // one command, or one MULTI..EXEC
	KindPublish  Kind = "publish"  // a JetStream publish, acknowledged by the stream
	KindSend     Kind = "send"     // a core NATS publish, acknowledged by nobody
	KindReceive  Kind = "receive"  // a core subscription hands a message to its handler
	KindAPI      Kind = "api"      // a JetStream management call (streams, consumers, reading a message back)
	KindFetch    Kind = "fetch"    // a pull request is sent
	KindDeliver  Kind = "deliver"  // a pull delivers a message
	KindFetchEnd Kind = "fetchend" // a pull ends, expired or closed, before its batch is full
	KindAck      Kind = "ack"
	KindNak      Kind = "nak"
	KindTerm     Kind = "term"
	KindProgress Kind = "progress" // InProgress, which restarts AckWait
	KindTimer    Kind = "timer"    // a sleep, timer or ticker of a node's clock wakes its actor
	KindCall     Kind = "call"     // a unary gRPC call
	KindServe    Kind = "serve"    // a gRPC server that was paused handles a call
	KindReturn   Kind = "return"   // an operation that hung returns the error to its caller
	KindLate     Kind = "late"     // an operation takes effect after its caller gave up
	KindControl  Kind = "control"  // the harness itself: crash, restart, pause, resume, partition, heal, stop, start
)

// Tags are what a service says of one of its calls: the job (or other unit of work) that it is for, and the
// phase of handling the job. [Config.Tags] reads them from the call's context.
type Tags struct {
	Job   string
	Phase string
}

// Event is one step of the world, in its canonical form. Two runs of one seed have equal events.
type Event struct {
	Step        int           `json:"step"`             // from 1, no gaps
	At          time.Duration `json:"at_ns"`            // virtual time since the world began; strictly increasing
	Node        string        `json:"node,omitempty"`   // empty for the harness itself
	Incarnation int           `json:"inc,omitempty"`    // from 1; a restart adds one
	Kind        Kind          `json:"kind"`             //
	Name        string        `json:"name,omitempty"`   // the Redis command, the API call, the control's verb
	Target      string        `json:"target,omitempty"` // the first key, the subject, the stream and consumer, the node
	Job         string        `json:"job,omitempty"`
	Phase       string        `json:"phase,omitempty"`
	Occurrence  int           `json:"n,omitempty"`         // how many operations of this job, phase and write were granted, this one included; 0 without a phase
	Fault       string        `json:"fault,omitempty"`     // what the interceptor did instead, in the plan's word
	Outcome     string        `json:"outcome"`             // "ok", "nil" (redis.Nil), "pending" (blocks in a server), or the caller's error
	Seq         uint64        `json:"seq,omitempty"`       // for a deliver, ack, nak or term: the message's sequence in the stream
	Delivered   uint64        `json:"delivered,omitempty"` // how many times that message has been delivered
	Answers     int           `json:"answers,omitempty"`   // for an ack, nak, term or progress: the step of the delivery that it answers
	Delay       time.Duration `json:"delay_ns,omitempty"`  // for a nak: how long the server is to withhold the message
	Asked       string        `json:"asked,omitempty"`     // the request of a gRPC call in JSON, with a [Gist] in place of bytes
	Data        string        `json:"data,omitempty"`      // the data of a core message that is received, or a server's answer to a call; messages of a stream are among the changes
	Changes     []Change      `json:"changes,omitempty"`
}

// Words says who did what, and with what outcome.
func (e *Event) Words() string {
	var b strings.Builder
	if e.Node != "" {
		b.WriteString(e.Node + ": ")
	}
	b.WriteString(string(e.Kind))
	if e.Name != "" {
		b.WriteString(" " + e.Name)
	}
	switch {
	case e.Phase != "":
		b.WriteString(" (" + e.Phase + ")")
	case e.Target != "":
		b.WriteString(" " + e.Target)
	}
	if e.Job != "" {
		b.WriteString(" of " + e.Job)
	}
	if e.Delivered > 1 {
		b.WriteString(", delivery " + strconv.FormatUint(e.Delivered, 10))
	}
	b.WriteString(": " + e.Outcome)
	if e.Fault != "" {
		b.WriteString(", struck by " + e.Fault)
	}
	return b.String()
}

// Outcomes that are not an error's text.
const (
	OutcomeOK      = "ok"
	OutcomeNil     = "nil"
	OutcomePending = "pending"
)

// outcome describes what a caller saw, in a form that is the same on every machine.
func outcome(err error) string {
	switch {
	case err == nil:
		return OutcomeOK
	case errors.Is(err, redis.Nil):
		return OutcomeNil
	}
	return err.Error()
}

// Change is one thing that a step changed in the servers, read from the servers once the step had settled: a
// Redis field as it is now, or a message that a stream now holds.
type Change struct {
	Key     string        `json:"key,omitempty"`        // Redis key
	Field   string        `json:"field,omitempty"`      // hash field or sorted-set member; empty for a string key, or a whole key that is gone
	Value   string        `json:"value,omitempty"`      // the value, the score, or the message's data
	Gone    bool          `json:"gone,omitempty"`       // the field, or the key when Field is empty, or the message, no longer exists
	Expires time.Duration `json:"expires_ns,omitempty"` // string keys: virtual instant at which the key expires; 0 for never

	Stream  string            `json:"stream,omitempty"`
	Seq     uint64            `json:"seq,omitempty"`
	Subject string            `json:"subject,omitempty"`
	Header  map[string]string `json:"header,omitempty"`
}
