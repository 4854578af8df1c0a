package routing_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/routing"
)

func strategy(t require.TestingT, c routing.Config) *routing.LeastLoaded {
	s, err := routing.New(c)
	require.NoError(t, err)
	return s
}

// pickFirst picks by the heartbeats alone, and of equal workers the first.
func pickFirst(s *routing.LeastLoaded, req *job.Request, workers []job.Heartbeat) (routing.Pick, error) {
	return s.PickSubject(req, workers, lives, func(string) int { return 0 }, func(int) int { return 0 })
}

func worker(id string, active int) job.Heartbeat {
	return job.Heartbeat{WorkerID: id, Pool: "default", ActiveJobs: active, MaxParallelJobs: 10}
}

func TestPickSubject(t *testing.T) {
	gpu := routing.Config{
		Topics: map[string][]string{"job.default": {"cpu", "gpu"}},
		Pools:  map[string]routing.Pool{"gpu": {Capabilities: []string{"cuda", "fp8"}}},
	}
	in := func(w job.Heartbeat, pool string) job.Heartbeat { w.Pool = pool; return w }
	loaded := func(id string, active int, cpu, gpu float64) job.Heartbeat {
		w := worker(id, active)
		w.CPULoad, w.GPUUtilization = cpu, gpu
		return w
	}
	label := func(k, v string) map[string]string { return map[string]string{k: v} }
	for name, c := range map[string]struct {
		config  routing.Config
		req     job.Request
		workers []job.Heartbeat
		want    string
		err     error
		code    string
	}{
		"least active":                       {workers: []job.Heartbeat{worker("a", 2), worker("b", 1), worker("c", 3)}, want: "worker.b.jobs"},
		"cpu counts a hundredth":             {workers: []job.Heartbeat{loaded("a", 1, 50, 0), loaded("b", 1, 40, 0)}, want: "worker.b.jobs"},
		"gpu counts a hundredth":             {workers: []job.Heartbeat{loaded("a", 1, 0, 50), loaded("b", 1, 0, 40)}, want: "worker.b.jobs"},
		"cpu is no more than a hundredth":    {workers: []job.Heartbeat{loaded("a", 1, 80, 0), loaded("b", 2, 0, 0)}, want: "worker.a.jobs"}, // 1.8 is less than 2
		"gpu is no more than a hundredth":    {workers: []job.Heartbeat{loaded("a", 1, 0, 80), loaded("b", 2, 0, 0)}, want: "worker.a.jobs"},
		"gpu below 90":                       {workers: []job.Heartbeat{loaded("a", 0, 0, 89.9)}, want: "worker.a.jobs"},
		"loads add up to more than a job":    {workers: []job.Heartbeat{loaded("a", 1, 51, 50), loaded("b", 2, 0, 0)}, want: "worker.b.jobs"}, // 2.01 is more than 2
		"loads add up to less than a job":    {workers: []job.Heartbeat{loaded("a", 1, 49, 50), loaded("b", 2, 0, 0)}, want: "worker.a.jobs"},
		"a tie goes to the smaller id":       {workers: []job.Heartbeat{worker("b", 1), worker("a", 1)}, want: "worker.a.jobs"},
		"a topic without pools":              {req: job.Request{Topic: "job.other"}, workers: []job.Heartbeat{worker("a", 0)}, err: routing.ErrNoPoolMapping, code: "no_pool_mapping"},
		"nobody there":                       {err: routing.ErrNoWorkers, code: "no_workers"},
		"nobody in the pool":                 {workers: []job.Heartbeat{in(worker("a", 0), "other")}, err: routing.ErrNoWorkers, code: "no_workers"},
		"nobody for the topic":               {workers: []job.Heartbeat{{WorkerID: "a", Pool: "default", Topics: []string{"job.other"}}}, err: routing.ErrNoWorkers, code: "no_workers"},
		"a worker that names the topic":      {workers: []job.Heartbeat{{WorkerID: "a", Pool: "default", Topics: []string{"job.default"}}}, want: "worker.a.jobs"},
		"utilisation at 0.9":                 {workers: []job.Heartbeat{worker("a", 9)}, err: routing.ErrOverloaded, code: "pool_overloaded"},
		"utilisation below 0.9":              {workers: []job.Heartbeat{worker("a", 8)}, want: "worker.a.jobs"},
		"no limit stated":                    {workers: []job.Heartbeat{{WorkerID: "a", Pool: "default", ActiveJobs: 1000}}, want: "worker.a.jobs"},
		"cpu at 90":                          {workers: []job.Heartbeat{loaded("a", 0, 90, 0)}, err: routing.ErrOverloaded, code: "pool_overloaded"},
		"cpu below 90":                       {workers: []job.Heartbeat{loaded("a", 0, 89.9, 0)}, want: "worker.a.jobs"},
		"gpu at 90":                          {workers: []job.Heartbeat{loaded("a", 0, 0, 90)}, err: routing.ErrOverloaded, code: "pool_overloaded"},
		"the overloaded are skipped":         {workers: []job.Heartbeat{loaded("a", 0, 95, 0), worker("b", 5)}, want: "worker.b.jobs"},
		"the preferred worker":               {req: job.Request{Labels: label("preferred_worker_id", "b")}, workers: []job.Heartbeat{worker("a", 0), worker("b", 5)}, want: "worker.b.jobs"},
		"the preferred worker at once":       {req: job.Request{Labels: label("preferred_worker_id", "b")}, workers: []job.Heartbeat{worker("b", 5), worker("a", 0)}, want: "worker.b.jobs"},
		"the preferred worker is overloaded": {req: job.Request{Labels: label("preferred_worker_id", "b")}, workers: []job.Heartbeat{worker("a", 3), worker("b", 9)}, want: "worker.a.jobs"},
		"the preferred worker is elsewhere":  {req: job.Request{Labels: label("preferred_worker_id", "b")}, workers: []job.Heartbeat{worker("a", 3), in(worker("b", 0), "other")}, want: "worker.a.jobs"},
		"the preferred worker is gone":       {req: job.Request{Labels: label("preferred_worker_id", "z")}, workers: []job.Heartbeat{worker("a", 3)}, want: "worker.a.jobs"},
		"the preferred pool":                 {config: gpu, req: job.Request{Labels: label("preferred_pool", "gpu")}, workers: []job.Heartbeat{in(worker("a", 0), "cpu"), in(worker("b", 5), "gpu")}, want: "worker.b.jobs"},
		"the preferred pool is empty":        {config: gpu, req: job.Request{Labels: label("preferred_pool", "gpu")}, workers: []job.Heartbeat{in(worker("a", 0), "cpu")}, err: routing.ErrNoWorkers, code: "no_workers"},
		"the preferred pool is another's":    {config: gpu, req: job.Request{Labels: label("preferred_pool", "default")}, workers: []job.Heartbeat{worker("a", 0)}, err: routing.ErrNoPoolMapping, code: "no_pool_mapping"},
		"every pool of the topic":            {config: gpu, workers: []job.Heartbeat{in(worker("a", 4), "cpu"), in(worker("b", 3), "gpu")}, want: "worker.b.jobs"},
		"a capability narrows the pools":     {config: gpu, req: job.Request{Requires: []string{"cuda"}}, workers: []job.Heartbeat{in(worker("a", 0), "cpu"), in(worker("b", 3), "gpu")}, want: "worker.b.jobs"},
		"every capability is needed":         {config: gpu, req: job.Request{Requires: []string{"cuda", "tpu"}}, workers: []job.Heartbeat{in(worker("b", 3), "gpu")}, err: routing.ErrNoPoolMapping, code: "no_pool_mapping"},
		"nobody addressable: the topic":      {workers: []job.Heartbeat{worker("host.1", 0)}, want: "job.default"},
		"the topic would reach every pool":   {config: gpu, workers: []job.Heartbeat{in(worker("host.1", 0), "cpu")}, err: routing.ErrNoWorkers, code: "no_workers"},
		"the addressable first":              {workers: []job.Heartbeat{worker("host.1", 0), worker("b", 5)}, want: "worker.b.jobs"},
		"nobody addressable, and overloaded": {workers: []job.Heartbeat{worker("host.1", 9)}, err: routing.ErrOverloaded, code: "pool_overloaded"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.req.Topic == "" {
				c.req.Topic = "job.default"
			}
			pick, err := pickFirst(strategy(t, c.config), &c.req, c.workers)
			if c.err != nil {
				assert.ErrorIs(t, err, c.err)
				assert.Equal(t, c.code, routing.ReasonCode(err))
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, pick.Subject)
			if pick.WorkerID != "" {
				assert.Equal(t, routing.DirectSubject(pick.WorkerID), pick.Subject)
			}
		})
	}
}

