package judge

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

// replayFacts is what is known of dead letters and their replays.
type replayFacts struct {
	letters   map[string]*letter // by job id
	order     []string
	counts    map[string]string        // the replay of a job, by "<original> <count>"
	committed map[string]string        // who has done what an idempotency key stands for, by "<tenant>:<key>"
	came      map[string]time.Duration // when the present entry of each job came into the index
	alert     bool                     // the growth alert is raised
	reached   map[string]int           // how often dead letters came to a replay status, and the alert was raised
	last      map[string]look          // how each process saw the queue grow last

	looked    func(*step, *look) // set by the invariant that judges it
	alarmed   func(*step)
	rewritten func(s *step, id string, was, is *letter)
}

// replayJob is what is known of one job that matters to its replays.
type replayJob struct {
	key     string // its idempotency key
	of      string // the job that it replays; "" for none
	count   int    // which of that job's replays it is
	replays int    // of it, and of those
	decided int    // the step at which the safety kernel answered about it last; 0 is never
}

// letter is a dead letter as its entry has it.
type letter struct {
	status, reasonCode, replayStatus, approvedBy string
	gone, triaged                                bool
	expires                                      time.Duration // 0 is never
	fatal                                        bool          // its worker called the failure final
	step                                         bool          // its job is a step of a run
	written                                      int           // the step at which it was, before anybody triaged it
}

// decided says whether triage or a person has decided on the letter.
func (l *letter) decided() bool { return l.triaged || l.approvedBy != "" }

// lost says whether the letter is no more: nobody can replay what has expired.
func (l *letter) lost(now time.Duration) bool { return l.gone || l.expires != 0 && now >= l.expires }

// look is a process's look at how the queue grows.
type look struct {
	process string
	step    int
	fresh   int
	alert   bool // there were too many
	sure    bool // and no entry was at the edge of the window
	tried   bool // it has tried to change the alert since, or another has changed it
}

// edge is how far the time at which an entry says that it was written may be from that at which it was.
const edge = time.Second

func (f *facts) replays() *replayFacts {
	r := &f.replay
	if r.letters == nil {
		r.letters, r.counts, r.committed = map[string]*letter{}, map[string]string{}, map[string]string{}
		r.came, r.last, r.reached = map[string]time.Duration{}, map[string]look{}, map[string]int{}
	}
	return r
}

// letterChanged takes in a change of a job's dead letter.
func (f *facts) letterChanged(s *step, id string, c *sim.Change) {
	if !f.config.Replay.Wanted {
		return
	}
	r := f.replays()
	l := r.letters[id]
	if l == nil {
		l = &letter{}
		r.letters[id] = l
		r.order = append(r.order, id)
	}
	var e struct {
		Status       string `json:"status"`
		ReasonCode   string `json:"reason_code"`
		ReplayStatus string `json:"replay_status"`
		DecidedBy    string `json:"decided_by"`
		Action       string `json:"action"`
		Fatal        bool   `json:"fatal"`
	}
	was := *l
	if l.gone = c.Gone; c.Gone || json.Unmarshal([]byte(c.Value), &e) != nil {
		return
	}
	if e.ReplayStatus != l.replayStatus {
		r.reached[e.ReplayStatus]++
	}
	l.expires = c.Expires
	if l.triaged = e.Action != ""; !l.triaged {
		l.written = s.Step
	}
	l.fatal, l.step = e.Fatal, f.jobs[id] != nil && isStep(f.jobs[id])
	l.status, l.reasonCode, l.replayStatus, l.approvedBy = e.Status, e.ReasonCode, e.ReplayStatus, e.DecidedBy
	if r.rewritten != nil && s.Kind != sim.KindControl { // a failover of Redis is nobody's doing
		r.rewritten(s, id, &was, l)
	}
}

// lettersIndexed takes in a change of the index of dead letters.
func (f *facts) lettersIndexed(c *sim.Change) {
	if !f.config.Replay.Wanted {
		return
	}
	r := f.replays()
	if c.Gone {
		delete(r.came, c.Field)
		return
	}
	r.came[c.Field] = f.at
}

