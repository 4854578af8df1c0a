package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

// tape is a run written by hand: its events, and what a runner would have found in them.
type tape struct {
	now    time.Duration
	events []sim.Event
	jobs   map[string]*scenarios.JobResult
	seqs   map[string]uint64
	counts map[string]int
	plan   *plans.Plan
	res    *scenarios.Result
}

func newTape(name, story string, jobs int) *tape {
	t := &tape{
		jobs: map[string]*scenarios.JobResult{}, seqs: map[string]uint64{}, counts: map[string]int{},
		plan: planOf(name, story, jobs),
		res: &scenarios.Result{
			Version: scenarios.ResultVersion, Build: "v0.1.0", Scenario: name, Story: story, Preset: "documented", Seed: 7,
			Digest: "9f31c2aa07d4e6b1", Verdict: scenarios.Held,
			Reason:     "every invariant held within its promise",
			Violations: []scenarios.Violation{}, Fired: []scenarios.FiredFault{}, Telling: []string{}, Jobs: []scenarios.JobResult{},
		},
	}
	t.res.RepeatedBy(scenarios.Command{Program: scenarios.ProgramName, Source: name, Seeded: true})
	for n := 1; n <= jobs; n++ {
		id := "job-" + strconv.Itoa(n)
		t.jobs[id] = &scenarios.JobResult{ID: id, Dispatches: []scenarios.DispatchPoint{}}
	}
	return t
}

// planOf is a small plan of the documented preset.
func planOf(name, story string, jobs int) *plans.Plan {
	p := plans.Defaults()
	p.Name, p.Story, p.Preset, p.Engine, p.Seed = name, story, "documented", settings.Documented(), 7
	p.Topology.Schedulers, p.Topology.Workers, p.Topology.MaxParallel, p.Topology.HeartbeatEvery = 2, 3, 4, 5*time.Second
	p.Workload.Jobs, p.Workload.Every, p.Workload.Work, p.Workload.Submissions = jobs, 200*time.Millisecond, 2*time.Second, 1
	p.Schedule = plans.Schedule{Strategy: "latency", StepsMax: 1_000_000}
	p.Then = plans.Then{Heal: true, SettleWithin: 20 * time.Minute}
	return p
}

// step appends one event, after the time that such a thing takes.
func (t *tape) step(e sim.Event) *sim.Event {
	t.now += 137*time.Microsecond + time.Duration(len(t.events)%7)*83*time.Microsecond
	e.Step, e.At = len(t.events)+1, t.now
	if e.Outcome == "" {
		e.Outcome = sim.OutcomeOK
	}
	if e.Phase != "" {
		key := e.Job + " " + e.Phase
		t.counts[key]++
		e.Occurrence = t.counts[key]
	}
	t.events = append(t.events, e)
	return &t.events[len(t.events)-1]
}

func (t *tape) wait(d time.Duration) { t.now += d }

// write is a state write; a fault that keeps it from being applied leaves the record alone.
func (t *tape) write(node, job string, p phase.Phase, state string, attempts int, fault faults.Effect, outcome string) {
	e := t.step(sim.Event{Node: node, Kind: sim.KindRedis, Name: "multi", Target: "job:" + job, Job: job, Phase: string(p),
		Fault: string(fault), Outcome: outcome})
	if !history.Applied(&sim.Event{Fault: string(fault)}) {
		return
	}
	e.Changes = []sim.Change{
		{Key: "job:" + job, Field: "state", Value: state}, {Key: "job:" + job, Field: "attempts", Value: strconv.Itoa(attempts)},
		{Key: "job:index:" + state, Field: job, Value: strconv.Itoa(int(t.now / time.Millisecond))},
	}
	if p == phase.DispatchedWrite {
		e.Changes = append(e.Changes, sim.Change{Key: "job:" + job, Field: "worker", Value: "worker-2"})
	}
	j := t.jobs[job]
	j.State, j.Attempts = state, attempts
	j.Path = append(j.Path, scenarios.JobPoint{Step: e.Step, At: e.At, State: state, Attempts: attempts, Phase: string(p)})
}

