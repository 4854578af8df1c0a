package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/sim"
)

// Why a job goes back to wait, and why it times out when it does. No single operation shows that; the
// oracle's model knows it.

// causes makes the model report such causes to the story.
func (r *run) causes() *observe.Checker {
	return &observe.Checker{Released: r.sentBack, Wrote: r.timedOut}
}

// sentBack notes why a handling ends without a worker to dispatch its job to. Picks that met stale workers
// are told with the same step.
func (r *run) sentBack(s *model.Step) {
	j := r.record.job(s.Job)
	if j == nil || s.About.State.Terminal() || !s.Handling.FoundNobody() && !s.Handling.Full {
		return
	}
	why := "it knew no worker that could take it"
	switch {
	case s.Handling.Full:
		why = "its tenant had no slot left (engine.tenant_limit)"
	case !r.judge.Facts.KnowsWorkers(s):
		why = "it knew no worker"
	}
	tell(&j.back, s.Event, putOff, why, "", 0)
}

// wentBack tells what sentBack noted, unless the job's picks met stale workers: then that is told instead.
func (r *run) wentBack(e *sim.Event) {
	if j := r.record.job(e.Job); j != nil && len(j.back) > 0 {
		if !j.stale {
			j.moments = append(j.moments, j.back...)
		}
		j.back = nil
	}
}

// timedOut tells when the time of a job was up that the reconciler ends, and which ticks should have found
// it.
func (r *run) timedOut(s *model.Step, w *model.Write) {
	j, f := r.record.job(s.Job), r.judge.Facts
	if j == nil || s.About.State != model.TimedOut || s.Phase != "timeout_write" {
		return
	}
	up := timeUp{w.Due, "deadline", 0}
	switch cfg := &f.Config; {
	case !w.Bounded:
		return
	case w.Due > s.At && cfg.WatchWorkers && w.From == model.Running:
		up.limit = cfg.TimeoutOf(s.About.Topic)
		up.which, up.at = "silence", max(w.Since, s.At-f.Silence(s.Event, s.About.Worker))+up.limit
	case w.Deadline != 0 && w.Due == s.About.DeadlineDue():
	case w.From == model.Running:
		up.which, up.limit = "running", cfg.RunningTimeout
	default:
		up.which, up.limit = "dispatch", cfg.TimeoutOf(s.About.Topic)
		if up.limit != cfg.DispatchTimeout {
			up.which = "topic"
		}
	}
	if up.at > s.At { // by the reconciler's clock it was up
		return
	}
	j.up = up
	j.countsFrom(w.From, w.Since, up)
	also := ""
	if up.which == "silence" {
		also = " without a word of " + s.About.Worker
	}
	j.moments = append(j.moments, moment{at: up.at, says: timePassed, a: up.words(), b: also})
	j.moments = append(j.moments, r.heldOff(reconciler, up.at)...)
}

// countsFrom marks the state write from which a time that is up counts.
func (j *jobRecord) countsFrom(state model.State, since time.Duration, up timeUp) {
	for i := len(j.moments) - 1; i >= 0 && up.at < since+up.limit+time.Second; i-- {
		if m := &j.moments[i]; m.says == wrote && m.a == state.String() {
			m.timed = true
			return
		}
	}
}

// late tells when a replayer should have found the waiting job that it finds now, if its lock kept it from
// that.
func (r *run) late(j *jobRecord) {
	engine := &r.plan.Engine
	age := map[string]struct {
		setting string
		time.Duration
	}{
		"PENDING": {"pending_age", engine.PendingAge}, "APPROVAL_REQUIRED": {"pending_age", engine.PendingAge},
		"SCHEDULED": {"scheduled_age", engine.ScheduledAge}, "DISPATCHED": {"intent_age", engine.IntentAge},
	}[j.State]
	due := j.since + age.Duration
	if held := r.heldOff(replayer, due); age.setting != "" && len(held) > 0 {
		j.moments = append(j.moments, moment{at: due, says: waited, a: j.State, b: strictyaml.DurationText(age.Duration) + " (engine." + age.setting + ")"})
		j.moments = append(j.moments, held...)
	}
}

