package campaign

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/scenarios/internal/race"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// sharded runs the shards of a campaign, each by itself, and returns their folders.
func sharded(t *testing.T, spec Spec, n int) (dirs []string) {
	t.Helper()
	for k := 1; k <= n; k++ {
		spec.Shard = &Shard{k, n}
		dir := begun(t, spec)
		ran(t, dir, quick(1, ""))
		dirs = append(dirs, dir)
	}
	return dirs
}

// mergedResult merges folders, and returns the result.json.
func mergedResult(t *testing.T, dirs ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "all")
	res, err := Merge(context.Background(), dirs, out, quick(1, ""))
	require.NoError(t, err)
	require.True(t, res.Complete)
	for _, f := range res.Findings {
		assert.FileExists(t, filepath.Join(out, f.File))
	}
	require.NoError(t, res.Check(out))
	data, err := os.ReadFile(filepath.Join(out, ResultFile))
	require.NoError(t, err)
	return string(data)
}

// refused is the error of a merge, which leaves nothing.
func refused(t *testing.T, dirs ...string) error {
	t.Helper()
	out := filepath.Join(t.TempDir(), "all")
	_, err := Merge(context.Background(), dirs, out, quick(1, ""))
	require.Error(t, err)
	assert.NoDirExists(t, out)
	return err
}

// found is a campaign that finds something early.
func found() Spec {
	spec := breaking(20)
	spec.Seed = 8
	return spec
}

func TestAnyNumberOfShardsGivesTheResultOfOneMachine(t *testing.T) {
	race.SkipLong(t)
	t.Parallel()
	want := undisturbed(t, found())
	require.Contains(t, want, `"file": "findings/`)
	shards := []int{1, 7, 64}
	if testing.Short() {
		shards = []int{21} // one more than there are runs
	}
	for _, n := range shards {
		assert.Equal(t, want, mergedResult(t, sharded(t, found(), n)...), "of %d shards", n)
	}
}

// Each shard examines as many findings as one machine would of all.
func TestMergeOfMoreFindingsThanAreExamined(t *testing.T) {
	race.SkipLong(t)
	t.Parallel()
	one := func(spec Spec) string {
		dir := begun(t, spec)
		_, err := Run(context.Background(), dir, once())
		require.NoError(t, err)
		return dir
	}
	all := Spec{Version: SpecVersion, Name: "test"}
	for _, name := range []string{"cancel-running", "dlq-write-failure"} {
		p, err := plans.Load(name)
		require.NoError(t, err)
		p.Expect = plans.Expect{Judged: p.Expect.Violates}
		text, err := plans.Marshal(p)
		require.NoError(t, err)
		all.Given = append(all.Given, string(text))
	}
	whole := one(all)
	var dirs []string
	for k := range all.Given {
		spec := all
		spec.Shard = &Shard{k + 1, 2}
		dirs = append(dirs, one(spec))
	}
	out := filepath.Join(t.TempDir(), "all")
	_, err := Merge(context.Background(), dirs, out, once())
	require.NoError(t, err)
	want, err := LoadResult(whole)
	require.NoError(t, err)
	require.Equal(t, 1, want.Unexamined)
	merged, err := LoadResult(out)
	require.NoError(t, err)
	assert.Equal(t, want, merged)
}

// once is a campaign that examines one finding.
func once() Options {
	opt := quick(1, "")
	opt.FindingsMax = 1
	return opt
}

func TestMergeOfAShardThatWasCutShort(t *testing.T) {
	race.SkipLong(t)
	t.Parallel()
	spec := found()
	spec.Shard = &Shard{2, 2}
	dir, first := begun(t, spec), spec
	first.Shard = &Shard{1, 2}
	other := begun(t, first)
	ran(t, other, quick(1, ""))

	ctx, cancel := context.WithCancel(context.Background())
	opt := quick(1, "")
	opt.Record = func(r *Record) {
		assert.GreaterOrEqual(t, r.N, 10, "the first half is the other's")
		if r.N == 12 {
			cancel()
		}
	}
	_, err := Run(ctx, dir, opt)
	require.NoError(t, err)
	err = refused(t, dir, other)
	gaps := new(GapsError)
	require.ErrorAs(t, err, &gaps)
	assert.ErrorContains(t, err, dir+" (shard 2/2) was cut short (run")

	ran(t, dir, quick(2, ""))
	assert.Equal(t, undisturbed(t, found()), mergedResult(t, dir, other))
	whole := begun(t, found())
	ran(t, whole, quick(2, ""))
	assert.Equal(t, undisturbed(t, found()), mergedResult(t, dir, whole, other), "what is there twice agrees")
}

