package power

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// worker is a campaign's: each of its runs calls Answer, under the seed 1, or Other.
const worker = `package main

import (
	"encoding/json"
	"fmt"
	"os"

	"example.com/p/engine"
)

func main() {
	var a struct {
		First, Count int
		Spec         struct{ Seed int }
	}
	for in := json.NewDecoder(os.Stdin); in.Decode(&a) == nil; {
		for n := a.First; n < a.First+a.Count; n++ {
			digest := 0
			if a.Spec.Seed == 1 {
				digest = engine.Answer()
			} else {
				digest = engine.Other()
			}
			fmt.Printf("{\"begin\":true,\"n\":%d}\n{\"record\":{\"n\":%d,\"verdict\":\"held\",\"digest\":\"%d\"}}\n", n, n, digest)
		}
		if a.Count > 0 {
			fmt.Println("{\"done\":true}")
		}
	}
}
`

// module is one whose program is built as the testbed is.
func module(t *testing.T) (root string, mutation func(old, with string) Mutation) {
	t.Helper()
	root = t.TempDir()
	engine := "package engine\n\nvar list, at = make([]int, 1), 0\n\nvar first = list[at]\n\nfunc Answer() int {\n\tn := 42 + first\n\treturn n\n}\n" +
		"\nfunc Other() int {\n\tm := 43\n\treturn m\n}\n\nfunc Never() int {\n\tk := 44\n\treturn k\n}\n"
	for name, text := range map[string]string{
		"go.mod":               "module example.com/p\n\ngo 1.25\n",
		"engine/engine.go":     engine,
		"cmd/wavetank/main.go": worker,
	} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root, func(old, with string) Mutation {
		at := strings.Index(engine, old)
		return Mutation{Operator: Dropped, File: "engine/engine.go", Line: 1 + strings.Count(engine[:at], "\n"), Column: at - strings.LastIndex(engine[:at], "\n"), Offset: at, Old: old, New: with}
	}
}

// begun is a bench over the testbed in root.
func begun(t *testing.T, root string) *Bench {
	t.Helper()
	b := &Bench{Root: root}
	require.NoError(t, b.Begin(t.Context(), filepath.Join(t.TempDir(), "wavetank")))
	return b
}

// A mutant differs from the program without a mistake in its mistake alone, whoever edits the source meanwhile.
func TestASourceThatChangesEndsTheMeasurement(t *testing.T) {
	root, mutation := module(t)
	b := begun(t, root)
	_, err := b.Measure(t.Context(), mutation("return n", "return n + 1"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "engine", "more.go"), []byte("package engine\n\nfunc init() { println(1) }\n"), 0o600))
	_, err = b.Measure(t.Context(), mutation("return n", "return n + 1"))
	require.EqualError(t, err, "the source has changed since the measurement began; measure anew, in another folder")
	assert.NotEqual(t, b.Program, begun(t, root).Program)
}

// A search that does not execute the code of a mistake is not run. If none does, all that the mutant has to do is to compile.
func TestASearchThatDoesNotExecuteTheCodeIsLeftOut(t *testing.T) {
	root, mutation := module(t)
	b := begun(t, root)
	for name, seed := range map[string]uint64{"other": 2, "answer": 1} {
		_, _, s := bench(t, seed, 3)
		s.Name = name
		b.Searches = append(b.Searches, s)
	}
	slices.SortFunc(b.Searches, func(a, b Search) int { return strings.Compare(a.Name, b.Name) })
	require.NoError(t, b.Cover(t.Context(), 2))
	kills := func(m Mutation) []Kill {
		row, err := b.Measure(t.Context(), m)
		require.NoError(t, err)
		assert.Equal(t, row.Starts, row.Kills != nil)
		for i := range row.Kills {
			row.Kills[i].Took = 0
		}
		return row.Kills
	}
	answer, other := Kill{Search: "answer", Unexecuted: true}, Kill{Search: "other", Unexecuted: true}
	assert.Equal(t, []Kill{answer, other}, kills(mutation("return k", "return k + 1")))
	assert.Nil(t, kills(mutation("return k", "return (")))
	ran := func(search string) Kill { return Kill{Search: search, Runs: 3, Changed: 3, First: "one"} }
	assert.Equal(t, []Kill{ran("answer"), other}, kills(mutation("return n", "return n + 1")))
	assert.Equal(t, []Kill{answer, ran("other")}, kills(mutation("return m", "return m + 1")))
	assert.Equal(t, []Kill{ran("answer"), {Search: "other", Runs: 3}}, kills(mutation("0\n\nvar first = list[at]", "0\n\nvar first = list[at] + 1")), "of no block")
}

func TestAMutationThatDoesNotStartIsNoMutant(t *testing.T) {
	root, mutation := module(t)
	b := begun(t, root)
	for with, starts := range map[string]bool{"return n": true, "return 1": false, "return (": false} {
		row, err := b.Measure(t.Context(), mutation("return n", with))
		require.NoError(t, err, with)
		assert.Equal(t, starts, row.Starts, with)
	}
	row, err := b.Measure(t.Context(), mutation("list[at]", "list[at+1]"))
	require.NoError(t, err)
	assert.False(t, row.Starts, "it panics before main")
	within := filepath.Join(root, "temp")
	require.NoError(t, os.Mkdir(within, 0o700))
	t.Setenv("TMPDIR", within) // the compiler's names begin at the folder where it runs
	row, err = b.Measure(t.Context(), mutation("return n", "return 1"))
	require.NoError(t, err)
	assert.False(t, row.Starts)
}

