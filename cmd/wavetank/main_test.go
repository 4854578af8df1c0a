package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/internal/cli/clitest"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

func TestMain(m *testing.M) {
	called := os.Args[0]
	testscript.Main(m, map[string]func(){
		"wavetank": func() {
			if !filepath.IsAbs(called) { // as a script does that calls it by a path; by its name alone, testscript calls it by the whole one
				os.Args[0] = called
			}
			main()
		},
		// A build that takes one draw from outside of the plan.
		"wavetank-unseeded": func() {
			runPlan = func(ctx context.Context, plan *plans.Plan, opt scenarios.RunOptions) (*scenarios.Result, error) {
				var draw [2]byte
				_, _ = rand.Read(draw[:])
				plan.Workload.Work += time.Duration(draw[0])*time.Microsecond + time.Duration(draw[1])
				return scenarios.Run(ctx, plan, opt)
			}
			main()
		},
		// A build whose runs are cut short.
		"wavetank-short": func() {
			runPlan = func(ctx context.Context, plan *plans.Plan, opt scenarios.RunOptions) (*scenarios.Result, error) {
				plan = plan.Clone()
				plan.Schedule.StepsMax = 300
				return scenarios.Run(ctx, plan, opt)
			}
			main()
		},
		// A build that lacks what broke the promise of publish-ack-lost.
		"wavetank-before": func() {
			runPlan = func(ctx context.Context, plan *plans.Plan, opt scenarios.RunOptions) (*scenarios.Result, error) {
				plan = plan.Clone()
				plan.Faults = nil
				return scenarios.Run(ctx, plan, opt)
			}
			main()
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, Setup: clitest.Setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": clitest.Exits, "replays": replays, "interrupt": interrupt, "interrupt-when": interruptWhen, "hang-up": hangUp, "interrupt-twice": interruptTwice, "queue": startQueue},
		Condition: func(name string) (bool, error) {
			switch name {
			case "root":
				return os.Geteuid() == 0, nil
			case "nohup": // a command goes on when its terminal is closed, and so do those that it starts
				return signal.Ignored(syscall.SIGHUP), nil
			case "mounts": // a process may have a file system of its own
				return exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", os.TempDir()).Run() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
	})
}

// startQueue starts a nats-server with JetStream, and says in QUEUE where it is.
func startQueue(ts *testscript.TestScript, _ bool, _ []string) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: ts.MkAbs("jetstream"), NoSigs: true, NoLog: true})
	ts.Check(err)
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		ts.Fatalf("nats-server does not start")
	}
	ts.Defer(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	ts.Setenv("QUEUE", s.ClientURL())
}

// replays CAMPAIGN replays the findings of a campaign and checks that they violate what they say, with
// the digests that the campaign says.
func replays(ts *testscript.TestScript, _ bool, args []string) {
	res, err := campaign.LoadResult(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(res.Findings) == 0 {
		ts.Fatalf("%s has no finding", args[0])
	}
	for _, f := range res.Findings {
		if err := ts.Exec("wavetank", "run", filepath.Join(args[0], f.File), "--out", "replayed", "--no-why"); err == nil {
			ts.Fatalf("%s holds", f.File)
		}
		said := ts.ReadFile("stdout")
		for _, want := range []string{"VIOLATED", f.Invariant + " is violated, as the plan expects", "digest " + f.Digest} {
			if !strings.Contains(said, want) {
				ts.Fatalf("%s: no %q in\n%s", f.File, want, said)
			}
		}
	}
}

// interrupt GLOB COMMAND... runs a command, sends it an interrupt once a file is there that GLOB
// names, and checks that it exits with 130.
func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	sendInterrupts(ts, os.Interrupt, 1, args)
}

