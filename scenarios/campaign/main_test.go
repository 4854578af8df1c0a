package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// The test binary is also what the tests start: its first argument says so.
const (
	asWorker   = "a-worker"    // of the code under test in the variant that the next argument names
	asCampaign = "a-campaign"  // in the folder that the next argument names, two workers at once
	asNothing  = "a-program"   // that is no worker
	asParent   = "a-parent"    // of a bystander, without which it ends
	asChild    = "a-bystander" // that ends with its standard input
)

func TestMain(m *testing.M) {
	role, arg := "", ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	if len(os.Args) > 2 {
		arg = os.Args[2]
	}
	var err error
	switch role {
	case asWorker:
		err = Serve(context.Background(), os.Stdin, os.Stdout, ServeOptions{Run: func(ctx context.Context, p *plans.Plan, opt scenarios.RunOptions) (*scenarios.Result, error) {
			if arg == "error" && p.Workload.Jobs > 1 {
				return nil, errors.New("sim: nats-server did not start")
			}
			opt.Variant = variants[arg]
			return scenarios.Run(ctx, p, opt)
		}})
	case asCampaign:
		err = runTalking(arg)
	case asParent:
		child := exec.Command(os.Args[0], asChild)
		child.Stdin, child.Stderr = os.Stdin, os.Stderr
		if err = child.Start(); err == nil {
			err = errors.New("the parent ends")
		}
	case asChild:
		_, err = io.Copy(io.Discard, os.Stdin)
	case asNothing:
		err = errors.New("the name of the program is unknown")
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// worker is the command of a worker whose code under test is of that variant; "" is the code as it is.
func worker(variant string) []string { return []string{os.Args[0], asWorker, variant} }

// small is a campaign of plans drawn in small worlds.
func small(runs int, sets ...string) Spec {
	sets = append([]string{"workload.jobs=1", "topology.schedulers=1", "topology.workers=1"}, sets...)
	return Spec{Version: SpecVersion, Name: "test", Seed: 1, Runs: runs, Drawn: &Drawn{Presets: []string{plans.PresetDocumented}, Sets: sets}}
}

// breaking is one that finds something: publish-first dispatches twice.
func breaking(runs int) Spec { return small(runs, "engine.dispatch_order=publish-first") }

// begun makes a folder for a campaign.
func begun(t *testing.T, spec Spec) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "campaign")
	require.NoError(t, Create(dir, spec))
	return dir
}

// quick are options with bounds that misbehaving code reaches soon. The code as it is has all the time that it wants.
func quick(workers int, variant string) Options {
	opt := Options{Workers: workers, Command: worker(variant), MemoryMax: 64 << 20}
	if variant != "" {
		opt.RunTimeout = 2 * time.Second
	}
	return opt
}

// ran runs the campaign in dir to its end, and returns its result and its result.json.
func ran(t *testing.T, dir string, opt Options) (*Result, string) {
	t.Helper()
	res, err := Run(context.Background(), dir, opt)
	require.NoError(t, err)
	require.True(t, res.Complete)
	data, err := os.ReadFile(filepath.Join(dir, ResultFile))
	require.NoError(t, err)
	return res, string(data)
}

// known are the results of undisturbed campaigns, by what they run: several tests ask for the same.
var known sync.Map

// undisturbed is the result.json of a campaign of spec that nothing disturbs.
func undisturbed(t *testing.T, spec Spec) string {
	t.Helper()
	result := sync.OnceValue(func() string {
		_, text := ran(t, begun(t, spec), quick(1, ""))
		return text
	})
	shared, _ := known.LoadOrStore(fmt.Sprint(spec.Runs, spec.Seed, *spec.Drawn), result)
	return shared.(func() string)()
}

// runTalking runs the campaign in dir, and says on standard output which workers it starts, and
// each thing that they answer.
func runTalking(dir string) error {
	s, err := newSupervisor(context.Background(), dir, quick(2, "").withDefaults())
	if err != nil {
		return err
	}
	defer s.close()
	out := json.NewEncoder(os.Stdout)
	start, said := s.launch, make(chan talk)
	go func() {
		for t := range said {
			_ = out.Encode(t)
		}
	}()
	s.launch = func(ctx context.Context, o Orders) (Worker, error) {
		w, err := start(ctx, o)
		if err != nil {
			return nil, err
		}
		t := talking{w.(*process), make(chan Answer)}
		go func() {
			defer close(t.heard)
			for a := range w.Answers() {
				said <- talk{Worker: t.cmd.Process.Pid, Done: a.Record != nil || a.Outcome != nil}
				t.heard <- a
			}
		}()
		return t, nil
	}
	_, err = s.run(context.Background())
	return err
}

// talk is what a campaign says of its workers.
type talk struct {
	Worker int  // its process
	Done   bool // a run, or a trial
}

// talking is a worker that is overheard.
type talking struct {
	*process
	heard chan Answer
}

func (t talking) Answers() <-chan Answer { return t.heard }

func (t talking) End() {
	t.process.End()
	for range t.heard {
	}
}
