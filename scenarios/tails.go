package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

// tail is what the streams lost with nats-server's power.
type tail struct {
	at       time.Duration
	messages int
	jobs     []string // whose messages those were
}

// lostMessage is one of a job's.
type lostMessage struct {
	at   time.Duration
	what string
}

func powerLoss(e *sim.Event) bool {
	return e.Kind == sim.KindControl && e.Name == string(faults.PowerLoss)
}

// The messages of a job, as a story names them.
const (
	itsRequest  = "its request"
	itsResult   = "its result"
	itsDispatch = "its dispatch"
)

func whatOfMessage(c *sim.Change) string {
	switch {
	case c.Subject == "sys.job.submit":
		return itsRequest
	case c.Subject == "sys.job.result":
		return itsResult
	case c.Subject == "sys.job.cancel":
		return "its cancellation"
	case strings.HasSuffix(c.Subject, ".cancel"):
		return "the notice to its worker"
	case c.Header["Job-Void"] != "":
		return "what was to keep its dispatch out"
	}
	return itsDispatch
}

// cutTails takes in which messages are gone.
func (r *record) cutTails(e *sim.Event) {
	t := tail{at: e.At, messages: len(e.Changes)}
	for i := range e.Changes {
		c := &e.Changes[i]
		delete(r.outstanding, message{c.Stream, c.Seq, c.Subject})
		j := r.job(c.Header["Job-Id"])
		if j == nil {
			continue
		}
		if len(j.lost) == 0 || j.lost[len(j.lost)-1].at != e.At {
			t.jobs = append(t.jobs, j.ID)
		}
		what := whatOfMessage(c)
		j.lost = append(j.lost, lostMessage{e.At, what})
		if what == itsDispatch && j.awaited && j.executing == "" {
			j.awaited = false
			j.openBlind(e.At)
		}
	}
	r.tails = append(r.tails, t)
}

// tellTails says what was lost with nats-server's power.
func (r *record) tellTails() (told []string) {
	for _, t := range r.tails {
		text := fmt.Sprintf("nats-server lost its power at %s", at(t.at))
		switch {
		case t.messages == 0:
			text += ", and nothing was lost: nobody had published within the lag"
		case len(t.jobs) == 0:
			text += fmt.Sprintf(", and with it %s that it had stored", count(t.messages, "message"))
		default:
			text += fmt.Sprintf(", and with it %s that it had stored, of %s", count(t.messages, "message"), some(t.jobs))
		}
		told = append(told, text+".")
	}
	return told
}

// lostMessages tell of the job's messages that went with nats-server's power.
func (j *jobRecord) lostMessages() (all []clause) {
	for _, m := range j.lost {
		all = append(all, clause{m.at, fmt.Sprintf("%s was lost at %s", m.what, at(m.at))})
	}
	return all
}

func (j *jobRecord) hasLost(what string) bool {
	return slices.ContainsFunc(j.lost, func(m lostMessage) bool { return m.what == what })
}