// A journal that lost its end in a copy is mended by going on with it, whatever result is beside it.
func TestMergeOfACopyThatWasCutOff(t *testing.T) {
	race.SkipLong(t)
	t.Parallel()
	dirs := sharded(t, small(4), 2)
	path := filepath.Join(dirs[1], JournalFile)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data[:len(data)-10], 0o644))
	was, err := os.ReadFile(filepath.Join(dirs[1], ResultFile))
	require.NoError(t, err)
	assert.ErrorContains(t, refused(t, dirs...), "the campaign is not complete: 1 run of it is missing: "+dirs[1]+" (shard 2/2) was cut short (run ")
	ran(t, dirs[1], quick(1, ""))
	is, err := os.ReadFile(filepath.Join(dirs[1], ResultFile))
	require.NoError(t, err)
	assert.Equal(t, string(was), string(is))
	assert.Equal(t, undisturbed(t, small(4)), mergedResult(t, dirs...))
}

// A merge that was ended before its page was made examines nothing again.
func TestMergeGoesOnWithoutItsPage(t *testing.T) {
	t.Parallel()
	dirs, out := sharded(t, small(4), 2), filepath.Join(t.TempDir(), "all")
	merged := func() string {
		_, err := Merge(context.Background(), dirs, out, quick(1, ""))
		require.NoError(t, err)
		data, err := os.ReadFile(filepath.Join(out, ResultFile))
		require.NoError(t, err)
		return string(data)
	}
	want := merged()
	write(t, out, ResultFile, want+" ")
	assert.Equal(t, want+" ", merged(), "it is the one that is there")
	write(t, out, PageFile, "page")
	assert.Equal(t, want, merged(), "who asks for a merge that is over gets another")
}

// A merged campaign has taken what its shards took together.
func TestMergeKeepsTheTimeOfAll(t *testing.T) {
	t.Parallel()
	dirs, out := sharded(t, small(4), 2), filepath.Join(t.TempDir(), "all")
	for i, took := range []string{"9800000000", "2000000000"} {
		data, err := os.ReadFile(filepath.Join(dirs[i], JournalFile))
		require.NoError(t, err)
		write(t, dirs[i], JournalFile, string(elapsed.ReplaceAll(data, []byte(`"elapsed_ns":`+took))))
	}
	m, err := newMerger(dirs, out, quick(1, ""))
	require.NoError(t, err)
	require.NoError(t, m.check())
	require.NoError(t, m.write())
	for range 2 { // cut short and gone on with, too
		_, took, err := SoFar(out)
		require.NoError(t, err)
		assert.Equal(t, 11800*time.Millisecond, took)
		_, err = Merge(context.Background(), dirs, out, quick(1, ""))
		require.NoError(t, err)
	}
}

func TestMergeOfQuarters(t *testing.T) {
	race.SkipLong(t)
	t.Parallel()
	dirs := sharded(t, found(), 4)
	want := undisturbed(t, found())
	t.Run("gaps", func(t *testing.T) { namesGaps(t, dirs) })
	t.Run("a run that differs", func(t *testing.T) { namesDifference(t, dirs) })
	t.Run("cut short", func(t *testing.T) { goesOn(t, dirs, want) })
	t.Run("nothing examined", func(t *testing.T) { examines(t, dirs, want) })
}

func namesGaps(t *testing.T, dirs []string) {
	assert.EqualError(t, refused(t, dirs[0], dirs[2]), "the campaign is not complete: 10 runs of it are missing: shard 2/4 is missing (runs 5 to 9); shard 4/4 is missing (runs 15 to 19); run shard 2/4 (--shard 2/4), or give its folder; run shard 4/4 (--shard 4/4), or give its folder")
	spec := found()
	spec.Shard = &Shard{2, 3}
	third := begun(t, spec)
	assert.ErrorContains(t, refused(t, dirs[0], third), "15 runs of it are missing: no folder has run 5; "+third+" (shard 2/3) was cut short (runs 6 to 12); no folder has runs 13 to 19; give the folders of the other shards, too; go on with "+third+" (wavetank fuzz --resume "+third+")")
}

func namesDifference(t *testing.T, dirs []string) {
	again := copied(t, dirs[2])
	edit(t, again, `"n":12,"verdict":"held","digest":"`, `"n":12,"verdict":"held","digest":"0`)
	err := refused(t, append(dirs, again)...)
	differ := new(NotDeterministicError)
	require.ErrorAs(t, err, &differ)
	assert.Equal(t, 12, differ.N)
	assert.Contains(t, differ.Plan, "name: drawn")
	assert.Regexp(t, "^run 12 is not deterministic: .* says that it was held with digest [0-9a-f]{16}, and .* that it was held with digest 0[0-9a-f]{16}$", err.Error())
	assert.ErrorContains(t, err, again)
}

