package scenarios

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/samples"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/sim"
)

// RunOptions are the parameters of a run besides its plan. Only Branch and Variant change what happens in it.
type RunOptions struct {
	Trace    io.Writer         // receives trace.jsonl: one canonical event per line
	Progress func(Progress)    // called about five times a second, from another goroutine; nil is not called
	OnStall  func(string)      // called with a dump of all goroutines when the world has not moved for Stall; nil panics
	Stall    time.Duration     // in real time; 0 is a minute
	Variant  scheduler.Variant // changes the code under test; nil leaves it as it is
	Sample   bool              // record what a Prometheus would scrape, in Result.Samples
	Survey   func(Surveyed)    // called with each operation that a fault can strike; nil is not called
	Choices  func(*sim.Choice) // called with each choice of a plan whose strategy is bounded; nil is not called
	Branch   *Branch           // another order from a step on; nil keeps the plan's order
	StopAt   string            // ends the run once the promise of this invariant is broken: a search needs no more
	Anyway   bool              // StopAt also counts violations outside the promise
	Of       string            // StopAt counts violations of this job or workflow run alone; "" is any

	Source    string   // the scenario's name, or the plan file as the user gave it, for Result.Replay
	Overrides []string // how the plan differs from Source, as key=value
	Modified  bool     // the plan's expectations are reported, not judged, as with expect.changed
	Drawn     bool     // the plan was drawn by chance: a fault that does not fire is reported, and does not put the run in doubt
}

// Branch is another order of the same run.
type Branch struct {
	Then sim.Strategy // orders the steps after Step
	Step int
	Seed uint64
}

// Surveyed is an operation that a fault can strike, and the state of the world before it.
type Surveyed struct {
	faults.Operation
	Facts *model.Facts // what events have shown so far
}

// Progress is how far a run has come.
type Progress struct {
	Steps   int
	Virtual time.Duration
	Settled int // jobs in a terminal state
	Jobs    int
}

// Run runs one plan and judges it. It fails only if the plan could not be run at all, or ctx was cancelled. A
// violated invariant is a result, not an error.
func Run(ctx context.Context, plan *plans.Plan, opt RunOptions) (*Result, error) {
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	r, err := newRun(ctx, plan, opt)
	if err != nil {
		return nil, err
	}
	defer r.reportProgress(opt.Progress)()
	sum, err := sim.Run(r.config(), r.play)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return r.result(sum), nil
}

// strategyOf makes the strategy of one run of the plan.
func strategyOf(ctx context.Context, plan *plans.Plan, opt RunOptions) (sim.Strategy, error) {
	s := plan.Schedule
	switch s.Strategy {
	case plans.Random:
		return sim.Random{}, nil
	case plans.PCT:
		steps := s.Steps
		if steps == 0 {
			p := plan.Clone()
			p.Schedule.Strategy = plans.Random
			res, err := Run(ctx, p, RunOptions{OnStall: opt.OnStall, Stall: opt.Stall, Variant: opt.Variant, Drawn: true})
			if err != nil {
				return nil, err
			}
			steps = res.Steps
		}
		return sim.NewPCT(plan.Seed, s.ChangePoints, steps), nil
	case plans.Bounded:
		list, _ := sim.ParsePreemptions(s.Preemptions) // Validate reports errors in it
		return &sim.Bounded{Preemptions: list, Watch: opt.Choices}, nil
	}
	return sim.Latency{}, nil
}

// run is one plan in its world.
type run struct {
	ctx      context.Context
	plan     *plans.Plan
	opt      RunOptions
	world    *sim.World
	injector *faults.Injector
	judge    *judge.Judge
	record   *record
	system   *scheduler.System
	strategy sim.Strategy
	samples  samples.Recorder
	lagAt    func(draw uint64) time.Duration // of a heartbeat; nil is no delay

	stop   sim.Stop
	short  string // why the world could not settle in its time, or ""
	end    time.Duration
	report invariants.Report
	counts map[string]float64

	steps, settled atomic.Int64
	virtual        atomic.Int64
}

func newRun(ctx context.Context, plan *plans.Plan, opt RunOptions) (*run, error) {
	strategy, err := strategyOf(ctx, plan, opt)
	if err != nil {
		return nil, err
	}
	if b := opt.Branch; b != nil {
		strategy = &sim.Branch{Trunk: strategy, Then: b.Then, Step: b.Step, Seed: b.Seed}
	}
	r := &run{
		ctx: ctx, plan: plan, opt: opt, strategy: strategy,
		injector: faults.NewInjector(append(slices.Clone(plan.Faults), plan.Deaths()...), plans.JobID, map[string]string{plans.Heartbeats: "heartbeat"}),
		judge:    judge.NewJudge(scheduler.JudgeConfig(plan)),
		lagAt:    plan.World.HeartbeatLag.At(),
	}
	r.record = newRecord(plan, r.judge.Facts)
	for _, link := range plan.FaultWorld().Links {
		if link.Name == faults.Redis {
			r.injector.Users = link.Nodes
		}
	}
	for _, name := range slices.Concat(plan.Expect.Violates, plan.Expect.Judged) {
		r.judge.Ask(name)
	}
	if opt.Anyway {
		r.judge.Ask(opt.StopAt)
	}
	if opt.Survey != nil {
		r.injector.Survey = func(op faults.Operation) {
			opt.Survey(Surveyed{op, r.judge.Facts})
		}
	}
	return r, nil
}

