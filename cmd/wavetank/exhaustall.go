package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/exhaust"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// allScenarios is what exhaust is given for all of them.
const allScenarios = "all"

// certifiable is a scenario that is to be certified, in a folder of its own.
type certifiable struct {
	name, dir string
	d         *exhaust.Definition
	done      *exhaust.Certificate // of this time, or of an earlier one that is over; nil: there is none
	res       *campaign.Result     // of its runs
}

// exhaustAll certifies scenarios, reduced, those with the fewest tries first.
func (f *exhaustFlags) exhaustAll(cmd *cobra.Command, names []string, stdout, stderr io.Writer) error {
	subjects, err := f.subjects(cmd, names)
	if err != nil {
		return err
	}
	dir := f.out
	if dir == "" {
		dir = filepath.Join(runsDir, "exhaust-"+folderName(names, subjects)+subjects[0].variant)
		for _, kind := range f.kinds {
			dir += "-" + strings.ReplaceAll(kind, " ", "-")
		}
	}
	of := []string{reports.IndexFile, exhaust.TableFile}
	for _, s := range subjects {
		of = append(of, s.Name)
	}
	ours := there(in(dir, exhaust.TableFile)) || slices.ContainsFunc(subjects, func(s *subject) bool { return ofCertificate(filepath.Join(dir, s.Name)) })
	if err := owned(dir, "these certificates", ours, named(of...)); err != nil {
		return err
	}
	ctx, stop := cli.Interruptible(cmd.Context(), func() {}) // of all scenarios, and of what is between two
	defer stop()
	tasks, apart, alone, err := f.tasks(ctx, subjects, dir, stderr)
	if err != nil {
		return err
	}
	say := cli.NewPrinter(stdout)
	if !f.quiet {
		runs := 0
		for i := range tasks {
			runs += 1 + len(tasks[i].d.Tries)
		}
		say.Line("%s: %s, %s\n  %s\n", say.Paint(cli.Bold, "exhaust"), cli.Plural(len(tasks), "scenario"), cli.Plural(runs, "run"), dir)
	}
	for _, line := range apart {
		say.Line("%s  %s", say.Paint(cli.Yellow, "LEFT OUT"), line)
	}
	for _, line := range alone {
		say.Line("%s  %s", say.Paint(cli.Red, "BROKEN  "), line)
	}
	bounded, cancel := f.bounded(ctx)
	defer cancel()
	interrupted := f.each(bounded, tasks, say, stderr)
	if interrupted != nil && !errors.Is(interrupted, cli.ErrInterrupted) {
		return interrupted
	}
	err = f.sum(dir, tasks, len(apart), len(alone), say)
	if unwritten := err != nil && err.Error() != ""; interrupted != nil && !unwritten {
		return cli.Fail(cli.ExitInterrupted, "interrupted; what was finished is kept. Go on with the same command")
	}
	return err
}

// check refuses what is out of range, whatever is struck.
func (f *exhaustFlags) check(cmd *cobra.Command) error {
	if f.budget < 0 || cmd.Flags().Changed("budget") && f.budget == 0 {
		return cli.Fail(cli.ExitUsage, "--budget is %s, out of range; give a time such as 30m", f.budget)
	}
	return f.campaignFlags.check(cmd)
}

// folderName is all, or the names of the plans, as long as they make a file's name that people read.
func folderName(args []string, subjects []*subject) string {
	if len(args) == 1 {
		return args[0]
	}
	var names []string
	for _, s := range subjects {
		names = append(names, s.Name)
	}
	if joined := strings.Join(names, "-"); len(joined) <= 80 {
		return joined
	}
	return fmt.Sprintf("%s-and-%d-more", names[0], len(names)-1)
}

// subjects are the plans of those names, or of all scenarios.
func (f *exhaustFlags) subjects(cmd *cobra.Command, names []string) (list []*subject, err error) {
	if err := f.check(cmd); err != nil {
		return nil, err
	}
	for _, flag := range []string{"faults", "unpruned", "lengths", "phase", "resume", "json", "shard", "queue", "queue-creds", "queue-ca", "chunk"} {
		if cmd.Flags().Changed(flag) {
			return nil, cli.Usage(cmd, "exhaust strikes several scenarios only by single faults of one length; with several it takes no --%s", flag)
		}
	}
	if err := (&exhaust.Options{Kinds: f.kinds}).Check(); err != nil {
		return nil, cli.Fail(cli.ExitUsage, "--fault %v", err)
	}
	switch {
	case len(names) == 1:
		names = plans.Names()
	case slices.Contains(names, allScenarios):
		return nil, cli.Usage(cmd, "all stands for every scenario; give it alone")
	}
	seen := map[string]bool{}
	for _, name := range names {
		s, err := f.load(name, nil)
		switch {
		case err != nil:
			return nil, err
		case seen[s.Name]:
			return nil, cli.Usage(cmd, "%s is given twice", s.Name)
		}
		seen[s.Name] = true
		list = append(list, s)
	}
	return list, nil
}

