package scenarios

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/sim"
)

// calm is the scenario of that name with another number of jobs.
func calm(tb testing.TB, jobs int) *plans.Plan {
	p, err := plans.Load("calm")
	require.NoError(tb, err)
	p.Workload.Jobs = jobs
	p.Schedule.StepsMax = plans.StepsMaxDefault(jobs)
	return p
}

// ungated runs a plan's operations in a bubble without gates, steps, trace or oracles, and returns
// how many there were.
func ungated(tb testing.TB, p *plans.Plan) int {
	r, err := newRun(context.Background(), p, RunOptions{})
	require.NoError(tb, err)
	cfg := r.config()
	cfg.Ungated, cfg.Observe, cfg.Intercept = true, nil, nil
	sum, err := sim.Run(cfg, func(w *sim.World) error {
		r.system = scheduler.New(p, nil)
		r.system.StartSchedulers(w)
		w.Step(plans.Boot, nil)
		r.system.StartWorkers(w)
		w.Step(2*plans.Boot, nil)
		r.system.StartClients(w)
		w.Step(2*plans.Boot+time.Duration(p.Workload.Jobs)*p.Workload.Every+3*time.Second, nil)
		if n := len(w.Redis()["job:index:SUCCEEDED"]); n != p.Workload.Jobs {
			return fmt.Errorf("%d of %d jobs succeeded", n, p.Workload.Jobs)
		}
		return nil
	})
	require.NoError(tb, err)
	return sum.Steps
}

// BenchmarkRun measures whole runs from outside their bubbles: servers, stepping, trace and
// oracles, beside the same operations issued without gates. `make bench` runs each size in a
// process of its own with GOMAXPROCS=1.
func BenchmarkRun(b *testing.B) {
	for _, jobs := range []int{10, 100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			p := calm(b, jobs)
			var gated, free, virtual time.Duration
			var steps, ops int
			b.ReportAllocs()
			for b.Loop() {
				began := time.Now()
				res, err := Run(context.Background(), p, RunOptions{Source: p.Name, Trace: io.Discard})
				gated += time.Since(began)
				require.NoError(b, err)
				require.Equal(b, Held, res.Verdict, res.Reason)
				steps += res.Steps
				virtual += res.Virtual

				b.StopTimer()
				began = time.Now()
				ops += ungated(b, p)
				free += time.Since(began)
				b.StartTimer()
			}
			n := float64(b.N)
			perStep, perOp := float64(gated.Nanoseconds())/float64(steps), float64(free.Nanoseconds())/float64(ops)
			b.ReportMetric(float64(steps)/n, "steps/run")
			b.ReportMetric(perStep, "ns/step")
			b.ReportMetric(perOp, "ns/ungated-op")
			b.ReportMetric(perStep/perOp, "ratio")
			b.ReportMetric(gated.Seconds()*1e6/n/float64(jobs), "us/job")
			b.ReportMetric(virtual.Seconds()/gated.Seconds(), "virtual-s/s")
		})
	}
}

// BenchmarkMemory measures what a run holds on to at its end, servers included, by the number of its jobs.
func BenchmarkMemory(b *testing.B) {
	for _, jobs := range []int{1_000, 10_000, 30_000, 100_000} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			p := calm(b, jobs)
			held, took := 0.0, time.Duration(0)
			for b.Loop() {
				before, began := heap(), time.Now()
				r, err := newRun(context.Background(), p, RunOptions{})
				require.NoError(b, err)
				_, err = sim.Run(r.config(), func(w *sim.World) error {
					err := r.play(w)
					held += heap() - before
					return err
				})
				require.NoError(b, err)
				took += time.Since(began)
			}
			n := float64(b.N) * float64(jobs)
			b.ReportMetric(held/n/1024, "KB/job")
			b.ReportMetric(took.Seconds()*1e6/n, "us/job")
		})
	}
}

// heap is how many bytes are live.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkPublishFailure measures the mission's first scenario, servers included.
func BenchmarkPublishFailure(b *testing.B) {
	p, err := plans.Load("publish-failure")
	require.NoError(b, err)
	for b.Loop() {
		res, err := Run(context.Background(), p, RunOptions{Source: p.Name, Trace: io.Discard})
		require.NoError(b, err)
		require.Equal(b, Held, res.Verdict, res.Reason)
	}
}

// BenchmarkRedisServer measures whole runs over a redis-server beside the same over miniredis, turn by turn. One that dies is a
// process of its own, which starts twice.
func BenchmarkRedisServer(b *testing.B) {
	if _, err := exec.LookPath(RedisProgram()); err != nil {
		b.Skip(err)
	}
	b.Run("every", func(b *testing.B) { // scenario, as it is
		var all []*plans.Plan
		for _, name := range plans.Names() {
			p, err := plans.Load(name)
			require.NoError(b, err)
			all = append(all, p)
		}
		besideMiniredis(b, all)
	})
	for _, name := range []string{"calm", "publish-failure", "redis-power-loss"} {
		for _, jobs := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("%s/jobs=%d", name, jobs), func(b *testing.B) {
				p, err := plans.Load(name)
				require.NoError(b, err)
				p.Workload.Jobs, p.Schedule.StepsMax = jobs, plans.StepsMaxDefault(jobs)
				besideMiniredis(b, []*plans.Plan{p})
			})
		}
	}
}

// besideMiniredis runs the plans over miniredis and over a redis-server, in turn.
func besideMiniredis(b *testing.B, list []*plans.Plan) {
	took := map[string]time.Duration{}
	for i := -1; i < b.N; i++ { // the first starts the server
		for _, p := range list {
			for _, redis := range []string{plans.RedisMini, plans.RedisServer} {
				p.World.Redis = redis
				began := time.Now()
				res, err := Run(context.Background(), p, RunOptions{Source: p.Name, Trace: io.Discard})
				require.NoError(b, err)
				require.Contains(b, []Verdict{Held, Violated}, res.Verdict, res.Reason)
				if i >= 0 {
					took[redis] += time.Since(began)
				}
			}
		}
	}
	b.ReportMetric(0, "ns/op") // of both together
	b.ReportMetric(took[plans.RedisServer].Seconds()*1e3/float64(b.N*len(list)), "ms/run")
	b.ReportMetric(took[plans.RedisServer].Seconds()/took[plans.RedisMini].Seconds(), "x-miniredis")
}
