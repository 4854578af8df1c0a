package alerts_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/alerts"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/grafana"
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// exported are the labels of the series that a scheduler exports, by their names.
func exported(t *testing.T) described {
	t.Helper()
	names := described{"up": {}}
	_, err := metrics.New(names)
	require.NoError(t, err)
	for _, c := range []prometheus.Collector{
		metrics.DLQDepth(func(context.Context) (int64, error) { return 0, nil }),
		metrics.HeartbeatAges(func() []time.Duration { return nil }),
		metrics.CircuitState(metrics.CircuitSafety, func() float64 { return metrics.CircuitClosed }),
	} {
		require.NoError(t, names.Register(c))
	}
	return names
}

// described is a registerer that notes the names and the labels of what it is given.
type described map[string][]string

var (
	fqName = regexp.MustCompile(`fqName: "([^"]+)".*constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}`)
	scrape = []string{"job", "instance"} // labels that a scrape adds
)

func (d described) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc, 16)
	c.Describe(descs)
	close(descs)
	for desc := range descs {
		m := fqName.FindStringSubmatch(desc.String())
		labels := strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' || r == ' ' })
		if name, _, constant := strings.Cut(m[2], "="); constant {
			labels = append(labels, name)
		}
		switch c.(type) {
		case prometheus.Counter, prometheus.Gauge, *prometheus.CounterVec, *prometheus.GaugeVec:
			d[m[1]] = labels
		case prometheus.Histogram, *prometheus.HistogramVec:
			d[m[1]+"_bucket"], d[m[1]+"_count"], d[m[1]+"_sum"] = append(labels, "le"), labels, labels
		default:
			d[m[1]] = labels
		}
	}
	return nil
}

func (described) MustRegister(...prometheus.Collector) {}
func (described) Unregister(prometheus.Collector) bool { return true }

// check refuses an expression that looks up a series or goes by a label that there is not. It returns the labels that
// are left.
func (d described) check(t *testing.T, at, expr string) (left []string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	require.NoError(t, err, at)
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		switch v := n.(type) {
		case *parser.VectorSelector:
			labels, known := d[v.Name]
			assert.True(t, known, "%s: no scheduler exports %s, and no rule records it", at, v.Name)
			for _, m := range v.LabelMatchers {
				assert.Contains(t, slices.Concat(labels, scrape, []string{"__name__"}), m.Name, "%s: %s", at, v.Name)
			}
		case *parser.AggregateExpr:
			left = append(left, v.Grouping...)
			parser.Inspect(v.Expr, func(n parser.Node, _ []parser.Node) error {
				if s, ok := n.(*parser.VectorSelector); ok {
					assert.Subset(t, slices.Concat(d[s.Name], scrape), v.Grouping, "%s: the labels of %s", at, s.Name)
				}
				return nil
			})
		}
		return nil
	})
	return left
}

// record adds what a rule records. Its labels are the first part of its name, and it may look up what it recorded last.
func (d described) record(t *testing.T, r rulefmt.Rule) {
	t.Helper()
	level, _, _ := strings.Cut(r.Record, ":")
	d[r.Record] = strings.Split(level, "_")
	if left := d.check(t, r.Record, r.Expr); len(left) > 0 {
		assert.Subset(t, d[r.Record], left, r.Record)
	}
}

// What `promtool check rules` looks at; and every name is one that a scheduler exports, or that a rule records before.
func TestRulesAreWhatPrometheusReads(t *testing.T) {
	groups := ruleGroups(t)
	known, alerting := exported(t), map[string]bool{}
	for _, g := range groups.Groups {
		assert.Equal(t, model.Duration(15*time.Second), g.Interval, g.Name)
		for _, r := range g.Rules {
			if r.Record != "" {
				known.record(t, r)
				continue
			}
			known.check(t, r.Alert, r.Expr)
			assert.False(t, alerting[r.Alert], "%s is there twice", r.Alert)
			alerting[r.Alert] = true
			assert.Contains(t, []string{"page", "ticket"}, r.Labels["severity"], r.Alert)
			assert.NotEmpty(t, r.Annotations["summary"], r.Alert)
			assert.NotEmpty(t, r.Annotations["description"], r.Alert)
		}
	}
	assert.Equal(t, map[string]bool{
		"SchedulerRollbackFailed": true, "SchedulerReplaysDenied": true, "SchedulerDLQGrowth": true, "SchedulerCircuitOpen": true, "SchedulerFailClosedStreak": true,
		"SchedulerJobsTimedOut": true,
	}, alerting, "what the documents ask for, and what no dead letter tells")
}

func ruleGroups(t *testing.T) *rulefmt.RuleGroups {
	t.Helper()
	groups, errs := rulefmt.Parse(alerts.Rules, false, model.UTF8Validation, parser.NewParser(parser.Options{}), promslog.NewNopLogger())
	require.Empty(t, errs)
	return groups
}

// The dashboard looks up what a scheduler exports or a rule records, by labels that it has. Its panels are those that the
// documents ask for.
func TestDashboard(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr   string `json:"expr"`
				Legend string `json:"legendFormat"`
			} `json:"targets"`
		} `json:"panels"`
	}
	require.NoError(t, json.Unmarshal(grafana.Dashboard, &dashboard))
	known := exported(t)
	for _, g := range ruleGroups(t).Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				known.record(t, r)
			}
		}
	}
	shown := map[string]string{}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "1m")
			left := known.check(t, p.Title, expr)
			if !strings.Contains(expr, "(") {
				left = known[expr]
			}
			for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.Legend, -1) {
				assert.Contains(t, left, m[1], "%s: %s", p.Title, target.Legend)
			}
			shown[p.Title] += expr + "\n"
		}
	}
	for title, expr := range map[string]string{
		"Retries by phase and reason": "sum by (phase, reason_code) (rate(scheduler_retry_total[1m]))",
		"Fail-closed retries":         "sum by (topic) (rate(scheduler_state_read_fail_closed_total[1m]))",
		"Redis errors":                "sum by (operation) (rate(scheduler_redis_errors_total[1m]))",
		"Redis latency":               "histogram_quantile(0.99, sum by (le, operation) (rate(scheduler_redis_latency_bucket[1m])))",
		"Ages of heartbeats":          "max by (quantile) (scheduler_heartbeat_age)",
		"Picks of stale workers":      "sum by (topic, worker) (rate(scheduler_stale_worker_retry_total[1m]))",
		"Growth of the queue":         "scheduler:dlq_entries:increase10m",
		"Denied replays":              "scheduler:dlq_replays_denied:ratio30m",
	} {
		assert.Contains(t, shown[title], expr, title)
	}
}

// The rule watches growth by the numbers of the settings' own watch, which goes on only while replays are on.
func TestGrowthIsThatOfTheSettings(t *testing.T) {
	s := settings.Documented().Replay
	assert.Equal(t, 20, s.GrowthAlert)
	assert.Equal(t, 10*time.Minute, s.GrowthWindow)
	assert.Contains(t, string(alerts.Rules), "increase(dlq_entries_total[10m])")
	assert.Contains(t, string(alerts.Rules), "scheduler:dlq_entries:increase10m > 20")
	for _, outcome := range []string{dlq.Replayed, dlq.Denied, dlq.AlreadyCommitted} {
		assert.Contains(t, string(alerts.Rules), outcome)
	}
}