func (t *tape) publish(node, job string, p phase.Phase, subject, stream string, fault faults.Effect, outcome string) {
	e := t.step(sim.Event{Node: node, Kind: sim.KindPublish, Target: subject, Job: job, Phase: string(p), Fault: string(fault), Outcome: outcome})
	if !history.Applied(&sim.Event{Fault: string(fault)}) {
		return
	}
	t.seqs[stream]++
	e.Changes = []sim.Change{{Stream: stream, Seq: t.seqs[stream], Subject: subject, Header: map[string]string{"Job-Id": job}, Value: `{"job_id":"` + job + `"}`}}
	if p == phase.Publish {
		t.jobs[job].Dispatches = append(t.jobs[job].Dispatches, scenarios.DispatchPoint{Step: e.Step, At: e.At, Subject: subject, Seq: t.seqs[stream]})
	}
}

func (t *tape) redis(node, job string, p phase.Phase, name string) {
	key := "cordum:scheduler:job:" + job
	e := t.step(sim.Event{Node: node, Kind: sim.KindRedis, Name: name, Target: key, Job: job, Phase: string(p)})
	switch {
	case p == phase.LockAcquire:
		e.Changes = []sim.Change{{Key: key, Value: "5f0c", Expires: t.now + time.Minute}}
	case p == phase.LockRelease && name == "multi":
		e.Changes = []sim.Change{{Key: key, Gone: true}}
	}
}

func (t *tape) message(node, job, what string, kind sim.Kind, subject string, delivered uint64) {
	t.step(sim.Event{Node: node, Kind: kind, Target: subject, Job: job, Phase: what + "_" + string(kind), Seq: 3, Delivered: delivered})
}

func (t *tape) submit(job string) {
	t.write("submitter", job, phase.SubmitWrite, "PENDING", 0, "", "")
	t.publish("submitter", job, phase.SubmitPublish, "sys.job.submit", "CORDUM_SYS", "", "")
	t.jobs[job].Submitted = t.now
}

// try is one handling of a job's request, up to its end; publishFault befalls the dispatch.
func (t *tape) try(node, job string, delivery uint64, publishFault faults.Effect) {
	attempts := t.jobs[job].Attempts
	t.message(node, job, "submit", sim.KindDeliver, "sys.job.submit", delivery)
	t.redis(node, job, phase.LockAcquire, "set")
	t.redis(node, job, phase.StateRead, "hgetall")
	t.write(node, job, phase.ScheduledWrite, "SCHEDULED", attempts+1, "", "")
	t.write(node, job, phase.DispatchedWrite, "DISPATCHED", attempts+1, "", "")
	outcome := ""
	if publishFault != "" {
		outcome = "nats: no response from stream"
	}
	t.publish(node, job, phase.Publish, "worker.worker-2.jobs", "CORDUM_JOBS", publishFault, outcome)
	end := sim.KindAck
	if publishFault != "" {
		t.res.Fired = append(t.res.Fired, scenarios.FiredFault{
			Fault: string(publishFault) + " on " + job + "'s publish", Do: string(publishFault), Step: len(t.events), At: t.now,
			Node: node, Job: job, Phase: "publish", Occurrence: int(delivery),
		})
		t.write(node, job, phase.RollbackWrite, "SCHEDULED", attempts+2, "", "")
		end = sim.KindNak
	} else {
		t.write(node, job, phase.RunningWrite, "RUNNING", attempts+1, "", "")
	}
	for _, name := range []string{"watch", "get", "multi"} {
		t.redis(node, job, phase.LockRelease, name)
	}
	t.message(node, job, "submit", end, "sys.job.submit", delivery)
}

// work is an execution, from the dispatch to the result's write.
func (t *tape) work(worker, scheduler, job string) {
	t.message(worker, job, "job", sim.KindDeliver, "worker.worker-2.jobs", 1)
	t.step(sim.Event{Node: worker, Kind: actors.KindEffect, Name: actors.EffectBegin, Target: "key-" + job, Job: job, Phase: "effect"})
	t.jobs[job].Executions++
	t.wait(t.plan.Workload.Work)
	t.step(sim.Event{Node: worker, Kind: actors.KindEffect, Name: actors.EffectDone, Target: "key-" + job, Job: job, Phase: "effect"})
	t.publish(worker, job, "result_publish", "sys.job.result", "CORDUM_SYS", "", "")
	t.message(worker, job, "job", sim.KindAck, "worker.worker-2.jobs", 1)
	t.message(scheduler, job, "result", sim.KindDeliver, "sys.job.result", 1)
	t.redis(scheduler, job, phase.LockAcquire, "set")
	t.redis(scheduler, job, phase.StateRead, "hgetall")
	t.write(scheduler, job, phase.ResultWrite, "SUCCEEDED", t.jobs[job].Attempts, "", "")
	t.jobs[job].Settled = t.now
	t.redis(scheduler, job, phase.LockRelease, "multi")
	t.message(scheduler, job, "result", sim.KindAck, "sys.job.result", 1)
}

