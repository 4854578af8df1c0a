package scenarios

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/scenarios/claims"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// showing is what claims are checked against.
type showing struct {
	documented map[string]string // settings
	labels     map[string][]string
	tests      map[string]map[string]error // by file and function: nil, or why it is no test that runs
	falls      map[string]bool             // invariants that something was seen to break
}

// Every claim of the documents is shown by something that runs, or says why it is not. -run 'TestClaims/Dead_letters'
// checks those of one document, and words of a claim after it those that have them.
func TestClaims(t *testing.T) {
	list, titles := claims.All(), headings(t)
	assert.GreaterOrEqual(t, len(list), 240)
	s := &showing{settingsOf(plans.PresetDocumented), metricLabels(t), map[string]map[string]error{}, falls(t)}
	said := map[string]bool{}
	for _, c := range list {
		at := c.Document + ", " + c.Part + ": " + c.Says
		assert.False(t, said[at], "%s stands there twice", at)
		said[at] = true
		assert.Contains(t, titles, c.Document)
		t.Run(c.Document+"/"+c.Part+"/"+c.Says, func(t *testing.T) {
			assert.True(t, c.Open != "" || slices.ContainsFunc(c.Shown, func(p claims.Proof) bool { return p.Kind != claims.Setting && p.Kind != claims.Metric }), "nothing that runs shows it")
			for _, p := range c.Shown {
				assert.NoError(t, s.check(t, p))
			}
		})
	}
}

// The README of the claims has all of them.
func TestReadmeOfClaims(t *testing.T) {
	var text strings.Builder
	document, part := "", ""
	for _, c := range claims.All() {
		if c.Document != document {
			fmt.Fprintf(&text, "\n## %s\n\n| part | claim | shown by |\n|---|---|---|\n", c.Document)
			document, part = c.Document, ""
		}
		heading := c.Part
		if c.Part == part {
			heading = ""
		}
		part = c.Part
		evidence := "open: " + c.Open
		if c.Open == "" {
			texts := make([]string, len(c.Shown))
			for i, p := range c.Shown {
				texts[i] = "`" + p.String() + "`"
			}
			evidence = strings.Join(texts, ", ")
		}
		fmt.Fprintf(&text, "| %s | %s | %s |\n", heading, strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(c.Says), evidence)
	}
	generated(t, "claims/README.md", "claims", text.String()+"\n")
}

// headings are the titles of the documents, as the specification has them.
func headings(t *testing.T) (titles []string) {
	text, err := os.ReadFile(specification)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
			titles = append(titles, title)
		}
	}
	return titles
}

// check says why a proof is none, or nil.
func (s *showing) check(t *testing.T, p claims.Proof) error {
	switch p.Kind {
	case claims.Test:
		if s.tests[p.Of] == nil {
			s.tests[p.Of] = testsIn(p.Of)
		}
		if err, known := s.tests[p.Of][p.What]; !known || err != nil {
			return fmt.Errorf("%s has no test %s that always runs: %v", p.Of, p.What, err)
		}
	case claims.Setting:
		if got, ok := s.documented[p.Of]; !ok || got != p.What {
			return fmt.Errorf("%s is %q in documented, not %s", p.Of, got, p.What)
		}
	case claims.Metric:
		want := strings.Fields(p.What)
		slices.Sort(want)
		if have, ok := s.labels[p.Of]; !ok || !slices.Equal(want, have) {
			return fmt.Errorf("the labels of %s are %v, not %v", p.Of, have, want)
		}
	default:
		return s.checkRun(t, p)
	}
	return nil
}

