package campaign

import (
	"bytes"
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/internal/race"
)

func bytesLines(data []byte) iter.Seq[[]byte] { return bytes.Lines(data) }

// interrupted is a campaign that was cut short, and its journal.
func interrupted(t *testing.T, spec Spec, after int) (dir, journal string) {
	t.Helper()
	dir = begun(t, spec)
	ctx, cancel := context.WithCancel(context.Background())
	opt := quick(1, "")
	opt.Record = func(r *Record) {
		if r.N == after {
			cancel()
		}
	}
	_, err := Run(ctx, dir, opt)
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(dir, JournalFile))
	require.NoError(t, err)
	return dir, string(data)
}

func TestAJournalThatCannotBeGoneOnWithIsRefused(t *testing.T) {
	t.Parallel()
	dir, journal := interrupted(t, small(20), 4)
	path := filepath.Join(dir, JournalFile)
	lines := strings.SplitAfter(journal, "\n")
	require.Greater(t, len(lines), 6)
	with := func(k int, line string) string {
		return strings.Join(lines[:k-1], "") + line + strings.Join(lines[k:], "")
	}
	for _, c := range []struct{ name, journal, says string }{
		{"a broken line", with(3, lines[2][:40]+"\n"), path + ":3: the line is broken: "},
		{"another key", with(3, `{"recorded":{}}`+"\n"), path + `:3: the line is broken: unknown field "recorded"; remove`},
		{"nothing", with(3, "{}\n"), path + ":3: the line is empty; remove"},
		{"a run that is there twice", with(3, lines[1]), path + ":3: run 0 occurs twice; remove"},
		{"another verdict", with(3, strings.Replace(lines[2], `"verdict":"held"`, `"verdict":"violated"`, 1)), path + `:3: run 1 does not agree with itself: verdict "violated", 0 broken promises`},
		{"a run that is not of the campaign", with(3, `{"record":{"n":20}}`+"\n"), path + ":3: the campaign has no run 20; remove"},
		{"no header", strings.Join(lines[1:], ""), path + ":1: the line is out of order; remove"},
		{"a second header", with(3, lines[0]), path + ":3: the line is out of order; remove"},
		{"a newer version", with(1, strings.Replace(lines[0], `"version":2`, `"version":3`, 1)), path + ":1: the journal's format is version 3; this build writes version 2: go on with the build that began it, or remove"},
		{"another build", with(1, strings.Replace(lines[0], `"build":"devel"`, `"build":"v9.9.9"`, 1)), "; to have that one, check out v9.9.9 and build it while git status lists no file; go on with that one, or remove the folder"},
		{"another spec", with(1, strings.Replace(lines[0], `"spec":"`, `"spec":"x`, 1)), path + ":1: the journal belongs to another campaign than spec.json; remove"},
		{"another program", with(1, strings.Replace(lines[0], `"program":"`, `"program":"x`, 1)), path + ":1: the campaign was begun by another build (devel, program x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, []byte(c.journal), 0o644))
			_, err := Run(context.Background(), dir, quick(1, ""))
			require.ErrorContains(t, err, c.says)
			assert.NotContains(t, err.Error(), "\n")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, c.journal, string(data), "it is left as it was")
		})
	}
}

func TestALineThatWasNotWrittenToItsEndIsDropped(t *testing.T) {
	race.SkipLong(t)
	t.Parallel()
	want := undisturbed(t, small(20))
	dir, journal := interrupted(t, small(20), 4)
	path := filepath.Join(dir, JournalFile)
	last := strings.LastIndexByte(journal[:len(journal)-1], '\n') + 1
	for _, cut := range []int{0, last + 1, len(journal) - 1} { // within the header, too
		torn := journal[:cut]
		if cut == 0 {
			torn = journal[:10]
		}
		require.NoError(t, os.WriteFile(path, []byte(torn), 0o644))
		_, text := ran(t, dir, quick(1, ""))
		assert.Equal(t, want, text)
		require.NoError(t, os.Remove(filepath.Join(dir, ResultFile)))
	}
}

func TestOneProcessRunsACampaign(t *testing.T) {
	t.Parallel()
	dir := begun(t, small(20))
	opt := quick(1, "")
	opt.Record = func(r *Record) {
		if r.N == 3 {
			_, err := Run(context.Background(), dir, quick(1, ""))
			assert.EqualError(t, err, "another process runs the campaign in "+dir+"; wait for it, or end it")
		}
	}
	ran(t, dir, opt)
}

// A campaign without the journal of what it did is not begun anew in silence.
func TestAJournalThatIsGoneIsRefused(t *testing.T) {
	t.Parallel()
	dir, journal := interrupted(t, small(20), 4)
	path := filepath.Join(dir, JournalFile)
	done, err := Done(dir)
	require.NoError(t, err)
	assert.Equal(t, strings.Count(journal, "\n")-1, done)
	require.NoError(t, os.WriteFile(filepath.Join(dir, FindingsDir, "x.yaml"), nil, 0o600))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err = Run(context.Background(), dir, quick(1, ""))
	assert.EqualError(t, err, path+" is empty, but the campaign has findings; remove the folder and begin the campaign anew")
	require.NoError(t, os.Remove(path))
	_, err = Run(context.Background(), dir, quick(1, ""))
	assert.EqualError(t, err, path+", which holds the runs of the campaign, is missing; remove the folder and begin the campaign anew")
}
