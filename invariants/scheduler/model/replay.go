package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// replayFacts is what is known of dead letters and their replays.
type replayFacts struct {
	Letters   map[string]*Letter // by job ID
	Order     []string
	Counts    map[string]string  // the replay of a job, by "<original> <count>"
	Committed map[string]string  // who has done what an idempotency key stands for, by "<tenant>:<key>"; "" if that is lost
	came      map[string]arrival // of each job's entry in the index
	Alert     bool               // the growth alert is raised
	Reached   map[string]int     // how often dead letters came to a replay status, and how often the alert was raised
	Last      map[string]Look    // how each process last saw the queue grow
	read      map[letterOf]glance
	rewritten []rewritten // in the present step
	tries     tries

	Turns turns
}

// rewritten is a dead letter before and after a step has written it.
type rewritten struct {
	id      string
	was, is Letter
}

// letterOf is a job's dead letter as a process knows it.
type letterOf struct{ process, id string }

// glance is a process's last read of a dead letter, and what the process can know of its subject.
type glance struct {
	at     time.Duration
	step   int
	done   invariants.Clause // what showed by then that it had been done; empty if nothing did
	unsure bool              // the process has asked since, and had no answer
}

// arrival is an entry's arrival in the index. An entry that a redelivered message writes again keeps its
// place. It is not new, unless it had expired.
type arrival struct {
	at    time.Duration
	place int64 // its time in the index
	there bool
}

// replayJob is what matters of a job to its replays.
type replayJob struct {
	Key      string   // its idempotency key
	Of       string   // the job that it replays; "" for none
	Count    int      // its number among that job's replays
	Replays  int      // its replays, and theirs, each counted once: after a failover, one may be made again
	Counted  bool     // it is among its root's Replays
	Decided  int      // the step at which the safety kernel last answered about it; 0 is never
	Policy   string   // the last policy that decided before there was a record of it; "" is none
	policies []string // all policies that decided
	final    finality // whether its failure was final
	Asked    int      // the step at which the ledger was last asked about its key because of its dead letter; 0 is never
}

// Letter is a dead letter's entry.
type Letter struct {
	Status, ReasonCode, ReplayStatus, ApprovedBy string
	DecidedBy, ReplayJob                         string // from the entry
	LastCause                                    string // for max_scheduling_retries
	Action                                       string // as noted by triage; "" is none
	gone                                         bool
	expires                                      time.Duration // 0 is never
	Fatal                                        bool          // the worker reported the failure as final
	saysFatal                                    bool          // the entry says so itself
	Step                                         bool          // its job is a step of a run
	Payload                                      string        // with which somebody has mended it; "" is none
	Mismatch                                     bool          // it says that another policy decides on the replay
	Why                                          string        // the reason for its replay status, in words
	Raised                                       string        // it waits because another policy decides; that policy's name, or ""
	Approved                                     bool          // a person has allowed its replay
	Refused                                      bool          // it is refused to a person who is not of the right group
	decidedIn                                    []string      // the replay statuses in which a person has decided, whatever the result
	Policy                                       string        // the policy that decided on its job
	Written                                      int           // the step of its write, before anybody triaged it
	Due                                          time.Duration // the earliest time of its replay, from the entry; 0 if it has none
	Read                                         time.Duration // when the writer of that had read it
	Says                                         history.DeadLetter
	scheduled                                    int // the step at which it was last scheduled
}

// Decided says whether triage or a person has decided on the letter.
func (l *Letter) Decided() bool { return l.Action != "" || l.ApprovedBy != "" }

// DecidedSince says whether triage, a replay or a person has decided on the letter since was. A letter that
// is filed again waits for that.
func (l *Letter) DecidedSince(was *Letter) bool {
	if l.ReplayStatus == "pending_review" && l.Action == "" && l.DecidedBy == "" && l.Raised == "" {
		return false
	}
	return l.ReplayStatus != was.ReplayStatus || l.Action != "" && was.Action == "" || l.DecidedBy != was.DecidedBy || l.Raised != was.Raised
}

