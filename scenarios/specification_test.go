package scenarios

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// specifiedRow says what carries out one row of the specification's tables: testdata/specification/rows.yaml has one for each.
type specifiedRow struct {
	Row     string   `yaml:"row"`     // its first cell
	Code    string   `yaml:"code"`    // the file that carries it out
	Has     []string `yaml:"has"`     // what that file says literally
	Setting string   `yaml:"setting"` // the setting that it is, with the documented value
	Metric  []string `yaml:"metric"`  // the metric that it is, with its labels in the order of the alphabet
	Test    string   `yaml:"test"`    // file:function; or scenario:name
	Note    string   `yaml:"note"`    // why it is carried out in another way
}

const (
	specification = "../engine/SPECIFICATION.md"
	namedInText   = "Named in the text" // of rows that stand in no table
	leftOpen      = "What the documents leave open"
)

// specifiedTables returns the cells of each row of the tables in a specification, by the table's title: its
// document's, then the heading above it.
func specifiedTables(text string) map[string][][]string {
	tables := map[string][][]string{}
	document, heading, line := "", "", 0
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if name, ok := strings.CutPrefix(l, "## "); ok {
			document, heading, line = name, "", 0
		} else if strings.HasPrefix(l, "###") {
			heading, line = ": "+strings.TrimLeft(l, "# "), 0
		}
		if !strings.HasPrefix(l, "|") || document == "" {
			continue
		}
		if line++; line > 2 { // the head, and the line under it
			cells := strings.Split(strings.Trim(l, "|"), "|")
			for i := range cells {
				cells[i] = strings.Trim(cells[i], "` ")
			}
			tables[document+heading] = append(tables[document+heading], cells)
		}
	}
	return tables
}

// Every row of the specification's tables has its place in the code, and a test. What the documents leave open has
// the value that the specification says.
func TestTheSpecificationIsCarriedOut(t *testing.T) {
	data, err := os.ReadFile("testdata/specification/rows.yaml")
	require.NoError(t, err)
	var rows map[string][]specifiedRow
	require.NoError(t, yaml.UnmarshalWithOptions(data, &rows, yaml.DisallowUnknownField()))
	text, err := os.ReadFile(specification)
	require.NoError(t, err)
	tables, documented, labels := specifiedTables(string(text)), settingsOf(plans.PresetDocumented), metricLabels(t)
	for _, cells := range tables[leftOpen] {
		assert.Equal(t, cells[1], documented[cells[0]], cells[0])
	}
	assert.NotEmpty(t, tables[leftOpen])
	delete(tables, leftOpen)
	for title, list := range rows {
		if title == namedInText {
			for _, row := range list {
				assert.Contains(t, string(text), row.Row)
			}
		} else {
			assert.Contains(t, tables, title)
		}
		for _, row := range list {
			row.check(t, title, documented, labels)
		}
	}
	for title, cells := range tables {
		var want, got []string
		for _, c := range cells {
			want = append(want, c[0])
		}
		for _, row := range rows[title] {
			got = append(got, row.Row)
		}
		assert.Equal(t, want, got, title)
	}
}

func (row *specifiedRow) check(t *testing.T, title string, documented map[string]string, labels map[string][]string) {
	t.Helper()
	at := title + ", " + row.Row
	code, err := os.ReadFile(filepath.Join("..", row.Code))
	if assert.NoError(t, err, at) {
		for _, literal := range row.Has {
			assert.True(t, strings.Contains(string(code), literal), "%s: %s does not say %q", at, row.Code, literal)
		}
		assert.True(t, len(row.Has) > 0 || row.Setting != "" || len(row.Metric) > 0, "%s: nothing says that %s is about it", at, row.Code)
	}
	if row.Setting != "" {
		name, value, _ := strings.Cut(row.Setting, "=")
		assert.Equal(t, value, documented[name], "%s: %s", at, name)
	}
	if len(row.Metric) > 0 {
		have, ok := labels[row.Metric[0]]
		if assert.True(t, ok, "%s: there is no metric %s", at, row.Metric[0]) {
			assert.Equal(t, row.Metric[1:], have, at)
		}
	}
	file, test, ok := strings.Cut(row.Test, ":")
	switch {
	case !ok:
		assert.Fail(t, "no test", at)
	case file == "scenario":
		assert.Contains(t, plans.Names(), test, at)
	default:
		text, err := os.ReadFile(filepath.Join("..", file))
		if assert.NoError(t, err, at) {
			assert.Contains(t, string(text), "func "+test+"(", at)
		}
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
