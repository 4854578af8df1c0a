package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/buildname"
	"github.com/wavetank-sim/wavetank/scenarios/exhaust"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

type checkFlags struct {
	sample int
	all    bool
	quiet  bool
}

func newCheckCertificate() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check-certificate DIR|FILE",
		Short: "Make a sample of a certificate's runs again, or all of them",
		Long: `Check-certificate reads a certificate of exhaust, lists the operations of the plan's
run anew, and makes a sample of the runs again, spread evenly over all of them. Each
run must have the digest in the certificate, event by event, and must break the
invariants that the certificate says. With --all, the sums in the certificate must
agree, too. Runs that went out of bounds are not made again.

Exit codes: 0 they agree, 2 usage or input, 4 one differs, 130 interrupted.`,
		Example: "  wavetank check-certificate runs/exhaust-calm\n  wavetank check-certificate runs/exhaust-calm/certificate.json --all",
		Args:    cli.OneArg("the certificate's folder or file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.sample < 1:
				return cli.Fail(cli.ExitUsage, "--sample is %d, out of range; give 1 or more", f.sample)
			case f.all && cmd.Flags().Changed("sample"):
				return cli.Usage(cmd, "--sample and --all both say how many runs are made again; give one of them")
			}
			return f.checkCertificate(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().IntVar(&f.sample, "sample", 50, "how many runs are made again, `N`")
	cmd.Flags().BoolVar(&f.all, "all", false, "make every run again")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

func (f *checkFlags) checkCertificate(ctx context.Context, path string, stdout, stderr io.Writer) error {
	if filepath.Base(path) == exhaust.CertificateFile {
		path = filepath.Dir(path)
	}
	stored, err := reports.Read(path)
	if _, none := os.Stat(in(path, exhaust.CertificateFile)); none != nil || err == nil && stored.Certificate == nil {
		return cli.Fail(cli.ExitUsage, "%s is neither a certificate nor a folder that holds a %s; give the folder that exhaust wrote", path, exhaust.CertificateFile)
	}
	if err != nil {
		return cli.Fail(cli.ExitUsage, "%v", err)
	}
	c := stored.Certificate
	plan, err := plans.Parse(exhaust.CertificateFile, []byte(c.Plan))
	if err != nil {
		return err
	}
	if plan.World.Redis == plans.RedisServer {
		if err := hasRedis(); err != nil {
			return err
		}
	}
	ctx, stop := cli.Interruptible(ctx, func() {})
	defer stop()
	show := cli.NewProgress(stderr, f.quiet)
	defer show.Done()
	o := c.Options()
	o.Progress = func(done, all int) { show.Show("looking for pairs: %d of %d runs", done, all) }
	if o.Pairs {
		var done func()
		if ctx, done, err = inChild(ctx, &o); err != nil {
			return err
		}
		defer done()
	}
	d, err := exhaust.Define(ctx, plan, o)
	switch {
	case errors.Is(context.Cause(ctx), cli.ErrInterrupted):
		return cli.Fail(cli.ExitInterrupted, "interrupted before the first run")
	case err != nil:
		return cli.Fail(cli.ExitUsage, "%v", err)
	}
	of := ""
	if own := buildname.Of(); own != c.Build {
		of = "; it is of build " + c.Build + ", and this is " + own
	}
	if differs := d.Differs(c); differs != "" {
		return cli.Fail(cli.ExitNotDeterministic, "%s%s", differs, of)
	}
	size := f.sample
	if f.all {
		size = 0
	}
	list := c.Sample(size)
	differs, made, err := d.Repeat(ctx, c, list, func(i int) { show.Show("%d of %d runs", i, len(list)) })
	switch {
	case errors.Is(context.Cause(ctx), cli.ErrInterrupted):
		return cli.Fail(cli.ExitInterrupted, "interrupted after %s of %d; those agree", cli.Plural(made, "run"), len(list))
	case err != nil:
		return err
	case differs != "":
		return cli.Fail(cli.ExitNotDeterministic, "%s%s", differs, of)
	case made == 0:
		return cli.Fail(cli.ExitUsage, "%s: none of %s can be made again, so nothing was checked; give --all, or exhaust again", in(path, exhaust.CertificateFile), cli.Plural(len(list), "run"))
	}
	show.Done()
	say := cli.NewPrinter(stdout)
	say.Line("%s  %s of %s runs were made again, and each is as the certificate says", say.Paint(cli.Green, "AGREES"), cli.Thousands(made), cli.Thousands(len(c.Tries)))
	if skipped := len(list) - made; skipped > 0 {
		say.Line("  not made again, since they went out of bounds: %s", cli.Plural(skipped, "run"))
	}
	if !c.Complete {
		say.Line("  the certificate is unfinished: %s of %s were tried", cli.Thousands(len(c.Tries)), cli.Plural(c.All, c.Noun()))
	}
	return nil
}
