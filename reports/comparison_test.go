package reports

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

func TestComparisonPutsNumbersBesideTheWords(t *testing.T) {
	section := sectionOf(t, comparisonHTML(t, threeTables()), "comparison-1")
	said := text(section)
	for _, want := range []string{
		"Dispatch order What may be touched first", "Plans: publish-failure, state-write-failure and publish-ack-lost, each under 40 paired seeds, 1 to 40.",
		"The words are from Dispatch ordering, alternatives.", "Outbox + relay engine.dispatch_order=outbox",
		"upside Strong replay safety Slightly simpler write sequence Excellent durability downside A rollback",
		"Jobs dispatched twice (%) 1.25 ± 0.35 6.80 ± 0.90 0", "Time to dispatch, p50 (ms) 8.30 ± 0.20 7.90 ± 0.20 112.0 ± 3.0",
		"promises broken none intent-before-dispatch in 40 of 120 runs one-dispatch-per-job in 37 of 120 runs none outside the promise: one-dispatch-per-job in 2 of 120 runs",
		"runs 120 120 120",
	} {
		assert.Contains(t, said, want)
	}
	assert.Contains(t, section, `<strong>0</strong>`, "the least is bold")
	assert.Contains(t, section, `<code>engine.<wbr>dispatch_<wbr>order=<wbr>outbox<wbr></code>`, "a head breaks between words")
	assert.NotContains(t, sectionOf(t, comparisonHTML(t, threeTables()), "comparison-3"), "promises broken", "a row only where there is one")

	cutShort := threeTables()[2:]
	cutShort[0].Complete, cutShort[0].Rows[1].Estimates = false, nil
	said = text(comparisonHTML(t, cutShort))
	assert.Contains(t, said, "The comparison was stopped before every alternative was run")
	assert.Contains(t, text(comparisonHTML(t, nil)), "There is none.")
}

// What is not there is not explained.
func TestAComparisonUnderTooFewSeedsSaysSo(t *testing.T) {
	for seeds, says := range map[int]string{1: "1 seed is too few to tell; it takes at least 6 (--seeds 6).", 5: "5 seeds are too few to tell; it takes at least 6 (--seeds 6).", 6: ""} {
		c := threeTables()[2]
		c.Seeds = seeds
		assert.Equal(t, says, comparisonViewOf(c).Warning)
		about := ComparisonTexts([]*sweep.Comparison{c}, "bold")[0].About
		page := text(comparisonHTML(t, []*sweep.Comparison{c}))
		for _, said := range []string{about, page} {
			assert.Equal(t, seeds > 1, strings.Contains(said, "interval"), said)
			assert.Equal(t, says == "", strings.Contains(strings.ToLower(said), "bold"), said)
		}
	}
}

func TestBestIsWhatNoOtherHasLessThan(t *testing.T) {
	row := func(name string, beaten ...string) sweep.Row {
		return sweep.Row{Name: name, Estimates: map[string]sweep.Estimate{"m": {N: 9}}, Beaten: map[string][]string{"m": beaten}}
	}
	best := func(rows ...sweep.Row) []bool { return bestOf(rows, "m") }
	assert.Equal(t, []bool{true, false}, best(row("a"), row("b", "a")))
	assert.Equal(t, []bool{true, true, false}, best(row("a"), row("b"), row("c", "a")))
	assert.Equal(t, []bool{false, false}, best(row("a"), row("b")), "where nothing can be told apart, nothing is best")
	assert.Equal(t, []bool{false, false}, best(row("a"), row("b", "c")), "nor where the better one is not asked about")
	assert.Equal(t, []bool{true, false, false}, best(row("a"), row("b", "a"), sweep.Row{Name: "c"}), "what was not measured is not best")
}

func TestComparisonMarkdownIsATableForEach(t *testing.T) {
	out := written(t, func(w io.Writer) error { return ComparisonMarkdown(w, threeTables()) })
	tables := markdownTables(t, out)
	require.Len(t, tables, 3)
	assert.Equal(t, []string{"", "State-before-publish + rollback (current)", "Publish-before-state", "Outbox + relay"}, tables[0][0])
	assert.Equal(t, []string{"upside", "Strong replay safety", "Slightly simpler write sequence", "Excellent durability"}, tables[0][1])
	assert.Equal(t, []string{"Jobs dispatched twice (%)", "1.25 ± 0.35", "6.80 ± 0.90", "**0**"}, tables[0][3])
	assert.Equal(t, []string{"promises broken", "none", "intent-before-dispatch in 40 of 120 runs and one-dispatch-per-job in 37 of 120 runs", "none; outside the promise: one-dispatch-per-job in 2 of 120 runs"}, tables[0][8])
	assert.Len(t, tables[2], 5, "no row of broken promises where there are none")
	assert.Equal(t, 3, strings.Count(out, "\n### ")+1)
	assert.Contains(t, out, "\n- The outbox's relay polls every 100 ms")
	for line := range strings.Lines(out) {
		assert.Equal(t, strings.TrimRight(line, " \n")+"\n", line, "no trailing blanks")
	}
}

