package alerts_test

import (
	"context"
	"regexp"
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
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// exported are the names of the series that a scheduler exports.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	names := described{"up": true}
	_, err := metrics.New(names)
	require.NoError(t, err)
	for _, c := range []prometheus.Collector{
		metrics.DLQDepth(func(context.Context) (int64, error) { return 0, nil }),
		metrics.HeartbeatAges(func() []time.Duration { return nil }),
	} {
		require.NoError(t, names.Register(c))
	}
	return names
}

// described is a registerer that notes the names of what it is given.
type described map[string]bool

var (
	fqName = regexp.MustCompile(`fqName: "([^"]+)"`)
	parts  = []string{"_bucket", "_count", "_sum"} // of a histogram
)

func (d described) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc, 16)
	c.Describe(descs)
	close(descs)
	for desc := range descs {
		name := fqName.FindStringSubmatch(desc.String())[1]
		d[name] = true
		switch c.(type) {
		case prometheus.Histogram, *prometheus.HistogramVec:
			for _, part := range parts {
				d[name+part] = true
			}
		}
	}
	return nil
}

func (described) MustRegister(...prometheus.Collector) {}
func (described) Unregister(prometheus.Collector) bool { return true }

// selected are the names that an expression looks up.
func selected(t *testing.T, expr string) (names []string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	require.NoError(t, err, expr)
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			names = append(names, v.Name)
		}
		return nil
	})
	return names
}

// What `promtool check rules` looks at; and every name is one that a scheduler exports, or that a rule records before.
func TestRulesAreWhatPrometheusReads(t *testing.T) {
	groups, errs := rulefmt.Parse(alerts.Rules, false, model.UTF8Validation, parser.NewParser(parser.Options{}), promslog.NewNopLogger())
	require.Empty(t, errs)
	known, alerting := exported(t), map[string]bool{}
	for _, g := range groups.Groups {
		assert.Equal(t, model.Duration(15*time.Second), g.Interval, g.Name)
		for _, r := range g.Rules {
			for _, name := range selected(t, r.Expr) {
				assert.True(t, known[name], "%s%s: no scheduler exports %s", r.Alert, r.Record, name)
			}
			if r.Record != "" {
				known[r.Record] = true
				continue
			}
			assert.False(t, alerting[r.Alert], "%s is there twice", r.Alert)
			alerting[r.Alert] = true
			assert.Contains(t, []string{"page", "ticket"}, r.Labels["severity"], r.Alert)
			assert.NotEmpty(t, r.Annotations["summary"], r.Alert)
			assert.NotEmpty(t, r.Annotations["description"], r.Alert)
		}
	}
	assert.Equal(t, map[string]bool{
		"SchedulerRollbackFailed": true, "SchedulerReplaysDenied": true, "SchedulerDLQGrowth": true, "SchedulerCircuitOpen": true, "SchedulerFailClosedStreak": true,
	}, alerting, "what the documents ask for")
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
