package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/joshdk/go-junit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// suiteOf reads JUnit XML as a CI server would.
func suiteOf(t *testing.T, data string) (junit.Suite, map[string]junit.Test) {
	t.Helper()
	suites, err := junit.Ingest([]byte(data))
	require.NoError(t, err)
	require.Len(t, suites, 1)
	tests := map[string]junit.Test{}
	for _, test := range suites[0].Tests {
		require.NotContains(t, tests, test.Name, "a test has one name")
		tests[test.Name] = test
	}
	return suites[0], tests
}

func junitOf(t *testing.T, res *campaign.Result) string {
	return written(t, func(w io.Writer) error { return JUnit(w, res) })
}

func TestJUnitIsReadByAParser(t *testing.T) {
	suite, tests := suiteOf(t, junitOf(t, badNight()))
	assert.Equal(t, "wavetank.fuzz", suite.Name)
	assert.Equal(t, junit.Totals{Tests: 14, Passed: 10, Skipped: 1, Failed: 2, Error: 1}, suite.Totals)

	broken := tests["one-dispatch-per-job"]
	assert.Equal(t, junit.StatusFailed, broken.Status)
	assert.Equal(t, "wavetank.fuzz", broken.Classname)
	assert.True(t, strings.HasPrefix(broken.Message, "The publish of job-1 is stored"))
	for _, want := range []string{
		"Cause: fail-after on publish, engine.dispatch_order=publish-first\n", "Plan: findings/one-dispatch-per-job-8c1f03d2.yaml\n",
		"Replay, in the campaign's folder: wavetank run findings/one-dispatch-per-job-8c1f03d2.yaml\n",
	} {
		assert.Contains(t, broken.Error.Error(), want)
	}
	assert.Equal(t, junit.StatusError, tests["no-panic"].Status)
	assert.Contains(t, tests["no-panic"].Error.Error(), "index out of range [3] with length 3\n\ngoroutine 71")
	assert.Equal(t, junit.StatusSkipped, tests["attempts-never-past-ceiling"].Status)
	assert.Equal(t, "none of 12,000 runs exercised it", tests["attempts-never-past-ceiling"].Message)
	assert.Equal(t, junit.StatusPassed, tests["every-job-settles"].Status)
	assert.Equal(t, junit.StatusPassed, tests["no-hang"].Status)
	assert.NotContains(t, tests, "rollback-failed", "a situation is no test")
	assert.Contains(t, tests["documented-transitions-only"].Error.Error(), "The same plan gave another run")

	suite, _ = suiteOf(t, junitOf(t, quietNight()))
	assert.Zero(t, suite.Totals.Failed+suite.Totals.Error)
	assert.Contains(t, suite.SystemOut, "at most 3/12,000 = 0.025 %")
	assert.Contains(t, suite.SystemOut, "Never reached: result-for-ended-job, deliveries-exhausted")
}

func TestJUnitCountsWhatWasNotExamined(t *testing.T) {
	res := quietNight()
	res.Invariants[1].Broken, res.Unexamined = 5, 5
	_, tests := suiteOf(t, junitOf(t, res))
	assert.Equal(t, "broken in 5 runs, none of which was examined", tests[res.Invariants[1].Name].Message)
	res.Findings = []campaign.Finding{{Invariant: "of-another-build", Story: "It broke."}}
	_, tests = suiteOf(t, junitOf(t, res))
	assert.Equal(t, junit.StatusFailed, tests["of-another-build"].Status)
}

// A CI server counts findings as they are, and tells each from the other.
func TestJUnitHasATestcaseForEachFinding(t *testing.T) {
	res := badNight()
	more := res.Findings[0]
	more.File, more.Story, more.Cause = "findings/one-dispatch-per-job-77aa10c2.yaml", "It broke in another way.", "crash"
	res.Findings = append(res.Findings, more)
	suite, tests := suiteOf(t, junitOf(t, res))
	assert.Equal(t, junit.Totals{Tests: 15, Passed: 10, Skipped: 1, Failed: 3, Error: 1}, suite.Totals)
	first, second := tests["one-dispatch-per-job"], tests["one-dispatch-per-job-77aa10c2"]
	assert.True(t, strings.HasPrefix(first.Message, "The publish of job-1 is stored"))
	assert.NotContains(t, first.Error.Error(), "another way")
	assert.Equal(t, junit.StatusFailed, second.Status)
	assert.Equal(t, "It broke in another way.", second.Message)
	assert.Contains(t, second.Error.Error(), "Cause: crash\nPlan: findings/one-dispatch-per-job-77aa10c2.yaml\n")

	for len(res.Findings) < 3+findingsMax+5 {
		more.File = fmt.Sprintf("findings/one-dispatch-per-job-%d.yaml", len(res.Findings))
		res.Findings = append(res.Findings, more)
	}
	suite, tests = suiteOf(t, junitOf(t, res))
	assert.Equal(t, 14-1+findingsMax, suite.Totals.Tests)
	assert.Contains(t, junitOf(t, res), "more findings left out; result.json has them all.")
	assert.NotContains(t, tests, fmt.Sprintf("one-dispatch-per-job-%d", len(res.Findings)-1))
}

