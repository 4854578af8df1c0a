package scenarios

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/store"
	"github.com/wavetank-sim/wavetank/scenarios/world"
	"github.com/wavetank-sim/wavetank/sim"
)

// record follows every job through a run, by what the steps changed in the servers.
type record struct {
	jobs        []*jobRecord // by number, from 1
	down        map[string]bool
	heard       map[ear]time.Duration
	outstanding map[message]bool // stored in a stream and not acknowledged yet
	buried      time.Duration    // when a job last failed, or a message was terminated: the DLQ entry may be still to come
	relayed     bool             // dispatches go through an outbox, and not to a worker at once
	each        int              // how often each job is to be submitted
	deliveries  int              // of one message to the schedulers, before it is given up
	submitted   int              // submissions that were stored, of those that are to be
	settled     int              // jobs in a terminal state
	queued      int              // dispatches that wait in the outbox
	cancels     int              // jobs whose cancellation was stored
	poison      map[string]bool  // messages of the stranger that were stored
	runs        []*RunResult     // workflow runs that were stored
	losses      []loss           // of what Redis held
	tails       []tail           // of the streams, that went with nats-server's power
	timeouts    timeouts
	derived     derived
}

// ear is one node's for a worker's heartbeats.
type ear struct{ node, worker string }

// message is one that a stream holds.
type message struct {
	stream  string
	seq     uint64
	subject string
}

// consumer is the node that alone can acknowledge the message, or "" if any scheduler can.
func (m message) consumer() string {
	if worker, ok := strings.CutPrefix(m.subject, "worker."); ok {
		name, _, _ := strings.Cut(worker, ".")
		return name
	}
	return ""
}

// jobRecord is one job so far.
type jobRecord struct {
	JobResult
	since       time.Duration // of its state
	locked      time.Duration // when its lock was last taken
	cancel      time.Duration // when its cancellation was first stored
	voided      time.Duration // when a message was first stored in a dispatch's place
	told        time.Duration // when its worker was first told
	recorded    time.Duration // when its compensation was first put onto its saga's stack
	undone      time.Duration // when that was first submitted
	resumed     time.Duration // when a later handling first published what one before it had intended
	replayed    time.Duration // when a replayer first found it waiting
	awaited     bool          // a dispatch was stored since the last DISPATCHED write, and a living worker has it
	worker      string        // the worker it was dispatched to last
	executing   string        // the worker that has begun and not finished it
	finished    bool          // a worker has finished it
	queued      bool          // its dispatch waits in the outbox
	requests    int           // deliveries of its request
	answers     int           // deliveries of its result
	holder      string        // the node that holds its lock, and has not tried to release it
	leased      time.Duration // until when its lock is its holder's
	held        []hold        // by the nodes that handled or executed it
	begun       []time.Duration
	overtaken   *overtaken      // the first execution that the job's end had overtaken
	throttled   []time.Duration // when the safety kernel told its caller to ask again later
	late        []time.Duration // when a late write of its record was applied
	failures    []failure       // of its operations
	submissions int             // stored
	consent     consent
	undecided   time.Duration // when it first went on without a decision of the safety kernel
	redaction   *finding      // the output policy has its output redacted
	early       []early       // results that were handed back, as it was not dispatched
	asked       bool          // the safety kernel, in the handling that is under way
	unanswered  bool          // it gave no answer
	putOff      []putOff      // handlings that ended as the safety kernel gave no answer
	refusals    []refusal     // of an approval of it
	rewound     []rewound     // by failovers of Redis
	lost        []lostMessage // with nats-server's power
	dropped     []drop        // publishes that were confirmed, and of which nothing was stored
}

// hold is the time for which a node had a job's lock, or executed it.
type hold struct {
	node     string
	from, to time.Duration // to is 0 while it lasts
}

// overtaken is an execution of a job that had ended in another way.
type overtaken struct {
	node, state string
	at          time.Duration
	begun       bool // then; else it was finished then
}

// failure is an operation on a job whose caller saw an error.
type failure struct {
	phase string
	fault string
	at    time.Duration
}

func newRecord(plan *Plan) *record {
	r := &record{
		down: map[string]bool{}, heard: map[ear]time.Duration{}, outstanding: map[message]bool{}, poison: map[string]bool{},
		each: plan.Workload.Submissions, deliveries: plan.Engine.MaxDeliver, relayed: plan.Engine.DispatchOrder == engine.Outbox, timeouts: newTimeouts(plan), derived: newDerived(),
	}
	for n := range plan.Workload.Jobs {
		r.jobs = append(r.jobs, &jobRecord{JobResult: JobResult{ID: JobID(n + 1), Dispatches: []DispatchPoint{}}})
	}
	return r
}