// Lost says whether the letter is gone: nobody can replay what has expired.
func (l *Letter) Lost(now time.Duration) bool { return l.gone || l.expires != 0 && now >= l.expires }

func (f *Facts) replays() *replayFacts {
	r := &f.Replay
	if r.Letters == nil {
		r.Letters, r.Counts, r.Committed = map[string]*Letter{}, map[string]string{}, map[string]string{}
		r.came, r.Last, r.Reached, r.read = map[string]arrival{}, map[string]Look{}, map[string]int{}, map[letterOf]glance{}
	}
	return r
}

// NoteReplay notes which job is the replay of that name. A client may use such a name before there is a dead
// letter.
func (f *Facts) NoteReplay(key, id string) { f.replays().Counts[key] = id }

// LetterChanged notes a change of a job's dead letter.
func (f *Facts) LetterChanged(s *Step, id string, c *sim.Change) {
	if !f.Config.Replay.Wanted {
		return
	}
	r := f.replays()
	l := r.Letters[id]
	if l == nil {
		l = &Letter{}
		r.Letters[id] = l
		r.Order = append(r.Order, id)
	}
	was := *l
	f.hindered(id)
	e, err := history.Read[history.DeadLetter](c.Value)
	if l.gone = c.Gone; c.Gone || err != nil {
		return
	}
	if e.ReplayStatus != l.ReplayStatus {
		r.Reached[e.ReplayStatus]++
	}
	f.letterDecided(s, e)
	l.expires = c.Expires
	l.Says = *e
	if l.Action = e.Action; l.Action == "" {
		l.Written = s.Step
	}
	if j := f.Jobs[id]; j != nil {
		l.saysFatal, l.Step = e.Fatal, IsStep(j)
		l.Fatal = j.final(e.Fatal)
	}
	same := (l.Action != "" || e.Mismatch != "") && !s.Rewinds()
	l.decided(e, &was, same)
	l.Payload, l.Policy, l.Mismatch = e.Payload, e.Snapshot, strings.HasPrefix(e.ReplayReason, "policy_snapshot_mismatch")
	l.Status, l.ReasonCode, l.ReplayStatus, l.LastCause = e.Status, e.ReasonCode, e.ReplayStatus, e.LastCause
	l.DecidedBy, l.ReplayJob, l.Why = e.DecidedBy, e.ReplayJob, e.ReplayReason
	if e.ReplayStatus == "scheduled" {
		if due := f.Workflow.Since(e.NextReplayAt); e.ReplayStatus != was.ReplayStatus || due != was.Due {
			l.scheduled = s.Step
		}
		l.Due, l.Read = f.Workflow.Since(e.NextReplayAt), f.glanceOf(s, id).at
	}
	if s.Rewinds() {
		return
	}
	for _, check := range f.Hooks.LetterRewritten {
		check(s, id, &was, l)
	}
	r.rewritten = append(r.rewritten, rewritten{id, was, *l})
	f.overtakes(s, id)
	if e.ReplayStatus == "scheduled" && e.DecidedBy == "" {
		for _, check := range f.Hooks.ReplayPutOff {
			check(s, id, l)
		}
	}
}

// LettersWritten notes which dead letters the step has written, once all of its changes are known.
func (f *Facts) LettersWritten(s *Step) {
	r := &f.Replay
	for i := range r.rewritten {
		w := &r.rewritten[i]
		if !w.is.DecidedSince(&w.was) {
			continue
		}
		for _, check := range f.Hooks.LetterDecided {
			check(s, w.id, &w.was, &w.is)
		}
	}
	r.rewritten = r.rewritten[:0]
}

