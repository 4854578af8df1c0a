package exhaust

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Options are the options with which the certificate was made.
func (c *Certificate) Options() Options {
	return Options{Pairs: c.Pairs, Unpruned: c.Unpruned, Reduced: c.Reduced, EveryLength: len(c.Lengths) > 0, Phases: c.Phases, Kinds: c.Kinds}
}

// Differs says, without a run, how the tries of d differ from the certificate's; "" if they do not.
func (d *Definition) Differs(c *Certificate) string {
	p, err := plans.Parse("certified", []byte(d.Plan))
	switch {
	case err != nil:
		return err.Error()
	case p.Name != c.Name || p.Preset != c.Preset:
		return fmt.Sprintf("the plan is %s under the preset %s, and the certificate says %s under %s", p.Name, p.Preset, c.Name, c.Preset)
	case d.Calm != c.Calm:
		return fmt.Sprintf("the run without a fault has the digest %s, and the certificate says %s", d.Calm, c.Calm)
	case len(d.Tries) != c.All:
		return fmt.Sprintf("there are %d %ss, and the certificate says %d", len(d.Tries), c.Noun(), c.All)
	case d.Alike != c.Alike:
		return fmt.Sprintf("%d faults are left out as another %s, and the certificate says %d", d.Alike, LooksTheSame(d.Reduced, d.Pairs), c.Alike)
	case d.Beyond != c.Beyond:
		return fmt.Sprintf("%d single faults took their process down, and the certificate says %d", d.Beyond, c.Beyond)
	case d.Aside != c.Aside:
		return fmt.Sprintf("%d operations are of jobs that the plan is not about, and the certificate says %d", d.Aside, c.Aside)
	case d.Own != c.Own:
		return fmt.Sprintf("%d faults are left out because an earlier fault strikes the operation or keeps it from its server, and the certificate says %d", d.Own, c.Own)
	case d.Apart != c.Apart:
		return fmt.Sprintf("%d operations cannot be named by a fault, and the certificate says %d", d.Apart, c.Apart)
	case !slices.Equal(d.Lengths, c.Lengths):
		return fmt.Sprintf("faults that last have the lengths %v, and the certificate says %v", d.Lengths, c.Lengths)
	case !slices.Equal(d.columns(), c.Kinds):
		return fmt.Sprintf("the kinds of fault are %q, and the certificate says %q", d.columns(), c.Kinds)
	case len(d.Sites) != len(c.Sites):
		return fmt.Sprintf("%d operations are struck, and the certificate says %d", len(d.Sites), len(c.Sites))
	case len(d.Firsts) != len(c.Firsts):
		return fmt.Sprintf("there are %d first faults, and the certificate says %d", len(d.Firsts), len(c.Firsts))
	}
	for i := range d.Sites {
		if is, says := d.Sites[i], c.Sites[i]; is != says {
			return fmt.Sprintf("operation %d is %s on %s at %s, and the certificate says %s on %s at %s", i+1, is, is.Node, is.At, says, says.Node, says.At)
		}
	}
	for i := range d.Firsts {
		t := d.tried(&d.Firsts[i], c.Kinds)
		if is, says := (First{t.Site, t.Kind, t.Fault}), c.Firsts[i]; is != says {
			return fmt.Sprintf("first fault %d is %s, and the certificate says %s", i+1, is.Fault, says.Fault)
		}
	}
	for n := range c.Tries {
		is, says := d.tried(&d.Tries[n], c.Kinds), &c.Tries[n]
		if is.First != says.First || is.Site != says.Site || is.Kind != says.Kind || is.Fault != says.Fault {
			return fmt.Sprintf("%s %d is of %s, and the certificate says %s", c.Noun(), n+1, is.Fault, says.Fault)
		}
	}
	if is := c.digest(); c.Complete && is != c.Digest {
		return fmt.Sprintf("all its runs together have the digest %s, and the certificate says %s", is, c.Digest)
	}
	return ""
}

// digest is the campaign's digest, computed from the runs in the certificate.
func (c *Certificate) digest() string {
	sum := (&campaign.Record{Digest: c.Calm}).Share()
	for n := range c.Tries {
		r := &campaign.Record{N: n + 1, Digest: c.Tries[n].Digest}
		if c.Tries[n].Outcome == OutOfBounds {
			r = c.outOfBounds(n)
		}
		sum += r.Share()
	}
	return fmt.Sprintf("%016x", sum)
}

// outOfBounds is the record of a try that took its process down.
func (c *Certificate) outOfBounds(n int) *campaign.Record {
	return &campaign.Record{N: n + 1, Digest: c.Tries[n].Digest, Contained: &campaign.Contained{What: campaign.Containment(c.Tries[n].Invariants[0])}}
}

