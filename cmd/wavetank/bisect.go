package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

type bisectFlags struct {
	invariant string
	seeds     int
	timeout   time.Duration
	quiet     bool
}

func newBisect() *cobra.Command {
	var f bisectFlags
	cmd := &cobra.Command{
		Use:   "bisect PLAN GOOD BAD",
		Short: "Find the first commit in which a plan breaks its promise",
		Long: `Bisect finds the first commit in which a plan breaks its promise. The plan keeps its
promise in the commit GOOD, and breaks it in the commit BAD. Bisect tests these two
first. Then it builds wavetank at commits between them, runs the plan with each build,
and halves the range each time, as git bisect does. It skips a commit that does not
build, does not know the plan, or leaves its run inconclusive.

Bisect checks the commits out into a folder of its own, and removes that folder at the
end, also after a Ctrl-C. It does not touch your working tree and its index. PLAN is a
plan's file, such as the file of a finding in the ledger.

A plan is a single run. A commit that only changes the timing may keep the plan from
breaking its promise by chance. With --seeds 20, a commit is bad if the plan breaks
its promise under any of twenty seeds.

Exit codes: 0 the commit was found, 2 usage or input, 3 several commits are left, some
of which could not be judged, 130 interrupted.`,
		Example: `  wavetank bisect scenarios/ledger/findings/one-dispatch-per-job-db8d6630.yaml v1.2.0 HEAD
  wavetank bisect plan.yaml 1a2b3c4 HEAD --invariant one-effect-per-key --seeds 20`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 3:
				return cli.Usage(cmd, "bisect takes a plan's file, a good commit and a bad one")
			case f.seeds < 1:
				return cli.Fail(cli.ExitUsage, "--seeds is %d, out of range; give 1 or more", f.seeds)
			case f.timeout <= 0:
				return cli.Fail(cli.ExitUsage, "--timeout is %s, out of range; give a time such as 5m", f.timeout)
			}
			return f.bisect(cmd.Context(), args[0], args[1], args[2], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&f.invariant, "invariant", "", "the invariant that the plan breaks, `NAME` (default the first that the plan expects to break, or else any)")
	cmd.Flags().IntVar(&f.seeds, "seeds", 1, "run the plan under `N` seeds, beginning with its own")
	cmd.Flags().DurationVar(&f.timeout, "timeout", otherTimeout, "how long one run may take, `TIME`; a longer run counts as a broken promise only with --invariant no-hang")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "show no progress, and print only the commit that was found")
	return cmd
}

func (f *bisectFlags) bisect(ctx context.Context, file, good, bad string, stdout, stderr io.Writer) (err error) {
	plan, err := plans.Load(file)
	if err != nil {
		return err
	}
	text, err := handedOver(plan, "")
	if err != nil {
		return err
	}
	removeTemp, err := ownTemp("")
	if err != nil {
		return err
	}
	b := &bisection{flags: f, plan: plan, invariant: f.invariant, temp: os.TempDir(), out: cli.NewPrinter(stdout), show: cli.NewProgress(stderr, f.quiet), skipped: map[string]string{}}
	cleanUp := func() {
		b.leave()
		removeTemp()
	}
	defer cleanUp()
	ctx, stop := cli.Interruptible(ctx, cleanUp)
	defer stop()
	b.ctx = ctx
	if f.quiet {
		b.out.W = io.Discard
	}
	if b.invariant == "" {
		b.invariant = brokenBy(plan)
	} else if err := checkBroken(b.invariant); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.temp, "plan.yaml"), text, 0o644); err != nil {
		return err
	}
	if err := b.enter(good, bad); err != nil {
		return b.stopped(err)
	}
	found, err := b.search()
	if err != nil {
		return b.stopped(err)
	}
	b.out.Line("\nThe first bad commit:")
	_, err = fmt.Fprintln(stdout, found)
	return err
}

// brokenBy is the invariant that a plan is there to break; "" is any.
func brokenBy(p *plans.Plan) string {
	if len(p.Expect.Violates) > 0 {
		return p.Expect.Violates[0]
	}
	for _, c := range campaign.Containments() {
		if strings.HasPrefix(p.Name, string(c)+"-") { // as a finding's plan is called
			return string(c)
		}
	}
	return ""
}

func checkBroken(invariant string) error {
	if slices.Contains(campaign.Containments(), campaign.Containment(invariant)) {
		return nil
	}
	return checkInvariant("--invariant", invariant)
}

// bisection is a search under way.
type bisection struct {
	ctx       context.Context
	flags     *bisectFlags
	plan      *plans.Plan
	invariant string // "" is any
	temp      string // all that it makes is in there
	repo      string // whose commits they are
	entered   bool   // there is a working tree to remove
	out       *cli.Printer
	show      *cli.Progress
	good, bad string
	skipped   map[string]string // commits, and why
}

// stopped is the error, or that of a Ctrl-C which brought it about.
func (b *bisection) stopped(err error) error {
	if errors.Is(context.Cause(b.ctx), cli.ErrInterrupted) {
		return cli.Fail(cli.ExitInterrupted, "interrupted; nothing is left behind")
	}
	return err
}

