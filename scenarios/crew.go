package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/saga"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/world"
	"github.com/wavetank-sim/wavetank/sim"
)

// crew is the nodes of a world: schedulers, workers and their clients.
type crew struct {
	plan       *plans.Plan
	variant    Variant
	ledger     *world.Ledger
	failures   failures
	registries []*prometheus.Registry // one for each scheduler process there was
	picks      *stalePicks
	refused    []string     // approvals since the last step whose approver found that the request had changed, by job
	gaveUp     atomic.Int64 // submissions that the submitter has given up
	approved   atomic.Int64 // jobs that the approver has approved, or left alone
	changed    atomic.Int64 // jobs that were submitted again with another payload
}

func newCrew(plan *plans.Plan, variant Variant) *crew {
	return &crew{plan: plan, variant: variant, ledger: world.NewLedger(), failures: failures{workload: &plan.Workload, done: map[int]int{}}, picks: newStalePicks(plan.Engine.MaxDispatchRetries)}
}

func (c *crew) startSchedulers(w *sim.World) {
	for _, name := range plans.NodeNames("scheduler", c.plan.Topology.Schedulers) {
		w.Node(name, c.scheduler).Start()
	}
}

// scheduler is the main function of a scheduler node: the production engine, with the clients that
// the world gives it.
func (c *crew) scheduler(p *sim.Process) {
	registry := prometheus.NewRegistry()
	c.registries = append(c.registries, registry)
	picking := c.picks.process(p.Node(), registry, p.Rand())
	cfg := engine.Config{
		ID: p.Node(), Settings: c.plan.Engine, Triage: c.plan.Triage, Routing: c.plan.Routing(), Streams: c.plan.Streams(),
		Redis: p.Redis(), JetStream: p.JetStream(), NATS: p.NATS(), Clock: p.Clock(), Random: picking,
		Logger: slog.New(slog.DiscardHandler), Registerer: picking, Workflows: c.plan.Workload.Runs > 0,
	}
	if c.plan.Kernel.On() {
		cfg.Safety = p.Dial(world.KernelName)
		cfg.Output = cfg.Safety
	}
	if c.variant != nil {
		c.variant(p.Node(), &cfg)
	}
	e, err := engine.New(cfg)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", p.Node(), err))
	}
	for p.Context().Err() == nil {
		if err := e.Run(p.Context()); err != nil {
			p.Clock().Sleep(time.Second) // as a supervisor would restart it
		}
	}
}

func (c *crew) startWorkers(w *sim.World) {
	t := c.plan.Topology
	for i, name := range plans.NodeNames("worker", t.Workers) {
		pool, capabilities := t.Pool(i + 1)
		k := world.Worker{
			ID: name, Pool: pool, Labels: t.WorkerLabels(i + 1), Capabilities: capabilities, MaxParallel: t.MaxParallel, HeartbeatEvery: t.HeartbeatEvery,
			Work: c.work, Status: c.status, Fail: c.failures.of, Deduplicate: t.Deduplicate, Ledger: c.ledger, Outputs: c.plan.Engine.Output.Enabled,
		}
		w.Node(name, k.Run).Start()
	}
}

// work is how long the execution of a job takes.
func (c *crew) work(id string) time.Duration {
	n, _ := numberOf(id)
	if d, ok := c.plan.Workload.Slow[n]; ok {
		return d
	}
	return c.plan.Workload.Work
}

// startClients starts who submits, who cancels and who publishes nonsense, as far as the plan has them.
func (c *crew) startClients(w *sim.World) {
	work := c.plan.Workload
	var client *engine.Client
	s := world.Submitter{
		Jobs: work.Jobs, Every: work.Every, Times: work.Submissions, Tries: work.Tries,
		Request: c.request,
		Submit:  func(ctx context.Context, _ *sim.Process, r job.Request) error { return client.Submit(ctx, r) },
		GaveUp:  func() { c.gaveUp.Add(1) },
	}
	w.Node(world.SubmitterName, func(p *sim.Process) {
		client = c.client(p)
		s.Run(p)
	}).Start()
	if len(work.Cancel) > 0 {
		w.Node(world.CancellerName, c.cancel).Start()
	}
	if len(work.ApproveReplay) > 0 {
		w.Node(world.OperatorName, c.operate).Start()
	}
	c.startApprovers(w)
	if work.Poison+work.Unreadable > 0 {
		w.Node(world.StrangerName, world.Stranger{Messages: work.Poison, Entries: work.Unreadable, Stack: saga.StackKey(WorkflowID(1)), Every: work.Every}.Run).Start()
	}
	c.startRuns(w)
}

