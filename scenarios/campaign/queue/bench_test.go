//go:build unix

package queue

import (
	"context"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// BenchmarkQueue runs a campaign that finds nothing with two workers here, and then with two at a queue whose server, coordinator
// and machine are this process; in turn, since others may use the machine. What the queue costs is the difference, in time and in
// that of processors:
//
//	go test ./scenarios/campaign/queue -run '^$' -bench Queue -benchtime 5x
func BenchmarkQueue(b *testing.B) {
	const runs, workers = 300, 2
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: b.TempDir(), NoSigs: true, NoLog: true})
	require.NoError(b, err)
	s.Start()
	defer s.Shutdown()
	require.True(b, s.ReadyForConnections(20*time.Second))
	conn, err := Server{URL: s.ClientURL()}.Dial(b.Context(), "test")
	require.NoError(b, err)
	defer conn.Close()
	var here, there cost
	for n := 0; b.Loop(); n++ {
		here.of(func() { benched(b, "here-"+strconv.Itoa(n), runs, workers, nil) })
		there.of(func() {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- Work(ctx, conn, WorkOptions{Workers: workers, Command: worker(), Once: true}) }()
			benched(b, "there-"+strconv.Itoa(n), runs, workers, &Coordinator{Server: Server{URL: s.ClientURL()}})
			require.NoError(b, <-ended)
		})
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(here.wall.Seconds()*1000/float64(b.N)/runs, "ms/run-here")
	b.ReportMetric(there.wall.Seconds()*1000/float64(b.N)/runs, "ms/run-queue")
	b.ReportMetric(100*(there.wall.Seconds()/here.wall.Seconds()-1), "%-more-time")
	b.ReportMetric(100*(there.cpu.Seconds()/here.cpu.Seconds()-1), "%-more-cpu")
}

func benched(b *testing.B, name string, runs, workers int, c *Coordinator) {
	dir := filepath.Join(b.TempDir(), name)
	require.NoError(b, campaign.Create(dir, clean(runs)))
	opt := campaign.Options{Workers: workers, Command: worker()}
	if c != nil {
		opt.Elsewhere = c
	}
	res, err := campaign.Run(b.Context(), dir, opt)
	require.NoError(b, err)
	require.True(b, res.Complete)
}

// cost is what something takes, of this process and those that it has waited for.
type cost struct{ wall, cpu time.Duration }

func (c *cost) of(work func()) {
	begun, before := time.Now(), used()
	work()
	c.wall += time.Since(begun)
	c.cpu += used() - before
}

func used() (d time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		_ = syscall.Getrusage(who, &u) // it fails for no who of these
		d += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return d
}