// git runs a git command in the repository, and returns what it prints.
func (b *bisection) git(args ...string) (string, error) {
	out, err := command(b.ctx, b.repo, "git", args...)
	return strings.TrimSpace(out), err
}

// enter finds the commits, and makes a working tree for them.
func (b *bisection) enter(good, bad string) (err error) {
	if b.repo, err = b.git("rev-parse", "--show-toplevel"); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return cli.Fail(cli.ExitUsage, "bisect needs git, which is not installed")
		}
		return cli.Fail(cli.ExitUsage, "this is not a git repository (%v); run bisect in a clone of wavetank", err)
	}
	for _, c := range []struct {
		name string
		into *string
	}{{good, &b.good}, {bad, &b.bad}} {
		if *c.into, err = b.git("rev-parse", "--verify", "--quiet", "--end-of-options", c.name+"^{commit}"); err != nil {
			return cli.Fail(cli.ExitUsage, "there is no commit %.80q here; give a hash, a tag or a branch, and fetch it if the clone is shallow", c.name)
		}
	}
	if b.good == b.bad {
		return cli.Fail(cli.ExitUsage, "%s and %s are the same commit", good, bad)
	}
	if _, err := b.git("merge-base", "--is-ancestor", b.good, b.bad); err != nil {
		return cli.Fail(cli.ExitUsage, "%s is not among the commits before %s; give one that is", good, bad)
	}
	b.entered = true
	if _, err := b.git("worktree", "add", "--quiet", "--detach", b.tree(), b.bad); err != nil {
		return cli.Fail(cli.ExitUsage, "the working tree for the commits cannot be made: %v", err)
	}
	return nil
}

// leave removes the working tree, and what git knows of it.
func (b *bisection) leave() {
	if b.entered {
		b.entered, b.ctx = false, context.Background()
		_, _ = b.git("worktree", "remove", "--force", "--force", b.tree())
		_ = os.RemoveAll(b.tree())
		_, _ = b.git("worktree", "prune")
	}
}

// search halves the commits until one is left.
func (b *bisection) search() (string, error) {
	for _, c := range []struct {
		commit string
		is     standing
		unless string
	}{
		{b.bad, breaks, "the plan does not break %s in the bad commit, %s; give a commit in which it does, or try more seeds with --seeds"},
		{b.good, holds, "the plan breaks %s in the good commit, %s, too; give an older commit"},
	} {
		is, why, err := b.look(c.commit)
		switch {
		case err != nil:
			return "", err
		case is == unknown:
			return "", cli.Fail(cli.ExitUsage, "%s cannot be judged: %s; give another commit", b.short(c.commit), why)
		case is != c.is:
			return "", cli.Fail(cli.ExitUsage, c.unless, cmp.Or(b.invariant, "any promise"), b.short(c.commit))
		}
	}
	goods := []string{b.good}
	for {
		list, err := b.git(append([]string{"rev-list", "--bisect-all", b.bad, "--not"}, goods...)...)
		if err != nil {
			return "", err
		}
		next, left := "", []string{}
		for line := range strings.Lines(list) {
			commit, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			left = append(left, commit)
			if _, skip := b.skipped[commit]; next == "" && commit != b.bad && !skip {
				next = commit
			}
		}
		switch {
		case next == "" && len(left) <= 1:
			return b.bad, nil
		case next == "":
			return "", b.undecided(left)
		}
		is, why, err := b.look(next)
		switch {
		case err != nil:
			return "", err
		case is == breaks:
			b.bad = next
		case is == holds:
			goods = append(goods, next)
		default:
			b.skipped[next] = why
		}
	}
}

// undecided says which commits are left where all but one were skipped.
func (b *bisection) undecided(left []string) error {
	detail := ""
	for _, commit := range left {
		says := "bad"
		if why, skipped := b.skipped[commit]; skipped {
			says = "skipped: " + why
		}
		detail += fmt.Sprintf("  %s (%s)\n", b.short(commit), says)
	}
	return &cli.Error{Code: cli.ExitInconclusive, Text: "the first bad commit is one of these; not all of them could be judged:", Detail: detail}
}

// short says which commit it is: its hash, and the first line of its message.
func (b *bisection) short(commit string) string {
	says, err := b.git("show", "--no-patch", "--format=%h %s", commit)
	if err != nil {
		return commit
	}
	return cli.Visible(says, false)
}

// look judges a commit, and says so.
func (b *bisection) look(commit string) (is standing, why string, err error) {
	called := b.short(commit)
	is, why, err = b.judge(commit, called)
	b.show.Done()
	if err == nil {
		err = context.Cause(b.ctx)
	}
	if err != nil {
		return "", "", err
	}
	line := fmt.Sprintf("%-7s  %s", is, called)
	if why != "" {
		line += ": " + why
	}
	b.out.Line("%s", line)
	return is, why, nil
}