// lives is the word of somebody who has heard of every worker just now.
func lives(string) bool { return true }

// nothing is what a worker was given by who counts nothing.
func nothing(string) int { return 0 }

// What a worker was given since its heartbeat counts for its score, and not for its being overloaded.
func TestWhatAWorkerWasGivenCounts(t *testing.T) {
	s := strategy(t, routing.Config{})
	req := job.Request{JobID: "job-1", Topic: "job.default"}
	workers := []job.Heartbeat{worker("a", 0), worker("b", 2)}
	given := map[string]int{}
	var order []string
	for range 6 {
		pick, err := s.PickSubject(&req, workers, lives, func(id string) int { return given[id] }, func(int) int { return 0 })
		require.NoError(t, err)
		given[pick.WorkerID]++
		order = append(order, pick.WorkerID)
	}
	assert.Equal(t, []string{"a", "a", "a", "b", "a", "b"}, order)
	given["a"], given["b"] = 1000, 1000
	_, err := s.PickSubject(&req, workers, lives, func(id string) int { return given[id] }, func(int) int { return 0 })
	assert.NoError(t, err)
}

func TestATieIsTheCallersToBreak(t *testing.T) {
	s := strategy(t, routing.Config{})
	req := job.Request{JobID: "job-1", Topic: "job.default"}
	workers := []job.Heartbeat{worker("c", 1), worker("d", 2), worker("b", 1), worker("a", 1)}
	for i, want := range []string{"a", "b", "c"} {
		pick, err := s.PickSubject(&req, workers, lives, nothing, func(n int) int {
			assert.Equal(t, 3, n)
			return i
		})
		require.NoError(t, err)
		assert.Equal(t, want, pick.WorkerID)
	}
	_, err := s.PickSubject(&req, workers[:2], lives, nothing, func(int) int { panic("there is no tie") })
	require.NoError(t, err)
	req.Labels = map[string]string{"preferred_worker_id": "b"}
	pick, err := s.PickSubject(&req, workers, lives, nothing, func(int) int { panic("it is preferred") })
	require.NoError(t, err)
	assert.Equal(t, "b", pick.WorkerID)
}