// markdownTables are the cells of the tables in a Markdown text, headers first; each row must have as
// many as its header.
func markdownTables(t *testing.T, out string) (tables [][][]string) {
	t.Helper()
	inside := false
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		require.True(t, strings.HasSuffix(line, " |"), line)
		bare := strings.ReplaceAll(line, `\|`, "\x00")
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(bare, "|"), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if !inside {
			tables, inside = append(tables, nil), true
		}
		last := &tables[len(tables)-1]
		if len(*last) > 0 {
			require.Len(t, cells, len((*last)[0]), line)
		}
		if cells[0] != "---" {
			*last = append(*last, cells)
		}
	}
	return tables
}

func TestMarkdownKeepsHostileStringsText(t *testing.T) {
	for in, want := range map[string]string{
		"a | b": `a \| b`, "<script>x</script>": "&lt;script&gt;x&lt;/script&gt;", "two\nlines  here": "two lines here", "state_read": "state_read",
		"_it_ **bold** `code`": "\\_it\\_ \\*\\*bold\\*\\* \\`code\\`", "[a](http://x)": `\[a\](http://x)`, `back\slash & co`: `back\\slash &amp; co`, "~~no~~": `\~\~no\~\~`,
	} {
		assert.Equal(t, want, markText(in))
	}
	for in, want := range map[string]string{"": "", "a=b": "`a=b`", "a`b": "``a`b``", "`": "`` ` ``", "a|b": "`a\\|b`", "x\ny": "`x y`"} {
		assert.Equal(t, want, markCode(in))
	}
	assert.Equal(t, "````yaml\na\n```\nb\n````\n", markBlock("yaml", "a\n```\nb\n"))
	const turned = "a\u202eb"
	assert.Equal(t, `a\\u202eb`, markText(turned))
	assert.Equal(t, "`a\\u202eb`", markCode(turned))
	assert.Equal(t, "```\na\\u202eb\n```\n", markBlock("", turned))
	for _, s := range hostile {
		tables := markdownTables(t, written(t, func(w io.Writer) error { return ComparisonMarkdown(w, poisonedTables(s)) }))
		require.Len(t, tables, 1, "%q", s)
		assert.Len(t, tables[0], 9, "%q", s)
	}
}

func TestWriteComparisonsWritesItsData(t *testing.T) {
	dir, list := t.TempDir(), threeTables()
	require.NoError(t, WriteComparisons(dir, list))
	assert.Equal(t, []string{ComparisonFile, ComparisonMarkFile, PageFile}, names(t, dir))
	data, err := os.ReadFile(filepath.Join(dir, ComparisonFile))
	require.NoError(t, err)
	var back []*sweep.Comparison
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, list, back)
}

func TestVerdictOfAComparison(t *testing.T) {
	tables := threeTables()
	verdict := func(c *sweep.Comparison) []string { return comparisonViewOf(c).Verdict }
	assert.Equal(t, []string{
		"Publish-before-state breaks a promise: intent-before-dispatch and one-dispatch-per-job.",
		"Outbox + relay breaks outside of its promise: one-dispatch-per-job.",
		"Of those that keep their promises, State-before-publish + rollback (current) is the best, or as good as the best, in p50 time to dispatch and operations per job.",
		"Of those that keep their promises, Outbox + relay is the best, or as good as the best, in jobs dispatched twice, jobs executed twice and blind window per job.",
	}, verdict(tables[0]))
	assert.Equal(t, []string{
		"Fail open breaks a promise: one-dispatch-per-job.",
		"Fail closed (current) alone keeps its promises. Others have less of retries per job and p99 time to dispatch.",
	}, verdict(tables[1]))
	assert.Equal(t, []string{
		"Every alternative keeps its promises here.",
		"Of those that keep their promises, Fixed 3 immediate retries (current) is the best, or as good as the best, in stale picks per job.",
	}, verdict(tables[2]), "what cannot be told apart is not named")

	tables[1].Rows[0].Broken = map[string]int{"one-dispatch-per-job": 1}
	assert.Equal(t, []string{"Every alternative breaks a promise here."}, verdict(tables[1]))
	tables[1].Rows = tables[1].Rows[:1]
	assert.Empty(t, verdict(tables[1]), "one alone is not compared")
}

func TestIntervalsAreDrawnFromNothingToTheGreatestOfTheRow(t *testing.T) {
	assert.Equal(t, &interval{Low: 10, Mean: 20, Width: 20}, intervalOf(sweep.Estimate{Mean: 2, Low: 1, High: 3, N: 3}, 10))
	assert.Equal(t, &interval{Low: 0, Mean: 50, Width: 100}, intervalOf(sweep.Estimate{Mean: 1, Low: -1, High: 2, N: 3}, 2), "what is below nothing is cut off")
	assert.Equal(t, &interval{}, intervalOf(sweep.Estimate{N: 3}, 0), "a row of zeros")
	assert.Nil(t, intervalOf(sweep.Estimate{}, 1), "no number")
	assert.Equal(t, 6, strings.Count(sectionOf(t, comparisonHTML(t, threeTables()[1:2]), "comparison-1"), `class="interval"`), "one for each number")
}

// Of a measure that is neither good nor bad less is not better.
func TestAComparisonSaysOfWhatLessIsNotBetter(t *testing.T) {
	list := threeTables()[:1]
	assert.Contains(t, text(comparisonHTML(t, list)), "Less is better. Bold")
	list[0].Metrics[1].Neutral = true
	assert.Contains(t, text(comparisonHTML(t, list)), "Less is better, but of jobs executed twice. Bold")
	assert.Contains(t, ComparisonTexts(list, "bold")[0].About, "Less is better, but of jobs executed twice; bold")
}