// SagaLetterWritten counts a dead letter of a saga, and what schedulers do with one.
func (f *Facts) SagaLetterWritten(s *Step, c *sim.Change) {
	e, err := history.Read[history.DeadLetter](c.Value)
	if !c.Gone && err == nil && s.Phase != "dlq_update" && e.ReasonCode == history.SagaUnmarshal && !s.Rewinds() {
		f.Count.Sure(history.CounterUnreadable)
	}
	switch {
	case c.Gone || err != nil:
	case s.Phase == "dlq_update":
		f.letterDecided(s, e)
	case !s.Failed:
		f.Count.Sure(history.CounterLetters, e.ReasonCode)
	}
}

// letterDecided counts a change of a letter as the scheduler that makes it does. If its answer was lost, the
// scheduler looks for the change, and may not find it.
func (f *Facts) letterDecided(s *Step, e *history.DeadLetter) {
	if !TriagesLetters(s) {
		return
	}
	count := f.Count.Sure
	if s.Failed {
		count = f.Count.Maybe
	}
	count(history.CounterReplays, e.ReplayStatus)
	if e.ReplayStatus == "denied" {
		count(history.CounterReplaysDenied, e.ReasonCode)
	}
}

// TriagesLetters says whether a step is a scheduler's change of a dead letter, by triage or replay.
func TriagesLetters(s *Step) bool {
	return ChangesLetter(s) && strings.HasPrefix(s.Node, history.SchedulerNodes)
}

// LetterRead notes that a process has read a job's dead letter.
func (f *Facts) LetterRead(s *Step) {
	id, letter := strings.CutPrefix(s.Target, history.DlqPrefix)
	if !letter {
		return
	}
	f.replays().read[letterOf{invariants.Process(s.Node, s.Incarnation), id}] = glance{at: s.At, step: s.Step, done: f.doneBy(f.Jobs[id])}
	f.letterVisited(s)
	l := f.Replay.Letters[id]
	if l != nil && l.Lost(s.At) {
		l = nil
	}
	f.letterTried(s, id, l)
}

// doneBy says what shows a process that asks that the effect of the job's idempotency key is done. It is
// empty if nothing does.
func (f *Facts) doneBy(j *Job) invariants.Clause {
	switch {
	case j == nil || j.Replay.Key == "" || !f.Config.Replay.CheckCommitted:
	case f.Replay.Committed[j.Commitment()] != "":
		return invariants.Say("%s has done it", f.Replay.Committed[j.Commitment()])
	case f.Config.Ledger && f.Effects[j.Commitment()].had > 0:
		return invariants.Say("the ledger has it since step %d", invariants.StepNo(f.Effects[j.Commitment()].Step))
	}
	return invariants.Clause{}
}

// CommitAsked notes the answer to a process that asks whether the effect of a dead letter's job is done.
func (f *Facts) CommitAsked(s *Step) {
	key := letterOf{invariants.Process(s.Node, s.Incarnation), s.About.ID}
	if g, reads := f.Replay.read[key]; reads {
		g.unsure = s.Failed || s.Outcome == sim.OutcomePending
		f.Replay.read[key] = g
	}
}

// LetterSeen is the step at which the step's process last read a job's dead letter.
func (f *Facts) LetterSeen(s *Step, id string) int { return f.glanceOf(s, id).step }

// KnownDone says what showed that the effect of a dead letter's job was done when the step's process last
// read the letter, if the process must know that by now; otherwise it is empty. An operation that takes its
// full time limit may have no answer.
func (f *Facts) KnownDone(s *Step, id string) invariants.Clause {
	g := f.glanceOf(s, id)
	if g.unsure || s.Kind == sim.KindLate || s.At-g.at >= f.Config.StoreOpTimeout {
		return invariants.Clause{}
	}
	return g.done
}

