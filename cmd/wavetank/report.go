package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

func newReport() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "report DIR...",
		Short: "Make the pages of stored runs again, and an index over them",
		Long: `Report makes report.html again in the folder of each given run, campaign, sweep,
comparison or certificate, from the data in the folder. A folder of such folders, such
as runs, stands for all of them. For more than one, it makes index.html, which lists
first what was found, then what is inconclusive, then what held. The index is in the
given folder; if several folders are given, it is in ` + selectedDir + `, and runs keeps its own index.

Exit codes: 0 made, 2 usage, or a folder that cannot be read or written.`,
		Example: `  wavetank report runs
  wavetank report runs/publish-failure-1
  wavetank report runs/fuzz-7 runs/compare --out /tmp/pages`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || slices.Contains(args, "") {
				return cli.Usage(cmd, "report: the folder is missing")
			}
			return rewrite(args, out, cli.NewPrinter(cmd.OutOrStdout()), cli.NewProgress(cmd.ErrOrStderr(), false))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the folder of index.html, `DIR` (default the given folder, or "+selectedDir+" if there are several)")
	return cmd
}

// selectedDir is where the index of several folders is made, so that it does not take the place of that of all runs.
const selectedDir = runsDir + "/selected"

// distinct has each folder once, whatever names it was given by: the first.
func distinct(dirs []string) (list []string) {
	there := map[string]bool{}
	for _, dir := range dirs {
		if name := reports.RealPath(dir); !there[name] {
			there[name] = true
			list = append(list, dir)
		}
	}
	return list
}

// rewrite makes pages again. A folder that cannot be read does not keep the others from theirs: its row
// in the index says so, and the command fails.
func rewrite(args []string, out string, say *cli.Printer, show *cli.Progress) error {
	var dirs []string
	for _, arg := range args {
		found, err := reports.Folders(arg)
		if err != nil {
			return cli.Fail(cli.ExitUsage, "%v", err)
		}
		dirs = append(dirs, found...)
	}
	dirs = distinct(dirs)
	single := len(dirs) == 1 && dirs[0] == args[0] && out == ""
	switch {
	case out == "" && len(args) == 1:
		out = args[0]
	case out == "":
		out = selectedDir
	}
	if !single {
		index := filepath.Join(out, reports.IndexFile)
		if err := cmp.Or(cli.Replaceable(index, reports.PageBegins), cli.Writable(index)); err != nil {
			return err
		}
	}
	var entries []reports.Entry
	var bad []error
	made := 0
	for i, dir := range dirs {
		show.Show("%d of %d: %s", i+1, len(dirs), dir)
		entry, err := again(dir, out)
		switch {
		case err != nil:
			bad = append(bad, err)
		case entry.Outcome != unfinishedOutcome && entry.Outcome != runningOutcome:
			made++
		}
		entries = append(entries, entry)
	}
	show.Done()
	if made > 0 || !single {
		say.Line("%s made again", cli.Plural(made, "page"))
	}
	if single {
		switch e := entries[0]; {
		case len(bad) > 0:
			return cli.Fail(cli.ExitUsage, "%v", bad[0])
		case e.Outcome == runningOutcome:
			return cli.Fail(cli.ExitUsage, "the campaign in %s is still running, and has no page yet; wait for it to end, or end it", dirs[0])
		case made == 0:
			return cutShort(dirs[0], e)
		}
		say.Line("Report: %s", filepath.Join(dirs[0], reports.PageFile))
		return nil
	}
	if err := writeIndex(out, entries); err != nil {
		return err
	}
	say.Line("Index: %s", filepath.Join(out, reports.IndexFile))
	if len(bad) > 0 {
		detail := ""
		for _, err := range bad[1:] {
			detail += fmt.Sprintf("wavetank: %v\n", err)
		}
		return &cli.Error{Code: cli.ExitUsage, Text: bad[0].Error(), Detail: detail}
	}
	return nil
}

// cutShort says what there is of a campaign that was cut short, and how it goes on.
func cutShort(dir string, e reports.Entry) error {
	page, goOn := "has no page yet", "the command that began it goes on with it"
	if e.Href != "" {
		page = "its page shows the runs that were finished: " + in(dir, reports.PageFile)
	}
	if e.Replay != "" {
		goOn = "continue it: " + e.Replay
	}
	return cli.Fail(cli.ExitUsage, "the campaign in %s was cut short, and %s; %s", dir, page, goOn)
}

// again makes one folder's page again, and its row in the index of the folder index.
func again(dir, index string) (reports.Entry, error) {
	if state, err := campaign.Look(dir); err == nil && state == campaign.Unfinished {
		return unfinished(dir, index), nil
	}
	stored, err := reports.Read(dir)
	if err == nil {
		err = stored.Rewrite(cli.ProgramName())
	}
	if err != nil {
		return reports.Entry{Name: filepath.Base(dir), Href: dir, Tone: "bad", Problem: err.Error()}, err
	}
	return stored.Entry(index, cli.ProgramName()), nil
}

func writeIndex(dir string, entries []reports.Entry) error {
	if err := reports.WriteIndex(dir, entries); err != nil {
		return unwritable(filepath.Join(dir, reports.IndexFile), err)
	}
	return nil
}

const (
	unfinishedOutcome = "unfinished"
	runningOutcome    = "running"
)

// unfinished is the row of a campaign that is not over. It has a page if Ctrl-C cut it short, and can be gone on with.
func unfinished(dir, index string) reports.Entry {
	if campaign.Running(dir) {
		return reports.Entry{Kind: "campaign", Name: filepath.Base(dir), Outcome: runningOutcome, Tone: "warn", Reason: "It is still running."}
	}
	e := reports.Entry{Kind: "campaign", Name: filepath.Base(dir), Outcome: unfinishedOutcome, Tone: "warn", Reason: "It was cut short; the command that began it goes on with it."}
	if _, err := os.Stat(in(dir, reports.PageFile)); err == nil {
		e.Href = reports.LinkTo(index, dir)
	}
	if spec, err := campaign.Load(dir); err == nil && spec.Drawn != nil {
		e.Reason, e.Replay = "It was cut short, and can be continued.", resumeCommand(dir, spec)
	}
	return e
}
