package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/exhaust"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

type mergeFlags struct {
	campaignFlags
	junit string
}

func newMerge() *cobra.Command {
	var f mergeFlags
	cmd := &cobra.Command{
		Use:   "merge DIR... --out DIR",
		Short: "Combine the folders of a campaign's shards",
		Long: `Merge combines the folders that --shard wrote into the folder of the campaign. Its
result, findings and pages equal those of one machine, byte for byte. Each shard has
examined the runs of its part that broke a promise. Merge goes through all runs in
their order, and takes the examinations that one machine would have made. It makes
those itself that no shard had reason to make. From the shards of exhaust and sweep
it makes the certificate, or the pages.

Folders may have runs in common, such as those of a shard that ran twice. If these
runs differ, merge names the plan that is not deterministic. If runs are missing, it
writes nothing. The same command continues a merge that was cut short.

Exit codes: 0 no promise was broken, 1 one was, 2 usage or input, another
campaign or another build, 3 runs are missing or inconclusive, 4 not deterministic,
130 interrupted.`,
		Example: `  wavetank merge runs/shard-* --out runs/night
  wavetank merge runs/shard-1 runs/shard-2 --out runs/night --junit runs/night.xml`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			if len(args) == 0 {
				return cli.Usage(cmd, "merge takes the folders of a campaign's shards")
			}
			if f.out == "" {
				return cli.Usage(cmd, "merge takes the folder to write, with --out")
			}
			return f.merge(cmd, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.campaignFlags.add(cmd, "")
	cmd.Flags().Lookup("out").Usage = "the folder of the whole campaign, `DIR`"
	cmd.Flags().StringVar(&f.junit, "junit", "", "write the result for CI, as JUnit XML, to `FILE`, whose folder is made if it is missing")
	return cmd
}

func (f *mergeFlags) merge(cmd *cobra.Command, dirs []string, stdout, stderr io.Writer) error {
	put := func(dirs []string, out string, record func(*campaign.Record)) (*campaign.Result, error) {
		return f.put(cmd.Context(), dirs, out, record, stderr)
	}
	if there(in(dirs[0], exhaust.OptionsFile)) {
		if f.junit != "" {
			return cli.Usage(cmd, "merge writes no JUnit of a certificate; leave --junit out")
		}
		ex := exhaustFlags{campaignFlags: f.campaignFlags}
		return ex.merged(cmd.Context(), dirs, f.out, put, stdout, stderr)
	}
	if there(in(dirs[0], sweepShardFile)) {
		if f.junit != "" {
			return cli.Usage(cmd, "merge writes no JUnit of a sweep; leave --junit out")
		}
		sw := sweepFlags{campaignFlags: f.campaignFlags}
		return sw.merged(cmd.Context(), dirs, f.out, put, stdout, stderr)
	}
	spec, err := campaign.Load(dirs[0])
	switch {
	case err != nil:
		return cli.Fail(cli.ExitUsage, "%v", err)
	case spec.Drawn == nil:
		return cli.Fail(cli.ExitUsage, "%s holds a campaign of a sweep, a comparison or a part of a certificate, which merge does not combine; give folders that --shard wrote", dirs[0])
	}
	if err := fitJUnit(f.junit, campaignFiles, f.out); err != nil {
		return err
	}
	spec = spec.Whole()
	say := f.say(stdout)
	res, err := put(dirs, f.out, nil)
	if err != nil && !errors.Is(err, cli.ErrInterrupted) {
		return err
	}
	printCampaign(say, f.out, spec)
	fuzz := fuzzFlags{campaignFlags: f.campaignFlags, junit: f.junit}
	return fuzz.tell(cmd.Context(), f.out, spec, res, err, stdout, stderr)
}

// merged certifies what the folders of all shards hold, in dir.
func (f *exhaustFlags) merged(ctx context.Context, dirs []string, dir string, put func(dirs []string, out string, record func(*campaign.Record)) (*campaign.Result, error), stdout, stderr io.Writer) error {
	a, err := askedIn(dirs[0])
	if err != nil {
		return err
	}
	ctx, stop := cli.Interruptible(ctx, func() {})
	defer stop()
	f.merging = true
	for _, shard := range dirs {
		if err := madeHere(shard, "merge with the build that ran it"); err != nil {
			return err
		}
	}
	d, err := f.begunIn(ctx, dirs[0], a, stderr)
	if err != nil {
		return err
	}
	if err := ownsCertificate(dir); err != nil {
		return err
	}
	var from []string
	for _, shard := range dirs {
		from = append(from, in(shard, exhaust.CampaignDir))
	}
	var records []*campaign.Record
	res, err := put(from, in(dir, exhaust.CampaignDir), func(r *campaign.Record) { records = append(records, r) })
	if res != nil {
		a.Shard = nil
		err = errors.Join(a.write(dir), err)
	}
	var c *exhaust.Certificate
	if err == nil {
		c, err = certificateOf(dir, d, records, res)
	}
	if err == nil {
		err = f.publish(ctx, dir, d, c, res, stderr)
	}
	if errors.Is(err, cli.ErrInterrupted) {
		return cli.Fail(cli.ExitInterrupted, "interrupted; what was finished is kept. Go on with the same command")
	}
	if c == nil {
		return err
	}
	return f.tell(dir, c, res, err, stdout)
}

// merged makes the pages of what the folders of all shards hold, in dir.
func (f *sweepFlags) merged(ctx context.Context, dirs []string, dir string, put func(dirs []string, out string, record func(*campaign.Record)) (*campaign.Result, error), stdout, stderr io.Writer) error {
	var s sweepShard
	spec, err := campaign.Load(dirs[0])
	if err == nil {
		var data []byte
		if data, err = os.ReadFile(in(dirs[0], sweepShardFile)); err == nil {
			err = json.Unmarshal(data, &s)
		}
	}
	switch {
	case err != nil:
		return cli.Fail(cli.ExitUsage, "%s: %v", dirs[0], strictyaml.FileReason(err))
	case s.Definition == nil || !spec.Whole().Equal(s.Definition.Spec()):
		return cli.Fail(cli.ExitUsage, "%s belongs to another sweep than its %s; make the shard anew", dirs[0], sweepShardFile)
	}
	var records []*campaign.Record
	runs, err := put(dirs, dir, func(r *campaign.Record) { records = append(records, r) })
	if errors.Is(err, cli.ErrInterrupted) {
		return interrupted(len(records))
	}
	if err != nil {
		return err
	}
	m := &measured{runs: []*campaign.Result{runs}, dirs: []string{dir}, done: len(records)}
	if m.res, err = sweep.Analyse(s.Definition, records); err != nil {
		return err
	}
	return f.tell(ctx, dir, s.Definition, m, s.Command, stdout, stderr)
}

// put merges the campaigns in dirs into out.
func (f *mergeFlags) put(ctx context.Context, dirs []string, out string, record func(*campaign.Record), stderr io.Writer) (*campaign.Result, error) {
	res, err := f.by(ctx, record, stderr, func(ctx context.Context, opt campaign.Options) (*campaign.Result, error) {
		return campaign.Merge(ctx, dirs, out, opt)
	})
	if gaps := new(campaign.GapsError); errors.As(err, &gaps) {
		return nil, cli.Fail(cli.ExitInconclusive, "%v", gaps)
	}
	return res, err
}