// crash takes a node away.
func (t *tape) control(verb, node string) {
	t.step(sim.Event{Kind: sim.KindControl, Name: verb, Target: node})
}

func (t *tape) invariant(name, says, kind, promise string, status scenarios.Status, exercised int) {
	t.res.Invariants = append(t.res.Invariants, scenarios.InvariantResult{
		Name: name, Says: says, Kind: kind, Promise: promise, Status: status, Exercised: exercised,
	})
}

func (t *tape) finish(about ...int) *tape {
	t.res.Steps, t.res.Virtual = len(t.events), t.now
	t.plan.About = about
	for n := 1; n <= len(t.jobs); n++ {
		j := t.jobs["job-"+strconv.Itoa(n)]
		for _, a := range about {
			j.About = j.About || a == n
		}
		t.res.Jobs = append(t.res.Jobs, *j)
	}
	t.invariant("one-dispatch-per-job", "A job has at most one dispatch in the streams.", "always", "any fault that leaves no publish ambiguous", scenarios.StatusHeld, 10)
	t.invariant("attempts-equal-scheduled-writes", "A job's attempts equal the SCHEDULED writes that were applied.", "always", "", scenarios.StatusHeld, 44)
	t.invariant("no-dispatch-after-failed-read", "No dispatch follows a state read that failed in the same handling.", "always", "", scenarios.StatusNotExercised, 0)
	t.invariant("every-job-settles", "Every accepted job reaches a terminal state.", "eventually", "faults that end", scenarios.StatusHeld, 10)
	t.invariant("ambiguous-publish-stored", "A publish whose answer was lost had been stored.", "sometimes", "", scenarios.StatusNotReached, 0)
	t.invariant("rollback-applied", "A failed publish was rolled back.", "sometimes", "", scenarios.StatusReached, 2)
	t.res.Counters = map[string]float64{
		`scheduler_dispatch_rollback_total{topic="job.default"}`: 2,
		`jobs_dispatched{topic="job.default"}`:                   10,
	}
	return t
}

