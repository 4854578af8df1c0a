// Package diffcmd is the command `wavetank diff`: in what two stored runs differ.
package diffcmd

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/diff"
)

type flags struct {
	out  string
	json bool
}

// New is the command.
func New() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Say in what two stored runs differ, and where they part",
		Long: `Diff compares the folders of two runs. It says in what their plans, builds and
verdicts differ, which violations only one of them has, and the first event at
which their traces part. From there it tells both stories, in the order of
virtual time. --out writes the same as a page: both runs over one axis of time,
with links to both reports.

Two runs are equal if they have the same events, verdict and violations. Their
plans and builds may differ.

Exit codes: 0 equal, 1 not equal, 2 usage or input.`,
		Example: `  wavetank run publish-ack-lost --out runs/a
  wavetank run publish-ack-lost --preset hardened --out runs/b
  wavetank diff runs/a runs/b
  wavetank diff runs/a runs/b --out diff.html
  wavetank diff runs/a runs/b --json | jq .parting`,
		Args: twoFolders,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.diff(args[0], args[1], cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&f.out, "out", "", "write the page to `FILE`, such as diff.html, whose folder is made if it is missing (default no page)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the difference as JSON, and nothing else, on standard output")
	return cmd
}

func twoFolders(cmd *cobra.Command, args []string) error {
	switch {
	case slices.Contains(args, ""):
		return cli.Usage(cmd, "diff: a folder has no name")
	case len(args) < 2:
		return cli.Usage(cmd, "diff: the folders of two runs are needed")
	case len(args) > 2:
		return cli.Usage(cmd, "diff takes two folders, not %d: %s", len(args), strings.Join(args, " "))
	}
	return nil
}

func (f *flags) diff(dirA, dirB string, stdout io.Writer) error {
	if err := f.fitOut(dirA, dirB); err != nil {
		return err
	}
	a, closeA, err := open(dirA)
	if err != nil {
		return err
	}
	defer closeA()
	b, closeB, err := open(dirB)
	if err != nil {
		return err
	}
	defer closeB()
	d, err := diff.Of(a, b)
	if err != nil {
		return cli.Fail(cli.ExitUsage, "%s and %s: %v; make both runs again", dirA, dirB, err)
	}
	if f.out != "" {
		write := func(w io.Writer) error { return reports.DifferencePage(w, d, filepath.Dir(f.out)) }
		if err := cli.WriteFile(f.out, write); err != nil {
			return err
		}
	}
	if f.json {
		err = cli.PrintJSON(stdout, d)
	} else {
		show(cli.NewPrinter(stdout), d, f.out)
	}
	if err == nil && !d.Equal {
		err = &cli.Error{Code: cli.ExitViolated} // what differs is said already
	}
	return err
}

// fitOut refuses a file that is one of the runs' own.
func (f *flags) fitOut(dirs ...string) error {
	for _, dir := range dirs {
		if f.out != "" && slices.Contains(reports.RunFiles, filepath.Base(f.out)) && cli.SameFolder(filepath.Dir(f.out), dir) {
			return cli.Fail(cli.ExitUsage, "--out %s would replace a file of the run; give it another name", f.out)
		}
	}
	return cli.Replaceable(f.out, reports.PageBegins)
}

// open reads a run's folder, and opens its trace.
func open(dir string) (r diff.Run, closeTrace func(), err error) {
	stored, err := reports.ReadRun(dir)
	if of := new(reports.FileError); errors.As(err, &of) {
		return r, nil, cli.Fail(cli.ExitUsage, "%v", of)
	} else if err != nil {
		return r, nil, err
	}
	trace, err := os.Open(filepath.Join(dir, reports.TraceFile))
	if err != nil {
		return r, nil, err
	}
	return diff.Run{Dir: dir, Plan: stored.Plan, Result: stored.Run, Trace: trace}, func() { _ = trace.Close() }, nil
}
