package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/shell"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

// campaignFlags are those of every command that runs many plans.
type campaignFlags struct {
	workers int
	out     string
	quiet   bool
	json    bool

	elsewhere campaign.Elsewhere // does the runs; nil does them here
}

// workersMax bounds the worker processes of one campaign.
const workersMax = 256

func (f *campaignFlags) add(cmd *cobra.Command, out string) {
	cmd.Flags().IntVar(&f.workers, "workers", 0, "worker processes, `N` (default one for each processor)")
	cmd.Flags().StringVar(&f.out, "out", "", "the campaign's folder, `DIR` (default "+out+")")
	cmd.Flags().BoolVar(&f.json, "json", false, "print only the result, as JSON, on standard output")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "show no progress, and print only the result")
}

// say prints what is said besides the result.
func (f *campaignFlags) say(stdout io.Writer) *cli.Printer {
	if f.json || f.quiet {
		stdout = io.Discard
	}
	return cli.NewPrinter(stdout)
}

// check refuses what is wrong before a folder is made: flags, and a machine without room for temporary files.
func (f *campaignFlags) check(cmd *cobra.Command) error {
	if given := cmd.Flags().Changed("workers"); given && f.workers < 1 || f.workers > workersMax {
		return cli.Fail(cli.ExitUsage, "--workers is %d, out of range; give 1 to %d", f.workers, workersMax)
	}
	if seeds := cmd.Flags().Lookup("seeds"); seeds != nil && seeds.Changed {
		if n, err := strconv.Atoi(seeds.Value.String()); err == nil && n < 1 {
			return cli.Fail(cli.ExitUsage, "--seeds is %d, out of range; give 1 or more", n)
		}
	}
	_, remove, err := newTemp(tempdir.Memory())
	if err == nil {
		remove()
	}
	return err
}

// folderOf names the folder of a campaign that the user gave no name: what tells it from the plain one
// of that name is in the hash: its spec, and what more decides what is run.
func folderOf(name string, plain bool, spec campaign.Spec, more ...any) string {
	if !plain {
		data, _ := json.Marshal(spec) // as Create writes it
		for _, m := range more {
			also, _ := json.Marshal(m)
			data = append(data, also...)
		}
		h := fnv.New32a()
		_, _ = h.Write(data)
		name += fmt.Sprintf("-%08x", h.Sum32())
	}
	return filepath.Join(runsDir, name)
}

// prepare makes dir the folder of a campaign of spec, or goes on with the one that is there if it is the same, unless that is
// over and is to begin anew. A command begins anew that finds the last file that it makes, and takes that away first; so what
// was killed keeps all that is over. A finished campaign is replaced only by one of the same spec.
func (f *campaignFlags) prepare(dir string, anew bool, spec campaign.Spec, stderr io.Writer) error {
	state, err := fits(dir, spec)
	if err != nil {
		return err
	}
	if state == campaign.Unfinished || state == campaign.Finished && !anew {
		return f.goOn(dir, stderr)
	}
	if err := campaign.Create(dir, spec); err != nil {
		return cli.Fail(cli.ExitUsage, "%v", err)
	}
	return nil
}

// fits says what dir holds, and fails if a campaign of spec cannot be there.
func fits(dir string, spec campaign.Spec) (campaign.State, error) {
	if spec.RedisServer() {
		if err := hasRedis(); err != nil {
			return "", err
		}
	}
	state, err := campaign.Look(dir)
	if err != nil {
		return "", cli.Fail(cli.ExitUsage, "%v", err)
	}
	switch state {
	case campaign.Unfinished:
		there, err := campaign.Load(dir)
		if err != nil {
			return "", cli.Fail(cli.ExitUsage, "%v", err)
		}
		if !there.Equal(spec) {
			return "", cli.Fail(cli.ExitUsage, "%s holds another campaign that was cut short; go on with it (%s), remove it, or choose another folder with --out", dir, resumeCommand(dir, there))
		}
	case campaign.Finished:
		if there, err := campaign.Load(dir); err != nil || !there.Equal(spec) {
			return "", cli.Fail(cli.ExitUsage, "%s holds another campaign, which has ended; remove it, or choose another folder with --out", dir)
		}
	case campaign.Foreign:
		return "", cli.Fail(cli.ExitUsage, "%s holds files that this command does not write; choose another folder with --out", dir)
	}
	return state, nil
}

// goOn says with what the campaign in dir goes on, unless another process has it.
func (f *campaignFlags) goOn(dir string, stderr io.Writer) error {
	if err := idle(dir); err != nil {
		return err
	}
	if f.quiet {
		return nil
	}
	done, err := campaign.Done(dir)
	switch {
	case err != nil:
		return cli.Fail(cli.ExitUsage, "%w", err)
	case done == 0:
		fmt.Fprintf(stderr, "%s holds no finished run; the campaign begins with its first run\n", dir)
		return nil
	}
	fmt.Fprintf(stderr, "going on after the finished runs in %s\n", dir)
	return nil
}