// job finds a job by its id, or returns nil.
func (r *record) job(id string) *jobRecord {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "job-"))
	if err != nil || n < 1 || n > len(r.jobs) {
		return nil
	}
	return r.jobs[n-1]
}

func (r *record) observe(e *sim.Event) {
	if powerLoss(e) {
		r.cutTails(e)
		return
	}
	for i := range e.Changes {
		c := &e.Changes[i]
		if c.Stream != "" {
			r.stored(e, c)
		} else if id, ok := strings.CutPrefix(c.Key, "cordum:wf:run:"); ok && !strings.HasPrefix(id, "lock:") {
			r.ran(e, id, c)
		} else if id, ok := strings.CutPrefix(c.Key, "job:"); ok {
			r.written(e, id, c)
		} else if id, ok := strings.CutPrefix(c.Key, "output:"); ok && r.job(id) != nil {
			r.job(id).judgedOutput(e, c)
		} else if id, ok := strings.CutPrefix(c.Key, "cordum:scheduler:job:"); ok && r.job(id) != nil {
			r.leased(e, r.job(id), c)
		} else if strings.HasPrefix(c.Key, "saga:") && strings.HasSuffix(c.Key, ":stack") && !c.Gone && r.job(e.Job) != nil {
			first(&r.job(e.Job).recorded, e.At)
		} else if c.Key == "cordum:scheduler:outbox" {
			r.boxed(c.Field, !c.Gone)
		} else if c.Key == "cordum:audit" {
			r.derived.decided(e, c)
		}
	}
	if failover(e) {
		r.lost(e)
	}
	switch e.Kind {
	case sim.KindAck, sim.KindTerm:
		r.acknowledged(e)
	case sim.KindNak:
		if int(e.Delivered) >= r.deliveries { // it does not come again
			r.acknowledged(e)
		}
	case world.KindEffect:
		r.executed(e)
	case sim.KindReceive:
		if e.Phase == "heartbeat" && e.Outcome == sim.OutcomeOK {
			r.heard[ear{e.Node, e.Job}] = e.At
		}
	case sim.KindControl:
		r.controlled(e)
	}
	if j := r.job(e.Job); j != nil {
		if how, failed := failing(e); failed {
			j.failures = append(j.failures, failure{e.Phase, how, e.At})
		}
		switch e.Phase {
		case "submit_deliver":
			j.requests = max(j.requests, int(e.Delivered))
		case "lock_release":
			j.holder = ""
			j.letGo(e.Node, e.At)
		case "result_deliver":
			j.answers = max(j.answers, int(e.Delivered))
		case "publish":
			if j.State == "DISPATCHED" && j.locked > j.since && !r.relayed && e.Outcome != sim.OutcomePending {
				first(&j.resumed, e.At)
			}
			if dropped(e) {
				r.dropped(j, e)
			}
		case "replay_read":
			first(&j.replayed, e.At)
		case "safety_check":
			if throttles(e) {
				j.throttled = append(j.throttled, e.At)
			}
		}
		if e.Phase == "result_nak" && (j.State == "PENDING" || j.State == "SCHEDULED") {
			j.early = append(j.early, early{e.At, j.State})
		}
		if e.Phase == "submit_ack" || e.Phase == "submit_nak" {
			r.handled(j)
		}
	}
}

func (r *record) stored(e *sim.Event, c *sim.Change) {
	m := message{c.Stream, c.Seq, c.Subject}
	r.outstanding[m] = true
	id := c.Header["Job-Id"]
	j := r.job(id)
	if j == nil {
		r.derived.stored(e, id, c)
	}
	switch {
	case j == nil && c.Subject == "sys.job.submit" && e.Node == world.StrangerName:
		r.poison[id] = true
	case j == nil && e.Phase == "saga_publish" && r.job(e.Job) != nil:
		first(&r.job(e.Job).undone, e.At)
	case j == nil:
	case c.Subject == "sys.job.submit":
		if j.submissions == 0 {
			j.Submitted = e.At
		}
		if approved(c.Value) {
			j.consent.sent++
		}
		if j.submissions++; j.submissions <= r.each {
			r.submitted++
		}
	case c.Subject == "sys.job.cancel":
		if j.cancel == 0 {
			r.cancels++
		}
		first(&j.cancel, e.At)
	case strings.HasSuffix(c.Subject, ".cancel") && m.consumer() != "":
		first(&j.told, e.At)
	case c.Header["Job-Void"] != "":
		first(&j.voided, e.At)
	case c.Stream == "CORDUM_JOBS":
		j.Dispatches = append(j.Dispatches, DispatchPoint{e.Step, e.At, c.Subject, c.Seq})
		j.worker = m.consumer()
		if r.down[j.worker] {
			j.ToDead = true
			j.openBlind(e.At)
		} else {
			j.awaited = true
			j.closeBlind(e.At, "dispatch")
		}
	}
}