func TestJUnitIsWellFormedAndDependsOnTheResultAlone(t *testing.T) {
	for _, s := range hostile {
		out := junitOf(t, poisoned(s))
		var back junitSuites
		require.NoError(t, xml.Unmarshal([]byte(out), &back), "%q", s)
		assert.Len(t, back.Suites, 1)
	}
	out := junitOf(t, badNight())
	assert.Equal(t, out, junitOf(t, badNight()))
	assert.NotRegexp(t, `(time|timestamp|hostname)="`, out)
	assert.True(t, strings.HasPrefix(out, xml.Header))
}

func TestJUnitOfARun(t *testing.T) {
	run := func(res *scenarios.Result) (junit.Suite, map[string]junit.Test) {
		return suiteOf(t, written(t, func(w io.Writer) error { return JUnitRun(w, res) }))
	}
	_, tests := run(publishFailure().res)
	assert.Equal(t, junit.StatusPassed, tests["one-dispatch-per-job"].Status)
	assert.Equal(t, junit.StatusPassed, tests["run-is-conclusive"].Status)
	assert.Equal(t, junit.StatusSkipped, tests["no-dispatch-after-failed-read"].Status)
	assert.Equal(t, "not exercised: the run had nothing to judge", tests["no-dispatch-after-failed-read"].Message)
	assert.NotContains(t, tests, "rollback-applied")

	suite, tests := run(ackLost(true).res)
	assert.Equal(t, "wavetank.publish-ack-lost", suite.Name)
	assert.Equal(t, "one-dispatch-per-job was violated by job-3", tests["one-dispatch-per-job"].Message)
	assert.Regexp(t, `step [0-9]+, at [0-9.]+s: job-3 has two dispatches(?s:.*)Replay: wavetank run publish-ack-lost --seed 7`, tests["one-dispatch-per-job"].Error.Error())

	_, tests = run(ackLost(false).res)
	assert.Equal(t, junit.StatusPassed, tests["one-dispatch-per-job"].Status, "broken outside its promise")

	_, tests = run(staleWorker().res)
	assert.Equal(t, junit.StatusError, tests["run-is-conclusive"].Status)
	assert.Equal(t, "job-2 had not settled when its time was up", tests["run-is-conclusive"].Message)

	many := ackLost(true).res
	for range 500 {
		many.Violations = append(many.Violations, many.Violations[0])
	}
	_, tests = run(many)
	assert.Contains(t, tests["one-dispatch-per-job"].Error.Error(), "401 more violations left out")
}

// commands reads workflow commands as GitHub's runner does.
func commands(t *testing.T, out string) (levels, titles, messages []string) {
	t.Helper()
	decode := func(s string) string {
		back, err := url.PathUnescape(s)
		require.NoError(t, err)
		return back
	}
	for line := range strings.Lines(out) {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "::")
		require.True(t, ok, "%q is no command", line)
		properties, message, ok := strings.Cut(rest, "::")
		require.True(t, ok)
		level, title, ok := strings.Cut(properties, " title=")
		require.True(t, ok)
		require.NotContains(t, title, ",", "a comma would begin another property")
		require.NotContains(t, title, ":")
		levels, titles, messages = append(levels, level), append(titles, decode(title)), append(messages, decode(message))
	}
	return levels, titles, messages
}

func annotationsOf(t *testing.T, res *campaign.Result) string {
	return written(t, func(w io.Writer) error { return Annotations(w, res) })
}

func TestAnnotationsAreAnErrorForEachFinding(t *testing.T) {
	levels, titles, messages := commands(t, annotationsOf(t, badNight()))
	assert.Equal(t, []string{"error", "error", "error", "warning", "warning"}, levels)
	assert.Equal(t, "one-dispatch-per-job (wavetank fuzz)", titles[0])
	assert.Equal(t, "The publish of job-1 is stored although scheduler-1 sees an error; it rolls back and publishes again, so that two dispatches of job-1 are stored and worker-1 executes it twice.\n"+
		"Cause: fail-after on publish, engine.dispatch_order=publish-first\nReplay, in the campaign's folder: wavetank run findings/one-dispatch-per-job-8c1f03d2.yaml", messages[0])

	levels, _, messages = commands(t, annotationsOf(t, quietNight()))
	assert.Equal(t, []string{"notice"}, levels)
	assert.Contains(t, messages[0], "at most 3/12,000 = 0.025 % of the plans")
}