func TestABuildThatFailsForAnotherReasonEndsTheMeasurement(t *testing.T) {
	root, mutation := module(t)
	b := begun(t, root)
	same := mutation("return n", "return n")
	failed := new(BuildError)
	t.Run("no work folder", func(t *testing.T) {
		t.Setenv("GOTMPDIR", "/nonexistent")
		_, err := b.Measure(t.Context(), same)
		require.ErrorAs(t, err, &failed)
		assert.EqualError(t, err, "engine/engine.go:9 dropped: go build failed (exit status 1) and names no line of engine/engine.go; mend what it says, such as a full disk, and measure again")
		assert.Contains(t, failed.Output, "/nonexistent")
	})
	t.Run("a tool that is killed", func(t *testing.T) {
		tool := filepath.Join(t.TempDir(), "tool")
		require.NoError(t, os.WriteFile(tool, []byte("#!/bin/sh\ncase \"$1 $2\" in *-V=full*) exec \"$@\";; */link\\ *) kill -9 $$;; esac\nexec \"$@\"\n"), 0o700)) //nolint:gosec // it is to be run
		t.Setenv("GOFLAGS", "-toolexec="+tool)
		_, err := b.Measure(t.Context(), same)
		require.ErrorAs(t, err, &failed)
		assert.Contains(t, failed.Output, "signal: killed")
	})
	t.Run("another file", func(t *testing.T) {
		require.NoError(t, os.WriteFile(filepath.Join(root, "engine", "other_engine.go"), []byte("package engine\n\nvar x int = \"\"\n"), 0o600))
		_, err := b.Measure(t.Context(), same)
		require.ErrorAs(t, err, &failed)
		assert.Contains(t, failed.Output, "engine/other_engine.go:3")
	})
	t.Run("no go command", func(t *testing.T) {
		t.Setenv("PATH", "")
		_, err := b.Measure(t.Context(), same)
		require.ErrorAs(t, err, &failed)
	})
}

func TestTheLastLinesOfABuildAreTold(t *testing.T) {
	assert.Equal(t, "2\n3\n4\n5\n6\n7\n8\n9\n10\n11", lastLines([]byte("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n")))
	assert.Empty(t, lastLines(nil))
}

// bench has the test binary for its programs, and a search that runs the seeds in their order.
func bench(t *testing.T, first uint64, seeds int) (b *Bench, mutant string, s Search) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	mutant = filepath.Join(t.TempDir(), asMutant)
	require.NoError(t, os.Symlink(self, mutant))
	return &Bench{Worker: []string{self, asWorker}}, mutant, Search{"seeds", campaign.Spec{
		Version: campaign.SpecVersion, Name: "power", Seed: first, Budget: time.Hour,
		Grid: &campaign.Grid{Plans: []string{"version: 1\nname: one\npreset: documented\n"}, Points: [][]string{{"preset=documented"}}, Seeds: seeds},
	}}
}

func TestWhatAPlanBreaksWithoutTheMistakeIsNoKill(t *testing.T) {
	b, mutant, s := bench(t, breaksAnyway, 4)
	k, err := b.kill(t.Context(), mutant, s)
	require.NoError(t, err)
	k.Took = 0
	assert.Equal(t, Kill{Search: "seeds", By: []string{"mistaken"}, Runs: 3, FalseKills: 2}, k)

	b, mutant, s = bench(t, breaksAnyway, 2)
	k, err = b.kill(t.Context(), mutant, s)
	require.NoError(t, err)
	k.Took = 0
	assert.Equal(t, Kill{Search: "seeds", Runs: 2, FalseKills: 2}, k)
}

// Both programs' runs have no digest of their own, but for what the seed changes.
func TestRunsThatTheMistakeChangesAreCounted(t *testing.T) {
	b, mutant, s := bench(t, changes, 3)
	k, err := b.kill(t.Context(), mutant, s)
	require.NoError(t, err)
	k.Took = 0
	assert.Equal(t, Kill{Search: "seeds", Runs: 3, Changed: 2, First: "one"}, k)

	s.Spec.Grid.Seeds = 1 // what was run without the mistake is not run again
	b.Worker[0] = "/nonexistent"
	k, err = b.kill(t.Context(), mutant, s)
	require.NoError(t, err)
	assert.Zero(t, k.Changed)
}

func TestASearchWhoseUnmutatedProgramCannotRunEnds(t *testing.T) {
	b, mutant, s := bench(t, breaksMore, 1)
	b.Worker[0] = "/nonexistent"
	_, err := b.kill(t.Context(), mutant, s)
	assert.ErrorContains(t, err, "without the mistake: a worker cannot be started (/nonexistent "+asWorker+")")
}

func TestACancelledMeasurementSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	root, mutation := module(t)
	_, err := (&Bench{Root: root}).Measure(ctx, mutation("return n", "return 1"))
	assert.ErrorIs(t, err, context.Canceled)

	b, mutant, s := bench(t, breaksMore, 1)
	_, err = b.kill(ctx, mutant, s)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestASearchEndsWithItsTime(t *testing.T) {
	b, mutant, s := bench(t, breaksMore, 1)
	s.Spec.Budget = 0
	k, err := b.kill(t.Context(), mutant, s)
	require.NoError(t, err)
	assert.Empty(t, k.By)
}