// interruptWhen TEXT COMMAND... is interrupt once the command has said TEXT on standard error.
func interruptWhen(ts *testscript.TestScript, _ bool, args []string) {
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Dir, cmd.Env, cmd.Stdout = ts.MkAbs("."), append(os.Environ(), "TMPDIR="+ts.MkAbs(".")), ts.Stdout()
	says, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	for lines := bufio.NewScanner(says); lines.Scan(); {
		fmt.Fprintln(ts.Stderr(), lines.Text())
		if strings.Contains(lines.Text(), args[0]) {
			ts.Check(cmd.Process.Signal(os.Interrupt))
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitInterrupted {
		ts.Fatalf("exit code %d, not %d", code, cli.ExitInterrupted)
	}
}

// hangUp is interrupt by a terminal that is closed.
func hangUp(ts *testscript.TestScript, _ bool, args []string) {
	sendInterrupts(ts, syscall.SIGHUP, 1, args)
}

// interruptTwice is interrupt by someone who does not wait, which changes nothing.
func interruptTwice(ts *testscript.TestScript, _ bool, args []string) {
	sendInterrupts(ts, os.Interrupt, 2, args)
}

func sendInterrupts(ts *testscript.TestScript, sig os.Signal, times int, args []string) {
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "TMPDIR="+cmd.Dir)
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	ts.Check(cmd.Start())
	for {
		if found, _ := filepath.Glob(ts.MkAbs(args[0])); len(found) > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for range times {
		ts.Check(cmd.Process.Signal(sig))
		time.Sleep(time.Millisecond) // two at once would be one
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitInterrupted {
		ts.Fatalf("exit code %d, not %d", code, cli.ExitInterrupted)
	}
}

// Every command that explain suggests can be run, and so can every completion of --set.
func TestSuggestionsWork(t *testing.T) {
	suggested := regexp.MustCompile(`(?m): wavetank run (.*)$`)
	for _, topic := range topics() {
		for _, m := range suggested.FindAllStringSubmatch(topic.text(), -1) {
			cmd := newRun()
			require.NoError(t, cmd.ParseFlags(strings.Fields(m[1])), m[1])
			sets, err := cmd.Flags().GetStringArray("set")
			require.NoError(t, err)
			judge, err := cmd.Flags().GetStringArray("judge")
			require.NoError(t, err)
			f := planFlags{sets: sets, judge: judge}
			s, err := f.load(cmd.Flags().Arg(0), cmd.Flags().Lookup("seed").Value.(*seedFlag))
			require.NoError(t, err, m[1])
			assert.NoError(t, s.Validate(), m[1])
			assert.True(t, len(sets) == 0 || s.variant != "", "%s changes nothing", m[1])
			for _, set := range sets {
				name, _, _ := strings.Cut(set, "=")
				assert.NotContains(t, strings.Join(s.Idle(), "; "), name+" does nothing", m[1])
			}
		}
	}
	for _, s := range plans.Settings() {
		assert.NoError(t, plans.Defaults().Set(assignment(s)), s.Name)
	}
}

// Make would run as if nothing had been set.
func TestMakeRefusesVariablesThatATargetDoesNotTake(t *testing.T) {
	program, err := exec.LookPath("make")
	if err != nil {
		t.Skip("there is no make")
	}
	ask := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), program, append([]string{"--no-print-directory", "--dry-run", "-C", "../..", "GO=true"}, args...)...).CombinedOutput()
		return string(out), err
	}
	for _, given := range []struct{ args, says string }{
		{"sim SCENARIO=calm PRESTE=hardened", "make sim takes no variable PRESTE=; it takes JUDGE OUT PRESET SCENARIO SEED SET."},
		{"sim SCENARIO=calm BUDGET=5s", "make sim takes no variable BUDGET=; it takes "},
		{"sim scenario=calm", "make sim takes no variable scenario=; it takes "},
		{"clean SCENARIO=calm", "make clean takes no variable SCENARIO=; it takes none."},
		{"SCENARIO=calm", "make help takes no variable SCENARIO=; it takes none."},
	} {
		out, err := ask(strings.Fields(given.args)...)
		assert.Error(t, err, given.args)
		assert.Contains(t, out, given.says)
	}
	for _, given := range []string{"help GOFLAGS=-mod=mod CC=gcc", "build sweep LAG=0s NO_COLOR=1", "alerts SCENARIO=calm SEED=2"} {
		out, err := ask(strings.Fields(given)...)
		assert.NoError(t, err, out)
	}
}

func TestParseSeeds(t *testing.T) {
	for text, want := range map[string]seedRange{"1-100": {1, 100}, "7": {7, 7}, "0-0": {0, 0}, "18446744073709551615": {1<<64 - 1, 1<<64 - 1}} {
		got, err := parseSeeds(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got)
	}
	assert.Equal(t, 1, seedRange{1<<64 - 1, 1<<64 - 1}.count())
	for _, text := range []string{"", "-", "1-", "-5", "a-b", "5-1", "1-2-3", "0-1000000", "1.5", "0-18446744073709551615"} {
		_, err := parseSeeds(text)
		assert.Error(t, err, text)
	}
}

func TestFirstDifference(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, lines ...string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600))
		return path
	}
	a := write("a", "1\n", "2\n", "3\n")
	for _, c := range []struct {
		lines []string
		want  difference
	}{
		{[]string{"1\n", "2\n", "3\n"}, difference{}},
		{[]string{"1\n", "two\n", "3\n"}, difference{2, "2", "two"}},
		{[]string{"1\n", "2\n"}, difference{3, "3", "(the trace has ended)"}},
		{[]string{"1\n", "2\n", "3\n", "4\n"}, difference{4, "(the trace has ended)", "4"}},
		{nil, difference{1, "1", "(the trace has ended)"}},
	} {
		d, err := firstDifference(a, write("b", c.lines...))
		require.NoError(t, err)
		assert.Equal(t, c.want, d)
	}
}