func (c *crew) client(p *sim.Process) *engine.Client {
	client, err := engine.NewClient(engine.ClientConfig{Redis: p.Redis(), JetStream: p.JetStream(), Clock: p.Clock(), Settings: c.plan.Engine})
	if err != nil {
		panic(fmt.Sprintf("%s: %v", p.Node(), err))
	}
	return client
}

func (c *crew) request(n int) job.Request {
	id := plans.JobID(n)
	r := job.Request{JobID: id, Topic: plans.Topic, Tenant: c.plan.Workload.Tenant(n), IdempotencyKey: id + ":key"}
	if d, ok := c.plan.Workload.Deadline[n]; ok {
		r.Budget = &job.Budget{DeadlineMS: d.Milliseconds()}
	}
	if size := c.plan.Workload.Saga; size > 0 {
		r.WorkflowID, r.StepIndex, r.Capability = WorkflowID(1+(n-1)/size), (n-1)%size, "book"
		r.Compensation = plans.Undo(id)
	}
	_ = c.plan.Workload.Route(&r, n) // the plan is valid
	return r
}

// WorkflowID names the workload's n-th workflow.
func WorkflowID(n int) string { return "wf-" + strconv.Itoa(n) }

// status is what a worker answers of a job.
func (c *crew) status(id string) job.Status {
	if c.plan.Workload.Failing(id) {
		return job.StatusFailed
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(id, "job-"))
	return job.Status(cmp.Or(c.plan.Workload.Answer[n], string(job.StatusSucceeded)))
}

// cancel is the main function of the canceller. It starts when the submitter does, as all clients, so that it
// knows by its own clock when a job is submitted.
func (c *crew) cancel(p *sim.Process) {
	client := c.client(p)
	world.RunErrands(p, world.AtOnce, c.inTime(c.plan.Workload.Cancel, func(ctx context.Context, n int) error {
		return client.Cancel(ctx, plans.JobID(n), "its submitter wants it no more")
	}))
}

// inTime is what somebody does to single jobs, each so long after its submission, in the order of time.
func (c *crew) inTime(after map[int]time.Duration, do func(ctx context.Context, n int) error) (errands []world.Errand) {
	every := c.plan.Workload.Every
	jobs := slices.SortedFunc(maps.Keys(after), func(a, b int) int {
		return cmp.Or(cmp.Compare(time.Duration(a)*every+after[a], time.Duration(b)*every+after[b]), cmp.Compare(a, b))
	})
	for _, n := range jobs {
		errands = append(errands, world.Errand{After: time.Duration(n)*every + after[n], Do: func(ctx context.Context) error { return do(ctx, n) }})
	}
	return errands
}

// operate is the main function of the operator.
func (c *crew) operate(p *sim.Process) {
	r, err := engine.NewReplayer(engine.ReplayerConfig{
		Redis: p.Redis(), JetStream: p.JetStream(), Triage: c.plan.Triage, Clock: p.Clock(), Random: p.Rand(), Settings: c.plan.Engine,
	})
	if err != nil {
		panic(fmt.Sprintf("%s: %v", p.Node(), err))
	}
	world.RunErrands(p, world.Patient, c.inTime(c.plan.Workload.ApproveReplay, func(ctx context.Context, n int) error {
		return r.Approve(ctx, plans.JobID(n), world.OperatorName)
	}))
}

// counters sums the metrics of every scheduler process there was, as name{label="value"}.
func (c *crew) counters() map[string]float64 {
	sums := map[string]float64{}
	for _, r := range c.registries {
		families, err := r.Gather()
		if err != nil {
			continue
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				switch f.GetType() {
				case dto.MetricType_COUNTER:
					if len(m.GetLabel()) > 0 && m.GetCounter().GetValue() == 0 { // a topic that was expected, and no event
						continue
					}
					sums[series(f.GetName(), m)] += m.GetCounter().GetValue()
				case dto.MetricType_HISTOGRAM:
					sums[series(f.GetName()+"_count", m)] += float64(m.GetHistogram().GetSampleCount())
				}
			}
		}
	}
	return sums
}

func series(name string, m *dto.Metric) string {
	if len(m.GetLabel()) == 0 {
		return name
	}
	labels := make([]string, 0, len(m.GetLabel()))
	for _, l := range m.GetLabel() {
		labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	sort.Strings(labels)
	return name + "{" + strings.Join(labels, ",") + "}"
}
