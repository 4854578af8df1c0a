package model

import (
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Unsent is the last publish of a client for a job, if the client was not told that it is stored.
type Unsent struct {
	Node, Phase string
	Step        int
	At          time.Duration // when it began
	Failed      bool          // the client was told so
	Since       time.Duration // when the client last worked on the job
}

// publishes are the phases in which clients publish messages to schedulers.
var publishes = []string{"submit_publish", "approve_publish", "cancel_publish"}

// Sends notes what a client does for the job.
func (j *Job) Sends(s *Step) {
	if s.Kind == sim.KindPublish && slices.Contains(publishes, s.Phase) {
		j.sent(s.Node)
		if s.Failed || s.Outcome == sim.OutcomePending {
			j.Unsent = append(j.Unsent, Unsent{Node: s.Node, Phase: s.Phase, Step: s.Step, At: s.At, Failed: s.Failed, Since: s.At})
		}
		return
	}
	i := slices.IndexFunc(j.Unsent, func(u Unsent) bool { return u.Node == s.Node })
	if i < 0 {
		return
	}
	switch u := &j.Unsent[i]; {
	case s.Kind == sim.KindReturn && s.Phase == u.Phase && s.Failed:
		u.Failed, u.Since = true, s.At
	case s.Kind == sim.KindReturn && s.Phase == u.Phase,
		s.Failed, u.Phase == "approve_publish": // the client retries, or has seen that the job no longer waits
		j.sent(s.Node)
	default:
		u.Since = s.At
	}
}

// sent forgets what the node has left unsent.
func (j *Job) sent(node string) {
	j.Unsent = slices.DeleteFunc(j.Unsent, func(u Unsent) bool { return u.Node == node })
}

// times counts what a process has received about a job in one phase.
type times struct {
	process, phase string
	n              int
}

// Again counts what the step's process has received about the job, by phase: a confirmation that the stream stored its message
// or, if the process is a worker, a dispatch. It returns the count of the step's phase.
func (j *Job) Again(s *Step) int {
	me := invariants.Process(s.Node, s.Incarnation)
	i := slices.IndexFunc(j.times, func(t times) bool { return t.process == me && t.phase == s.Phase })
	if i < 0 {
		i = len(j.times)
		j.times = append(j.times, times{me, s.Phase, 0})
	}
	j.times[i].n++
	return j.times[i].n
}

// GivenTo returns how often a dispatch of the job has reached a process.
func (j *Job) GivenTo(process string) int {
	for _, t := range j.times {
		if t.process == process && t.phase == "job_deliver" {
			return t.n
		}
	}
	return 0
}

// Confirms says whether the step tells a client or a worker that the stream has stored the message that it published to schedulers.
func Confirms(s *Step) bool {
	return (s.Kind == sim.KindPublish || s.Kind == sim.KindReturn) && (s.Phase == "result_publish" || slices.Contains(publishes, s.Phase)) &&
		!s.Failed && s.Outcome != sim.OutcomePending && s.Node != history.OperatorNode && !strings.HasPrefix(s.Node, history.SchedulerNodes)
}

// ClientAway says whether a client is down, paused or cut off from a server, so that it stores nothing.
func (f *Facts) ClientAway() bool {
	for name, n := range f.Nodes {
		if history.IsClient(name) && (n.Down || n.absent > 0) {
			return true
		}
	}
	return false
}

// Dropped lists a job's failed publishes that stored nothing, and that clients do not repeat.
func (f *Facts) Dropped(j *Job) (list []Unsent) {
	patience := f.Config.PublishTimeout + 2*f.Config.StoreOpTimeout + 5*time.Second
	for _, u := range j.Unsent {
		stored := slices.ContainsFunc(j.Messages, func(m Message) bool { return m.From == u.Node && m.Stored >= u.At })
		if u.Failed && !stored && f.At-u.Since > patience {
			list = append(list, u)
		}
	}
	return list
}