// The folder of a run takes the place of an earlier run's, and of nothing else.
func TestFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	make := func() *folder {
		f, err := newFolder("", "calm-1")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(f.temp, "result.json"), []byte(`{"version":1,"scenario":"calm","digest":"`+f.temp+`"}`), 0o600))
		return f
	}
	first := make()
	assert.NoDirExists(t, "runs/calm-1", "nothing shows before it is complete")
	require.NoError(t, first.keep())
	first.discard()
	second := make()
	require.NoError(t, second.keep())
	content, err := os.ReadFile("runs/latest/result.json")
	require.NoError(t, err)
	assert.Contains(t, string(content), second.temp)
	under := make()
	require.NoError(t, os.Mkdir("runs/.calm-1-9.partial", 0o700), "of a run that was killed")
	make().discard()
	assert.DirExists(t, under.temp, "its run goes on")
	under.discard()
	entries, err := os.ReadDir("runs")
	require.NoError(t, err)
	assert.Len(t, entries, 2, "calm-1 and latest: nothing temporary is left")

	_, err = newFolder("runs/latest", "")
	assert.EqualError(t, err, "runs/latest is a link to calm-1, which a run would replace; name a folder with --out")
	third, err := newFolder("runs/calm-1", "")
	require.NoError(t, err)
	_, err = newFolder("runs/calm-1", "")
	assert.EqualError(t, err, "another process writes its run into runs/calm-1; wait for it, or choose another folder with --out")
	other, err := newFolder("runs/calm", "")
	require.NoError(t, err, "the folder of another name")
	other.discard()
	third.discard()

	require.NoError(t, os.WriteFile("runs/calm-1/notes.txt", nil, 0o600))
	_, err = newFolder("", "calm-1")
	assert.EqualError(t, err, "runs/calm-1 holds notes.txt, which is not part of a run; choose another folder with --out")
	_, err = newFolder("runs/calm-1/notes.txt", "")
	assert.EqualError(t, err, "runs/calm-1/notes.txt is not a folder; choose another with --out")
	_, err = newFolder("runs/calm-1/notes.txt/deeper", "")
	assert.ErrorContains(t, err, "runs/calm-1/notes.txt/deeper cannot be written: not a directory")
}

// A campaign that still runs was not cut short.
func TestReportOfACampaignThatRuns(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, campaign.SpecFile), []byte(`{"version":1,"seed":1}`), 0o600))
	says := func() string {
		return rewrite([]string{dir}, "", cli.NewPrinter(io.Discard), nil).Error()
	}
	assert.Contains(t, says(), " was cut short, and has no page yet; ")
	lock := flock.New(filepath.Join(dir, campaign.LockFile))
	defer lock.Close()
	for range 2 { // to ask takes nothing away
		locked, err := lock.TryLock()
		require.NoError(t, err)
		require.True(t, locked)
		assert.Equal(t, "the campaign in "+dir+" is still running, and has no page yet; wait for it to end, or end it", says())
		require.NoError(t, lock.Unlock())
		assert.Contains(t, says(), " was cut short, and has no page yet; ")
	}
}

// A disk that is full lets the run go on to its verdict.
func TestTraceThatCannotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	w := newFile(full)
	for range 1 << 20 {
		_, err := w.WriteString("event\n")
		require.NoError(t, err)
	}
	assert.ErrorIs(t, w.close(), syscall.ENOSPC)
}

// Who cannot go on is not told that he does.
func TestACampaignThatAnotherProcessRuns(t *testing.T) {
	dir := t.TempDir()
	lock := flock.New(filepath.Join(dir, campaign.LockFile))
	_, err := lock.TryLock()
	require.NoError(t, err)
	defer lock.Close()
	var said strings.Builder
	assert.EqualError(t, new(campaignFlags).goOn(dir, &said), campaign.Busy(dir).Error())
	assert.Empty(t, said.String())
}

// A campaign whose page cannot be written has its result, and says how its page is made.
func TestAPageThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, reports.PageFile)
	require.NoError(t, os.MkdirAll(filepath.Join(page, "in the way"), 0o755))
	err := finishFuzz(t.Context(), dir, &campaign.Result{})
	require.ErrorContains(t, err, page+" cannot be written: ")
	require.ErrorContains(t, err, "; the result is kept: make room, and make the page with `wavetank report "+dir+"`")
}
