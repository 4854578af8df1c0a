package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/exhaust"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/shell"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// spec is the campaign of what is tried, or of the part of it that is asked for.
func (f *exhaustFlags) spec(d *exhaust.Definition) campaign.Spec {
	spec := d.Spec()
	spec.Shard = f.part
	return spec
}

// begin makes dir the folder of what is tried, or goes on with what it holds of that, unless it is to begin anew.
func (f *exhaustFlags) begin(dir string, d *exhaust.Definition, anew bool, stderr io.Writer) error {
	if err := ownsCertificate(dir); err != nil {
		return err
	}
	a := asked{Options: d.Options, Plan: d.Plan, Shard: f.part}
	if err := a.fits(dir); err != nil {
		return err
	}
	at := in(dir, exhaust.CampaignDir)
	other := a.differs(dir, f.spec(d))
	if other && !anew {
		return fmt.Errorf("%w, in which the plan makes other operations", campaign.ErrOtherBuild)
	}
	state := campaign.None
	if !other {
		var err error
		if state, err = fits(at, f.spec(d)); err != nil {
			return err
		}
	}
	if err := a.write(dir); err != nil { // by which the folder is known to be ours
		return err
	}
	if err := idle(at); err != nil {
		return err
	}
	gone := []string{in(dir, exhaust.CertificateFile), in(dir, reports.PageFile)} // of a budget that has passed: they are made last
	if anew || state == campaign.None {
		gone = append(gone, in(dir, exhaust.TriesDir), at) // of runs that may be another build's
	}
	if err := removeAll(gone...); err != nil {
		return err
	}
	return f.prepare(at, f.part != nil && there(in(at, reports.PageFile)), f.spec(d), stderr)
}

// ownsCertificate refuses a folder that is not of a certificate.
func ownsCertificate(dir string) error {
	return owned(dir, "a certificate", ofCertificate(dir), named(exhaust.CampaignDir, exhaust.OptionsFile, exhaust.KeptFile, exhaust.CertificateFile, exhaust.TriesDir, reports.PageFile, reports.IndexFile))
}

// ofCertificate says whether dir holds what exhaust has begun.
func ofCertificate(dir string) bool {
	if _, err := askedIn(dir); err == nil {
		return true
	}
	spec, err := campaign.Load(in(dir, exhaust.CampaignDir))
	return err == nil && spec.Struck != nil
}

// goOnIn is the command that goes on with what dir holds.
func goOnIn(dir string) string { return cli.Pasteable("wavetank exhaust --resume " + shell.Word(dir)) }

// asked is what is asked for: the content of options.json.
type asked struct {
	exhaust.Options
	Plan  string          `json:"plan"` // as YAML
	Shard *campaign.Shard `json:"shard,omitempty"`
}

// askedIn is what is asked for in dir.
func askedIn(dir string) (*asked, error) {
	file, a := in(dir, exhaust.OptionsFile), new(asked)
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, a)
	}
	if err == nil && a.Plan == "" {
		err = errors.New("it names no plan")
	}
	if spec, none := campaign.Load(dir); err != nil && none == nil {
		remedy := "give the folder of a certificate"
		if spec.Drawn != nil {
			remedy = "go on with: " + resumeCommand(dir, spec)
		}
		return nil, cli.Fail(cli.ExitUsage, "%s holds a campaign, not a certificate; %s", dir, remedy)
	}
	if err != nil {
		return nil, cli.Fail(cli.ExitUsage, "%s cannot be read: %v; give the folder of a certificate that this build began", file, strictyaml.FileReason(err))
	}
	return a, nil
}

// fits says why what is asked for cannot go into dir: it holds another search.
func (a *asked) fits(dir string) error {
	there, err := askedIn(dir)
	if err != nil || bytes.Equal(there.text(), a.text()) { // what cannot be read says nothing
		return nil
	}
	return cli.Fail(cli.ExitUsage, "%s holds another search; go on with it (%s), remove it, or choose another folder with --out", dir, goOnIn(dir))
}

// differs says whether dir holds the runs of what is asked for, and they are others than those of spec: what the plan does
// depends on the build.
func (a *asked) differs(dir string, spec campaign.Spec) bool {
	asked, err := askedIn(dir)
	if err != nil || !bytes.Equal(asked.text(), a.text()) {
		return false
	}
	there, err := campaign.Load(in(dir, exhaust.CampaignDir))
	return err == nil && there.Struck != nil && !there.Equal(spec)
}

func (a *asked) text() []byte {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // it has nothing that JSON has not
	}
	return text
}

func (a *asked) write(dir string) error {
	return cli.WriteFile(in(dir, exhaust.OptionsFile), func(w io.Writer) error { return cli.PrintJSON(w, a) })
}

