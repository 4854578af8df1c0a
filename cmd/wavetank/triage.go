package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/ledger"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// ledgerDir is where this project keeps its ledger.
const ledgerDir = "scenarios/ledger"

type triageFlags struct {
	ledger    string
	write     bool
	day       string
	commit    string
	issues    string
	artifacts string
	junit     string
	page      string
	json      bool
}

func newTriage() *cobra.Command {
	var f triageFlags
	cmd := &cobra.Command{
		Use:   "triage DIR...",
		Short: "Say which findings of a night are new, ongoing, resolved or back",
		Long: `Triage reads the folders of a night's campaigns, which fuzz, exhaust, orders and
merge wrote, or folders of such folders, and compares what they found with the
ledger. It takes a merged campaign or its shards, not both. A finding is identified by
the invariant that it breaks, the kinds of fault that it takes, and the operations on
which it depends; names, seeds and lines of code make no difference. A finding is

  new       if the ledger does not have it
  ongoing   if the ledger has it, and nothing says that it is gone
  resolved  if it is 99 % sure that it is gone: by how often it was hit before, among
            the plans that were clean since, in campaigns of the kind that found it
  back      if it was resolved and was found again

With --write, triage brings the ledger up to date. Each of its files is complete before
it gets its name. A night counts once, however often it is written. The ledger's file of
a finding is a plan for every command that takes one.

With --issues DIR, it writes texts for GitHub: new/NAME.md opens an issue, and
back/NAME.md and resolved/NAME.md are comments on it. The first line of each is the
issue's title, after "# ".

Exit codes: 0 nothing is new or back, 1 a finding is new or back, or runs that
broke a promise were not examined, 2 usage or input.`,
		Example: `  wavetank triage runs/nightly runs/exhaust
  wavetank triage runs --write --commit "$(git rev-parse --short HEAD)"
  wavetank triage runs --junit findings.xml --nights nights.html --issues issues`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage(cmd, "triage takes the folders of a night's campaigns")
			}
			if cmd.Flags().Changed("artifacts") && f.issues == "" {
				return cli.Usage(cmd, "--artifacts works only with --issues; give both")
			}
			for _, name := range []string{"day", "commit", "artifacts"} {
				if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
					return cli.Usage(cmd, "--%s is empty; give a value, or leave --%[1]s out", name)
				}
			}
			return f.triage(args, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&f.ledger, "ledger", ledgerDir, "the ledger's folder, `DIR`")
	cmd.Flags().BoolVar(&f.write, "write", false, "bring the ledger up to date")
	cmd.Flags().StringVar(&f.day, "day", "", "the night's `DATE`, such as 2026-11-27 (default today)")
	cmd.Flags().StringVar(&f.commit, "commit", "", "the `COMMIT` that the campaigns tested, for the ledger and for bisect")
	cmd.Flags().StringVar(&f.issues, "issues", "", "write texts for GitHub issues to files in `DIR`")
	cmd.Flags().StringVar(&f.artifacts, "artifacts", "", "the `URL` of the night's pages, for issues")
	cmd.Flags().StringVar(&f.junit, "junit", "", "write a testcase for each finding, as JUnit XML, to `FILE`")
	cmd.Flags().StringVar(&f.page, "nights", "", "write a page over all nights in the ledger to `FILE`")
	cmd.Flags().BoolVar(&f.json, "json", false, "print only the outcome, as JSON, on standard output")
	return cmd
}

var (
	aDay    = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	aCommit = regexp.MustCompile(`^[0-9a-f]{4,64}$`)
)

