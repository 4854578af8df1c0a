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

It leaves a page, the tables as Markdown, and the data as JSON. The same command
continues a comparison that was cut short.

Exit codes: 0 all was compared, 1 the code under test went out of bounds in some runs,
which are left out, 2 usage or input, 130 interrupted.`,
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
			if err := f.queue.check(cmd); err != nil {
				return err
			}
			return f.compare(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.add(cmd, "runs/compare, and -N behind it with --seeds N")
	noShards(cmd, "its tables depend on all of its runs, and merge does not make them; share the runs by a queue, with --queue")
	f.queue.addAll(cmd)
	cmd.Flags().IntVar(&f.seeds, "seeds", 0, "run every plan under `N` seeds (default the comparison's)")
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
	all, err := f.prepared(ctx, names, dir, stderr)
	if err != nil {
		return err
	}
	var list []*sweep.Comparison
	var outside error // what went out of bounds
	for _, a := range all {
		c, out, err := f.one(ctx, a, dir, stderr)
		if errors.Is(err, cli.ErrInterrupted) {
			return cli.Fail(cli.ExitInterrupted, "interrupted; what was finished is kept. Go on with the same command")
		}
		if err != nil {
			return err
		}
		list, outside = append(list, c), errors.Join(outside, out)
	}
	if err := reports.WriteComparisons(dir, list); err != nil {
		return unwritable(dir, err)
	}
	if err := removeStale(dir, list); err != nil {
		return err
	}
	if f.json {
		return errors.Join(cli.PrintJSON(stdout, list), outside)
	}
	if err := printComparisons(stdout, list); err != nil {
		return err
	}
	f.say(stdout).Line("\nReport: %s", in(dir, reports.PageFile))
	return outside
}

// prepared are the comparisons of those names, each with its campaign below dir. If the data is there, which is made last, all
// of them begin anew.
func (f *compareFlags) prepared(ctx context.Context, names []string, dir string, stderr io.Writer) (all []*sweep.Alternatives, err error) {
	for _, name := range names {
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
		if _, err := fits(filepath.Join(dir, name), a.Spec()); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	if err := f.queue.use(ctx, &f.campaignFlags, stderr); err != nil {
		return nil, err
	}
	last := in(dir, reports.ComparisonFile)
	anew := there(last)
	if err := removeAll(last); err != nil {
		return nil, err
	}
	for _, a := range all {
		if err := f.prepare(filepath.Join(dir, a.Name), anew, a.Spec(), stderr); err != nil {
			return nil, err
		}
	}
	return all, nil
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

// comparable says whether dir can become a folder of comparisons, which leave their campaigns beside their files.
func comparable(dir string) error {
	known := []string{reports.PageFile, reports.ComparisonFile, reports.ComparisonMarkFile, sweep.ExamplesDir}
	ours := false
	for _, a := range sweep.Comparisons() {
		known = append(known, a.Name)
		state, err := campaign.Look(in(dir, a.Name))
		ours = ours || err == nil && state != campaign.Foreign && there(in(dir, a.Name))
	}
	return owned(dir, "a comparison", ours, named(known...))
}

// one runs one comparison, in a folder of its own below dir. What went out of bounds is left out of it.
func (f *compareFlags) one(ctx context.Context, a *sweep.Alternatives, dir string, stderr io.Writer) (c *sweep.Comparison, outside, err error) {
	folder := filepath.Join(dir, a.Name)
	var records []*campaign.Record
	runs, err := f.run(ctx, folder, func(r *campaign.Record) { records = append(records, r) }, stderr)
	if err != nil {
		return nil, nil, err
	}
	if c, err = a.Analyse(records); err != nil {
		return nil, nil, err
	}
	return c, outOfBounds(cli.NewPrinter(stderr), folder, runs), f.examples(ctx, dir, a, c, stderr)
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
	if errors.Is(err, fs.ErrNotExist) { // no cell opens a run
		err = nil
	}
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
