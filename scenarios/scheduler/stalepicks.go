package scheduler

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// stalePicks counts, for each job, the picks that met a stale worker. The scheduler counts them in a metric
// that names no job. The step after which the metric has grown shows the job.
type stalePicks struct {
	most      int // picks for one dispatch
	byJob     map[string]*StaleJob
	processes map[string]*picking // the last process of each node
	told      func(e *sim.Event, job string, picks int)
}

// StaleJob is what stale workers cost one job.
type StaleJob struct {
	Picks     int
	Exhausted int           // dispatches whose picks all met one
	Held      time.Duration // from a handling's first stale pick to its last, or to its publish
}

// picking observes the picks of one scheduler process. It replaces the engine's registerer and its source of
// chance.
type picking struct {
	prometheus.Registerer
	engine.Random
	metric    *prometheus.CounterVec
	counted   int
	drawing   string        // the job of the last pick that was drawn since the last step
	scheduled string        // the job that was last written SCHEDULED
	under     []*stalePause // handlings under way that have met a stale worker, the oldest first
}

// stalePause is a handling between a stale pick and what comes next.
type stalePause struct {
	job   string
	picks int
	last  time.Duration
}

func newStalePicks(most int) *stalePicks {
	return &stalePicks{most: most, byJob: map[string]*StaleJob{}, processes: map[string]*picking{}}
}

// OnStalePick has told called after each step in which picks of a job met a stale worker, with the number of
// picks.
func (s *System) OnStalePick(told func(e *sim.Event, job string, picks int)) { s.picks.told = told }

// Observe counts the stale picks of an event. It must be called with the world's events in order.
func (s *System) Observe(e *sim.Event) { s.picks.observe(e) }

// StalePicks is what stale workers have cost the job.
func (s *System) StalePicks(job string) StaleJob {
	if j := s.picks.byJob[job]; j != nil {
		return *j
	}
	return StaleJob{}
}

// process follows a new process of the node. The handlings of its predecessor ended with that.
func (l *stalePicks) process(node string, registry prometheus.Registerer, random engine.Random) *picking {
	p := &picking{Registerer: registry, Random: random}
	l.processes[node] = p
	return p
}

// Register looks for the metric of stale picks.
func (p *picking) Register(c prometheus.Collector) error {
	if vec, ok := c.(*prometheus.CounterVec); ok {
		described := make(chan *prometheus.Desc, 1)
		vec.Describe(described)
		if strings.Contains((<-described).String(), `"scheduler_stale_worker_retry_total"`) {
			p.metric = vec
		}
	}
	return p.Registerer.Register(c)
}

// Uint64 notes the job for whose pick it draws.
func (p *picking) Uint64(ctx context.Context) uint64 {
	if tag := phase.From(ctx); tag.Phase == phase.Pick {
		p.drawing = tag.Job
	}
	return p.Random.Uint64(ctx)
}

// grown is how many stale picks the process has counted since the last call.
func (p *picking) grown() (n int) {
	counters := make(chan prometheus.Metric)
	go func() {
		p.metric.Collect(counters)
		close(counters)
	}()
	was := p.counted
	p.counted = 0
	for c := range counters {
		var m dto.Metric
		_ = c.Write(&m) // writing a counter cannot fail
		p.counted += int(m.GetCounter().GetValue())
	}
	return p.counted - was
}

// observe notes the effects of a step. A handling picks once it has written SCHEDULED, and again when it
// has waited.
func (l *stalePicks) observe(e *sim.Event) {
	p := l.processes[e.Node]
	if p == nil {
		return
	}
	if p.scheduled == e.Job && e.Job != "" { // a process that was paused picks when it continues
		p.drawing = e.Job
		l.picked(p, e)
		p.scheduled = ""
	}
	switch {
	case e.Phase == string(phase.ScheduledWrite):
		p.drawing, p.scheduled = e.Job, e.Job
		l.picked(p, e)
	case e.Kind == sim.KindTimer && len(p.under) > 0:
		l.picked(p, e)
	case e.Phase == string(phase.Publish) && e.Kind != sim.KindLate && history.AnswerOf(e) != history.Waits:
		if i := p.find(e.Job); i >= 0 {
			l.job(e.Job).Held += e.At - p.under[i].last
			p.under = slices.Delete(p.under, i, i+1)
		}
	case e.Phase == string(phase.LockRelease):
		if i := p.find(e.Job); i >= 0 {
			p.under = slices.Delete(p.under, i, i+1)
		}
	}
	p.drawing = ""
}

func (p *picking) find(job string) int {
	return slices.IndexFunc(p.under, func(u *stalePause) bool { return u.job == job })
}

// picked notes the stale picks of a step. If no pick was drawn since the last step, the stale pick was the last that
// its handling had.
func (l *stalePicks) picked(p *picking, e *sim.Event) {
	n := p.grown()
	if n == 0 {
		return
	}
	id := p.drawing
	if id == "" {
		i := slices.IndexFunc(p.under, func(u *stalePause) bool { return u.picks == l.most-1 })
		id = p.under[max(i, 0)].job
	}
	i := p.find(id)
	if i < 0 {
		i = len(p.under)
		p.under = append(p.under, &stalePause{job: id, last: e.At})
	}
	u, j := p.under[i], l.job(id)
	if l.told != nil {
		l.told(e, id, n)
	}
	j.Picks += n
	j.Held += e.At - u.last
	if u.picks, u.last = u.picks+n, e.At; u.picks >= l.most {
		j.Exhausted++
	}
}

func (l *stalePicks) job(id string) *StaleJob {
	j := l.byJob[id]
	if j == nil {
		j = &StaleJob{}
		l.byJob[id] = j
	}
	return j
}
