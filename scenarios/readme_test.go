package scenarios

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// The lists in the room's README are those of the code, and the first story is what a run tells. `make golden` writes them anew.
func TestReadme(t *testing.T) {
	var catalogue, hardenings strings.Builder
	catalogue.WriteString("| scenario | what goes wrong, and what the design makes of it |\n|---|---|\n")
	for _, name := range plans.Names() {
		p, err := plans.Load(name)
		require.NoError(t, err)
		fmt.Fprintf(&catalogue, "| `%s` | %s |\n", name, strings.Join(strings.Fields(p.Story), " "))
	}
	hardenings.WriteString("| hardening | off | without it | scenario |\n|---|---|---|---|\n")
	for _, tg := range plans.Toggles() {
		if tg.Documented == tg.Off {
			fmt.Fprintf(&hardenings, "| `%s` | `%s` | %s | `%s` |\n", strings.TrimPrefix(tg.Setting, "engine."), tg.Off, tg.Says, tg.Scenario)
		}
	}
	generated(t, "README.md", "catalogue", catalogue.String())
	generated(t, "README.md", "hardenings", hardenings.String())
	generated(t, "README.md", "losses", losses(t))
	generated(t, "README.md", "certified", certified(t))

	p, err := plans.Load("publish-failure")
	require.NoError(t, err)
	res, err := Run(t.Context(), p, RunOptions{Source: p.Name})
	require.NoError(t, err)
	story := fmt.Sprintf("    %s  %s: %s.\n\n    Story\n", strings.ToUpper(string(res.Verdict)), p.Name, res.Reason)
	for _, sentence := range res.Telling {
		story += "      " + sentence + "\n"
	}
	generated(t, "../README.md", "story", "\n"+story+"\n")

	promised := slices.DeleteFunc(judge.All(), func(i invariants.Invariant) bool { return i.Kind == invariants.Sometimes })
	numbers := fmt.Sprintf("%d scenarios; %d invariants and %d situations; %d parts", len(plans.Names()), len(promised), len(judge.All())-len(promised), len(plans.Toggles()))
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	if counts := regexp.MustCompile(`\d+ scenarios; \d+ invariants and \d+ situations; \d+ parts`); *update {
		require.NoError(t, os.WriteFile("../README.md", counts.ReplaceAll(text, []byte(numbers)), 0o644))
	} else {
		assert.Equal(t, numbers, string(counts.Find(text)), "the numbers in README.md: `make golden` writes them anew")
	}
}

// losses is what single faults cost the documented design, as its certificate says.
func losses(t *testing.T) string {
	data, err := os.ReadFile("testdata/certificates/calm-documented/certificate.json")
	require.NoError(t, err)
	var c struct {
		Tries    []struct{ Fault string }
		Releases []struct {
			Invariant    string
			Cell         invariants.Cell
			Tries, First int
		}
	}
	require.NoError(t, json.Unmarshal(data, &c))
	var table strings.Builder
	table.WriteString("| what is lost | by | runs | the first of them | what would keep it |\n|---|---|---|---|---|\n")
	for _, r := range c.Releases {
		by, closed := r.Cell.Strike, r.Cell.Status+": "+r.Cell.Says
		switch {
		case by == "": // the settings have nothing that the promise takes
			by, closed = "anything", strings.Join(r.Cell.With, ", or ")
		case len(r.Cell.With) > 0:
			closed = strings.Join(r.Cell.With, ", or ")
		}
		fmt.Fprintf(&table, "| `%s` | %s | %d | %s | %s |\n", r.Invariant, by, r.Tries, c.Tries[r.First].Fault, closed)
	}
	return table.String()
}

// earlier are the builds that did not try what is tried now, the last first: each group lacks what those before it do, too. A
// build that is not named tries as now.
var earlier = []struct{ says, builds string }{
	{"by builds up to c10fc8079af5: not judged by 12 newer invariants, such as `hanging-operation-is-given-up`, `keys-last-as-stated` and `unconfirmed-ack-is-sent-again`, nor of what else audit events and dead letters say", "cb2c9a0d0555 06eed13fd174 c10fc8079af5"},
	{"by builds up to 6129b00a6de3: besides, not judged by `retry-waits-its-delay`, `deadline-counts-from-submission` and 32 other invariants, such as `what-is-due-is-taken-up` and `kernel-is-asked-about-the-request`, nor of messages that are left, of the load of the worker that is chosen, of what else a dead letter says, and of how long locks and marks of the guard last", "4f827d64a108 6129b00a6de3"},
	{"by builds up to 70ce0695d7f2: besides, a clock that was set took the monotonic clock along", "70ce0695d7f2"},
	{"by builds up to 84a4d59136df: besides, a fault counted that struck an operation which failed by itself, and a pause outlived its process", "97e2faead421 84a4d59136df"},
	{"by builds up to e7899ba403c6: besides, no clock was set wrong, and no heartbeats were cut off", "c11545825ee2 e6823c36cdf3 e7899ba403c6"},
	{"by builds up to e3b32347f960: besides, without `confirm_acks`", "e3b32347f960"},
	{"by builds before that: besides, not judged by `job-ends-as-its-result-says`, `dispatch-acked-only-when-answered`, `only-poison-is-terminated` and `cancelled-only-when-asked`; and some ended a run before what a killed nats-server delivers again",
		"1d2135ae9a38 b27a285849d4 23dc73a97866 85c1a1fd9156 5f4e250beabc 8aff0fea405b f09cca589386 473b22c0d828 d0ed36bbd1aa f35758bdebd2 6b58d68826a5 a6930c94c663 7526a92b1d29 032ee5bcce2f"},
}

