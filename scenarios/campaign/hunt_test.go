package campaign

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/internal/race"
)

func brokenRun(n int, fired string, invariants ...string) *Record {
	r := &Record{N: n, Fired: []string{fired}, Drawn: []string{fired}}
	for _, i := range invariants {
		r.Broken = append(r.Broken, Broken{Invariant: i})
	}
	return r
}

// hunted is what comes of runs, of which examine looks at what the hunt asks for.
func hunted(h *hunt, runs []*Record, examine func(broken) Finding) (asked []broken) {
	for _, r := range runs {
		h.see(r)
	}
	for {
		b, ok := h.next()
		if !ok {
			return asked
		}
		asked = append(asked, b)
		h.found(b, examine(b))
	}
}

// The name of a finding is its fingerprint's, so that it is one finding with whatever has the same.
func TestFindingsWithOneFingerprintAreOne(t *testing.T) {
	runs := []*Record{brokenRun(1, "a", "first"), brokenRun(2, "a", "first"), brokenRun(3, "a", "first")}
	h := &hunt{max: 20, known: map[broken]*Finding{}}
	hunted(h, runs, func(b broken) Finding {
		setting := map[int]string{1: "x", 2: "y", 3: "y"}[b.n]
		f := Finding{Invariant: b.invariant, Cause: "a, with " + setting, Settings: []string{setting}, Kinds: []string{"a"}, Verdict: "violated", Operations: []string{"publish"}}
		if b.n == 3 {
			f.Cause, f.Operations = "a, with z", []string{"ack"}
		}
		return f
	})
	require.Len(t, h.findings, 2)
	assert.Equal(t, 2, h.findings[0].Runs)
	assert.Equal(t, []string{"ack"}, h.findings[1].Operations)
}

func TestWhatAFindingExplainsIsNotExamined(t *testing.T) {
	runs := []*Record{
		brokenRun(2, "a", "first"), kept(3), brokenRun(5, "a", "first", "second"), brokenRun(7, "b", "first"), brokenRun(8, "b", "first"), brokenRun(9, "a", "second"),
	}
	h := &hunt{max: 20, known: map[broken]*Finding{}}
	asked := hunted(h, runs, func(b broken) Finding {
		kind := map[int]string{2: "a", 5: "a", 7: "b"}[b.n]
		return Finding{Invariant: b.invariant, Cause: kind, Kinds: []string{kind}}
	})
	assert.Equal(t, []broken{{2, "first"}, {5, "second"}, {7, "first"}}, asked)
	require.Len(t, h.findings, 3)
	for i, want := range []Finding{
		{Invariant: "first", Cause: "a", First: 2, Runs: 2},
		{Invariant: "second", Cause: "a", First: 5, Runs: 2},
		{Invariant: "first", Cause: "b", First: 7, Runs: 2},
	} {
		got := h.findings[i]
		got.Kinds = nil
		assert.Equal(t, want, got)
	}
	assert.Zero(t, h.over)
}

func TestFindingsOfOneCauseAreOne(t *testing.T) {
	h := &hunt{max: 20, known: map[broken]*Finding{}}
	asked := hunted(h, []*Record{brokenRun(2, "a", "first"), brokenRun(3, "b", "first")}, func(b broken) Finding {
		return Finding{Invariant: b.invariant, Cause: "c", Kinds: []string{"c"}}
	})
	assert.Len(t, asked, 2)
	require.Len(t, h.findings, 1)
	assert.Equal(t, [2]int{2, 2}, [2]int{h.findings[0].First, h.findings[0].Runs})
}

func TestBeyondTheMostFindingsRunsAreCounted(t *testing.T) {
	h := &hunt{max: 1, known: map[broken]*Finding{}}
	asked := hunted(h, []*Record{brokenRun(2, "a", "first"), brokenRun(3, "b", "first", "second"), brokenRun(4, "a", "first", "second")}, func(b broken) Finding {
		return Finding{Invariant: b.invariant, Cause: "a", Kinds: []string{"a"}}
	})
	assert.Len(t, asked, 1)
	assert.Equal(t, 2, h.findings[0].Runs)
	assert.Equal(t, 2, h.over, "in runs, not in promises")
	assert.Equal(t, map[string]int{"first": 1, "second": 2}, h.overBy)
}

// A shard may have examined what one machine would have left.
func TestBeyondTheMostFindingsWhatIsKnownIsCountedToo(t *testing.T) {
	known := &Finding{Invariant: "second", Cause: "b", Kinds: []string{"b"}}
	h := &hunt{max: 1, known: map[broken]*Finding{{3, "second"}: known}}
	hunted(h, []*Record{brokenRun(2, "a", "first"), brokenRun(3, "b", "second")}, func(b broken) Finding {
		return Finding{Invariant: b.invariant, Cause: "a", Kinds: []string{"a"}}
	})
	require.Len(t, h.findings, 1)
	assert.Equal(t, map[string]int{"second": 1}, h.overBy)
}

var elapsed = regexp.MustCompile(`"elapsed_ns":\d+`)

func TestWhatWasFoundIsExaminedOnceTheTimeIsOver(t *testing.T) {
	race.SkipLong(t)
	t.Parallel()
	spec := breaking(0)
	spec.Seed = 8 // whose third run breaks something
	spec.Budget = 24 * time.Hour
	dir := begun(t, spec)
	ctx, cancel := context.WithCancel(context.Background())
	opt := quick(2, "")
	opt.Record = func(r *Record) {
		if len(r.Broken) > 0 {
			cancel()
		}
	}
	res, err := Run(ctx, dir, opt)
	require.NoError(t, err)
	assert.False(t, res.Complete)
	assert.Positive(t, res.Unexamined)
	assert.NotEmpty(t, res.UnexaminedBy)
	sofar, _, err := SoFar(dir)
	require.NoError(t, err)
	assert.Equal(t, res.UnexaminedBy, sofar.UnexaminedBy)
	assert.Empty(t, res.Findings)

	path := filepath.Join(dir, JournalFile)
	journal, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, elapsed.ReplaceAll(journal, []byte(`"elapsed_ns":86400000000000`)), 0o644))
	over, _ := ran(t, dir, opt)
	assert.Equal(t, res.Runs, over.Runs)
	assert.Zero(t, over.Unexamined)
	require.NotEmpty(t, over.Findings)
	assert.Equal(t, 1, over.Findings[0].Jobs)
}