// A preferred worker counts if it is healthy (Scheduler internals, section 5, label hints). One that is past its TTL is a
// worker like any other, whose picks its caller checks.
func TestAStalePreferredWorkerIsPassedOver(t *testing.T) {
	s := strategy(t, routing.Config{})
	req := job.Request{JobID: "job-1", Topic: "job.default", Labels: map[string]string{"preferred_worker_id": "b"}}
	for _, load := range []int{1, 3, 5} { // of b; a has 3
		workers := []job.Heartbeat{worker("a", 3), worker("b", load)}
		for alive, want := range map[bool]string{true: "b", false: "a"} {
			pick, err := s.PickSubject(&req, workers, func(id string) bool { return id != "b" || alive }, nothing, func(int) int { return 0 })
			require.NoError(t, err)
			assert.Equal(t, want, pick.WorkerID)
		}
		pick, err := s.PickSubject(&req, workers[1:], func(string) bool { return false }, nothing, func(int) int { return 0 })
		require.NoError(t, err)
		assert.Equal(t, "b", pick.WorkerID, "its caller meets a stale worker, and says so")

		pick, err = s.PickSubject(&req, []job.Heartbeat{worker("host.1", 3), workers[1]}, func(id string) bool { return id != "b" }, nothing, func(int) int { return 0 })
		require.NoError(t, err)
		assert.Equal(t, routing.Pick{Subject: "job.default"}, pick, "one that has no subject of its own is reached through the topic")
	}
}