func (t *tape) all() iter.Seq2[sim.Event, error] {
	return func(yield func(sim.Event, error) bool) {
		for _, e := range t.events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (t *tape) page() string {
	var out bytes.Buffer
	if err := Page(&out, t.plan, t.res, t.all()); err != nil {
		panic(err)
	}
	return out.String()
}

func (t *tape) trace() []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	for _, e := range t.events {
		if err := enc.Encode(e); err != nil {
			panic(err)
		}
	}
	return out.Bytes()
}

// publishFailure is the scenario of that name: attempts 2, 4, then one dispatch.
func publishFailure() *tape {
	t := newTape("publish-failure", "The publish of job 3's dispatch fails twice before it is stored; each time the scheduler rolls back and tries again.", 10)
	t.step(sim.Event{Node: "scheduler-1", Incarnation: 1, Kind: sim.KindStart})
	t.step(sim.Event{Node: "scheduler-2", Incarnation: 1, Kind: sim.KindStart})
	t.wait(time.Second)
	for _, job := range []string{"job-1", "job-2"} {
		t.submit(job)
		t.try("scheduler-1", job, 1, "")
		t.wait(200 * time.Millisecond)
	}
	t.submit("job-3")
	t.try("scheduler-2", "job-3", 1, faults.FailBefore)
	for n := 4; n <= 10; n++ {
		job := fmt.Sprintf("job-%d", n)
		t.wait(200 * time.Millisecond)
		t.submit(job)
		t.try("scheduler-1", job, 1, "")
	}
	t.wait(500 * time.Millisecond)
	t.work("worker-1", "scheduler-1", "job-1")
	t.wait(700 * time.Millisecond)
	t.try("scheduler-1", "job-3", 2, faults.FailBefore)
	t.wait(16200 * time.Millisecond)
	t.try("scheduler-1", "job-3", 3, "")
	t.work("worker-2", "scheduler-2", "job-3")
	for _, n := range []int{2, 4, 5, 6, 7, 8, 9, 10} {
		t.work("worker-3", "scheduler-1", fmt.Sprintf("job-%d", n))
	}
	t.res.Telling = []string{
		"The publish of job-3's dispatch failed twice before it was stored: attempts 2, then 4.",
		"The third handling made attempt 5 and stored one dispatch, worker.worker-2.jobs, 19.9 s after the submission.",
		"job-3 SUCCEEDED after one execution; it was never dispatched twice.",
		"The 9 other jobs were dispatched at the first attempt.",
	}
	return t.finish(3)
}

// ackLost is publish-ack-lost: the dispatch is stored, its answer is lost, and job 3 is dispatched twice.
func ackLost(promised bool) *tape {
	t := newTape("publish-ack-lost", "The broker stores the dispatch of job 3 but its ack is lost; the scheduler rolls back and dispatches the job a second time.", 4)
	t.wait(time.Second)
	for n := 1; n <= 4; n++ {
		job := fmt.Sprintf("job-%d", n)
		t.submit(job)
		if n == 3 {
			t.try("scheduler-2", job, 1, faults.FailAfter)
			t.message("worker-2", job, "job", sim.KindDeliver, "worker.worker-2.jobs", 1)
		} else {
			t.try("scheduler-1", job, 1, "")
		}
		t.wait(200 * time.Millisecond)
	}
	t.wait(4100 * time.Millisecond)
	t.try("scheduler-1", "job-3", 2, "")
	dispatch := t.jobs["job-3"].Dispatches[1]
	t.work("worker-2", "scheduler-2", "job-3")
	t.work("worker-2", "scheduler-2", "job-3")
	t.jobs["job-3"].Blind = &scenarios.BlindWindow{Opened: 1600 * time.Millisecond, Closed: 5900 * time.Millisecond}
	t.res.Telling = []string{"The dispatch of job-3 was stored, but its answer was lost; it was dispatched a second time 4.9 s later and executed twice."}
	t.finish(3)
	t.res.Violations = []scenarios.Violation{{
		Invariant: "one-dispatch-per-job", Promised: promised, Job: "job-3", Step: dispatch.Step, At: dispatch.At,
		Message: "job-3 has two dispatches in CORDUM_JOBS: messages 3 and 5, to worker-2 both times",
	}}
	t.res.Invariants[0].Status = scenarios.StatusUnpromised
	t.res.Reason = "every invariant held within its promise; one-dispatch-per-job broke outside it"
	if promised {
		t.res.Invariants[0].Status = scenarios.StatusViolated
		t.res.Verdict = scenarios.Violated
		t.res.Reason = "one-dispatch-per-job was violated by job-3"
		t.res.Overrides = []string{"engine.dispatch_order=publish-first", "workload.jobs=4"}
		t.res.RepeatedBy(t.res.Command)
	}
	return t
}

// staleWorker crashes worker-2, and never brings it back; job 2 stays with it.
func staleWorker() *tape {
	t := newTape("stale-worker", "A worker dies and stays in the registry; jobs are dispatched to it until its TTL runs out.", 3)
	t.submit("job-1")
	t.try("scheduler-1", "job-1", 1, "")
	t.work("worker-1", "scheduler-1", "job-1")
	t.wait(3 * time.Second)
	t.control("crash", "worker-2")
	t.res.Fired = append(t.res.Fired,
		scenarios.FiredFault{Fault: "at 5s crash worker-2", Do: "crash", Step: len(t.events), At: t.now, Node: "worker-2"},
		scenarios.FiredFault{Fault: "at 5s partition scheduler-2 from heartbeats for 8s", Do: "partition", Step: len(t.events) + 9, At: t.now, Until: t.now + 8*time.Second, Node: "scheduler-2"})
	t.submit("job-2")
	t.try("scheduler-2", "job-2", 1, "")
	t.wait(20 * time.Second)
	t.submit("job-3")
	t.try("scheduler-1", "job-3", 1, "")
	t.work("worker-3", "scheduler-1", "job-3")
	t.wait(5 * time.Minute)
	t.step(sim.Event{Node: "scheduler-1", Kind: sim.KindReceive, Target: "sys.heartbeat"})
	j := t.jobs["job-2"]
	j.StalePicks = 3
	j.Blind = &scenarios.BlindWindow{Opened: j.Dispatches[0].At, Open: true}
	t.res.Verdict, t.res.Reason = scenarios.Inconclusive, "job-2 had not settled when its time was up"
	t.res.Unsettled = []scenarios.Unsettled{{Job: "job-2", State: "RUNNING", Since: j.Dispatches[0].At, Reason: "its dispatch went to worker-2, which crashed"}}
	t.res.Unfired = []string{"fail-before on job 3's rollback_write"}
	t.res.Telling = []string{"worker-2 died 5.2 s into the run.", "job-2 was dispatched to it 2 ms later and is RUNNING to nobody; the blind window stays open."}
	return t.finish(2, 3)
}
