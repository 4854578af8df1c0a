package power

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/tools/cover"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// Bench is where mutants are measured.
type Bench struct {
	Root     string   // the module's folder
	Worker   []string // the command of a campaign's worker without a mistake; a mutant's program takes the place of the first
	Program  string   // a hash of that worker's program, and so of the source
	Searches []Search
	executed [][]*cover.Profile // what each of them executes without a mistake; nil: not known
	without  digests            // of the runs without a mistake
	again    sync.Mutex         // guards the program that is built to see whether the source is as it was
}

// Begin builds the testbed without a mistake, as the program of a worker with those arguments. Its mutants differ from it in
// nothing else: what runs now may be built of another source.
func (b *Bench) Begin(ctx context.Context, program string, args ...string) (err error) {
	b.Worker = append([]string{program}, args...)
	b.Program, err = b.unmutated(ctx, program)
	return err
}

// Row is what came of one mutant.
type Row struct {
	Mutation
	Starts bool   `json:"starts"` // one that does not compile, or panics before main, is no mutant
	Kills  []Kill `json:"kills"`  // by search, in their order
}

// Kill is what one search came to.
type Kill struct {
	Search     string        `json:"search"`
	Unexecuted bool          `json:"unexecuted,omitempty"` // it does not execute the code within its time, and so was not run
	By         []string      `json:"by,omitempty"`         // what the first run broke that its plan does not break without the mistake: promises, or how its process ended; none: it survived
	Runs       int           `json:"runs"`
	FalseKills int           `json:"false_kills,omitempty"` // of the runs, those that broke only what their plan breaks without the mistake, too
	Changed    int           `json:"changed,omitempty"`     // of the runs of a search that did not find it, those with another event than without the mistake
	First      string        `json:"first,omitempty"`       // the plan of the first of them
	Took       time.Duration `json:"took_ns"`               // real time, of one process with one thread
}

// Measure plants a mutation and has each search look for it. It may be called from several goroutines.
func (b *Bench) Measure(ctx context.Context, m Mutation) (Row, error) {
	row := Row{Mutation: m}
	dir, err := os.MkdirTemp("", "wavetank-power-")
	if err != nil {
		return row, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "wavetank")
	executed, target := b.executedBy(m), testbed
	nowhere := len(executed) > 0 && !slices.Contains(executed, true)
	if nowhere {
		target = "./" + path.Dir(m.File) // that it compiles is enough: what runs before main is executed
	}
	compiles, err := b.build(ctx, dir, program, target, m)
	if err == nil {
		err = b.unchanged(ctx)
	}
	if err != nil || !compiles {
		return row, err
	}
	if row.Starts = nowhere; !nowhere {
		row.Starts, err = starts(ctx, program)
	}
	if err != nil || !row.Starts {
		return row, err
	}
	for i, s := range b.Searches {
		k := Kill{Search: s.Name, Unexecuted: true}
		if executed[i] {
			if k, err = b.kill(ctx, program, s); err != nil {
				return row, fmt.Errorf("%s, %s: %w", m, s.Name, err)
			}
		}
		row.Kills = append(row.Kills, k)
	}
	return row, nil
}

// kill runs the search until the first run that shows the mistake.
func (b *Bench) kill(ctx context.Context, program string, s Search) (Kill, error) {
	k := Kill{Search: s.Name}
	first, end := (&campaign.Job{Spec: s.Spec}).Runs()
	inTime, stop := context.WithTimeout(ctx, s.Spec.Budget)
	defer stop()
	began := time.Now()
	var mutated []string // the digests of the runs
	var checkErr error
	err := runs(inTime, append([]string{program}, b.Worker[1:]...), s.Spec, first, end, func(r *campaign.Record) (last bool) {
		k.Runs++
		mutated = append(mutated, r.Digest)
		by := breaks(r)
		if len(by) == 0 {
			return false
		}
		took := time.Since(began)
		var anyway []string
		checkErr = runs(ctx, b.Worker, s.Spec, r.N, r.N+1, func(r *campaign.Record) bool { anyway = breaks(r); return true })
		by = slices.DeleteFunc(by, func(what string) bool { return slices.Contains(anyway, what) })
		if len(by) > 0 {
			k.By, k.Took = by, took
			return true
		}
		k.FalseKills++
		return checkErr != nil
	})
	if len(k.By) == 0 {
		k.Took = time.Since(began)
	}
	if checkErr != nil {
		err = fmt.Errorf("without the mistake: %w", checkErr)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err == nil && len(k.By) == 0 {
		err = b.compare(ctx, s, first, mutated, &k)
	}
	return k, err
}

// compare counts the runs, the first of them first, that the mistake changed: a mistake that changes nothing is nothing
// that a judge could tell.
func (b *Bench) compare(ctx context.Context, s Search, first int, mutated []string, k *Kill) error {
	without, err := b.without.of(ctx, b.Worker, s, first, len(mutated))
	if err != nil {
		return fmt.Errorf("without the mistake: %w", err)
	}
	for i, digest := range mutated {
		if digest == without[i] {
			continue
		}
		if k.Changed++; k.Changed > 1 {
			continue
		}
		p, err := s.Spec.Plan(first + i)
		if err != nil {
			return err
		}
		k.First = p.Name
	}
	return nil
}

// breaks lists what a run broke: promises, and how its process ended.
func breaks(r *campaign.Record) (by []string) {
	for _, broken := range r.Broken {
		by = append(by, broken.Invariant)
	}
	if r.Contained != nil {
		by = append(by, string(r.Contained.What))
	}
	slices.Sort(by)
	return by
}