// heldOff tells of the ticks at which a rescue found its lock taken, from the tick before a time was up. It
// tells the first, and counts the others.
func (r *run) heldOff(rescue string, up time.Duration) []moment {
	var ticks []moment
	for _, t := range r.record.idleTicks {
		if t.of == rescue && t.taken <= up && up <= t.at {
			ticks = append(ticks, t.moment)
		}
	}
	if len(ticks) == 0 {
		return nil
	}
	m := ticks[0]
	if r.plan.HoldsTicks() {
		m.b += " (engine.tick_lock=until-expiry)"
	}
	if n := len(ticks) - 1; n > 0 {
		m.b += fmt.Sprintf("; so did %s, the last at %s", count(n, "more tick"), at(ticks[n].at))
	}
	return []moment{m}
}

// timeUp is the time that the reconciler found a job to have exceeded.
type timeUp struct {
	at    time.Duration
	which string // dispatch, running, topic, silence or deadline; "" for nothing
	limit time.Duration
}

func (u timeUp) words() string {
	which := map[string]string{"dispatch": "the dispatch timeout", "silence": "the dispatch timeout", "topic": "the topic's dispatch timeout", "running": "the running timeout"}[u.which]
	if which == "" {
		return "the deadline"
	}
	return which + " (" + strictyaml.DurationText(u.limit) + ")"
}

const (
	reconciler = "reconciler"
	replayer   = "replayer"
)

// rescues maps the lock phases of the parts that resume stuck jobs to those parts.
var rescues = map[string]string{"reconcile_lock": reconciler, "replay_lock": replayer}

// idleTick is a tick at which a rescue found its lock taken.
type idleTick struct {
	moment
	of    string
	taken time.Duration
}

// ticked follows the locks of the rescues.
func (r *record) ticked(f *history.Fact) {
	if rescues[f.Phase] != "" { // each taking or renewal of the lock is a tick
		r.locks[f.Change.Key] = lock{holder: f.Node, taken: f.At, until: f.Change.Expires}
	}
}

// didNotTick notes that a rescue found its lock taken.
func (r *record) didNotTick(e *sim.Event) {
	if l := r.locks[e.Target]; l.until > e.At && e.Name == "set" && len(e.Changes) == 0 && history.AnswerOf(e) == history.Done {
		of := rescues[e.Phase]
		r.idleTicks = append(r.idleTicks, idleTick{moment{at: e.At, step: e.Step, node: e.Node, says: busy, a: "the " + of + "'s lock", b: holderTo(e.Node, l.holder) + " since " + at(l.taken)}, of, l.taken})
	}
}

// breakerMoments tell the state changes of the circuits. Of replicas that share a circuit, the first to
// notice a change is told.
func (r *run) breakerMoments() (moments []moment) {
	shown := map[string]string{}
	for _, c := range r.judge.Facts.Policy.Changes {
		of, by := c.Circuit, ""
		if c.Alone {
			of, by = c.Circuit+" of "+c.Node, ", by its own count"
		}
		if was := shown[of]; was == c.State || was == "" && c.State == history.Closed {
			continue
		}
		shown[of] = c.State
		moments = append(moments, moment{at: c.At, node: c.Node, says: circuit, a: c.Circuit, b: c.State + by})
	}
	return moments
}

// reconnections tell which nodes had lost nats-server, and when they had reconnected.
func (r *run) reconnections() (moments []moment) {
	for list := r.record.reconnects; len(list) > 0; {
		var names []string
		n := 0
		for ; n < len(list) && !slices.Contains(names, list[n].node); n++ { // a node's second time belongs to another restart
			names = append(names, list[n].node)
		}
		first, last := list[0], list[n-1]
		list = list[n:]
		slices.Sort(names)
		for i := range names {
			names[i] = who(names[i])
		}
		since := ""
		if first.at < last.at {
			since = ", the first at " + at(first.at)
		}
		moments = append(moments, moment{at: last.at, step: last.step, says: reconnected, a: some(slices.Compact(names)), b: since})
	}
	return moments
}

// unlocked tells that a rollback ends before its stack is empty.
func (r *record) unlocked(f *history.Fact, to *[]moment, name string) {
	if f.What != history.SagaLock || f.Phase != "saga_unlock" {
		return
	}
	if n := r.facts.Sagas.Of(f.Job).Holds(f.At); n > 0 {
		tell(to, f.Event, leftOver, name, count(n, "compensation"), 0)
	}
}
