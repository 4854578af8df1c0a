package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
)

// BenchmarkEmbeddedRedis submits jobs to a scheduler with a Redis of its own, and as many to one with a redis-server. The
// ratio of the two times is at most 2, and ns/job the same for any number of jobs.
func BenchmarkEmbeddedRedis(b *testing.B) {
	for _, jobs := range []int{500, 1000, 2000} {
		b.Run(fmt.Sprint("jobs=", jobs), func(b *testing.B) {
			var embedded, server time.Duration
			for range b.N {
				embedded += takes(b, jobs)
				server += takes(b, jobs, "--redis", startRedis(b))
			}
			b.ReportMetric(0, "ns/op") // of both together
			b.ReportMetric(float64(embedded.Nanoseconds())/float64(b.N*jobs), "ns/job")
			b.ReportMetric(embedded.Seconds()/server.Seconds(), "x-redis-server")
		})
	}
}

// takes is how long two workers take for jobs that are submitted to a scheduler of those flags.
func takes(b *testing.B, jobs int, flags ...string) time.Duration {
	b.Helper()
	s, at := alone(b, append(flags, "--log-level", "warn")...)
	for _, id := range []string{"worker-1", "worker-2"} {
		w := start(b, "worker", "--id", id, at[2], at[3])
		knows(b, at, id)
		defer w.stops()
	}
	defer s.stops()
	began := time.Now()
	client(b, cli.ExitHeld, at, "submit", "--jobs", fmt.Sprint(jobs), "--wait")
	return time.Since(began)
}