func TestAnnotationsKeepToWhatGitHubShows(t *testing.T) {
	res := badNight()
	for n := range 30 {
		res.Findings = append(res.Findings, campaign.Finding{Invariant: fmt.Sprint("finding-", n)})
	}
	levels, _, messages := commands(t, annotationsOf(t, res))
	assert.Equal(t, annotationsMax, strings.Count(strings.Join(levels, " "), "error"))
	assert.Equal(t, "24 more findings; the job's summary and the report have them.", messages[annotationsMax-1])

	unexamined := quietNight()
	unexamined.Unexamined = 2
	levels, _, _ = commands(t, annotationsOf(t, unexamined))
	assert.Equal(t, "error", levels[0])
}

func TestAnnotationsCannotBeInjected(t *testing.T) {
	for _, s := range append(hostile, "100%\r\n::stop-commands::x", "a::b") {
		res := poisoned(s)
		res.Findings[0].Invariant = s
		res.Findings = res.Findings[:1]
		_, titles, messages := commands(t, strings.ReplaceAll(annotationsOf(t, res), "\xff", "?"))
		assert.Equal(t, strings.ReplaceAll(s+" (wavetank "+s+")", "\xff", "?"), titles[0])
		assert.True(t, strings.HasPrefix(messages[0], strings.ReplaceAll(clip(s), "\xff", "?")), "%.50q", s)
	}
}

func summaryOf(t *testing.T, res *campaign.Result) string {
	return written(t, func(w io.Writer) error { return Summary(w, res) })
}

func TestSummaryHasFindingsAndWhatWasNeverMet(t *testing.T) {
	out := summaryOf(t, badNight())
	tables := markdownTables(t, out)
	require.Len(t, tables, 1)
	assert.Equal(t, []string{"finding", "what happens", "cause", "smallest plan", "runs"}, tables[0][0])
	assert.Equal(t, []string{"`no-panic`", "The code under test panicked at step 212.", "crash of a worker", "1 job, 1 fault, 2 schedulers and 1 worker", "6"}, tables[0][2])
	for _, want := range []string{
		"## Wavetank fuzz: 3 findings\n", "> It was stopped before", "```sh\nwavetank run findings/no-panic-1b9e77aa.yaml\n```", "```yaml\nversion: 1\n",
		"goroutine 71", "**Never exercised:** `attempts-never-past-ceiling`", "**Never reached:** `result-for-ended-job`, `deliveries-exhausted`",
		"<summary>Never drawn: ", "`hang dlq_write`", "seed 20261121, digest `4be1c07d22f09a53`",
	} {
		assert.Contains(t, out, want)
	}
	assert.Equal(t, strings.Count(out, "<details>"), strings.Count(out, "</details>"))
	assert.Equal(t, out, summaryOf(t, badNight()))

	out = summaryOf(t, quietNight())
	assert.Contains(t, out, "## Wavetank fuzz: nothing found\n\nNo promise was broken in 12,000 conclusive runs: at most 3/12,000 = 0.025 %")
	assert.Empty(t, markdownTables(t, out))
}

func TestSummaryIsBounded(t *testing.T) {
	res := badNight()
	for n := range 300 {
		res.Invariants = append(res.Invariants, campaign.Coverage{Name: fmt.Sprint(n, strings.Repeat("x", 10_000)), Kind: "always"})
	}
	out := summaryOf(t, res)
	assert.Less(t, len(out), summaryBytesMax)
	assert.True(t, strings.HasSuffix(out, "The rest is too long for a summary; the report has it.\n"))
	for _, s := range hostile {
		tables := markdownTables(t, summaryOf(t, poisoned(s)))
		require.Len(t, tables, 1, "%q", s)
		assert.Len(t, tables[0], 4, "%q", s)
	}
}

func TestSweepSummaryIsShort(t *testing.T) {
	out := written(t, func(w io.Writer) error { return SweepSummary(w, staleSweep()) })
	for _, want := range []string{
		"## Wavetank sweep stale-worker-retries\n", "**Make 5 picks: 1.9 % of the jobs", "- 0s, 0.1: take `5`, sure: 1.9 % rather than 14 % at 3", "- 0s, 0.5: nothing to take: no difference beyond noise",
		"> At 2 of 150 points a promise was broken", "150 points, each under 20 paired seeds, 1 to 20: `engine.max_dispatch_retries` 1, 2, 3",
	} {
		assert.Contains(t, out, want)
	}
	assert.Less(t, len(out), 2_000)
	assert.Contains(t, out, "; the price: stale picks per job 0.4 rather than 0.2 at 1\n")
	more := staleSweep()
	more.Seeds, more.Added, more.Points[0].Runs = 3, 17, 5
	assert.Contains(t, written(t, func(w io.Writer) error { return SweepSummary(w, more) }), sweepSeeded(more))
	assert.Contains(t, written(t, func(w io.Writer) error { return SweepSummary(w, flatSweep(2)) }), "**The numbers do not answer the question.**")
}