// tasks defines what is to be tried of each plan. Plans on which there is nothing to try are said apart, and so are those that
// break a promise alone.
func (f *exhaustFlags) tasks(ctx context.Context, subjects []*subject, dir string, stderr io.Writer) (list []certifiable, apart, alone []string, err error) {
	show := cli.NewProgress(stderr, f.quiet)
	defer show.Done()
	for i, s := range subjects {
		show.Show("listing operations: %d of %d scenarios", i+1, len(subjects))
		d, err := exhaust.Define(ctx, s.Plan, exhaust.Options{Reduced: true, Kinds: f.kinds})
		switch {
		case errors.Is(context.Cause(ctx), cli.ErrInterrupted):
			return nil, nil, nil, cli.Fail(cli.ExitInterrupted, "interrupted before the first run")
		case errors.As(err, new(*exhaust.NothingError)):
			apart = append(apart, err.Error())
			continue
		case errors.As(err, new(*exhaust.BrokenError)):
			alone = append(alone, err.Error())
			continue
		case err != nil:
			return nil, nil, nil, cli.Fail(cli.ExitUsage, "%s: %v", s.Name, err)
		}
		t := certifiable{name: s.Name, dir: filepath.Join(dir, s.Name), d: d}
		if there(in(t.dir, exhaust.CertificateFile)) {
			t.done, t.res, err = f.finished(ctx, t.dir, d, stderr)
		}
		if err != nil && !errors.Is(err, campaign.ErrOtherBuild) && !errors.Is(err, cli.ErrInterrupted) {
			return nil, nil, nil, err
		}
		list = append(list, t)
	}
	if errors.Is(context.Cause(ctx), cli.ErrInterrupted) {
		return nil, nil, nil, cli.Fail(cli.ExitInterrupted, "interrupted before the first run")
	}
	slices.SortStableFunc(list, func(a, b certifiable) int { return cmp.Compare(len(a.d.Tries), len(b.d.Tries)) })
	return list, apart, alone, nil
}

// each certifies one scenario after the other, until ctx ends.
func (f *exhaustFlags) each(ctx context.Context, tasks []certifiable, say *cli.Printer, stderr io.Writer) error {
	for i := range tasks {
		t := &tasks[i]
		if t.done == nil && ctx.Err() != nil {
			continue // those behind it may be done
		}
		var failed error
		if t.done == nil {
			c, res, err := f.certify(ctx, t.dir, t.d, stderr)
			if errors.Is(err, cli.ErrInterrupted) {
				return err
			}
			t.done, t.res, failed = c, res, err
		}
		if t.done != nil {
			printFindings(say, in(t.dir, exhaust.CampaignDir), t.res)
		}
		if failed != nil {
			return failed
		}
		printCertified(say, t, t.done)
	}
	return nil
}

// printCertified says in a line what came of one scenario.
func printCertified(say *cli.Printer, t *certifiable, c *exhaust.Certificate) {
	word := say.Paint(cli.Green, "HELD      ")
	switch {
	case broke(c) > 0:
		word = say.Paint(cli.Red, "BROKEN    ")
	case !c.Complete:
		word = say.Paint(cli.Yellow, "UNFINISHED")
	case c.Counts[exhaust.Inconclusive] > 0:
		word = say.Paint(cli.Yellow, "INCONCLUSIVE")
	}
	says := ""
	if n := broke(c); n > 0 {
		says += fmt.Sprintf(", %s broke a promise", cli.Thousands(n))
	}
	for _, o := range []struct {
		is   exhaust.Outcome
		says string
	}{{exhaust.Outside, "outside of a promise"}, {exhaust.Inconclusive, "inconclusive"}, {exhaust.Missed, "without an effect"}} {
		if n := c.Counts[o.is]; n > 0 {
			says += fmt.Sprintf(", %s %s", cli.Thousands(n), o.says)
		}
	}
	say.Line("%s  %-26s %s of %s%s", word, t.name, cli.Thousands(len(c.Tries)), cli.Plural(c.All, "single fault"), says)
}