func (f *triageFlags) triage(args []string, stdout io.Writer) error {
	if f.day == "" {
		f.day = time.Now().UTC().Format(time.DateOnly)
	}
	if _, err := time.Parse(time.DateOnly, f.day); err != nil || !aDay.MatchString(f.day) {
		return cli.Fail(cli.ExitUsage, "--day is %.40q, not a day; give one such as 2026-11-27", f.day)
	}
	if f.commit != "" && !aCommit.MatchString(f.commit) {
		return cli.Fail(cli.ExitUsage, "--commit is %.80q, not a commit; give a hash, as `git rev-parse --short HEAD` prints it", f.commit)
	}
	if err := f.fit(); err != nil {
		return err
	}
	night, err := f.night(args)
	if err != nil {
		return err
	}
	if _, err := os.Stat(f.ledger); errors.Is(err, fs.ErrNotExist) && !f.write {
		return cli.Fail(cli.ExitUsage, "there is no ledger at %s; name its folder with --ledger, or begin one with --write", f.ledger)
	}
	l, err := ledger.Read(f.ledger)
	if located := new(strictyaml.Error); errors.As(err, &located) {
		return err
	} else if err != nil {
		return cli.Fail(cli.ExitUsage, "%v", err)
	}
	r, err := l.Triage(night)
	if err != nil {
		return cli.Fail(cli.ExitUsage, "%v", err)
	}
	if f.json {
		err = cli.PrintJSON(stdout, triaged(l, r))
	} else {
		f.print(cli.NewPrinter(stdout), r)
	}
	if err == nil {
		err = f.publish(l, r)
	}
	if err != nil {
		return err
	}
	if say := cli.NewPrinter(stdout); !f.json && f.write {
		say.Line("Ledger: %s", l.Dir)
	} else if !f.json && len(r.Outcomes) > 0 {
		say.Line("The ledger is unchanged; --write brings it up to date.")
	}
	switch {
	case r.Alarms() > 0 || r.Unexamined > 0:
		return &cli.Error{Code: cli.ExitViolated}
	}
	return nil
}

// fit refuses what could not be read or written in the end, before anything is said.
func (f *triageFlags) fit() error {
	if entries, err := os.ReadDir(f.issues); f.issues != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cli.Fail(cli.ExitUsage, "%s cannot be written: %v; give another folder to --issues", f.issues, strictyaml.FileReason(err))
	} else if len(entries) > 0 {
		return cli.Fail(cli.ExitUsage, "%s holds %s, which may be of another night; give an empty folder to --issues", f.issues, entries[0].Name())
	}
	entries, _ := os.ReadDir(f.ledger) // the project's own is beside the code of package ledger
	if len(entries) > 0 && f.ledger != ledgerDir && !there(in(f.ledger, ledger.NightsFile)) && !there(in(f.ledger, ledger.FindingsDir)) {
		return cli.Fail(cli.ExitUsage, "%s holds %s, and is not a ledger; name the folder of a ledger, or an empty folder, with --ledger", f.ledger, entries[0].Name())
	}
	for _, file := range [][2]string{{f.junit, reports.XMLBegins}, {f.page, reports.PageBegins}} {
		if file[0] == "" {
			continue
		}
		if err := cmp.Or(cli.Replaceable(file[0], file[1]), cli.Writable(file[0])); err != nil {
			return err
		}
	}
	return nil
}

// night reads the campaigns in the folders.
func (f *triageFlags) night(args []string) (*ledger.Night, error) {
	n := &ledger.Night{Day: f.day, Commit: f.commit}
	var dirs []string
	for _, arg := range args {
		found, err := campaignsIn(arg)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, found...)
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		res, took, err := campaign.SoFar(dir)
		if err != nil {
			return nil, cli.Fail(cli.ExitUsage, "%v", err)
		}
		if res.Spec.Grid == nil { // what a sweep breaks is its data
			for _, c := range n.Campaigns {
				if c.Result.Spec.Shares(res.Spec) {
					return nil, cli.Fail(cli.ExitUsage, "%s and %s hold the same runs of one campaign, which would count twice; give one of the two", c.Dir, dir)
				}
			}
			n.Campaigns = append(n.Campaigns, ledger.Campaign{Dir: dir, Result: res, Took: took})
		}
	}
	if len(n.Campaigns) == 0 {
		return nil, cli.Fail(cli.ExitUsage, "%s holds no campaign that looks for broken promises; give folders that fuzz, exhaust, orders or merge wrote", strings.Join(args, ", "))
	}
	return n, nil
}