// keep makes dir the folder of what is asked for, before there is a campaign, and opens the file of the runs that look for pairs.
func (f *exhaustFlags) keep(a *asked, dir string) (*exhaust.Kept, error) {
	if err := a.fits(dir); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program, err := campaign.ProgramOf(self)
	if err != nil {
		return nil, err
	}
	what := fnv.New64a()
	_, _ = what.Write(a.text())
	path, by := in(dir, exhaust.KeptFile), fmt.Sprintf("%s %016x", program, what.Sum64())
	switch {
	case f.merging:
		return exhaust.ReadKept(path, by), nil
	case f.resume != "" && exhaust.KeptByOther(path, by):
		return nil, cli.Fail(cli.ExitUsage, "%s was begun by another build; go on with that build, or begin anew in another folder", dir)
	}
	if err := a.write(dir); err != nil {
		return nil, err
	}
	k, err := exhaust.Keep(path, by)
	if err != nil {
		return nil, unwritable(dir, err)
	}
	return k, nil
}

// certifyPart makes the tries of a shard. There is no certificate of it alone.
func (f *exhaustFlags) certifyPart(ctx context.Context, dir string, d *exhaust.Definition, stdout, stderr io.Writer) error {
	if err := f.begin(dir, d, false, stderr); errors.Is(err, campaign.ErrOtherBuild) {
		return cli.Fail(cli.ExitUsage, "%s: %v; go on with that build, or remove the folder", dir, err)
	} else if err != nil {
		return err
	}
	at := in(dir, exhaust.CampaignDir)
	res, err := f.run(ctx, at, nil, stderr)
	if err != nil {
		return err
	}
	if err := finishFuzz(context.WithoutCancel(ctx), at, res); err != nil {
		return err
	}
	if f.json {
		if err := cli.PrintJSON(stdout, res); err != nil {
			return err
		}
	} else {
		p := cli.NewPrinter(stdout)
		printFindings(p, at, res)
		printPart(p, res)
	}
	return exitOf(res, false, res.Verdicts[scenarios.Inconclusive] > 0)
}

// certify makes the tries, and leaves their certificate and its pages in dir. What is over is not made again, keeps its
// pages, and what is missing of them is made; another program's begins anew. The error is [cli.ErrInterrupted] after a
// Ctrl-C. What ends ctx otherwise leaves a certificate of what was tried. A certificate with another error is one that could
// not be stored as a whole.
func (f *exhaustFlags) certify(ctx context.Context, dir string, d *exhaust.Definition, stderr io.Writer) (*exhaust.Certificate, *campaign.Result, error) {
	begun := func(anew bool) (*exhaust.Certificate, *campaign.Result, error) {
		if err := f.begin(dir, d, anew, stderr); err != nil {
			return nil, nil, err
		}
		return f.try(ctx, dir, d, stderr)
	}
	c, res, err := f.finished(ctx, dir, d, stderr)
	if c == nil && err == nil {
		c, res, err = begun(false)
	}
	if errors.Is(err, campaign.ErrOtherBuild) {
		fmt.Fprintf(stderr, "%s was made by another build; it begins anew\n", dir)
		c, res, err = begun(true)
	}
	if err == nil {
		err = f.publish(context.WithoutCancel(ctx), dir, d, c, res, stderr)
	}
	return c, res, err
}

// finished is the certificate of the campaign in dir, with its result, or nil if that is not over, or not of d. The error is
// [campaign.ErrOtherBuild] if another program made its runs: two builds of one name may differ where no run of d goes.
func (f *exhaustFlags) finished(ctx context.Context, dir string, d *exhaust.Definition, stderr io.Writer) (*exhaust.Certificate, *campaign.Result, error) {
	at := in(dir, exhaust.CampaignDir)
	if state, err := campaign.Look(at); err != nil || state != campaign.Finished {
		return nil, nil, nil // begin says what is wrong
	}
	if spec, err := campaign.Load(at); err != nil || !spec.Equal(f.spec(d)) {
		return nil, nil, nil
	}
	return f.try(ctx, dir, d, stderr)
}

// try makes the tries of the campaign in dir that are missing, and certifies all.
func (f *exhaustFlags) try(ctx context.Context, dir string, d *exhaust.Definition, stderr io.Writer) (*exhaust.Certificate, *campaign.Result, error) {
	var records []*campaign.Record
	res, err := f.run(ctx, in(dir, exhaust.CampaignDir), func(r *campaign.Record) { records = append(records, r) }, stderr)
	if res == nil || errors.Is(err, cli.ErrInterrupted) {
		return nil, nil, err
	}
	c, wrong := certificateOf(dir, d, records, res)
	if wrong != nil {
		return nil, nil, wrong
	}
	return c, res, err
}

// certificateOf makes a certificate of the records of the campaign in dir.
func certificateOf(dir string, d *exhaust.Definition, records []*campaign.Record, res *campaign.Result) (*exhaust.Certificate, error) {
	c, err := d.Certify(records, res)
	if err != nil {
		return nil, cli.Fail(cli.ExitNotDeterministic, "%v; remove %s and exhaust again", err, dir)
	}
	return c, nil
}