// growthChanged takes in that the growth alert was raised, or ended. What a process saw before that says
// nothing of the alert as it is now.
func (f *facts) growthChanged(s *step, c *sim.Change) {
	r := f.replays()
	if !r.alert && !c.Gone {
		r.reached["alert"]++
	}
	r.alert = !c.Gone
	if r.alarmed != nil {
		r.alarmed(s)
	}
	for by, l := range r.last {
		l.tried = true
		r.last[by] = l
	}
}

// growthSeen takes in that a process has looked at how the queue grows, or has tried to change the alert.
func (f *facts) growthSeen(s *step) {
	r := f.replays()
	by := invariants.Process(s.Node, s.Incarnation)
	now := r.last[by]
	if s.Phase == "dlq_growth_write" {
		now.tried = true
		r.last[by] = now
		return
	}
	if now.step != 0 {
		r.looked(s, &now)
	}
	if s.failed || s.Outcome == sim.OutcomePending {
		delete(r.last, by)
		return
	}
	limit, window := f.config.Replay.GrowthAlert, f.config.Replay.GrowthWindow
	least, most := 0, 0
	for _, at := range r.came {
		if at > s.At-window+edge {
			least++
		}
		if at > s.At-window-edge {
			most++
		}
	}
	r.last[by] = look{process: by, step: s.Step, fresh: least, alert: least > limit, sure: (least > limit) == (most > limit)}
}

// asked takes in the safety kernel's answer to a scheduler.
func (f *facts) asked(e *sim.Event) {
	if e.Name == "Check" && e.Job != "" && !history.AnswerOf(e).Failed() && e.Outcome != sim.OutcomePending {
		f.job(e.Job).replay.decided = e.Step
	}
}

// done notes that what a job's idempotency key stands for has been done.
func (f *facts) done(j *job) {
	if f.config.Replay.Wanted && j.replay.key != "" {
		f.replays().committed[j.commitment()] = j.id
	}
}

// commitment is what a job's idempotency key is known by, which is one of its tenant.
func (j *job) commitment() string { return j.tenantOf() + ":" + j.replay.key }

// isStep says whether a job is a step of a run, which is called <run>-<step>-<attempt>.
func isStep(j *job) bool {
	rest, found := strings.CutPrefix(j.id, j.saga.workflow+"-")
	name, attempt, two := strings.Cut(rest, "-")
	n, err := strconv.Atoi(attempt)
	return j.saga.workflow != "" && found && two && name != "" && err == nil && n >= 1
}

// source is the dead letter that a replay comes from, by the replay's labels; nil is none.
func (f *facts) source(j *job) *letter {
	if j.replay.count <= 1 {
		return f.replay.letters[j.replay.of]
	}
	for _, before := range f.order {
		if l := f.replay.letters[before.id]; l != nil && before.replay.of == j.replay.of && before.replay.count == j.replay.count-1 {
			return l
		}
	}
	return nil
}

// root is the job that a replay goes back to.
func (f *facts) root(j *job) *job {
	for j.replay.of != "" && j.replay.of != j.id {
		j = f.job(j.replay.of)
	}
	return j
}

// replayOpen says what is still to come of dead letters.
func replayOpen(f *facts) (list []string) {
	c := &f.config.Replay
	if !c.Enabled {
		return nil
	}
	for _, id := range f.replay.order {
		l := f.replay.letters[id]
		switch {
		case l.lost(f.at):
		case !l.triaged, l.replayStatus == "scheduled", l.replayStatus == "awaiting_approval" && c.Approved[id]:
			list = append(list, fmt.Sprintf("the dead letter of %s is %s", id, l.replayStatus))
		}
	}
	if f.replay.alert {
		list = append(list, "the growth alert is raised")
	}
	for _, j := range f.order {
		if j.replay.of != "" && j.state != absent && !j.state.terminal() && j.state != approvalRequired {
			list = append(list, fmt.Sprintf("%s, a replay, is %s", j.id, j.state))
		}
	}
	return list
}

// replayLabels notes what a job's request says of its being a replay.
func (j *job) replayLabels(labels map[string]string) {
	j.replay.of = labels[history.LabelReplayOf]
	j.replay.count, _ = strconv.Atoi(labels[history.LabelReplayCount])
}

// committedChanged takes in a change of the key that says who has done something.
func (f *facts) committedChanged(c *sim.Change) {
	key := strings.TrimPrefix(c.Key, history.CommittedPrefix)
	if c.Gone {
		delete(f.replays().committed, key)
		return
	}
	f.replays().committed[key] = c.Value
}
