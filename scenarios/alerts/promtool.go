package alerts

import (
	"io"
	"slices"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/rules"

	"github.com/wavetank-sim/wavetank/scenarios/samples"
)

// test is a file of `promtool test rules`.
type test struct {
	RuleFiles []string      `yaml:"rule_files"`
	Every     time.Duration `yaml:"evaluation_interval"`
	Tests     []testGroup   `yaml:"tests"`
}

type testGroup struct {
	Name   string        `yaml:"name"`
	Every  time.Duration `yaml:"interval"`
	Series []testSeries  `yaml:"input_series"`
	Alerts []testAlert   `yaml:"alert_rule_test"`
}

type testSeries struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

// testAlert is what is expected to fire of one rule at one time.
type testAlert struct {
	At       time.Duration  `yaml:"eval_time"`
	Name     string         `yaml:"alertname"`
	Expected []testExpected `yaml:"exp_alerts"`
}

type testExpected struct {
	Labels      map[string]string `yaml:"exp_labels"`
	Annotations map[string]string `yaml:"exp_annotations"`
}

// Promtool writes a recording as a test for promtool, which passes if promtool comes to the same alerts at each
// evaluation. It is to stand beside the rules, which are in the file called rulesFile.
func Promtool(w io.Writer, name string, rec *samples.Recording, file []byte, rulesFile string) error {
	names, err := alertNames(file)
	if err != nil {
		return err
	}
	g := testGroup{Name: name, Every: rec.Interval}
	for i := range rec.Series {
		values, err := rec.Series[i].Values.MarshalText()
		if err != nil {
			return err
		}
		g.Series = append(g.Series, testSeries{rec.Series[i].String(), string(values)})
	}
	err = evaluate(rec, file, func(at time.Duration, firing []*rules.Alert) {
		for _, name := range names {
			t := testAlert{At: at, Name: name, Expected: []testExpected{}}
			for _, a := range firing {
				if about := a.Labels.Map(); about[model.AlertNameLabel] == name {
					delete(about, model.AlertNameLabel)
					t.Expected = append(t.Expected, testExpected{about, a.Annotations.Map()})
				}
			}
			g.Alerts = append(g.Alerts, t)
		}
	})
	if err != nil {
		return err
	}
	return yaml.NewEncoder(w).Encode(test{[]string{rulesFile}, rec.Interval, []testGroup{g}})
}

// alertNames are those of the alerting rules of a file.
func alertNames(file []byte) (names []string, err error) {
	var groups rulefmt.RuleGroups
	if err := yaml.Unmarshal(file, &groups); err != nil {
		return nil, err
	}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				names = append(names, r.Alert)
			}
		}
	}
	return slices.Compact(names), nil
}
