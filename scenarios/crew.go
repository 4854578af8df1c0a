package scenarios

import (
	"context"
	"fmt"
	"log/slog"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/faultline-sim/faultline/engine"
	"github.com/faultline-sim/faultline/engine/job"
	"github.com/faultline-sim/faultline/scenarios/world"
	"github.com/faultline-sim/faultline/sim"
)

// crew is the nodes of a world: schedulers, workers and the submitter.
type crew struct {
	plan       *Plan
	variant    Variant
	ledger     *world.Ledger
	registries []*prometheus.Registry // one for each scheduler process there was
	logs       *stalePicks
}

func newCrew(plan *Plan, variant Variant) *crew {
	return &crew{plan: plan, variant: variant, ledger: world.NewLedger(), logs: newStalePicks(plan.Engine.MaxDispatchRetries)}
}

// JobID names the workload's n-th job.
func JobID(n int) string { return "job-" + strconv.Itoa(n) }

func nodeNames(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", prefix, i+1)
	}
	return names
}

func (c *crew) startSchedulers(w *sim.World) {
	for _, name := range nodeNames("scheduler", c.plan.Topology.Schedulers) {
		w.Node(name, c.scheduler).Start()
	}
}

// scheduler is the main function of a scheduler node: the production engine, with the clients that
// the world gives it.
func (c *crew) scheduler(p *sim.Process) {
	registry := prometheus.NewRegistry()
	c.registries = append(c.registries, registry)
	cfg := engine.Config{
		ID: p.Node(), Settings: c.plan.Engine, Streams: streams,
		Redis: p.Redis(), JetStream: p.JetStream(), NATS: p.NATS(), Clock: p.Clock(), Random: p.Rand(),
		Logger: slog.New(c.logs.process()), Registerer: registry,
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
	for _, name := range nodeNames("worker", t.Workers) {
		k := world.Worker{
			ID: name, Pool: "default", MaxParallel: t.MaxParallel, HeartbeatEvery: t.HeartbeatEvery,
			Work: c.work, Deduplicate: t.Deduplicate, Ledger: c.ledger,
		}
		w.Node(name, k.Run).Start()
	}
}

// work is how long the execution of a job takes.
func (c *crew) work(id string) time.Duration {
	n, _ := strconv.Atoi(strings.TrimPrefix(id, "job-"))
	if d, ok := c.plan.Workload.Slow[n]; ok {
		return d
	}
	return c.plan.Workload.Work
}

func (c *crew) startSubmitter(w *sim.World) {
	var client *engine.Client
	s := world.Submitter{
		Jobs: c.plan.Workload.Jobs, Every: c.plan.Workload.Every, Times: c.plan.Workload.Submissions,
		Request: func(n int) job.Request {
			id := JobID(n)
			return job.Request{JobID: id, Topic: "job.default", Tenant: "tenant-1", IdempotencyKey: id + ":key"}
		},
		Submit: func(ctx context.Context, _ *sim.Process, r job.Request) error { return client.Submit(ctx, r) },
	}
	w.Node(world.SubmitterName, func(p *sim.Process) {
		var err error
		client, err = engine.NewClient(engine.ClientConfig{Redis: p.Redis(), JetStream: p.JetStream(), Clock: p.Clock(), Settings: c.plan.Engine})
		if err != nil {
			panic(fmt.Sprintf("%s: %v", p.Node(), err))
		}
		s.Run(p)
	}).Start()
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
