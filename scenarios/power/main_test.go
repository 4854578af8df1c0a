package power

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/internal/testmain"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// asWorker makes the test binary a campaign's worker; called as asMutant, it has the mistake.
const (
	asWorker = "a-worker"
	asMutant = "wavetank"
)

func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != asWorker {
		testmain.Run(m)
	}
	table := unmutated
	if filepath.Base(os.Args[0]) == asMutant {
		table = mutated
	}
	err := campaign.Serve(context.Background(), os.Stdin, os.Stdout, campaign.ServeOptions{
		Run: func(_ context.Context, p *plans.Plan, _ scenarios.RunOptions) (*scenarios.Result, error) {
			return table(p.Seed), nil
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The seeds of what each program breaks.
const (
	breaksAnyway = iota + 1 // a promise, with the mistake and without
	panicsAnyway
	breaksMore  // a promise anyway, and another with the mistake
	breaksNext  // the same as breaksMore
	changes     // nothing
	changesNext // an event
	changesLast // an event
)

func unmutated(seed uint64) *scenarios.Result {
	switch seed {
	case panicsAnyway:
		panic("with the mistake and without")
	case breaksAnyway, breaksMore, breaksNext:
		return broke("anyway")
	}
	return broke()
}

func mutated(seed uint64) *scenarios.Result {
	if seed == breaksMore || seed == breaksNext {
		return broke("mistaken", "anyway")
	}
	res := unmutated(seed)
	if seed == changesNext || seed == changesLast {
		res.Digest = "another"
	}
	return res
}

func broke(invariants ...string) *scenarios.Result {
	res := &scenarios.Result{Verdict: scenarios.Held}
	for _, i := range invariants {
		res.Verdict = scenarios.Violated
		res.Violations = append(res.Violations, scenarios.Violation{Invariant: i, Promised: true})
	}
	return res
}