// decided notes who has decided on a letter. When another policy is to decide on its replay, the decision no
// longer counts.
func (l *Letter) decided(e *history.DeadLetter, was *Letter, same bool) {
	l.Raised = e.Mismatch
	if same {
		l.Raised = cmp.Or(e.Mismatch, was.Raised)
	}
	anew := e.ReplayStatus != was.ReplayStatus && (e.ReplayStatus == "scheduled" || e.ReplayStatus == "denied")
	switch {
	case same && l.Raised != was.Raised:
		l.ApprovedBy, l.Approved = "", false
	case anew, !same:
		l.ApprovedBy, l.Approved = e.DecidedBy, e.DecidedBy != "" && e.ReplayStatus == "scheduled"
	}
	if anew && e.DecidedBy != "" {
		l.decidedIn = append(l.decidedIn, was.ReplayStatus)
	}
}

// Called notes the answer of the safety kernel to a scheduler, or that of the ledger.
func (f *Facts) Called(e *sim.Event) {
	if e.Job == "" || history.AnswerOf(e).Failed() || e.Outcome == sim.OutcomePending {
		return
	}
	switch {
	case e.Phase == "committed_read": // a worker asks the ledger, too
		f.Job(e.Job).Replay.Asked = e.Step
	case e.Name == "Check":
		j := f.Job(e.Job)
		j.Replay.Decided = e.Step
		if v, err := history.Read[history.Verdict](e.Data); err == nil && j.State == Absent {
			j.Replay.Policy, j.Replay.policies = v.Snapshot, append(j.Replay.policies, v.Snapshot)
		}
	}
}

// Commit notes that the effect of a job's idempotency key is done.
func (f *Facts) Commit(j *Job) {
	if f.Config.Replay.Wanted && j.Replay.Key != "" {
		f.replays().Committed[j.Commitment()] = j.ID
	}
}

// SucceededAfterAll notes that a process acknowledges a success of a job that was over when the process
// received it. What Redis has lost since is no longer known.
func (f *Facts) SucceededAfterAll(s *Step, m *Message) {
	if _, known := f.Replay.Committed[s.About.Commitment()]; !known && m.Succeeded() && m.Over == invariants.Process(s.Node, s.Incarnation) {
		f.Commit(s.About)
	}
}

// IsStep says whether a job is a step of a run, named <run>-<step>-<attempt>.
func IsStep(j *Job) bool {
	rest, found := strings.CutPrefix(j.ID, j.Saga.Workflow+"-")
	name, attempt, two := strings.Cut(rest, "-")
	n, err := strconv.Atoi(attempt)
	return j.Saga.Workflow != "" && found && two && name != "" && err == nil && n >= 1
}

// Source is the dead letter that a replay comes from, by the replay's labels; nil if there is none.
func (f *Facts) Source(j *Job) *Letter { return f.Replay.Letters[f.ReplayedBy(j)] }

// ReplayedBy is the job that a replay replays, by the replay's labels: its original, or the replay before it.
// It is "" if there is none.
func (f *Facts) ReplayedBy(j *Job) string {
	if j.Replay.Count <= 1 {
		return j.Replay.Of
	}
	for _, before := range f.Order {
		if f.Replay.Letters[before.ID] != nil && before.Replay.Of == j.Replay.Of && before.Replay.Count == j.Replay.Count-1 {
			return before.ID
		}
	}
	return ""
}

// ReplayOf identifies the replay that a job's dead letter would become: the original's ID, and the number of
// the replay.
func (f *Facts) ReplayOf(j *Job) (original string, n int) {
	if f.Config.Replay.CarryCount && j.Replay.Of != "" {
		return j.Replay.Of, j.Replay.Count + 1
	}
	return j.ID, 1
}

// ReplaysHad counts the replays of a dead letter's original that were made; own says whether the letter's own
// replay is one of them.
func (f *Facts) ReplaysHad(j *Job) (had int, own bool) {
	original, n := f.ReplayOf(j)
	for _, k := range f.Order {
		if k.Accepted && k.Replay.Of == original {
			had, own = had+1, own || k.Replay.Count == n
		}
	}
	return had, own
}

