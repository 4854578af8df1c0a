package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// The test binary is also what the tests start: its first argument says so.
const (
	asWorker      = "a-worker"      // a process of a machine
	asMachine     = "a-machine"     // that works at the server which the next argument names
	asCoordinator = "a-coordinator" // of the campaign in the folder that the argument after it names
	asLingerer    = "a-lingerer"    // a coordinator that writes its result, and then has to be killed
	asSlowWorker  = "a-slow-worker" // that begins with no run before the file is there which the next argument names
	asSlowMachine = "a-slow-machine"
)

var roles = []string{asWorker, asMachine, asCoordinator, asLingerer, asSlowWorker, asSlowMachine}

func TestMain(m *testing.M) {
	if len(os.Args) < 2 || !slices.Contains(roles, os.Args[1]) {
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
	if role == asSlowWorker {
		return campaign.Serve(ctx, os.Stdin, os.Stdout, campaign.ServeOptions{Run: func(ctx context.Context, p *plans.Plan, opt scenarios.RunOptions) (*scenarios.Result, error) {
			for !there(args[0]) {
				time.Sleep(10 * time.Millisecond)
			}
			return scenarios.Run(ctx, p, opt)
		}})
	}
	at := Server{URL: args[0]}
	conn, err := at.Dial(ctx, "test")
	for ; err != nil; conn, err = at.Dial(ctx, "test") { // the server may be starting again
		time.Sleep(10 * time.Millisecond)
	}
	defer conn.Close()
	switch role {
	case asSlowMachine:
		return Work(ctx, conn, WorkOptions{Workers: 1, Command: []string{os.Args[0], asSlowWorker, args[1]}, Say: say})
	case asMachine:
		return Work(ctx, conn, WorkOptions{Workers: 1, Command: worker(), Say: say})
	}
	chunk, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	_, err = campaign.Run(ctx, args[1], campaign.Options{Workers: 1, Command: worker(), Elsewhere: &patient{Coordinator{Server: at, Chunk: chunk, AckWait: soon, Say: say}, role == asLingerer}})
	return err
}

// patient is a coordinator that waits for its server.
type patient struct {
	Coordinator
	lingers bool
}

func (p *patient) Begin(ctx context.Context, job campaign.Job, done func(int) bool) (out <-chan campaign.Arrival, err error) {
	for out, err = p.Coordinator.Begin(ctx, job, done); err != nil; out, err = p.Coordinator.Begin(ctx, job, done) {
		time.Sleep(10 * time.Millisecond)
	}
	return out, nil
}

func (p *patient) End(over bool) {
	for over && p.lingers {
		time.Sleep(time.Hour)
	}
	p.Coordinator.End(over)
}

func there(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// soon is when a chunk of a machine that was killed is delivered again: tests have no half a minute.
const soon = 2 * time.Second

// worker is the command of a worker process.
func worker() []string { return []string{os.Args[0], asWorker} }

// finding is a campaign that finds something: publish-first dispatches twice.
func finding(runs int) campaign.Spec {
	sets := []string{"workload.jobs=1", "topology.schedulers=1", "topology.workers=1", "engine.dispatch_order=publish-first"}
	return campaign.Spec{Version: campaign.SpecVersion, Name: "test", Seed: 8, Runs: runs, Drawn: &campaign.Drawn{Presets: []string{plans.PresetDocumented}, Sets: sets}}
}

// clean is one that finds nothing.
func clean(runs int) campaign.Spec {
	spec := finding(runs)
	spec.Drawn.Presets, spec.Drawn.Sets = []string{plans.PresetHardened}, spec.Drawn.Sets[:3]
	return spec
}

// numbers are how many machines there are. A night has more of them.
func numbers() []int {
	if testing.Short() {
		return []int{1, 3}
	}
	return []int{1, 3, 8}
}

// begun makes a folder for a campaign.
func begun(t *testing.T, spec campaign.Spec) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "campaign")
	require.NoError(t, campaign.Create(dir, spec))
	return dir
}

// program is a process that a test has started.
type program struct {
	*exec.Cmd
	gone chan struct{} // is closed once it has ended
	err  error         // how, then
}

// process starts this binary in a role of its own.
func process(t *testing.T, args ...string) *program {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start())
	return watched(t, cmd)
}

// watched is a process that was started, which ends with the test.
func watched(t *testing.T, cmd *exec.Cmd) *program {
	p := &program{cmd, make(chan struct{}), nil}
	go func() {
		defer close(p.gone)
		p.err = cmd.Wait()
	}()
	t.Cleanup(p.kill)
	return p
}

func (p *program) kill() {
	_ = p.Process.Kill()
	<-p.gone
}

// ends waits for its end, which must be a good one.
func (p *program) ends(t *testing.T) {
	t.Helper()
	<-p.gone
	require.NoError(t, p.err)
}

// until waits until something is so, which must be before p ends.
func (p *program) until(t *testing.T, so func() bool) {
	t.Helper()
	for !so() {
		select {
		case <-p.gone:
			require.True(t, so(), "the process has ended before it was to: %v", p.err)
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// known are the results of campaigns that one machine has run, by their specs as JSON.
var known sync.Map

// alone is the result.json of a campaign that one machine has run.
func alone(t *testing.T, spec campaign.Spec) string {
	t.Helper()
	key, err := json.Marshal(spec)
	require.NoError(t, err)
	once, _ := known.LoadOrStore(string(key), sync.OnceValue(func() string {
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
