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
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// testbed is the package of the testbed's program.
const testbed = "./cmd/wavetank"

// unmutated builds the testbed without a mistake, and hashes the program.
func (b *Bench) unmutated(ctx context.Context, program string, flags ...string) (hash string, err error) {
	out, err := b.goBuild(ctx, program, testbed, flags...)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", &BuildError{Output: lastLines(out), Cause: err}
	}
	return campaign.ProgramOf(program)
}

// starts says whether the program reaches its main function. A mistake in a package's initialization makes it panic before, which
// any run would find.
func starts(ctx context.Context, program string) (bool, error) {
	ctx, stop := context.WithTimeout(ctx, campaign.RunTimeout)
	defer stop()
	err := exec.CommandContext(ctx, program, "version").Run()
	if _, exited := errors.AsType[*exec.ExitError](err); exited && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// unchanged returns [ErrChanged] if the source has changed since the measurement began, since the mutant would then differ by more than
// its mistake. It always builds to the same file, which go build does not link again while the sources are unchanged.
func (b *Bench) unchanged(ctx context.Context) error {
	b.again.Lock()
	defer b.again.Unlock()
	hash, err := b.unmutated(ctx, b.Worker[0]+"-again")
	if err == nil && hash != b.Program {
		err = ErrChanged
	}
	return err
}

// build compiles a package with the mutation as program, and says whether it compiles.
func (b *Bench) build(ctx context.Context, dir, program, target string, m Mutation) (bool, error) {
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
	out, err := b.goBuild(ctx, program, target, "-overlay", overlay)
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

// goBuild builds a package as program, and returns the output of go build.
func (b *Bench) goBuild(ctx context.Context, program, target string, flags ...string) ([]byte, error) {
	args := slices.Concat([]string{"build", "-buildvcs=false", "-ldflags=-w", "-o", program}, flags, []string{target})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.WaitDelay = b.Root, outputDelay
	return cmd.CombinedOutput()
}

// outputDelay is how long to wait for the output of a killed build: a process that it started may hold the output open.
const outputDelay = 3 * time.Second

// names says whether the compiler reports an error in one of the files. Folders may come before the name.
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