// ReplayDenied says whether the safety kernel or a person has denied the replay of a job's dead letter.
func (f *Facts) ReplayDenied(j *Job) bool {
	for by, a := range f.Policy.Answers {
		if a.Decision == history.DecisionDeny && f.isReplay(by.Job, j) {
			return true
		}
	}
	l := f.Replay.Letters[j.ID]
	return l.ApprovedBy != "" && !l.Approved
}

// ReplayThrottled says whether the safety kernel throttles the replay of a job's dead letter, and is to be
// asked again.
func (f *Facts) ReplayThrottled(j *Job) bool {
	for id, since := range f.Policy.Throttled {
		if f.isReplay(id, j) && f.At-since <= f.Config.Replay.BackoffMax+4*f.Config.PollInterval {
			return true
		}
	}
	return false
}

// PolicyChanged says whether another policy has decided on the replay of a job's dead letter than on the job,
// namely the one for which the letter was raised.
func (f *Facts) PolicyChanged(j *Job) bool {
	l := f.Replay.Letters[j.ID]
	return l.Raised != l.Policy && slices.ContainsFunc(f.Order, func(k *Job) bool {
		return slices.Contains(k.Replay.policies, l.Raised) && f.isReplay(k.ID, j)
	})
}

// isReplay says whether a job with that ID is, or would be, the next replay of a dead letter's job.
func (f *Facts) isReplay(id string, j *Job) bool {
	original, n := f.ReplayOf(j)
	rest, ok := strings.CutPrefix(id, fmt.Sprintf("%s-replay-%d", original, n))
	return ok && (rest == "" || rest[0] == '-')
}

// DoneAfterAll says whether the effect of the job's idempotency key is done, or a worker has reported it.
func (f *Facts) DoneAfterAll(j *Job) bool {
	return j.Replay.Key != "" && (f.Effects[j.Commitment()].had > 0 || slices.ContainsFunc(f.Order, func(k *Job) bool { return k.Saga.Answered && k.Commitment() == j.Commitment() }))
}

// Root is the original job of a replay.
func (f *Facts) Root(j *Job) *Job {
	for j.Replay.Of != "" && j.Replay.Of != j.ID {
		j = f.Job(j.Replay.Of)
	}
	return j
}

// ReplayOpen lists what is still to come of dead letters.
func ReplayOpen(f *Facts) (list []string) {
	c := &f.Config.Replay
	if !c.Enabled {
		return nil
	}
	for _, id := range f.Replay.Order {
		l := f.Replay.Letters[id]
		switch {
		case l.Lost(f.At):
		case l.Action == "", l.ReplayStatus == "scheduled",
			slices.Contains(c.Decides[id], l.ReplayStatus) && !l.Refused && !slices.Contains(l.decidedIn, l.ReplayStatus):
			why := ""
			if f.ReplayThrottled(f.Job(id)) {
				why = ", as the safety kernel throttles its replay"
			}
			list = append(list, fmt.Sprintf("the dead letter of %s is %s%s", id, l.ReplayStatus, why))
		}
	}
	if f.Replay.Alert {
		list = append(list, "the growth alert is raised")
	}
	return list
}

// replayLabels notes what the labels of a job's request say of a replay.
func (j *Job) replayLabels(labels map[string]string) {
	j.Replay.Of = labels[history.LabelReplayOf]
	j.Replay.Count, _ = strconv.Atoi(labels[history.LabelReplayCount])
}

// CommittedChanged notes a change of an idempotency key that says who has done the work.
func (f *Facts) CommittedChanged(s *Step, c *sim.Change, key string) {
	f.replays().Committed[key] = c.Value
	if c.Gone || s.Rewinds() {
		return
	}
	for _, check := range f.Hooks.CommitNoted {
		check(s, f.lasts(s, c))
	}
}