func TestReasonCodeOfAnythingElse(t *testing.T) {
	assert.Equal(t, "dispatch_failed", routing.ReasonCode(fmt.Errorf("x")))
}

func TestConfigIsValidated(t *testing.T) {
	for problem, c := range map[string]routing.Config{
		`has no pool`:             {Topics: map[string][]string{"job.a": nil}},
		`a pool without a name`:   {Topics: map[string][]string{"job.a": {""}}},
		`is not a subject`:        {Topics: map[string][]string{"job.*": {"p"}}},
		`another meaning`:         {Topics: map[string][]string{"sys.job.submit": {"p"}}},
		`as in job.worker`:        {Topics: map[string][]string{"worker.a.jobs": {"p"}}},
		`"idle" serves no topic`:  {Topics: map[string][]string{"job.a": {"p"}}, Pools: map[string]routing.Pool{"idle": {}}},
		`"alone" serves no topic`: {Pools: map[string]routing.Pool{"alone": {}}},
	} {
		_, err := routing.New(c)
		assert.ErrorContains(t, err, problem)
	}
}

// The same workers in any order give the same pick, and it is one that no other beats.
func TestPickDoesNotDependOnOrder(t *testing.T) {
	s := strategy(t, routing.Config{})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "workers")
		workers := make([]job.Heartbeat, n)
		for i := range workers {
			workers[i] = job.Heartbeat{
				WorkerID:        fmt.Sprintf("w%d", i),
				Pool:            rapid.SampledFrom([]string{"default", "default", "other"}).Draw(t, "pool"),
				ActiveJobs:      rapid.IntRange(0, 3).Draw(t, "active"), // few values, many ties
				MaxParallelJobs: rapid.IntRange(0, 4).Draw(t, "parallel"),
				CPULoad:         rapid.SampledFrom([]float64{0, 50, 100}).Draw(t, "cpu"),
				GPUUtilization:  rapid.SampledFrom([]float64{0, 50, 100}).Draw(t, "gpu"),
			}
		}
		req := job.Request{JobID: "job-1", Topic: "job.default"}
		if n > 0 && rapid.Bool().Draw(t, "prefers") {
			req.Labels = map[string]string{"preferred_worker_id": workers[rapid.IntRange(0, n-1).Draw(t, "preferred")].WorkerID}
		}
		want, wantErr := pickFirst(s, &req, workers)

		permuted := rapid.Permutation(workers).Draw(t, "permuted")
		got, gotErr := pickFirst(s, &req, permuted)
		require.Equal(t, want, got)
		require.Equal(t, routing.ReasonCode(wantErr), routing.ReasonCode(gotErr))
		if wantErr != nil {
			return
		}
		score := math.Inf(1)
		fits := func(w job.Heartbeat) bool {
			return w.Pool == "default" && w.CPULoad < 90 && w.GPUUtilization < 90 &&
				(w.MaxParallelJobs == 0 || float64(w.ActiveJobs) < 0.9*float64(w.MaxParallelJobs))
		}
		var picked job.Heartbeat
		for _, w := range workers {
			if fits(w) {
				score = min(score, float64(w.ActiveJobs)+w.CPULoad/100+w.GPUUtilization/100)
			}
			if w.WorkerID == want.WorkerID {
				picked = w
			}
		}
		require.True(t, fits(picked))
		if picked.WorkerID != req.Labels["preferred_worker_id"] {
			require.Equal(t, score, float64(picked.ActiveJobs)+picked.CPULoad/100+picked.GPUUtilization/100)
		}
	})
}
