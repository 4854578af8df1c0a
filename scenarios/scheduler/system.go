package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/saga"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

// System is the scheduler in a world: the nodes of a plan, and what they know that no event shows.
type System struct {
	plan       *plans.Plan
	variant    Variant
	ledger     *actors.Ledger
	failures   failures
	world      *sim.World
	registries []*prometheus.Registry // one for each scheduler process so far
	scraped    map[*sim.Process]*prometheus.Registry
	picks      *stalePicks
	refused    []string     // jobs whose approver has found, since the last step, that the request had changed
	gaveUp     atomic.Int64 // submissions that the submitter has given up
	approved   atomic.Int64 // jobs that the approver has approved or left alone
	changed    atomic.Int64 // jobs that were submitted again with another payload
}

// Variant changes what a scheduler is made of. With it, tests plant a defect in the clients that the engine
// is given. It can also replace the engine by another build.
type Variant func(node string, cfg *engine.Config)

// New returns the system of a plan. If variant is not nil, it changes the schedulers.
func New(plan *plans.Plan, variant Variant) *System {
	return &System{plan: plan, variant: variant, ledger: actors.NewLedger(), failures: failures{workload: &plan.Workload, done: map[int]int{}}, picks: newStalePicks(plan.Engine.MaxDispatchRetries), scraped: map[*sim.Process]*prometheus.Registry{}}
}

// StartSchedulers starts the safety kernel, if the plan has one, and then the schedulers.
func (s *System) StartSchedulers(w *sim.World) {
	s.world = w
	s.startKernel(w)
	for _, name := range plans.NodeNames("scheduler", s.plan.Topology.Schedulers) {
		w.Node(name, s.scheduler).Start()
	}
}