// campaignsIn lists the folders of campaigns in a folder, or itself.
func campaignsIn(root string) (dirs []string, err error) {
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, cli.Fail(cli.ExitUsage, "%s is not a folder; give one that fuzz, exhaust, orders or merge wrote", root)
	}
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error { // which follows a link that is root
		if err != nil || !d.IsDir() {
			return err
		}
		if name != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		path := in(root, name)
		if _, err := os.Stat(in(path, campaign.SpecFile)); err == nil {
			dirs = append(dirs, path)
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, cli.Fail(cli.ExitUsage, "%s cannot be read: %v", root, err)
	}
	return dirs, nil
}

// print says how the findings stand.
func (f *triageFlags) print(p *cli.Printer, r *ledger.Report) {
	colors := map[ledger.State]int{ledger.New: cli.Red, ledger.Back: cli.Red, ledger.Ongoing: cli.Yellow, ledger.Resolved: cli.Green}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		p.Line("%s  %s: %s", p.Paint(colors[o.State], strings.ToUpper(string(o.State))), o.Name(), o.Cause)
		if o.Seen != nil && o.Alarming() {
			p.Line("  %s", o.Seen.Story)
			if o.Seen.Why != "" {
				p.Line("  Why: %s", o.Seen.Why)
			}
		}
		p.Line("  %s", reports.Standing(o))
		if o.Seen != nil {
			p.Line("  Replay: %s", reports.FindingReplay(o.Seen.Dir, cli.ProgramName(), o.Seen.Finding))
		}
		p.Line("")
	}
	if r.Unexamined > 0 {
		p.Line("%s  %s broke a promise and were not examined: what they found may be new", p.Paint(cli.Red, "UNKNOWN"), cli.Plural(r.Unexamined, "run"))
	}
	p.Line("%s, %s: %d new, %d back, %d ongoing, %d resolved", r.Day, cli.Plural(r.Plans, "plan"), r.New, r.Back, r.Ongoing, r.Resolved)
}

// triagedJSON is the outcome as --json prints it.
type triagedJSON struct {
	Version    int           `json:"version"`
	Night      ledger.Past   `json:"night"`
	Unexamined int           `json:"unexamined"`
	Findings   []outcomeJSON `json:"findings"`
}

type outcomeJSON struct {
	Name  string       `json:"name"`
	State ledger.State `json:"state"`
	Cause string       `json:"cause"`
	Says  string       `json:"says"`
	File  string       `json:"file"` // of the ledger
}

func triaged(l *ledger.Ledger, r *ledger.Report) triagedJSON {
	t := triagedJSON{Version: 1, Night: r.Past, Unexamined: r.Unexamined, Findings: []outcomeJSON{}}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		t.Findings = append(t.Findings, outcomeJSON{o.Name(), o.State, o.Cause, reports.Standing(o), filepath.ToSlash(l.Path(o.Entry))})
	}
	return t
}

// publish writes the files that are asked for. The ledger comes last: what is written by then says the same the next time.
func (f *triageFlags) publish(l *ledger.Ledger, r *ledger.Report) error {
	if f.junit != "" {
		if err := cli.WriteFile(f.junit, func(w io.Writer) error { return reports.JUnitTriage(w, r) }); err != nil {
			return err
		}
	}
	if f.page != "" {
		if err := cli.WriteFile(f.page, func(w io.Writer) error { return reports.NightsPage(w, l) }); err != nil {
			return err
		}
	}
	if f.issues != "" {
		for i := range r.Outcomes {
			o := &r.Outcomes[i]
			if o.State == ledger.Ongoing {
				continue
			}
			name := filepath.Join(f.issues, string(o.State), o.Name()+".md")
			err := cli.WriteFile(name, func(w io.Writer) error {
				fmt.Fprintf(w, "# %s\n\n", reports.IssueTitle(o.Entry))
				return reports.Issue(w, r, o, l.Path(o.Entry), f.artifacts)
			})
			if err != nil {
				return err
			}
		}
	}
	if f.write {
		if err := l.Write(); err != nil {
			return cli.Fail(cli.ExitUsage, "%v", err)
		}
	}
	return nil
}