// tried adds up rows of a table that exhaust of several scenarios has left.
type tried struct {
	scenarios int
	n         [5]int // columns
	cells     map[string]int
}

func (s *tried) add(t *testing.T, row []string) {
	if s.cells == nil {
		s.cells = map[string]int{}
	}
	s.scenarios++
	for i := range s.n {
		tries, err := strconv.Atoi(row[3+i])
		require.NoError(t, err)
		s.n[i] += tries
	}
	for cell := range strings.SplitSeq(row[8], ", ") {
		if i := strings.LastIndexByte(cell, ' '); i > 0 {
			tries, err := strconv.Atoi(cell[i+1:])
			require.NoError(t, err)
			s.cells[cell[:i]] += tries
		}
	}
}

func (s *tried) row(preset, how, of string) string {
	var by []string
	for _, status := range slices.Sorted(maps.Keys(s.cells)) {
		by = append(by, fmt.Sprintf("%s (%d)", status, s.cells[status]))
	}
	return fmt.Sprintf("| %s | %s | %d%s | %d | %d | %d | %d | %d | %s |\n", preset, how, s.scenarios, of, s.n[0], s.n[1], s.n[2], s.n[3], s.n[4], strings.Join(by, ", "))
}

// certified adds up the tables that exhaust of several scenarios has left, by how the build tried them.
func certified(t *testing.T) string {
	var sums strings.Builder
	apart := map[string][]string{} // scenarios, by what is said of cells that are not impossible
	sums.WriteString("| preset | tried | scenarios | single faults | broke a promise | outside of one | inconclusive | had no effect | violations, by cells that are |\n|---|---|---|---|---|---|---|---|---|\n")
	files, err := filepath.Glob("testdata/certificates/*.tsv")
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var all tried
		groups := make([]tried, 1+len(earlier)) // the first is as now
		preset := ""
		for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
			row := strings.Split(line, "\t")
			require.Len(t, row, 9, "%s: %s", file, line)
			assert.Contains(t, plans.Names(), row[0], "a scenario of %s", file)
			preset = row[1]
			for cell := range strings.SplitSeq(row[8], ", ") {
				if i := strings.LastIndexByte(cell, ' '); i > 0 && cell[:i] != string(invariants.Impossible) {
					apart[cell[:i]] = append(apart[cell[:i]], fmt.Sprintf("`%s` (%s)", row[0], cell[i+1:]))
				}
			}
			all.add(t, row)
			groups[1+slices.IndexFunc(earlier, func(e struct{ says, builds string }) bool { return strings.Contains(e.builds, row[2]) })].add(t, row)
		}
		sums.WriteString(all.row(fmt.Sprintf("[%s](%s)", preset, file), "in all", fmt.Sprintf(" of %d", len(plans.Names()))))
		for i, g := range groups {
			how := "as now"
			if i > 0 {
				how = earlier[i-1].says
			}
			if g.scenarios > 0 {
				sums.WriteString(g.row("", how, ""))
			}
		}
	}
	for _, status := range slices.Sorted(maps.Keys(apart)) {
		fmt.Fprintf(&sums, "\n%s%s: %s.\n", strings.ToUpper(status[:1]), status[1:], strings.Join(apart[status], ", "))
	}
	return sums.String()
}

// The matrix in the README of the invariants is the one that they are judged by.
func TestReadmeOfInvariants(t *testing.T) {
	var strikes, matrix strings.Builder
	strikes.WriteString("| kind | what happens |\n|---|---|\n")
	for _, k := range history.Strikes {
		fmt.Fprintf(&strikes, "| `%s` | %s |\n", k.Kind, k.Says)
	}
	matrix.WriteString("| invariant | status | struck by | with what, or why not |\n|---|---|---|---|\n")
	for _, p := range judge.Promises() {
		name := "`" + p.Invariant + "`"
		if len(p.Takes) > 0 {
			fmt.Fprintf(&matrix, "| %s | takes | anything | %s |\n", name, strings.Join(p.Takes, ", or "))
			name = ""
		}
		groups := p.Groups()
		for _, g := range groups {
			switch {
			case g.Status != "promised":
				fmt.Fprintf(&matrix, "| %s | %s | %s | %s |\n", name, g.Status, strings.Join(g.Strikes, ", "), g.Why)
			case len(groups) == 1:
				fmt.Fprintf(&matrix, "| %s | promised | anything | |\n", name)
			default:
				continue
			}
			name = ""
		}
	}
	generated(t, "../invariants/README.md", "strikes", strikes.String())
	generated(t, "../invariants/README.md", "promises", matrix.String())
}

// generated compares what stands between two marks of a file with what should stand there, or writes it.
func generated(t *testing.T, file, mark, want string) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	begin, end := "<!-- "+mark+" begins -->\n", "<!-- "+mark+" ends -->"
	head, rest, found := strings.Cut(string(data), begin)
	require.True(t, found, "%s has no mark %s", file, begin)
	got, tail, found := strings.Cut(rest, end)
	require.True(t, found, "%s has no mark %s", file, end)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(head+begin+want+end+tail), 0o644))
		return
	}
	assert.Equal(t, want, got, "%s, between the marks of %s: `make golden` writes it anew", file, mark)
}
