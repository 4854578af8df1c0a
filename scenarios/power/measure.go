package power

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// Bench is where mutants are measured.
type Bench struct {
	Root     string   // the module's folder
	Worker   []string // the arguments by which the testbed's program becomes a campaign's worker
	Searches []Search
}

// Row is what came of one mutant.
type Row struct {
	Mutation
	Compiles bool   `json:"compiles"` // one that does not is no mutant
	Kills    []Kill `json:"kills"`    // by search, in their order
}

// Kill is what one search came to.
type Kill struct {
	Search string        `json:"search"`
	By     []string      `json:"by,omitempty"` // the promises that the first run broke of those that broke any, or how its process ended; none: it survived
	Runs   int           `json:"runs"`
	Took   time.Duration `json:"took_ns"` // real time, of one process with one thread
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
	if row.Compiles, err = b.build(ctx, dir, program, m); err != nil || !row.Compiles {
		return row, err
	}
	for i, s := range b.Searches {
		k, err := b.kill(ctx, filepath.Join(dir, fmt.Sprint(i)), program, s)
		if err != nil {
			return row, fmt.Errorf("%s, %s: %w", m, s.Name, err)
		}
		row.Kills = append(row.Kills, k)
	}
	return row, ctx.Err()
}

// build compiles the testbed with the mutation, and says whether it compiles. It fails where there is no go command.
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
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags=-w", "-overlay", overlay, "-o", program, "./cmd/wavetank")
	cmd.Dir = root
	err = cmd.Run()
	if refused := (*exec.ExitError)(nil); errors.As(err, &refused) {
		return false, ctx.Err()
	}
	return err == nil, err
}

// kill runs the search until the first run that shows the mistake.
func (b *Bench) kill(ctx context.Context, dir, program string, s Search) (Kill, error) {
	k := Kill{Search: s.Name}
	if err := campaign.Create(dir, s.Spec); err != nil {
		return k, err
	}
	found, stop := context.WithCancel(ctx)
	defer stop()
	began := time.Now()
	_, err := campaign.Run(found, dir, campaign.Options{Workers: 1, Command: append([]string{program}, b.Worker...), Record: func(r *campaign.Record) {
		if len(k.By) > 0 {
			return
		}
		k.Runs++
		for _, broken := range r.Broken {
			k.By = append(k.By, broken.Invariant)
		}
		if r.Contained != nil {
			k.By = append(k.By, string(r.Contained.What))
		}
		if len(k.By) > 0 {
			k.Took = time.Since(began)
			stop()
		}
	}})
	slices.Sort(k.By)
	if len(k.By) == 0 {
		k.Took = time.Since(began)
	}
	return k, err
}