// sum adds up the certificates, and makes an index and a table of them. So many plans were left out, and so many break a
// promise alone.
func (f *exhaustFlags) sum(dir string, tasks []certifiable, apart, alone int, say *cli.Printer) error {
	tried, broken, outside, inconclusive, whole := 0, 0, 0, 0, 0
	var found campaign.Result      // all that their campaigns found
	unjudged := map[string]int{}   // tries in which an invariant was not judged
	violations := map[string]int{} // outside of a promise, by the status of the cells that release them
	var entries []reports.Entry
	var table []string
	for i := range tasks {
		c := tasks[i].done
		if c == nil {
			continue
		}
		found.Findings = append(found.Findings, tasks[i].res.Findings...)
		tried += len(c.Tries)
		broken += broke(c)
		outside += c.Counts[exhaust.Outside]
		inconclusive += c.Counts[exhaust.Inconclusive]
		if c.Complete {
			whole++
			table = append(table, c.Row())
		}
		for _, u := range c.Unjudged {
			unjudged[u.Invariant] += u.Tries
		}
		for _, r := range c.Releases {
			violations[r.Cell.Status] += r.Tries
		}
		stored, err := reports.Read(tasks[i].dir)
		if err == nil && !there(in(tasks[i].dir, reports.PageFile)) {
			err = stored.Rewrite(cli.ProgramName())
		}
		if err != nil {
			return cli.Fail(cli.ExitUsage, "%v", err)
		}
		entries = append(entries, stored.Entry(dir, cli.ProgramName()))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { // nothing was made where every plan was left out
		return cli.Fail(cli.ExitUsage, "%s cannot be made: %v", dir, strictyaml.FileReason(err))
	}
	if err := writeIndex(dir, entries); err != nil {
		return err
	}
	slices.Sort(table)
	if err := cli.WriteFile(in(dir, exhaust.TableFile), func(w io.Writer) error {
		_, err := io.WriteString(w, exhaust.TableHead+strings.Join(table, ""))
		return err
	}); err != nil {
		return err
	}
	say.Line("")
	switch {
	case broken > 0 || alone > 0:
		says := fmt.Sprintf("%s of %s broke a promise", cli.Thousands(broken), cli.Plural(tried, "single fault"))
		if alone > 0 {
			says += fmt.Sprintf("; without a fault, %s of %s did", cli.Thousands(alone), cli.Plural(len(tasks)+apart+alone, "scenario"))
		}
		say.Line("%s  %s", say.Paint(cli.Red, "BROKEN"), says)
	case whole < len(tasks)+apart:
		next := "Go on with the same command"
		if whole == len(tasks) {
			next = cli.Plural(apart, "scenario") + " cannot be struck, for the reasons above"
		}
		say.Line("%s  %s of %s are done, %s; none broke a promise. %s", say.Paint(cli.Yellow, "UNFINISHED"), cli.Thousands(whole), cli.Plural(len(tasks)+apart, "scenario"), cli.Plural(tried, "single fault"), next)
	case inconclusive > 0:
		say.Line("%s  none of the %s of %s broke a promise, but %s could not be judged", say.Paint(cli.Yellow, "INCONCLUSIVE"), cli.Plural(tried, "single fault"), cli.Plural(len(tasks), "scenario"), cli.Thousands(inconclusive))
	default:
		say.Line("%s  no promise was broken by %s of %s", say.Paint(cli.Green, "HELD"), cli.Plural(tried, "single fault"), cli.Plural(len(tasks), "scenario"))
	}
	if outside > 0 {
		say.Line("  outside of a promise: %s. Violations, by the cells of the promise matrix that release them (a run may have several):", cli.Plural(outside, "single fault"))
	}
	for _, status := range slices.Sorted(maps.Keys(violations)) {
		say.Line("    %6s  %s", cli.Thousands(violations[status]), status)
	}
	for _, name := range slices.Sorted(maps.Keys(unjudged)) {
		say.Line("  not judged, once an invariant that it needs was violated: %s in %s", name, cli.Plural(unjudged[name], "single fault"))
	}
	say.Line("Index: %s", filepath.Join(dir, reports.IndexFile))
	return exitOf(&found, broken+alone > 0, whole < len(tasks)+apart || inconclusive > 0)
}