// publish writes the certificate, a plan for each try that did not hold, and the pages: of the findings, and of the
// first try for each release. Of pairs, which are many, those that are outside of a promise have a plan only with a page.
// Pages that are there stay.
func (f *exhaustFlags) publish(ctx context.Context, dir string, d *exhaust.Definition, c *exhaust.Certificate, res *campaign.Result, stderr io.Writer) error {
	if err := finishFuzz(ctx, in(dir, exhaust.CampaignDir), res); err != nil {
		return err
	}
	if err := os.MkdirAll(in(dir, exhaust.TriesDir), 0o755); err != nil {
		return unwritable(dir, err)
	}
	var examples []runPage
	for n := range c.Tries {
		if !c.HasPlan(n) {
			continue
		}
		plan, err := d.PlanOf(n)
		if err != nil {
			return err
		}
		text, err := plans.Marshal(plan)
		if err != nil {
			return err
		}
		file := exhaust.TryFile(n)
		if c.IsExample(n) {
			c.Tries[n].Page = file + ".html"
			if page := (runPage{file, string(text)}); !page.made(dir) {
				examples = append(examples, page)
			}
			continue
		}
		if err := cli.WriteFile(in(dir, file+".yaml"), func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
			return err
		}
	}
	if err := runPages(ctx, dir, c.Name, examples, f.quiet, stderr); err != nil {
		return err
	}
	if err := cli.WriteFile(in(dir, exhaust.CertificateFile), func(w io.Writer) error { return cli.PrintJSON(w, c) }); err != nil {
		return err
	}
	return reports.WriteFaultMap(dir, c)
}

func printCertificate(p *cli.Printer, dir string, c *exhaust.Certificate, res *campaign.Result) {
	printFindings(p, in(dir, exhaust.CampaignDir), res)
	broken := broke(c)
	switch {
	case broken+c.Beyond > 0:
		p.Line("%s  %s of %s broke a promise", p.Paint(cli.Red, "BROKEN"), cli.Thousands(broken), cli.Plural(len(c.Tries), c.Noun()))
	case !c.Complete:
		p.Line("%s  %s of %s were tried", p.Paint(cli.Yellow, "UNFINISHED"), cli.Thousands(len(c.Tries)), cli.Plural(c.All, c.Noun()))
	case c.Counts[exhaust.Inconclusive] > 0:
		p.Line("%s  none of %s broke a promise, and %s could not be judged", p.Paint(cli.Yellow, "INCONCLUSIVE"), cli.Plural(len(c.Tries), c.Noun()), cli.Thousands(c.Counts[exhaust.Inconclusive]))
	default:
		p.Line("%s  no promise was broken by %s", p.Paint(cli.Green, "HELD"), cli.Plural(len(c.Tries), c.Noun()))
	}
	if c.Alike > 0 {
		p.Line("  left out, since another %s: %s", exhaust.LooksTheSame(c.Reduced, c.Pairs), cli.Plural(c.Alike, "fault"))
	}
	if c.Beyond > 0 {
		p.Line("  out of bounds by itself, so that no second fault follows: %s", cli.Plural(c.Beyond, "single fault"))
	}
	if c.Pairs {
		p.Line("  the single faults have a certificate of their own, without --faults")
	}
	for i := range c.Baseline {
		b := &c.Baseline[i]
		p.Line("  the plan by itself breaks %s outside of its promise: %s", b.Invariant, b.Says())
	}
	if n := c.Counts[exhaust.Outside]; n > 0 {
		p.Line("  outside of a promise: %s, each by one or several of these", cli.Plural(n, c.Noun()))
	}
	for _, r := range c.Releases {
		p.Line("    %4d  %s: %s", r.Tries, r.Invariant, r.Says())
	}
	if says := c.NotJudged(); says != "" {
		p.Line("  %s", words.LowerFirst(says))
	}
	for _, o := range []exhaust.Outcome{exhaust.Inconclusive, exhaust.Missed} {
		if n := c.Counts[o]; n > 0 {
			p.Line("  %s: %s", o, cli.Plural(n, c.Noun()))
		}
	}
	ahead := ""
	if n := res.Runs - 1 - len(c.Tries); n > 0 {
		ahead = fmt.Sprintf(" (%s come after a run that is missing; they count once it is made)", cli.Thousands(n))
	}
	p.Line("%s%s, %s, %s of virtual time, digest %s", cli.Plural(res.Runs, "run"), ahead, cli.Plural(res.Steps, "step"), words.Duration(res.Virtual), c.Digest)
}

// bounded is ctx until the budget has passed, if there is one.
func (f *exhaustFlags) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.budget > 0 {
		return context.WithTimeout(ctx, f.budget)
	}
	return ctx, func() {}
}

// broke is how many tries broke a promise, or took their process down.
func broke(c *exhaust.Certificate) int {
	return c.Counts[exhaust.Broken] + c.Counts[exhaust.OutOfBounds]
}