// again repeats the n-th try, and says how its outcome differs from the certificate's; "" if it does not. It
// fails only if the run fails, or ctx was cancelled. It does not repeat a try that took its process down, and
// returns no record for it.
func (d *Definition) again(ctx context.Context, c *Certificate, n int) (r *campaign.Record, differs string, err error) {
	t := &c.Tries[n]
	if t.Outcome == OutOfBounds {
		return nil, "", nil
	}
	p, err := d.PlanOf(n)
	if err != nil {
		return nil, "", err
	}
	if r, err = d.record(ctx, n+1, p); err != nil {
		return nil, "", err
	}
	is, broken := outcomeOf(r, c.besides(r.Outside), len(p.Faults)-1)
	switch {
	case r.Digest != t.Digest:
		differs = fmt.Sprintf("%s: the run has the digest %s, and the certificate says %s", c.Words(n), r.Digest, t.Digest)
	case is != t.Outcome || !slices.Equal(broken, t.Invariants):
		differs = fmt.Sprintf("%s: the run is %s, and the certificate says %s", c.Words(n), came(is, broken), t.Came())
	case c.saysUnjudged() && !slices.Equal(r.Unjudged, t.Unjudged):
		differs = fmt.Sprintf("%s: these invariants are not judged in the run: %s; the certificate says %s", c.Words(n), named(r.Unjudged), named(t.Unjudged))
	}
	return r, differs, nil
}

// Repeat repeats the plan's own run and the tries in list, in order, until one differs from the certificate.
// differs says how, and is "" if none does. If list has all tries, Repeat compares the certificate's sums,
// too. It calls tell with the index in list before each try. made is the number of tries that were repeated;
// tries that took their process down are not.
func (d *Definition) Repeat(ctx context.Context, c *Certificate, list []int, tell func(i int)) (differs string, made int, err error) {
	p, err := plans.Parse("struck", []byte(d.Plan))
	if err != nil {
		return "", 0, err
	}
	own, err := d.record(ctx, 0, p)
	if err != nil {
		return "", 0, err
	}
	if is := baselineOf(own); !slices.EqualFunc(is, c.Baseline, sameBreak) {
		return fmt.Sprintf("the plan by itself breaks these invariants outside of promises: %s; the certificate says %s", breaksIn(is), breaksIn(c.Baseline)), 0, nil
	}
	records := []*campaign.Record{own}
	for i, n := range list {
		tell(i)
		r, differs, err := d.again(ctx, c, n)
		if err != nil || differs != "" {
			return differs, made, err
		}
		if r == nil {
			r = c.outOfBounds(n)
		} else {
			made++
		}
		records = append(records, r)
	}
	if len(list) < len(c.Tries) {
		return "", made, nil
	}
	again, err := d.Certify(records, &campaign.Result{})
	if err != nil {
		return "", made, err
	}
	for i := range max(len(again.Releases), len(c.Releases)) {
		if is, says := again.saysOfRelease(i), c.saysOfRelease(i); is != says {
			return fmt.Sprintf("number %d of the violations outside of a promise is %s; the certificate says %s", i+1, is, says), made, nil
		}
	}
	return "", made, nil
}

func sameBreak(a, b Break) bool {
	return sameOutside(a.Outside, b.Outside) && slices.EqualFunc(a.Cells, b.Cells, sameCell)
}

// sameCell says whether two cells describe the same; a cell read from a file has nothing else.
func sameCell(a, b invariants.Cell) bool {
	return a.Strike == b.Strike && a.Status == b.Status && a.Says == b.Says && slices.Equal(a.With, b.With)
}

func named(list []string) string { return cmp.Or(strings.Join(list, ", "), "none") }

func breaksIn(list []Break) string {
	var says []string
	for i := range list {
		says = append(says, list[i].Invariant+" by "+list[i].Says())
	}
	return cmp.Or(strings.Join(says, ", "), "nothing")
}

// saysOfRelease describes the certificate's i-th release.
func (c *Certificate) saysOfRelease(i int) string {
	if i >= len(c.Releases) {
		return "nothing"
	}
	r := &c.Releases[i]
	return fmt.Sprintf("%s by %s in %d runs, first in run %d", r.Invariant, r.Says(), r.Tries, r.First+1)
}

// record makes a run, and returns what a campaign keeps of it.
func (o *Options) record(ctx context.Context, n int, p *plans.Plan) (*campaign.Record, error) {
	res, err := scenarios.Run(ctx, p, o.options(p))
	if err != nil {
		return nil, err
	}
	return campaign.RecordOf(n, p, res), nil
}

// Sample lists size tries, spread evenly over those that were made. If size is 0, or larger than their
// number, it lists all.
func (c *Certificate) Sample(size int) (list []int) {
	if size <= 0 || size > len(c.Tries) {
		size = len(c.Tries)
	}
	for i := range size {
		list = append(list, i*len(c.Tries)/size)
	}
	return list
}