func (s *showing) checkRun(t *testing.T, p claims.Proof) error {
	if !slices.Contains(plans.Names(), p.Of) {
		return fmt.Errorf("there is no scenario %s", p.Of)
	}
	res := played(t, p.Of, p.Preset)
	if plan, expects := under(t, p.Of, p.Preset); expects {
		if err := res.asExpected(plan); err != nil {
			return err
		}
	}
	shown := false
	i := slices.IndexFunc(res.Invariants, func(i InvariantResult) bool { return i.Name == p.What })
	broken := slices.ContainsFunc(res.Violations, func(v Violation) bool { return v.Invariant == p.What })
	switch p.Kind {
	case claims.Holds:
		if !s.falls[p.What] {
			return fmt.Errorf("nothing was ever seen to break %s: no mutant and no trial", p.What)
		}
		shown = i >= 0 && res.Invariants[i].Exercised > 0 && !broken
	case claims.Breaks:
		shown = broken
	case claims.Reaches:
		shown = i >= 0 && res.Invariants[i].Exercised > 0
	case claims.Tells:
		shown = slices.ContainsFunc(res.Telling, func(line string) bool { return strings.Contains(line, p.What) })
	case claims.Counts:
		metric, n, _ := strings.Cut(p.What, "=")
		sum := 0.0
		for name, value := range res.Counters {
			if name, _, _ := strings.Cut(name, "{"); name == metric {
				sum += value
			}
		}
		shown = n == strconv.FormatFloat(sum, 'f', -1, 64)
	}
	if !shown {
		return fmt.Errorf("a run does not show that %s", p)
	}
	return nil
}

// testsIn are the tests of a file; with an error is one that may be left out of a run of all.
func testsIn(path string) map[string]error {
	tests := map[string]error{}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", path), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || !strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata/") {
		return tests
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || len(f.Type.Params.List) != 1 {
			continue
		}
		tests[f.Name.Name] = nil
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "Skip") && sel.Sel.Name != "SkipDir" {
				tests[f.Name.Name] = fmt.Errorf("it calls %s", sel.Sel.Name)
			}
			return true
		})
	}
	return tests
}

// falls are the invariants that a planted mistake or a trial breaks: mutants.tsv, and the trials beside the judge.
func falls(t *testing.T) map[string]bool {
	names := map[string]bool{}
	rows, err := os.ReadFile("testdata/mutants.tsv")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`([a-z-]+) \(\d+\)`).FindAllStringSubmatch(string(rows), -1) {
		names[m[1]] = true
	}
	require.NoError(t, filepath.WalkDir("../invariants/scheduler", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			pair, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			name, isText := pair.Key.(*ast.BasicLit)
			trial, isTrial := pair.Value.(*ast.CompositeLit)
			if isText && isTrial && slices.ContainsFunc(trial.Elts, func(e ast.Expr) bool {
				field, named := e.(*ast.KeyValueExpr)
				return named && fmt.Sprint(field.Key) == "breaks"
			}) {
				text, _ := strconv.Unquote(name.Value)
				names[text] = true
			}
			return true
		})
		return nil
	}))
	return names
}

const (
	specification = "../engine/SPECIFICATION.md"
	leftOpen      = "## What the documents leave open"
)

// What the documents leave open has the value that the specification says.
func TestWhatTheDocumentsLeaveOpen(t *testing.T) {
	text, err := os.ReadFile(specification)
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), leftOpen)
	require.True(t, found)
	documented := settingsOf(plans.PresetDocumented)
	rows := regexp.MustCompile("(?m)^\\| `(engine\\.[a-z_.]+)` \\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1)
	require.NotEmpty(t, rows)
	for _, row := range rows {
		assert.Equal(t, row[2], documented[row[1]], row[1])
	}
}

// metricLabels are the labels of every metric that an engine registers, by its name.
func metricLabels(t *testing.T) map[string][]string {
	t.Helper()
	registry := &describing{labels: map[string][]string{}}
	_, err := metrics.New(registry)
	require.NoError(t, err)
	return registry.labels
}

// describing is a registerer that reads what it is given.
type describing struct {
	prometheus.Registerer
	labels map[string][]string
}

var described = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

func (d *describing) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc, 16)
	c.Describe(descs)
	close(descs)
	for desc := range descs {
		m := described.FindStringSubmatch(desc.String())
		names := strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' })
		slices.Sort(names)
		d.labels[m[1]] = append([]string{}, names...)
	}
	return nil
}