// drop is a publish that the stream took for one that it remembers.
type drop struct {
	at     time.Duration
	worker string
}

func dropped(e *sim.Event) bool {
	return e.Kind == sim.KindPublish && e.Outcome == sim.OutcomeOK && len(e.Changes) == 0
}

// dropped notes that the stream holds an earlier dispatch of the job, whose worker may be dead, and no other.
func (r *record) dropped(j *jobRecord, e *sim.Event) {
	j.dropped = append(j.dropped, drop{e.At, message{subject: e.Target}.consumer()})
	if len(j.Dispatches) > 0 && !r.down[j.worker] && (j.executing != "" || r.waits(j)) {
		j.awaited = true
	} else if !j.finished {
		j.openBlind(e.At)
	}
}

// first notes the first instant of something.
func first(at *time.Duration, now time.Duration) {
	if *at == 0 {
		*at = now
	}
}

// asked says whether all that clients were to publish besides submissions is stored.
func (r *record) asked(w Workload) bool {
	return r.cancels == len(w.Cancel) && len(r.poison) == w.Poison && len(r.runs) == w.Runs
}

func (r *record) written(e *sim.Event, id string, c *sim.Change) {
	if c.Field == "state" && (c.Value == "FAILED" || c.Value == "DENIED" || c.Value == "OUTPUT_QUARANTINED") {
		r.buried = e.At
	}
	j := r.job(id)
	if j == nil {
		r.derived.written(e, id, c)
		return
	}
	j.consent.grants(c, e.At)
	j.takeIn(e, c)
	switch c.Field {
	case "decision":
		if c.Value == store.FailOpen {
			first(&j.undecided, e.At)
		}
	case "":
		if c.Gone { // with the writes that a failover loses
			j.Attempts, j.Reason, j.Why = 0, "", ""
			r.moved(j, e, "")
		}
	case "state":
		r.moved(j, e, c.Value)
	}
}

// moved notes that the job's record says another state.
func (r *record) moved(j *jobRecord, e *sim.Event, to string) {
	switch was, is := terminal(j.State), terminal(to); {
	case is && !was:
		r.settled++
		j.Settled = e.At
	case was && !is: // never in the documented state machine, but for a failover
		r.settled--
		j.Settled = 0
	}
	if e.Kind == sim.KindLate {
		j.late = append(j.late, e.At)
	}
	from, since := j.State, j.since
	j.State, j.since = to, e.At
	j.Path = append(j.Path, JobPoint{e.Step, e.At, to, j.Attempts, cmp.Or(e.Phase, e.Name)})
	if failover(e) {
		j.rewound = append(j.rewound, rewound{e.At, from, to})
	}
	if to != "DISPATCHED" && to != "RUNNING" {
		r.found(j, from, e, since)
	}
	if to == "SCHEDULED" {
		j.awaited = false
	}
}

// takeIn takes over what the record says of the job besides its state.
func (j *JobResult) takeIn(e *sim.Event, c *sim.Change) {
	switch c.Field {
	case "attempts":
		j.Attempts, _ = strconv.Atoi(c.Value)
		if n := len(j.Path); n > 0 && j.Path[n-1].Step == e.Step {
			j.Path[n-1].Attempts = j.Attempts
		}
	case "reason_code":
		j.Reason = c.Value
	case "reason":
		j.Why = c.Value
	}
}

// boxed notes whether the outbox has a dispatch of the job.
func (r *record) boxed(id string, queued bool) {
	if j := r.job(id); j != nil && j.queued != queued {
		j.queued = queued
		if queued {
			r.queued++
		} else {
			r.queued--
		}
	}
}

func terminal(state string) bool { return job.State(state).Terminal() }

func (r *record) acknowledged(e *sim.Event) {
	if e.Kind == sim.KindTerm {
		r.buried = e.At
	}
	if e.Outcome != sim.OutcomeOK || e.Fault != "" {
		return
	}
	stream := "CORDUM_JOBS"
	if strings.HasPrefix(e.Target, "sys.") {
		stream = "CORDUM_SYS"
	}
	delete(r.outstanding, message{stream, e.Seq, e.Target})
}

func (r *record) executed(e *sim.Event) {
	j := r.job(e.Job)
	if e.Outcome != sim.OutcomeOK {
		return
	}
	if j == nil {
		r.derived.executed(e)
		return
	}
	if e.Name == world.EffectBegin {
		j.Executions++
		j.begun = append(j.begun, e.At)
		j.hold(e.Node, e.At)
		j.overtake(e, true)
		j.executing, j.awaited = e.Node, true
		j.closeBlind(e.At, "execution")
		return
	}
	j.letGo(e.Node, e.At)
	j.overtake(e, false)
	j.executing, j.awaited = "", false
	j.finished = j.finished || e.Name == world.EffectDone
}
