package reports

import (
	"encoding/json"
	"errors"
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
	"github.com/wavetank-sim/wavetank/sim"
)

func folder(t *testing.T, trace []byte) string {
	t.Helper()
	dir := t.TempDir()
	if trace != nil {
		require.NoError(t, os.WriteFile(filepath.Join(dir, TraceFile), trace, 0o600))
	}
	return dir
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWriteCompletesTheFolder(t *testing.T) {
	tp := publishFailure()
	dir := folder(t, tp.trace())
	require.NoError(t, Write(dir, tp.plan, tp.res))
	assert.Equal(t, []string{PlanFile, PageFile, ResultFile, TraceFile}, names(t, dir))

	page, err := os.ReadFile(filepath.Join(dir, PageFile))
	require.NoError(t, err)
	assert.Equal(t, tp.page(), string(page), "the page of a trace on disk is that of the events")

	result, err := os.ReadFile(filepath.Join(dir, ResultFile))
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(result), "{\n  \"version\": 3,\n"), "indented")
	assert.True(t, strings.HasSuffix(string(result), "}\n"))
	var back scenarios.Result
	require.NoError(t, json.Unmarshal(result, &back))
	assert.Equal(t, *tp.res, back)

	want, err := plans.Marshal(tp.plan)
	require.NoError(t, err)
	plan, err := os.ReadFile(filepath.Join(dir, PlanFile))
	require.NoError(t, err)
	assert.Equal(t, string(want), string(plan))

	require.NoError(t, Write(dir, tp.plan, tp.res), "over the files of an earlier run")
}

func TestWriteLeavesNothingHalfDone(t *testing.T) {
	tp := publishFailure()
	whole := tp.trace()
	for name, c := range map[string]struct {
		trace []byte
		want  string
	}{
		"no trace":       {nil, "trace.jsonl"},
		"a broken trace": {append(whole[:len(whole):len(whole)], `{"step":`...), "write report.html: read the trace: line 265: unexpected end of JSON input"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, c.trace)
			before := names(t, dir)
			require.ErrorContains(t, Write(dir, tp.plan, tp.res), c.want)
			assert.Equal(t, before, names(t, dir))
		})
	}
	require.ErrorContains(t, Write(filepath.Join(t.TempDir(), "absent"), tp.plan, tp.res), PlanFile)
}

func TestWriteAllNamesTheFileThatFailed(t *testing.T) {
	dir := t.TempDir()
	err := writeAll(dir, []file{
		{"a", func(w io.Writer) error { _, err := io.WriteString(w, "whole"); return err }},
		{"b", func(io.Writer) error { return errors.New("no space left") }},
	})
	require.EqualError(t, err, "write b: no space left")
	assert.Empty(t, names(t, dir))
}

func TestTraceReadsBackWhatWasWritten(t *testing.T) {
	tp := publishFailure()
	tp.events[5].Outcome = strings.Repeat("long ", 1<<19) // more than the reader's buffer
	var back []sim.Event
	for e, err := range Trace(strings.NewReader(string(tp.trace()))) {
		require.NoError(t, err)
		back = append(back, e)
	}
	assert.Equal(t, tp.events, back)
	for range Trace(strings.NewReader(string(tp.trace()))) {
		break // a reader that has seen enough
	}
}

func TestTraceNamesTheLineThatIsBroken(t *testing.T) {
	var errs []string
	for _, err := range Trace(strings.NewReader("{\"step\":1,\"outcome\":\"ok\"}\n\nnonsense\n{\"step\":2}\n")) {
		if err != nil {
			errs = append(errs, err.Error())
		}
	}
	assert.Equal(t, []string{"line 3: invalid character 'o' in literal null (expecting 'u')"}, errs)

	for _, err := range Trace(io.MultiReader(strings.NewReader(`{"step":1}`+"\n"), brokenReader{})) {
		if err != nil {
			require.EqualError(t, err, "line 2: disk on fire")
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

// A story that is too long loses whole sentences, and keeps the one that says what is broken.
func TestClipStory(t *testing.T) {
	end := "At 3.2s no-loss is broken: it is gone. 2 more steps are left out."
	f := &campaign.Finding{Invariant: "no-loss", Story: "At 1.5s it came. " + end}
	assert.Equal(t, f.Story, clipStory(f))
	f.Story = strings.Repeat("At 1.5s it came. ", storyMax) + end
	clipped := clipStory(f)
	assert.LessOrEqual(t, len(clipped), storyMax)
	assert.Regexp(t, `^(At 1\.5s it came\. )+At 3\.2s no-loss is broken: it is gone\. 2 more steps are left out\.$`, clipped)
}