// A merge that was cut short goes on, whoever goes on with it.
func goesOn(t *testing.T, dirs []string, want string) {
	m, err := newMerger(dirs, filepath.Join(t.TempDir(), "all"), quick(1, ""))
	require.NoError(t, err)
	require.NoError(t, Create(m.out, m.spec))
	again := func() string {
		_, err := Merge(context.Background(), dirs, m.out, quick(1, ""))
		require.NoError(t, err)
		data, err := os.ReadFile(filepath.Join(m.out, ResultFile))
		require.NoError(t, err)
		return string(data)
	}
	assert.Equal(t, want, again(), "it had a folder")
	require.NoError(t, os.Remove(filepath.Join(m.out, ResultFile)))
	assert.Equal(t, want, again(), "it had its journal")
	assert.Equal(t, want, again(), "it was over")
}

// What a shard looks into is what the whole campaign would, or not: merge looks into what is left.
func examines(t *testing.T, dirs []string, want string) {
	var bare []string
	for _, dir := range dirs {
		dir = copied(t, dir)
		kept := slicesOf(journalOf(t, dir), func(line string) bool { return !strings.Contains(line, `"examined":`) })
		write(t, dir, JournalFile, strings.Join(kept, ""))
		bare = append(bare, dir)
	}
	assert.Equal(t, want, mergedResult(t, bare...))
}

func TestMergeRefusesWhatIsNoShardOfTheCampaign(t *testing.T) {
	t.Parallel()
	dirs := sharded(t, small(4), 2)
	spec := small(4)
	spec.Seed = 7
	spec.Shard = &Shard{2, 2}
	foreign := begun(t, spec)
	assert.EqualError(t, refused(t, dirs[0], foreign), foreign+" belongs to another campaign than "+dirs[0]+": seed 7 rather than 1")

	other := copied(t, dirs[1])
	edit(t, other, `"program":"`, `"program":"f`)
	err := refused(t, dirs[0], other)
	require.ErrorIs(t, err, ErrOtherBuild)
	assert.Regexp(t, "^"+other+`: the campaign was begun by another build \(devel, program f.*\) than this one \(devel, program .*\); merge with the build that ran it$`, err.Error())

	empty := t.TempDir()
	assert.EqualError(t, refused(t, dirs[0], empty), empty+" holds no campaign: there is no spec.json; give the folder of one")
	timed := small(0)
	timed.Budget = 1
	assert.ErrorContains(t, refused(t, begun(t, timed)), "is of a campaign whose budget is a time")
	_, err = Merge(context.Background(), dirs, dirs[1], quick(1, ""))
	assert.EqualError(t, err, dirs[1]+" is both a folder to merge and the folder to write; choose another folder to write")
	_, err = Merge(context.Background(), dirs, foreign, quick(1, ""))
	assert.ErrorContains(t, err, foreign+" holds a campaign that was cut short")
}

func TestShardsAreAllRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, n := rapid.IntRange(0, 1000).Draw(t, "size"), rapid.IntRange(1, 300).Draw(t, "n")
		next, least, most := 0, size, 0
		for k := 1; k <= n; k++ {
			s, err := ParseShard(fmt.Sprintf("%d/%d", k, n))
			require.NoError(t, err)
			runs := s.of(size)
			require.Equal(t, next, runs.first)
			next, least, most = runs.end, min(least, runs.size()), max(most, runs.size())
		}
		require.Equal(t, size, next)
		require.LessOrEqual(t, most-least, 1)
	})
	for _, text := range []string{"", "3", "0/3", "4/3", "1/0", "-1/3", "1/3/5", "a/b", "1/1000000"} {
		_, err := ParseShard(text)
		assert.Error(t, err, text)
	}
}

func journalOf(t *testing.T, dir string) (lines []string) {
	data, err := os.ReadFile(filepath.Join(dir, JournalFile))
	require.NoError(t, err)
	return strings.SplitAfter(string(data), "\n")
}

func slicesOf(list []string, keep func(string) bool) (kept []string) {
	for _, s := range list {
		if keep(s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// edit changes what the journal of dir says.
func edit(t *testing.T, dir, old, text string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, JournalFile))
	require.NoError(t, err)
	require.Contains(t, string(data), old)
	write(t, dir, JournalFile, string(bytes.Replace(data, []byte(old), []byte(text), 1)))
}

// copied is a copy of a folder.
func copied(t *testing.T, dir string) string {
	to := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}
