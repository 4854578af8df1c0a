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
)

// seedRow says what became of one row of the seeds' tables: testdata/seeds/rows.yaml has one for each.
type seedRow struct {
	Row     string   `yaml:"row"`     // its first cell
	Code    string   `yaml:"code"`    // the file that carries it out
	Has     []string `yaml:"has"`     // what that file says literally
	Setting string   `yaml:"setting"` // the setting that it is, with the documented value
	Metric  []string `yaml:"metric"`  // the metric that it is, with its labels in the order of the alphabet
	Test    string   `yaml:"test"`    // file:function; or scenario:name
	Note    string   `yaml:"note"`    // why it is carried out in another way
}

// seedTables reads the seeds' tables: by their titles, their rows' first cells.
func seedTables(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/seeds/tables.md")
	require.NoError(t, err)
	tables := map[string][]string{}
	title, line := "", 0
	for l := range strings.Lines(string(data)) {
		l = strings.TrimSpace(l)
		if name, ok := strings.CutPrefix(l, "## "); ok {
			title, line = name, 0
		}
		if !strings.HasPrefix(l, "|") {
			continue
		}
		if line++; line > 2 { // the head, and the line under it
			cell, _, _ := strings.Cut(strings.TrimPrefix(l, "| "), " | ")
			tables[title] = append(tables[title], strings.Trim(cell, "` "))
		}
	}
	return tables
}

// Every row of the seeds' tables has its place in the code, and a test.
func TestEveryRowOfTheSeedsIsCarriedOut(t *testing.T) {
	data, err := os.ReadFile("testdata/seeds/rows.yaml")
	require.NoError(t, err)
	var rows map[string][]seedRow
	require.NoError(t, yaml.UnmarshalWithOptions(data, &rows, yaml.DisallowUnknownField()))
	tables := seedTables(t)
	for title := range rows {
		assert.Contains(t, tables, title)
	}
	documented, labels := settingsOf(PresetDocumented), metricLabels(t)
	for title, cells := range tables {
		var got []string
		for _, row := range rows[title] {
			got = append(got, row.Row)
			row.check(t, title, documented, labels)
		}
		assert.Equal(t, cells, got, title)
	}
}

func (row *seedRow) check(t *testing.T, title string, documented map[string]string, labels map[string][]string) {
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
		assert.Contains(t, Names(), test, at)
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
