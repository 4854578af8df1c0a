package exhaust

import (
	"context"
	"fmt"

	"github.com/wavetank-sim/wavetank/scenarios"
)

// Options are those under which the certificate came about.
func (c *Certificate) Options() Options {
	return Options{Pairs: c.Pairs, Unpruned: c.Unpruned, Reduced: c.Reduced, EveryLength: len(c.Lengths) > 0, Phases: c.Phases, Kinds: c.Kinds}
}

// Differs says where what d tries is not what the certificate is of; "" is nowhere.
func (d *Definition) Differs(c *Certificate) string {
	switch {
	case d.Calm != c.Calm:
		return fmt.Sprintf("the run without a fault has the digest %s, and the certificate says %s", d.Calm, c.Calm)
	case len(d.Tries) != c.All:
		return fmt.Sprintf("there are %d %ss, and the certificate says %d", len(d.Tries), c.Noun(), c.All)
	}
	for n := range c.Tries {
		is, says := d.tried(&d.Tries[n], c.Kinds), &c.Tries[n]
		if is.First != says.First || is.Fault != says.Fault {
			return fmt.Sprintf("%s %d is of %s, and the certificate says %s", c.Noun(), n+1, is.Fault, says.Fault)
		}
	}
	return ""
}

// Again makes the n-th try once more, and says how what comes of it is not what the certificate says; "" is not at all. It
// fails only if the run cannot be had, or ctx was cancelled. What took its process down is not tried.
func (d *Definition) Again(ctx context.Context, c *Certificate, n int) (differs string, err error) {
	t := &c.Tries[n]
	if t.Outcome == OutOfBounds {
		return "", nil
	}
	p, err := d.PlanOf(n)
	if err != nil {
		return "", err
	}
	res, err := scenarios.Run(ctx, p, d.options(p))
	switch {
	case err != nil:
		return "", err
	case res.Digest != t.Digest:
		return fmt.Sprintf("%s: the run has the digest %s, and the certificate says %s", c.Words(n), res.Digest, t.Digest), nil
	case (res.Verdict == scenarios.Violated) != (t.Outcome == Broken):
		return fmt.Sprintf("%s: the run is %s, and the certificate says %s", c.Words(n), res.Verdict, t.Outcome), nil
	}
	return "", nil
}

// Sample lists so many tries, spread evenly over all that were made; 0, or more than there are, is all.
func (c *Certificate) Sample(size int) (list []int) {
	if size <= 0 || size > len(c.Tries) {
		size = len(c.Tries)
	}
	for i := range size {
		list = append(list, i*len(c.Tries)/size)
	}
	return list
}
