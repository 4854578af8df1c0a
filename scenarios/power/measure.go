package power

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// Bench is where mutants are measured.
type Bench struct {
	Root     string   // the module's folder
	Worker   []string // the command of a campaign's worker without a mistake; a mutant's program takes the place of the first
	Program  string   // a hash of that worker's program, and so of the source
	Searches []Search
	without  digests    // of the runs without a mistake
	again    sync.Mutex // guards the program that is built to see whether the source is as it was
}

// Begin builds the testbed without a mistake, as the program of a worker with those arguments. Its mutants differ from it in
// nothing else: what runs now may be built of another source.
func (b *Bench) Begin(ctx context.Context, program string, args ...string) (err error) {
	b.Worker = append([]string{program}, args...)
	b.Program, err = b.unmutated(ctx, program)
	return err
}

// unmutated builds the testbed without a mistake, and hashes the program.
func (b *Bench) unmutated(ctx context.Context, program string) (hash string, err error) {
	out, err := b.goBuild(ctx, program)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", &BuildError{Output: lastLines(out), Cause: err}
	}
	return campaign.ProgramOf(program)
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
	By         []string      `json:"by,omitempty"` // what the first run broke that its plan does not break without the mistake: promises, or how its process ended; none: it survived
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
	compiles, err := b.build(ctx, dir, program, m)
	if err == nil {
		err = b.unchanged(ctx)
	}
	if err != nil || !compiles {
		return row, err
	}
	if row.Starts, err = starts(ctx, program); err != nil || !row.Starts {
		return row, err
	}
	for _, s := range b.Searches {
		k, err := b.kill(ctx, program, s)
		if err != nil {
			return row, fmt.Errorf("%s, %s: %w", m, s.Name, err)
		}
		row.Kills = append(row.Kills, k)
	}
	return row, nil
}

// starts says whether the program gets to its main function. A mistake in what is set up before makes it panic, and every run
// of anything finds that.
func starts(ctx context.Context, program string) (bool, error) {
	ctx, stop := context.WithTimeout(ctx, campaign.RunTimeout)
	defer stop()
	err := exec.CommandContext(ctx, program, "version").Run()
	if _, exited := errors.AsType[*exec.ExitError](err); exited && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// unchanged fails if the source is not as it was when the measurement began: the mutant would have more than its mistake.
// It builds a program that nobody runs, and always the same one, which go build leaves as it is while its sources are.
func (b *Bench) unchanged(ctx context.Context) error {
	b.again.Lock()
	defer b.again.Unlock()
	hash, err := b.unmutated(ctx, b.Worker[0]+"-again")
	if err == nil && hash != b.Program {
		err = ErrChanged
	}
	return err
}

// build compiles the testbed with the mutation, and says whether it compiles.
func (b *Bench) build(ctx context.Context, dir, program string, m Mutation) (bool, error) {
	root, err := filepath.Abs(b.Root)
	if err != nil {
		return false, err
	}
	path := filepath.Join(root, filepath.FromSlash(m.File))
	code, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	mutated, err := m.Apply(code)
	if err != nil {
		return false, err
	}
	file, overlay := filepath.Join(dir, "mutated.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, mutated, 0o600); err != nil {
		return false, err
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: file}})
	if err != nil {
		return false, err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return false, err
	}
	out, err := b.goBuild(ctx, program, "-overlay", overlay)
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case names(out, filepath.Base(dir)+"/"+filepath.Base(file), m.File):
		return false, nil
	}
	return false, &BuildError{Mutation: m, Output: lastLines(out), Cause: err}
}

// goBuild builds the testbed as program, and returns what that says.
func (b *Bench) goBuild(ctx context.Context, program string, flags ...string) ([]byte, error) {
	args := slices.Concat([]string{"build", "-buildvcs=false", "-ldflags=-w", "-o", program}, flags, []string{"./cmd/wavetank"})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.WaitDelay = b.Root, outputDelay
	return cmd.CombinedOutput()
}

// outputDelay is how long the output of a build that was ended is waited for: what it started may hold it open.
const outputDelay = 3 * time.Second

// names says whether the compiler complains of a line of a file, by one of its names. Folders may come before the name.
func names(output []byte, files ...string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		return regexp.MustCompile(`(?m)^(.*/)?` + regexp.QuoteMeta(file) + `:\d+`).Match(output)
	})
}

// outputLines are how much of a build's output is told.
const outputLines = 10

func lastLines(output []byte) string {
	lines := strings.Split(string(bytes.TrimSpace(output)), "\n")
	return strings.Join(lines[max(0, len(lines)-outputLines):], "\n")
}

// BuildError is of a build that failed for another reason than that its mutation does not compile.
type BuildError struct {
	Mutation Mutation // none in a build without a mistake
	Output   string   // its last lines
	Cause    error
}

func (e *BuildError) Error() string {
	if e.Mutation == (Mutation{}) {
		return fmt.Sprintf("go build of the source without a mistake failed (%v); mend what it says, and measure again", e.Cause)
	}
	return fmt.Sprintf("%s: go build failed (%v) and names no line of %s; mend what it says, such as a full disk, and measure again", e.Mutation, e.Cause, e.Mutation.File)
}

func (e *BuildError) Unwrap() error { return e.Cause }

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
