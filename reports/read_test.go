package reports

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// aRun is the folder of a finished run.
func aRun(t *testing.T) string {
	t.Helper()
	p, err := plans.Load("publish-failure")
	require.NoError(t, err)
	p.Seed = 7
	var trace bytes.Buffer
	res, err := scenarios.Run(context.Background(), p, scenarios.RunOptions{Source: p.Name, Trace: &trace})
	require.NoError(t, err)
	dir := folder(t, trace.Bytes())
	require.NoError(t, Write(dir, p, res))
	return dir
}

// aCampaign is the folder of a finished campaign.
func aCampaign(t *testing.T, res *campaign.Result) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, writeAll(dir, []file{
		{campaign.SpecFile, func(w io.Writer) error { return encode(w, res.Spec) }},
		{ResultFile, func(w io.Writer) error { return encode(w, res) }},
	}))
	require.NoError(t, WriteCampaign(dir, scenarios.ProgramName, res))
	return dir
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(data)
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
}

func TestRewriteMakesTheSamePageAgain(t *testing.T) {
	sweepDir, compareDir := t.TempDir(), t.TempDir()
	require.NoError(t, WriteSweep(sweepDir, staleSweep()))
	require.NoError(t, WriteComparisons(compareDir, threeTables()))
	for name, dir := range map[string]string{"run": aRun(t), "campaign": aCampaign(t, badNight()), "sweep": sweepDir, "comparisons": compareDir} {
		t.Run(name, func(t *testing.T) {
			want := read(t, dir, PageFile)
			before := names(t, dir)
			require.NoError(t, os.Remove(filepath.Join(dir, PageFile)))
			require.NoError(t, rewrite(dir))
			assert.Equal(t, want, read(t, dir, PageFile))
			assert.Equal(t, before, names(t, dir), "and nothing else")
		})
	}
}

func TestReadSaysWhatAFolderHolds(t *testing.T) {
	tp := publishFailure()
	dir := folder(t, tp.trace())
	require.NoError(t, Write(dir, tp.plan, tp.res))
	s, err := Read(dir)
	require.NoError(t, err)
	assert.Equal(t, tp.res, s.Run)
	assert.Equal(t, "publish-failure", s.Plan.Name)
	assert.Nil(t, s.Campaign)

	s, err = Read(aCampaign(t, quietNight()))
	require.NoError(t, err)
	assert.Equal(t, quietNight(), s.Campaign)
	assert.Nil(t, s.Run)
}

func TestReadNamesTheFileAndARemedy(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir string)
		want  string
	}{
		"another version": {
			func(dir string) {
				put(t, dir, ResultFile, strings.Replace(read(t, dir, ResultFile), `"version": 3`, `"version": 1`, 1))
			},
			"DIR/result.json: it is of version 1, and this build reads version 3; use the build that wrote it, or run it again: wavetank run DIR/plan.yaml",
		},
		"no version": {func(dir string) { put(t, dir, ResultFile, "{}") }, "DIR/result.json: it is of version 0, and this build reads version 3; "},
		"broken JSON": {
			func(dir string) { put(t, dir, ResultFile, read(t, dir, ResultFile)[:500]) },
			"DIR/result.json: broken JSON: unexpected end of JSON input; run it again: wavetank run DIR/plan.yaml",
		},
		"two values": {func(dir string) { put(t, dir, ResultFile, read(t, dir, ResultFile)+"{}") }, "DIR/result.json: broken JSON: invalid character '{' after top-level value; "},
		"an unknown key": {
			func(dir string) { put(t, dir, ResultFile, `{"version": 3, "stardate": 4}`) },
			`DIR/result.json: it is not what this build writes: unknown field "stardate"; use the build that wrote it, or run it again`,
		},
		"a wrong type": {func(dir string) { put(t, dir, ResultFile, `{"version": 3, "steps": "many"}`) }, "DIR/result.json: it is not what this build writes: cannot unmarshal string"},
		"no result":    {func(dir string) { require.NoError(t, os.Remove(filepath.Join(dir, ResultFile))) }, "DIR/result.json: there is no such file; run it again: wavetank run DIR/plan.yaml"},
		"no plan":      {func(dir string) { require.NoError(t, os.Remove(filepath.Join(dir, PlanFile))) }, "DIR/plan.yaml: there is no such file; run it again: wavetank run publish-failure --seed 7 --out DIR"},
		"no trace":     {func(dir string) { require.NoError(t, os.Remove(filepath.Join(dir, TraceFile))) }, "DIR/trace.jsonl: there is no such file; run it again: wavetank run publish-failure --seed 7"},
		"a broken trace": {
			func(dir string) { put(t, dir, TraceFile, "{\"step\":1}\nnonsense\n") },
			"DIR/trace.jsonl: line 2: invalid character 'o' in literal null (expecting 'u'); run it again: wavetank run publish-failure --seed 7",
		},
		"a trace that was edited": {
			func(dir string) {
				put(t, dir, TraceFile, strings.Replace(read(t, dir, TraceFile), "job-3", "job-4", 1))
			},
			"DIR/trace.jsonl: it is not the trace of this run: its digest is ",
		},
		"a verdict that was edited": {
			func(dir string) {
				put(t, dir, ResultFile, strings.Replace(read(t, dir, ResultFile), `"verdict": "held"`, `"verdict": "violated"`, 1))
			},
			"DIR/result.json: its verdict is violated, and it has no violation that counts; run it again: wavetank run publish-failure --seed 7",
		},
		"a directory for a file": {
			func(dir string) {
				require.NoError(t, os.Remove(filepath.Join(dir, ResultFile)))
				require.NoError(t, os.Mkdir(filepath.Join(dir, ResultFile), 0o755))
			}, "DIR/result.json: it cannot be read: is a directory; ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := aRun(t)
			page := read(t, dir, PageFile)
			c.spoil(dir)
			err := rewrite(dir)
			require.Error(t, err)
			said := strings.ReplaceAll(err.Error(), dir, "DIR")
			assert.True(t, strings.HasPrefix(said, c.want), said)
			assert.NotContains(t, said, "\n", "one line")
			var fe *FileError
			assert.ErrorAs(t, err, &fe)
			assert.Equal(t, page, read(t, dir, PageFile), "the page that was there stays")
		})
	}
	dir := aRun(t)
	put(t, dir, PlanFile, "version: 1\nnam: x\n")
	var pe *strictyaml.Error
	require.ErrorAs(t, rewrite(dir), &pe)
	assert.Equal(t, filepath.Join(dir, PlanFile), pe.File)
}