// scheduler is the main function of a scheduler node: the production engine, with the world's clients.
func (s *System) scheduler(p *sim.Process) {
	registry := prometheus.NewRegistry()
	s.registries, s.scraped[p] = append(s.registries, registry), registry
	picking := s.picks.process(p.Node(), registry, p.Rand())
	cfg := engine.Config{
		ID: p.Node(), Settings: s.plan.Engine, Triage: s.plan.Triage, Routing: s.plan.Routing(), Streams: s.plan.Streams(),
		Redis: p.Redis(), JetStream: p.JetStream(), NATS: p.NATS(), Clock: p.Clock(), Random: picking,
		Logger: slog.New(slog.DiscardHandler), Registerer: picking, Workflows: s.plan.Workload.Runs > 0,
	}
	if s.plan.Topology.Ledger {
		cfg.Ledger = actors.Account{Ledger: s.ledger, Process: p}
	}
	if s.plan.Kernel.On() {
		cfg.Safety = p.Dial(actors.KernelName)
		cfg.Output = cfg.Safety
	}
	if s.variant != nil {
		s.variant(p.Node(), &cfg)
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

// StartWorkers starts the workers.
func (s *System) StartWorkers(w *sim.World) {
	t := s.plan.Topology
	for i, name := range plans.NodeNames("worker", t.Workers) {
		pool, capabilities := t.Pool(i + 1)
		id, topics := t.Worker(name, i+1)
		k := actors.Worker{
			ID: id, Topics: topics, Pool: pool, Labels: t.WorkerLabels(i + 1), Capabilities: capabilities, MaxParallel: t.MaxParallel, HeartbeatEvery: t.HeartbeatEvery,
			CPU: s.plan.Workload.CPU, GPU: s.plan.Workload.GPU, Work: s.work, Status: s.status, Fail: s.failures.of, Deduplicate: t.Deduplicate, ConfirmAcks: s.plan.Engine.ConfirmAcks, Ledger: s.ledger, Outputs: s.plan.Engine.Output.Enabled,
		}
		if s.plan.Engine.WaitReplica {
			k.WaitReplica = s.plan.Engine.StoreOpTimeout
		}
		w.Node(name, k.Run).Start()
	}
}

// GaveUp is the number of submissions that the submitter has given up.
func (s *System) GaveUp() int { return int(s.gaveUp.Load()) }

// work is how long the execution of a job takes.
func (s *System) work(id string) time.Duration {
	n, _ := numberOf(id)
	if d, ok := s.plan.Workload.Slow[n]; ok {
		return d
	}
	return s.plan.Workload.Work
}

// StartClients starts the plan's clients: those that submit, cancel, or publish nonsense.
func (s *System) StartClients(w *sim.World) {
	work := s.plan.Workload
	var client *engine.Client
	submitter := actors.Submitter{
		Jobs: work.Jobs, Every: work.Every, Times: work.Submissions, Tries: work.Tries,
		Request: func(n int) job.Request { return request(s.plan, n) },
		Submit:  func(ctx context.Context, r job.Request) error { return client.Submit(ctx, r) },
		GaveUp:  func() { s.gaveUp.Add(1) },
	}
	w.Node(actors.SubmitterName, func(p *sim.Process) {
		client = s.client(p)
		submitter.Run(p)
	}).Start()
	if len(work.Cancel) > 0 {
		w.Node(actors.CancellerName, s.cancel).Start()
	}
	if work.HasOperator() {
		w.Node(actors.OperatorName, s.operate).Start()
	}
	s.startApprovers(w)
	if work.Poison+work.Unreadable > 0 {
		w.Node(actors.StrangerName, actors.Stranger{Messages: work.Poison, Entries: work.Unreadable, Stack: saga.StackKey(saga.Name(work.Tenant(1), plans.WorkflowID(1))), Every: work.Every}.Run).Start()
	}
	s.startRuns(w)
}

// Asks says whether one of these clients is up and has something left to do.
func (s *System) Asks(which func(client string) bool) bool {
	return slices.ContainsFunc(actors.Roles, func(name string) bool {
		n := s.world.Find(name)
		return n != nil && which(name) && n.Up() && !n.Finished()
	})
}

// status is the status that a worker reports for a job.
func (s *System) status(id string) job.Status {
	n, _ := plans.JobNumber(id)
	return job.Status(cmp.Or(s.plan.Workload.Answer[n], string(job.StatusSucceeded)))
}

// cancel is the main function of the canceller. Like all clients it starts with the submitter, so that its
// own clock tells it when a job is submitted.
func (s *System) cancel(p *sim.Process) {
	client := s.client(p)
	actors.RunErrands(p, actors.AtOnce, s.inTime(s.plan.Workload.Cancel, func(ctx context.Context, n int) error {
		return client.Cancel(ctx, plans.JobID(n), wantedNoMore)
	}))
}

// operate is the main function of the operator.
func (s *System) operate(p *sim.Process) {
	r, err := engine.NewReplayer(engine.ReplayerConfig{
		ClientConfig: s.clientConfig(p), Triage: s.plan.Triage, Random: p.Rand(),
	})
	if err != nil {
		panic(fmt.Sprintf("%s: %v", p.Node(), err))
	}
	work := s.plan.Workload
	var errands []actors.Errand
	add := func(after map[int]time.Duration, decide func(ctx context.Context, id string, who dlq.Person) error) {
		errands = append(errands, s.inTime(after, func(ctx context.Context, n int) error {
			return unlessOutsider(decide(ctx, plans.JobID(n), s.plan.Operator(n)))
		})...)
	}
	add(work.ApproveReplay, r.Approve)
	add(work.MendReplay, func(ctx context.Context, id string, who dlq.Person) error {
		return r.Mend(ctx, id, json.RawMessage(plans.Mended), who)
	})
	add(work.AskReplay, func(ctx context.Context, id string, who dlq.Person) error {
		_, err := r.Replay(ctx, id, who)
		return err
	})
	add(work.DenyReplay, func(ctx context.Context, id string, who dlq.Person) error {
		return r.Deny(ctx, id, who, plans.Denied)
	})
	slices.SortStableFunc(errands, func(a, b actors.Errand) int { return cmp.Compare(a.After, b.After) })
	actors.RunErrands(p, actors.Patient, errands)
}

// unlessOutsider returns the errors after which an operator retries. It drops the one for a decision that
// belongs to another group.
func unlessOutsider(err error) error {
	if errors.Is(err, dlq.ErrOutsider) {
		return nil
	}
	return err
}

// Scrape reads each scheduler's metrics, as Prometheus would over HTTP; nil is no answer. No step shows it.
// It takes from Redis itself what `scheduler serve` reads from Redis for a scrape.
func (s *System) Scrape(answer func(instance string, families []*dto.MetricFamily)) {
	for _, name := range plans.NodeNames("scheduler", s.plan.Topology.Schedulers) {
		node := s.world.Find(name)
		var families []*dto.MetricFamily
		if node.Up() && !node.Paused() && s.scraped[node.Process()] != nil {
			depth := metrics.DLQDepth(func(context.Context) (int64, error) { return int64(len(s.world.RedisKey(dlq.IndexKey))), nil })
			own := prometheus.NewRegistry()
			own.MustRegister(depth)
			families, _ = prometheus.Gatherers{s.scraped[node.Process()], own}.Gather() // if there is an error, the rest is reported
		}
		answer(name, families)
	}
}

// Counters sums the metrics of all scheduler processes so far, as name{label="value"}. It adds the gauges of
// running work of the processes that are up, if they are not 0.
func (s *System) Counters() map[string]float64 {
	sums, up := map[string]float64{}, map[*prometheus.Registry]bool{}
	for _, name := range plans.NodeNames("scheduler", s.plan.Topology.Schedulers) {
		if node := s.world.Find(name); node.Up() {
			up[s.scraped[node.Process()]] = true
		}
	}
	for _, r := range s.registries {
		families, err := r.Gather()
		if err != nil {
			continue
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				switch f.GetType() {
				case dto.MetricType_COUNTER:
					if len(m.GetLabel()) > 0 && m.GetCounter().GetValue() == 0 { // a topic that was expected, and had no event
						continue
					}
					sums[series(f.GetName(), m)] += m.GetCounter().GetValue()
				case dto.MetricType_GAUGE:
					if v := m.GetGauge().GetValue(); v != 0 && up[r] && slices.Contains(underWay, f.GetName()) {
						sums[f.GetName()] += v
					}
				case dto.MetricType_HISTOGRAM:
					sums[series(f.GetName()+"_count", m)] += float64(m.GetHistogram().GetSampleCount())
				}
			}
		}
	}
	return sums
}

// underWay are the gauges of running work.
var underWay = []string{"active_goroutines", "saga_active"}

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