// idle fails if another process has the campaign in dir.
func idle(dir string) error {
	if campaign.Running(dir) {
		return cli.Fail(cli.ExitUsage, "%v", campaign.Busy(dir))
	}
	return nil
}

// resumeCommand is how the campaign in dir is gone on with.
func resumeCommand(dir string, spec campaign.Spec) string {
	if spec.Drawn != nil {
		return cli.Pasteable("wavetank fuzz --resume " + shell.Word(dir))
	}
	return "the same command again"
}

// run runs the campaign in dir, with its progress on stderr. It returns [cli.ErrInterrupted] after a
// Ctrl-C, with what there is so far; so it does with an error that ended it.
func (f *campaignFlags) run(ctx context.Context, dir string, record func(*campaign.Record), stderr io.Writer) (*campaign.Result, error) {
	return f.by(ctx, record, stderr, func(ctx context.Context, opt campaign.Options) (*campaign.Result, error) {
		return campaign.Run(ctx, dir, opt)
	})
}

// by is [campaignFlags.run] with another way to run the campaign.
func (f *campaignFlags) by(ctx context.Context, record func(*campaign.Record), stderr io.Writer, run func(context.Context, campaign.Options) (*campaign.Result, error)) (*campaign.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, done, err := inOwnTemp(ctx, tempdir.Memory())
	if err != nil {
		return nil, err
	}
	defer done()
	show := cli.NewProgress(stderr, f.quiet)
	res, err := run(ctx, campaign.Options{
		Workers: f.workers, Command: []string{self, campaignWorker}, Progress: func(now campaign.Progress) { show.Show("%s", progressLine(now)) }, Record: record, Elsewhere: f.elsewhere,
	})
	show.Done()
	differ := new(campaign.NotDeterministicError)
	switch {
	case errors.As(err, &differ):
		return nil, &cli.Error{Code: cli.ExitNotDeterministic, Text: differ.Error() + "; its plan:", Detail: differ.Plan}
	case err != nil:
		return res, cli.Fail(cli.ExitUsage, "%w", err)
	case errors.Is(context.Cause(ctx), cli.ErrInterrupted):
		return res, cli.ErrInterrupted
	}
	return res, nil
}

func progressLine(now campaign.Progress) string {
	seconds := max(now.Elapsed.Seconds(), 0.001)
	of := ""
	if now.RunsAll > 0 {
		of = " of " + cli.Thousands(now.RunsAll)
	}
	parts := []string{
		fmt.Sprintf("%s%s runs", cli.Thousands(now.Runs), of),
		fmt.Sprintf("%.0f a second", float64(now.Runs)/seconds),
		fmt.Sprintf("%s steps a second", cli.Thousands(int(float64(now.Steps)/seconds))),
		words.Duration(now.Virtual) + " of virtual time",
	}
	if now.Findings > 0 {
		parts = append(parts, cli.Plural(now.Findings, "finding"))
	}
	if now.Examining != "" {
		parts = append(parts, "shrinking "+now.Examining)
	}
	if left := timeLeft(now); left > 0 {
		parts = append(parts, left.Round(time.Second).String()+" left")
	}
	return strings.Join(parts, ", ")
}

// timeLeft is an estimate; 0 is unknown.
func timeLeft(now campaign.Progress) time.Duration {
	switch {
	case now.Budget > 0:
		return max(0, now.Budget-now.Elapsed)
	case now.RunsAll > 0 && now.Runs > 0:
		return time.Duration(float64(now.Elapsed) / float64(now.Runs) * float64(now.RunsAll-now.Runs))
	}
	return 0
}

// exitOf is how a command ends of whose campaign res came: broken says that a promise was besides, and unsure that not all that
// was asked for was tried, or could be judged.
func exitOf(res *campaign.Result, broken, unsure bool) error {
	switch {
	case slices.ContainsFunc(res.Findings, func(f campaign.Finding) bool { return f.Flaky }):
		return &cli.Error{Code: cli.ExitNotDeterministic}
	case broken || len(res.Findings) > 0 || res.Unexamined > 0:
		return &cli.Error{Code: cli.ExitViolated}
	case unsure:
		return &cli.Error{Code: cli.ExitInconclusive}
	}
	return nil
}

// there says whether something has that name.
func there(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// in is where a file of the campaign in dir is.
func in(dir, name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }

// removeAll takes away what an earlier search has left.
func removeAll(paths ...string) error {
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			return cli.Fail(cli.ExitUsage, "%s cannot be removed: %v; remove it, or choose another folder with --out", path, strictyaml.FileReason(err))
		}
	}
	return nil
}
