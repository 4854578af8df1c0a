package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// standing is what a plan does in a commit.
type standing string

const (
	holds   standing = "good"
	breaks  standing = "bad"
	unknown standing = "skipped"
)

// tree is the working tree that commits are checked out into.
func (b *bisection) tree() string { return filepath.Join(b.temp, "tree") }

// judge builds a commit, which is called so, and runs the plan.
func (b *bisection) judge(commit, called string) (standing, string, error) {
	if _, err := command(b.ctx, b.tree(), "git", "checkout", "--quiet", "--detach", "--force", commit); err != nil {
		return "", "", fmt.Errorf("%s cannot be checked out: %w", commit, err)
	}
	program := filepath.Join(b.temp, "wavetank")
	b.show.Begin("building %s", called)
	if _, err := command(b.ctx, b.tree(), "go", "build", "-buildvcs=false", "-o", program, "./cmd/wavetank"); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", "", cli.Fail(cli.ExitUsage, "bisect needs Go, which is not installed")
		}
		return unknown, "the commit does not build: " + err.Error(), nil
	}
	b.show.Begin("running the plan in %s", called)
	whole, says := holds, ""
	for i := range b.flags.seeds {
		b.show.Show("running the plan in %s: seed %d of %d", called, i+1, b.flags.seeds)
		switch is, why := b.run(program, b.plan.Seed+uint64(i)); is {
		case breaks:
			return is, why, nil
		case unknown:
			whole, says = is, why
		}
	}
	return whole, says, nil
}

// run runs the plan once. What is none of its outcomes is not known.
func (b *bisection) run(program string, seed uint64) (standing, string) {
	dir := filepath.Join(b.temp, "run")
	if err := os.RemoveAll(dir); err != nil {
		return unknown, err.Error()
	}
	args := []string{"run", "plan.yaml", "--out", dir}
	if seed != b.plan.Seed {
		args = append(args, "--seed", fmt.Sprint(seed))
	}
	ctx, cancel := context.WithTimeout(b.ctx, b.flags.timeout)
	defer cancel()
	_, err := command(ctx, b.temp, program, args...)
	failed := new(failure)
	_ = errors.As(err, &failed)
	if b.ctx.Err() == nil && ctx.Err() != nil {
		return b.outOfBounds(campaign.Hung, fmt.Sprintf("the run took longer than %s", b.flags.timeout))
	}
	if at := panicked.FindString(failed.said); at != "" {
		return b.outOfBounds(campaign.Panicked, strings.TrimSpace(at))
	}
	res, err := resultIn(dir, err)
	if err != nil {
		return unknown, err.Error()
	}
	says := res.undecided()
	switch {
	case res.broken(b.invariant) != "":
		return breaks, ""
	case res.OutOfSteps && (says != "" || b.invariant == string(campaign.Endless)):
		return b.outOfBounds(campaign.Endless, "the run used up its steps")
	case says != "":
		return unknown, says
	}
	return holds, ""
}

// panicked is how a program's last words begin.
var panicked = regexp.MustCompile(`(?m)^(panic|fatal error): .*$`)

// outOfBounds is what a run comes to that did not end by itself: bad if that is looked for.
func (b *bisection) outOfBounds(what campaign.Containment, says string) (standing, string) {
	if b.invariant == "" || b.invariant == string(what) {
		return breaks, says
	}
	return unknown, says
}
