package alerts_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rules "github.com/wavetank-sim/wavetank/engine/alerts"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/alerts"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/samples"
)

var update = flag.Bool("update", false, "write the golden files anew instead of comparing with them")

// A unitTest is a test for promtool.
type unitTest struct {
	RuleFiles []string      `yaml:"rule_files"`
	Every     time.Duration `yaml:"evaluation_interval"`
	Tests     []struct {
		Name   string        `yaml:"name"`
		Every  time.Duration `yaml:"interval"`
		Series []struct {
			Series string `yaml:"series"`
			Values string `yaml:"values"`
		} `yaml:"input_series"`
		Alerts []struct {
			At       time.Duration `yaml:"eval_time"`
			Name     string        `yaml:"alertname"`
			Expected []struct {
				Labels      map[string]string `yaml:"exp_labels"`
				Annotations map[string]string `yaml:"exp_annotations"`
			} `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	} `yaml:"tests"`
}

// pass runs a test as promtool does. Of the annotations it looks at the summary with which an alert begins.
func pass(t *testing.T, data []byte) {
	t.Helper()
	var file unitTest
	require.NoError(t, yaml.UnmarshalWithOptions(data, &file, yaml.Strict()))
	for _, g := range file.Tests {
		rec := &samples.Recording{Interval: g.Every}
		for _, s := range g.Series {
			series := samples.Series{Name: s.Series}
			require.NoError(t, series.Values.UnmarshalText([]byte(s.Values)), s.Series)
			rec.Series, rec.Scrapes = append(rec.Series, series), max(rec.Scrapes, len(series.Values))
		}
		fired, err := alerts.Evaluate(rec, rules.Rules)
		require.NoError(t, err, g.Name)
		for _, a := range g.Alerts {
			var want, got []string
			for _, e := range a.Expected {
				want = append(want, fmt.Sprint(e.Labels))
			}
			for _, f := range fired {
				if f.Name == a.Name && f.Fired <= a.At && (f.Over == 0 || a.At < f.Over) {
					got = append(got, fmt.Sprint(f.Labels))
				}
				for _, e := range a.Expected {
					if f.Name == a.Name && f.Fired == a.At && maps.Equal(f.Labels, e.Labels) {
						assert.Equal(t, e.Annotations["summary"], f.Summary, g.Name)
					}
				}
			}
			assert.ElementsMatch(t, want, got, "%s: %s at %s", g.Name, a.Name, a.At)
		}
	}
}

func TestRulesDoWhatTheirTestsSay(t *testing.T) {
	data, err := os.ReadFile("../../engine/alerts/alerts_test.yaml")
	require.NoError(t, err)
	pass(t, data)
}

// firedFile says which alerts fire in which scenario. -update writes it anew.
const firedFile = "testdata/alerts.tsv"

const firedHead = "scenario\tpreset\talert\tlabels\tfires\tover\tsays\n"

// Every scenario fires the alerts of the committed table and no others, under both presets: each alert has one in which
// it fires, and all are quiet where nothing goes wrong that they are about.
func TestAlertsOfScenarios(t *testing.T) {
	data, err := os.ReadFile(firedFile)
	require.NoError(t, err)
	table, ran := firedHead, 0
	for i, name := range plans.Names() {
		if testing.Short() && i%3 != 0 && !strings.Contains(string(data), "\n"+name+"\t") { // a night runs those, too, of which no alert is expected
			continue
		}
		t.Run(name, func(t *testing.T) {
			ran++
			fired := firedIn(t, name)
			table += fired
			if !*update {
				want := ""
				for line := range strings.Lines(string(data)) {
					if strings.HasPrefix(line, name+"\t") {
						want += line
					}
				}
				assert.Equal(t, want, fired, "if the change is meant, -update notes it")
			}
		})
	}
	switch {
	case ran < len(plans.Names()): // -run leaves some out
	case *update:
		require.NoError(t, os.WriteFile(firedFile, []byte(table), 0o644))
	default:
		assert.Equal(t, table, string(data), "of scenarios that are gone, too")
	}
}

// firedIn are the lines of a scenario.
func firedIn(t *testing.T, name string) (lines string) {
	for _, preset := range []string{plans.PresetDocumented, plans.PresetHardened} {
		fired, err := alerts.Evaluate(run(t, name, preset).Samples, rules.Rules)
		require.NoError(t, err)
		for _, a := range fired {
			over := "-"
			if a.Over > 0 {
				over = a.Over.String()
			}
			lines += fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, preset, a.Name, about(a.Labels), a.Fired, over, a.Summary)
		}
	}
	return lines
}

func about(labels map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		words = append(words, name+"="+labels[name])
	}
	return strings.Join(words, ",")
}

func run(t *testing.T, name, preset string) *scenarios.Result {
	t.Helper()
	p, err := plans.Load(name)
	require.NoError(t, err)
	require.NoError(t, p.Set("preset="+preset))
	res, err := scenarios.Run(context.Background(), p, scenarios.RunOptions{Source: name, Sample: true, Modified: true})
	require.NoError(t, err)
	return res
}

// To be scraped changes nothing in a run.
func TestAScrapeIsNoStep(t *testing.T) {
	for _, name := range []string{"rollback-failure", "redis-failover", "nats-restart"} {
		p, err := plans.Load(name)
		require.NoError(t, err)
		var digests []string
		for _, sample := range []bool{false, true} {
			res, err := scenarios.Run(context.Background(), p, scenarios.RunOptions{Source: name, Sample: sample})
			require.NoError(t, err)
			digests = append(digests, res.Digest)
		}
		assert.Equal(t, digests[0], digests[1], name)
	}
}

// What is written for promtool says what was evaluated.
func TestARunAsATestForPromtool(t *testing.T) {
	res := run(t, "rollback-failure", plans.PresetDocumented)
	var file bytes.Buffer
	require.NoError(t, alerts.Promtool(&file, "rollback-failure", res.Samples, rules.Rules, "alerts.yaml"))
	assert.Contains(t, file.String(), "SchedulerRollbackFailed")
	pass(t, file.Bytes())
}
