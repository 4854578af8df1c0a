package power

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/tools/cover"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// coveredTimes is how many times its budget a search runs in the covered build, which is slower. Code that it does not reach
// there counts as code that it never executes.
const coveredTimes = 2

// Cover finds out which code of the engine each search executes. It runs that many searches at a time.
func (b *Bench) Cover(ctx context.Context, workers int) error {
	dir, err := os.MkdirTemp("", "wavetank-covered-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "wavetank")
	// A program whose main package is not covered writes nothing.
	if _, err := b.unmutated(ctx, program, "-cover", "-coverpkg=./engine/...,"+testbed); err != nil {
		return err
	}
	executed := make([][]*cover.Profile, len(b.Searches))
	group, inGroup := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, s := range b.Searches {
		group.Go(func() (err error) {
			executed[i], err = b.cover(inGroup, program, filepath.Join(dir, strconv.Itoa(i)), s)
			return err
		})
	}
	err = cmp.Or(group.Wait(), ctx.Err())
	b.executed = executed
	return err
}

// cover runs the search without a mistake, and returns what it executes. It keeps the counters in dir.
func (b *Bench) cover(ctx context.Context, program, dir string, s Search) ([]*cover.Profile, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	// A worker that is no longer needed is killed, and would write no counters. So a shell is killed in its place. The worker,
	// its child, ends by itself when its input ends.
	worker := slices.Concat([]string{"sh", "-c", `GOCOVERDIR="$0" "$@"; exit`, dir, program}, b.Worker[1:])
	first, end := (&campaign.Job{Spec: s.Spec}).Runs()
	inTime, stop := context.WithTimeout(ctx, coveredTimes*s.Spec.Budget)
	defer stop()
	if err := runs(inTime, worker, s.Spec, first, end, func(*campaign.Record) bool { return false }); err != nil {
		return nil, err
	}
	profile := filepath.Join(dir, "profile")
	covdata := exec.CommandContext(ctx, "go", "tool", "covdata", "textfmt", "-i="+dir, "-o="+profile)
	covdata.Dir = b.Root
	switch counters, err := filepath.Glob(filepath.Join(dir, "covcounters.*")); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil && len(counters) == 0:
		return nil, fmt.Errorf("%s: no worker has written what it executed", s.Name)
	}
	if out, err := covdata.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: go tool covdata failed (%w): %s", s.Name, err, lastLines(out))
	}
	return cover.ParseProfiles(profile)
}

// executedBy says which searches execute the code in which a mistake begins; all of them before [Bench.Cover].
func (b *Bench) executedBy(m Mutation) []bool {
	by := make([]bool, len(b.Searches))
	for i := range by {
		by[i] = len(b.executed) == 0 || executes(b.executed[i], m)
	}
	return by
}

// executes says whether the code in which a mistake begins was executed. Code outside of all blocks, such as the condition of a
// case, counts as executed.
func executes(profiles []*cover.Profile, m Mutation) bool {
	never := false
	for _, p := range profiles {
		if !strings.HasSuffix(p.FileName, "/"+m.File) { // it begins with the module's path
			continue
		}
		for _, b := range p.Blocks {
			begun := cmp.Or(cmp.Compare(b.StartLine, m.Line), cmp.Compare(b.StartCol, m.Column)) <= 0
			over := cmp.Or(cmp.Compare(b.EndLine, m.Line), cmp.Compare(b.EndCol, m.Column)) <= 0
			if !begun || over {
				continue
			}
			if b.Count > 0 {
				return true
			}
			never = true
		}
	}
	return !never
}