// config is the Config of the run's world.
func (r *run) config() sim.Config {
	c := sim.Config{
		Seed: r.plan.Seed, Start: r.plan.World.Start.Time(), Strategy: r.strategy, StepsMax: r.plan.Schedule.StepsMax, Trace: r.opt.Trace,
		Tags: scheduler.Tags, MsgTags: scheduler.MessageTags, Intercept: r.injector.Intercept, Observe: r.observe, Stall: r.opt.Stall, OnStall: r.opt.OnStall, Lag: r.lag, RedisLag: r.injector.RedisLag(), SyncAlways: r.plan.World.SyncAlways,
	}
	c.SyncInterval = r.plan.World.SyncInterval
	if r.plan.World.SyncTime > 0 {
		c.Sync = r.sync
	}
	if r.plan.RedisDies() {
		c.RedisDisk = r.plan.World.RedisDisk
	}
	if r.plan.World.Redis == plans.RedisServer {
		c.RedisServer = RedisProgram()
	}
	if r.opt.Sample {
		c.Every, c.OnEvery = samples.Interval, r.sample
	}
	return c
}

// RedisVariable is the environment variable that names the redis-server for plans that use one.
const RedisVariable = "WAVETANK_REDIS_SERVER"

// DefaultRedisProgram is the redis-server for plans that use one if [RedisVariable] is not set.
const DefaultRedisProgram = "redis-server"

// RedisProgram returns the redis-server for plans that use one.
func RedisProgram() string { return cmp.Or(os.Getenv(RedisVariable), DefaultRedisProgram) }

// sample scrapes the schedulers.
func (r *run) sample(time.Duration) {
	r.samples.Next()
	r.system.Scrape(r.samples.Take)
}

// play builds the world and moves it through its two phases. In the first, faults strike. In the second,
// everything heals and the world must settle.
func (r *run) play(w *sim.World) error {
	r.world = w
	r.judge.Began(w.Started())
	r.injector.Attach(w)
	r.system = scheduler.New(r.plan, r.opt.Variant)
	r.system.OnStalePick(r.record.metStale)
	r.judge.Hook(r.causes())
	r.system.StartSchedulers(w)
	w.Step(plans.Boot, r.over)
	r.system.StartWorkers(w)
	w.Step(2*plans.Boot, r.over)
	r.system.StartClients(w)

	work := r.plan.Workload
	submissions := work.Jobs * work.Submissions
	submitted := r.plan.Submitted()
	// The fault window ends once clients have asked for all that they can ask for before the heal.
	r.stop = w.Step(max(submitted, r.plan.LastTimed())+r.plan.Then.SettleWithin, func() bool {
		through := r.record.submitted+r.system.GaveUp() >= submissions && r.record.asked(work) && r.system.ChangesDone()
		return r.over() || w.Now() >= submitted && r.injector.Begun(w.Now()) && (through || !r.system.Asks(r.unhindered) && r.injector.Quiet())
	})
	if r.plan.Then.Heal {
		r.injector.Heal(w)
	}
	r.settle(w)
	if r.cancelled() {
		return r.ctx.Err()
	}
	if err := w.CheckTruth(); err != nil {
		return err
	}
	r.counts = r.system.Counters()
	if r.opt.Sample {
		r.sample(w.Now()) // the scrape after the end, of a world at rest
	}
	r.short = r.tooShort()
	r.report = r.judge.Finish(invariants.End{At: w.Now(), Redis: w.Redis(), Metrics: r.counts, InTime: r.stop != sim.StopSteps && !r.over() && r.busy() == "" && r.short == ""})
	return nil
}

// settle gives the world its time to come to rest. The time counts from the heal, or from a fault that
// strikes later, such as one at a redelivery.
func (r *run) settle(w *sim.World) {
	healed := w.Now()
	for r.stop != sim.StopSteps {
		end := max(healed, r.injector.Last()) + r.plan.Then.SettleWithin
		if w.Now() >= end {
			return
		}
		if r.stop = w.Step(end, func() bool { return r.over() || r.atRest() }); r.stop == sim.StopDone {
			return
		}
	}
}

func (r *run) cancelled() bool { return r.ctx.Err() != nil }

// over says whether the run can end.
func (r *run) over() bool { return r.cancelled() || r.opt.StopAt != "" && r.broken(r.opt.StopAt) }

// broken says whether the run has broken the promise of an invariant, or the invariant itself if it is judged
// whatever its promise.
func (r *run) broken(invariant string) bool {
	switch asked := r.asked(invariant); {
	case r.opt.Of != "":
		return slices.ContainsFunc(r.judge.Found(invariant), func(v invariants.Violation) bool { return v.Job == r.opt.Of && (v.Promised || asked) })
	case asked:
		return r.judge.Violated(invariant)
	}
	return r.judge.Broken(invariant)
}

func (r *run) observe(e *sim.Event) {
	facts := r.judge.Observe(e)
	r.noted(e)
	r.record.observe(e, facts)
	r.system.Observe(e)
	r.wentBack(e)
	r.steps.Store(int64(e.Step))
	r.virtual.Store(int64(e.At))
	r.settled.Store(int64(r.record.settled))
}

func (r *run) reportProgress(report func(Progress)) (stop func()) {
	if report == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				report(Progress{int(r.steps.Load()), time.Duration(r.virtual.Load()), int(r.settled.Load()), r.plan.Workload.Jobs})
			}
		}
	}()
	return func() { close(done) }
}
