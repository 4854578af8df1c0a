package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

type compareFlags struct {
	campaignFlags
	seeds int
	queue queueFlags
}

func newCompare() *cobra.Command {
	var f compareFlags
	var names, about []string
	for _, a := range sweep.Comparisons() {
		names = append(names, a.Name)
		about = append(about, fmt.Sprintf("  %-18s %s", a.Name, a.Question))
	}
	cmd := &cobra.Command{
		Use:   "compare [" + strings.Join(names, "|") + "]...",
		Short: "Put measured numbers into the tables of alternatives",
		Long: `Compare runs each alternative of a design question under the same plans and
seeds, and prints the documentation's table with measured columns:

` + strings.Join(about, "\n") + `

It leaves a page, the tables as Markdown, and the data as JSON. What was cut short
goes on when the same command is given again.`,
		Example:   "  wavetank compare\n  wavetank compare dispatch-order --seeds 100",
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			for i, arg := range args {
				if _, err := sweep.Compare(arg); err != nil {
					return err
				}
				if slices.Contains(args[:i], arg) {
					return cli.Usage(cmd, "%s is named twice; name each comparison once", arg)
				}
			}
			if len(args) == 0 {
				args = names
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			if err := f.queue.use(cmd, &f.campaignFlags); err != nil {
				return err
			}
			return f.compare(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.add(cmd, "runs/compare, and -N behind it with --seeds N")
	noShards(cmd, "its tables hang on all of its runs, and merge does not make them; share it by a queue, with --queue")
	f.queue.addAll(cmd)
	cmd.Flags().IntVar(&f.seeds, "seeds", 0, "under how many seeds every plan is run, `N` (default the comparison's)")
	return cmd
}

func (f *compareFlags) compare(ctx context.Context, names []string, stdout, stderr io.Writer) error {
	dir := f.out
	if dir == "" {
		dir = filepath.Join(runsDir, "compare")
		if f.seeds != 0 {
			dir += fmt.Sprintf("-%d", f.seeds)
		}
	}
	if err := comparable(dir); err != nil {
		return err
	}
	var list []*sweep.Comparison
	for i, name := range names {
		c, err := f.one(ctx, name, dir, stderr)
		if errors.Is(err, cli.ErrInterrupted) {
			for _, done := range names[:i+1] { // a campaign that is over would begin anew
				_ = os.Remove(in(dir, done+"/"+campaign.ResultFile))
			}
			return cli.Fail(cli.ExitInterrupted, "interrupted; what was finished is kept. Go on with the same command")
		}
		if err != nil {
			return err
		}
		list = append(list, c)
	}
	if err := reports.WriteComparisons(dir, list); err != nil {
		return cli.Fail(cli.ExitUsage, "%s cannot be written: %v; choose another folder with --out", dir, strictyaml.FileReason(err))
	}
	if err := removeStale(dir, list); err != nil {
		return err
	}
	if f.json {
		return cli.PrintJSON(stdout, list)
	}
	if err := printComparisons(stdout, list); err != nil {
		return err
	}
	if !f.quiet {
		cli.NewPrinter(stdout).Line("\nReport: %s", in(dir, reports.PageFile))
	}
	return nil
}

// printComparisons prints the tables: in Markdown for a file or a pipe, and as wide as it is for a terminal.
func printComparisons(w io.Writer, list []*sweep.Comparison) error {
	if cli.Columns(w) == 0 {
		return reports.ComparisonMarkdown(w, list)
	}
	p := cli.NewPrinter(w)
	for i, c := range reports.ComparisonTexts(list, "*") {
		if i > 0 {
			p.Line("")
		}
		p.Line("%s", p.Paint(cli.Bold, c.Title))
		for _, text := range []string{c.Question, c.Warning, strings.Join(c.Verdict, " ")} {
			if text != "" {
				if err := cli.Prose(w, text); err != nil {
					return err
				}
			}
		}
		p.Line("")
		for r, row := range c.Rows {
			for i, best := range c.Best[r] {
				if best {
					row[i] += " *"
				}
			}
		}
		if err := (&cli.Table{Heads: c.Heads, Rows: c.Rows}).Write(w); err != nil {
			return err
		}
		p.Line("")
		for _, text := range append([]string{c.About}, c.Notes...) {
			if err := cli.Prose(w, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// comparable says whether dir can become a folder of comparisons: there is nothing there, or one of an
// earlier comparison.
func comparable(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return cli.Fail(cli.ExitUsage, "%s cannot be written: %v; choose another folder with --out", dir, strictyaml.FileReason(err))
	}
	known := []string{reports.PageFile, reports.ComparisonFile, reports.ComparisonMarkFile, sweep.ExamplesDir}
	for _, a := range sweep.Comparisons() {
		known = append(known, a.Name)
	}
	ours := false // a comparison leaves its campaigns beside its files
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) {
			return cli.Fail(cli.ExitUsage, "%s holds %s, which is not part of a comparison; choose another folder with --out", dir, e.Name())
		}
		state, err := campaign.Look(in(dir, e.Name()))
		ours = ours || err == nil && (state == campaign.Unfinished || state == campaign.Finished)
	}
	for _, e := range entries {
		if !ours && !e.IsDir() {
			return cli.Fail(cli.ExitUsage, "%s holds %s, and no campaign of a comparison; move it away, or choose another folder with --out", dir, e.Name())
		}
	}
	return nil
}

// one runs one comparison, in a folder of its own below dir.
func (f *compareFlags) one(ctx context.Context, name, dir string, stderr io.Writer) (*sweep.Comparison, error) {
	a, err := sweep.Compare(name)
	if err != nil {
		return nil, err
	}
	if f.seeds != 0 {
		a.Seeds = f.seeds
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	folder := filepath.Join(dir, name)
	if err := f.prepare(folder, in(dir, reports.PageFile), a.Spec(), stderr); err != nil {
		return nil, err
	}
	var records []*campaign.Record
	runs, err := f.run(ctx, folder, func(r *campaign.Record) { records = append(records, r) }, stderr)
	if err != nil {
		return nil, err
	}
	if err := outOfBounds(cli.NewPrinter(stderr), folder, runs); err != nil {
		return nil, err
	}
	c, err := a.Analyse(records)
	if err != nil {
		return nil, err
	}
	return c, f.examples(ctx, dir, a, c, stderr)
}

// examples makes a page for each run that a cell of the table opens. After a Ctrl-C its error is cli.ErrInterrupted.
func (f *compareFlags) examples(ctx context.Context, dir string, a *sweep.Alternatives, c *sweep.Comparison, stderr io.Writer) error {
	var list []runPage
	for i, row := range c.Rows {
		for _, m := range c.Metrics {
			e, ok := row.Worst[m.Name]
			if !ok || slices.ContainsFunc(list, func(p runPage) bool { return p.File == e.File }) {
				continue
			}
			text, err := a.PlanOf(i, e)
			if err != nil {
				return err
			}
			list = append(list, runPage{e.File, text})
		}
	}
	return runPages(ctx, dir, a.Name, list, f.quiet, stderr)
}

// exampleFiles are the runs that the table's cells open.
func exampleFiles(c *sweep.Comparison) map[string]bool {
	files := map[string]bool{}
	for _, row := range c.Rows {
		for _, e := range row.Worst {
			files[e.File] = true
		}
	}
	return files
}

// removeStale removes the runs of an earlier comparison that no cell of these opens.
func removeStale(dir string, list []*sweep.Comparison) error {
	kept := map[string]bool{}
	for _, c := range list {
		maps.Copy(kept, exampleFiles(c))
	}
	entries, err := os.ReadDir(in(dir, sweep.ExamplesDir))
	for _, e := range entries {
		file, page := strings.CutSuffix(sweep.ExamplesDir+"/"+e.Name(), ".html")
		file, plan := strings.CutSuffix(file, ".yaml")
		ours := slices.ContainsFunc(sweep.Comparisons(), func(a *sweep.Alternatives) bool { return strings.HasPrefix(e.Name(), a.Name+"-") })
		if ours && (page || plan) && !kept[file] {
			err = errors.Join(err, os.Remove(in(dir, sweep.ExamplesDir+"/"+e.Name())))
		}
	}
	return err
}
