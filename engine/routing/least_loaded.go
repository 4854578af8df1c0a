package routing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// Overload thresholds (Scheduler internals, section 5): at or past any of them a worker gets no job.
const (
	overloadUtilization = 0.9 // active_jobs / max_parallel_jobs
	overloadCPUPercent  = 90
	overloadGPUPercent  = 90
)

// Pick is a choice of where a job goes.
type Pick struct {
	Subject  string
	WorkerID string // empty when Subject is the topic, which any worker of the pool may take from
}

// DirectSubject is the subject on which one worker takes its jobs.
func DirectSubject(workerID string) string { return "worker." + workerID + ".jobs" }

// LeastLoaded picks the worker with the lowest score. It is safe for concurrent use.
type LeastLoaded struct {
	topics map[string][]string
	pools  map[string]map[string]bool // capabilities by pool
}

// New returns a strategy for c, or says what is wrong with c.
func New(c Config) (*LeastLoaded, error) {
	if len(c.Topics) == 0 && len(c.Pools) == 0 {
		c.Topics = map[string][]string{DefaultTopic: {DefaultPool}}
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := &LeastLoaded{topics: maps.Clone(c.Topics), pools: map[string]map[string]bool{}}
	for name, pool := range c.Pools {
		s.pools[name] = make(map[string]bool, len(pool.Capabilities))
		for _, capability := range pool.Capabilities {
			s.pools[name][capability] = true
		}
	}
	return s, nil
}

// Topics are those that are served, in order.
func (s *LeastLoaded) Topics() []string { return slices.Sorted(maps.Keys(s.topics)) }

// PickSubject chooses among workers, whose order does not matter. It takes a preferred worker that is not alive only if there is
// nobody else. Whether a worker that is not preferred is alive is for its caller to check. Its error is, to errors.Is, one of ErrNoPoolMapping, ErrNoWorkers and ErrOverloaded.
//
// A worker whose id cannot be a token of a subject has no address of its own; if only such workers
// can take the job, it goes to the topic. A job with hints never does: anybody could take it from there. Nor does one of a
// topic with several pools, each of which would take it.
//
// given is how many jobs a worker was given since its heartbeat; they count for its score, but not for whether it is
// overloaded, since many of them may be over. draw breaks ties: it is asked once for one of [0, n), when n > 1
// workers, ordered by id, have the same lowest score.
func (s *LeastLoaded) PickSubject(req *job.Request, workers []job.Heartbeat, alive func(workerID string) bool, given func(workerID string) int, draw func(n int) int) (Pick, error) {
	pools, err := s.eligible(req)
	if err != nil {
		return Pick{}, err
	}
	preferred, hinted := req.Labels[job.LabelPreferredWorker], hinted(req.Labels)
	shared := len(s.topics[req.Topic]) > 1 // through the topic the job would go to every one of its pools
	var best []*job.Heartbeat              // of the same score
	lowest := 0.0
	var stale *job.Heartbeat // the preferred worker, if it is not alive
	seen, unaddressed, unfit := false, false, 0
	for i := range workers {
		w := &workers[i]
		if !slices.Contains(pools, w.Pool) || len(w.Topics) > 0 && !slices.Contains(w.Topics, req.Topic) {
			continue
		}
		if (hinted || shared) && !job.IsToken(w.WorkerID) || hinted && !fits(w, req.Labels) {
			unfit++
			continue
		}
		seen = true
		if overloaded(w) {
			continue
		}
		if !job.IsToken(w.WorkerID) {
			unaddressed = true
			continue
		}
		if w.WorkerID == preferred {
			if alive(preferred) {
				best = append(best[:0], w)
				break
			}
			stale = w
			continue
		}
		switch score := score(w) + float64(given(w.WorkerID)); {
		case len(best) == 0 || score < lowest:
			best, lowest = append(best[:0], w), score
		case score == lowest:
			best = append(best, w)
		}
	}
	switch {
	case len(best) > 0:
		id := choose(best, draw).WorkerID
		return Pick{Subject: DirectSubject(id), WorkerID: id}, nil
	case unaddressed:
		return Pick{Subject: req.Topic}, nil
	case stale != nil:
		return Pick{Subject: DirectSubject(stale.WorkerID), WorkerID: stale.WorkerID}, nil
	case seen:
		return Pick{}, fmt.Errorf("topic %q, pools %q: %w", req.Topic, pools, ErrOverloaded)
	case unfit > 0:
		return Pick{}, fmt.Errorf("topic %q, pools %q, none of %d can be given the job by its hints: %w", req.Topic, pools, unfit, ErrNoWorkers)
	}
	return Pick{}, fmt.Errorf("topic %q, pools %q: %w", req.Topic, pools, ErrNoWorkers)
}

// eligible returns the pools that may serve the job.
func (s *LeastLoaded) eligible(req *job.Request) ([]string, error) {
	pools := s.topics[req.Topic]
	if len(pools) == 0 {
		return nil, fmt.Errorf("topic %q: %w", req.Topic, ErrNoPoolMapping)
	}
	if preferred := req.Labels[job.LabelPreferredPool]; preferred != "" {
		if !slices.Contains(pools, preferred) {
			return nil, fmt.Errorf("topic %q is not served by its preferred pool %q: %w", req.Topic, preferred, ErrNoPoolMapping)
		}
		pools = []string{preferred}
	}
	if len(req.Requires) == 0 {
		return pools, nil
	}
	var able []string
	for _, pool := range pools {
		if !slices.ContainsFunc(req.Requires, func(c string) bool { return !s.pools[pool][c] }) {
			able = append(able, pool)
		}
	}
	if len(able) == 0 {
		return nil, fmt.Errorf("topic %q has no pool that offers %q: %w", req.Topic, req.Requires, ErrNoPoolMapping)
	}
	return able, nil
}

func choose(equal []*job.Heartbeat, draw func(n int) int) *job.Heartbeat {
	if len(equal) == 1 {
		return equal[0]
	}
	slices.SortFunc(equal, func(a, b *job.Heartbeat) int { return cmp.Compare(a.WorkerID, b.WorkerID) })
	return equal[draw(len(equal))]
}

func score(w *job.Heartbeat) float64 {
	return float64(w.ActiveJobs) + w.CPULoad/100 + w.GPUUtilization/100
}

func overloaded(w *job.Heartbeat) bool {
	if w.MaxParallelJobs > 0 && float64(w.ActiveJobs)/float64(w.MaxParallelJobs) >= overloadUtilization {
		return true
	}
	return w.CPULoad >= overloadCPUPercent || w.GPUUtilization >= overloadGPUPercent
}