func TestReadOfFoldersThatAreNone(t *testing.T) {
	dir := t.TempDir()
	_, err := Read(dir)
	require.EqualError(t, err, dir+": this folder holds no run, campaign, sweep, comparison or certificate; give one that holds a result.json, a sweep.json, a compare.json or a certificate.json")
	_, err = Read(filepath.Join(dir, "absent"))
	require.ErrorContains(t, err, "absent: there is no such folder; give the folder of a run")
	put(t, dir, "file", "")
	_, err = Read(filepath.Join(dir, "file"))
	require.ErrorContains(t, err, "file: this is not a folder; ")

	unfinished := t.TempDir()
	put(t, unfinished, campaign.SpecFile, "{}")
	_, err = Read(unfinished)
	require.ErrorContains(t, err, "result.json: there is no such file; run the campaign to its end")

	put(t, dir, ComparisonFile, "[]")
	_, err = Read(dir)
	require.ErrorContains(t, err, "compare.json: broken JSON: the list is empty; compare again")
	put(t, dir, ComparisonFile, fmt.Sprintf(`[{"version": %d}, {"version": %d}]`, sweep.ResultVersion, sweep.ResultVersion+1))
	_, err = Read(dir)
	require.ErrorContains(t, err, fmt.Sprintf("compare.json: it is of version %d", sweep.ResultVersion+1))
}

func TestFoldersFindsWhatIsStored(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"calm-2", "calm-10", ".calm-3.partial", "notes"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, name), 0o755))
		if name != "notes" {
			put(t, filepath.Join(root, name), ResultFile, "{}")
		}
	}
	require.NoError(t, os.Symlink("calm-2", filepath.Join(root, "latest")))
	found, err := Folders(root)
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(root, "calm-10"), filepath.Join(root, "calm-2")}, found)

	found, err = Folders(filepath.Join(root, "calm-2"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(root, "calm-2")}, found)

	for _, dir := range []string{filepath.Join(root, "notes"), filepath.Join(root, "absent")} {
		_, err = Folders(dir)
		assert.True(t, errors.As(err, new(*FileError)), "%v", err)
	}
}

func TestWriteIndexIsBesideTheFolders(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, WriteIndex(root, shelf()))
	assert.Equal(t, []string{IndexFile}, names(t, root))
	assert.Contains(t, read(t, root, IndexFile), `href="./fuzz-7/report.html"`)
}

func rewrite(dir string) error {
	s, err := Read(dir)
	if err != nil {
		return err
	}
	return s.Rewrite(scenarios.ProgramName)
}
