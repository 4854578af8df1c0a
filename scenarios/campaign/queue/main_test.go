package queue

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// The test binary is also what the tests start: its first argument says so.
const (
	asWorker      = "a-worker"      // a process of a machine
	asMachine     = "a-machine"     // that works at the server which the next argument names
	asCoordinator = "a-coordinator" // of the campaign in the folder that the argument after it names
)

func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != asWorker && os.Args[1] != asMachine && os.Args[1] != asCoordinator {
		os.Exit(m.Run())
	}
	if err := role(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func role(role string, args []string) error {
	ctx := context.Background()
	if role == asWorker {
		return campaign.Serve(ctx, os.Stdin, os.Stdout, campaign.ServeOptions{})
	}
	at := Server{URL: args[0]}
	conn, err := at.Dial(ctx, "test")
	for ; err != nil; conn, err = at.Dial(ctx, "test") { // the server may be starting again
		time.Sleep(10 * time.Millisecond)
	}
	defer conn.Close()
	if role == asMachine {
		return Work(ctx, conn, WorkOptions{Workers: 1, Command: worker(), Say: say})
	}
	chunk, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	_, err = campaign.Run(ctx, args[1], campaign.Options{Workers: 1, Command: worker(), Elsewhere: &patient{Coordinator{Server: at, Chunk: chunk, AckWait: soon, Say: say}}})
	return err
}

// patient is a coordinator that waits for its server.
type patient struct{ Coordinator }

func (p *patient) Begin(ctx context.Context, job campaign.Job, done func(int) bool) (out <-chan campaign.Arrival, err error) {
	for out, err = p.Coordinator.Begin(ctx, job, done); err != nil; out, err = p.Coordinator.Begin(ctx, job, done) {
		time.Sleep(10 * time.Millisecond)
	}
	return out, nil
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// soon is when a chunk of a machine that was killed is delivered again: tests have no half a minute.
const soon = 2 * time.Second

// worker is the command of a worker process.
func worker() []string { return []string{os.Args[0], asWorker} }

// finding is a campaign that finds something: publish-first dispatches twice.
func finding(runs int) campaign.Spec {
	sets := []string{"workload.jobs=1", "topology.schedulers=1", "topology.workers=1", "engine.dispatch_order=publish-first"}
	return campaign.Spec{Version: campaign.SpecVersion, Name: "test", Seed: 2, Runs: runs, Drawn: &campaign.Drawn{Presets: []string{plans.PresetDocumented}, Sets: sets}}
}

// begun makes a folder for a campaign.
func begun(t *testing.T, spec campaign.Spec) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "campaign")
	require.NoError(t, campaign.Create(dir, spec))
	return dir
}

var known sync.Map

// alone is the result.json of a campaign that one machine has run.
func alone(t *testing.T, spec campaign.Spec) string {
	t.Helper()
	once, _ := known.LoadOrStore(spec.Runs, sync.OnceValue(func() string {
		dir := begun(t, spec)
		_, err := campaign.Run(context.Background(), dir, campaign.Options{Workers: 2, Command: worker()})
		require.NoError(t, err)
		return resultOf(t, dir)
	}))
	return once.(func() string)()
}

func resultOf(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, campaign.ResultFile))
	require.NoError(t, err)
	return string(data)
}

// natsServer is a nats-server that can be started again.
type natsServer struct {
	opts server.Options
	*server.Server
}

func startServer(t *testing.T, change func(*server.Options)) *natsServer {
	t.Helper()
	s := &natsServer{opts: server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}}
	if change != nil {
		change(&s.opts)
	}
	s.start(t)
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *natsServer) start(t *testing.T) {
	t.Helper()
	opts := s.opts
	srv, err := server.NewServer(&opts)
	require.NoError(t, err)
	srv.Start()
	require.True(t, srv.ReadyForConnections(20*time.Second))
	s.Server, s.opts.Port = srv, opts.Port
}

func (s *natsServer) stop() {
	s.Shutdown()
	s.WaitForShutdown()
}

// url is what clients connect to.
func (s *natsServer) url() string { return fmt.Sprintf("nats://127.0.0.1:%d", s.opts.Port) }

func dialled(t *testing.T, s *natsServer) *Conn {
	t.Helper()
	conn, err := (Server{URL: s.url()}).Dial(context.Background(), "test")
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// saying keeps what is said.
type saying struct {
	mu    sync.Mutex
	lines []string
}

func (s *saying) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *saying) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.lines...)
}
