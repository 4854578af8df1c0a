package reports

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/reports/axis"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

var axisData = regexp.MustCompile(`(?s)id="axis-data">(.*?)</script>`)

// recordAfter is what Redis held of a job after each step, folded from the trace by nothing but the names of its keys.
func recordAfter(t *testing.T, trace []byte, job string) (after []map[string]string) {
	t.Helper()
	now := map[string]string{}
	after = append(after, maps.Clone(now)) // steps begin with 1
	for e, err := range Trace(bytes.NewReader(trace)) {
		require.NoError(t, err)
		fold(now, e.Changes, job)
		after = append(after, maps.Clone(now))
	}
	return after
}

func fold(record map[string]string, changes []sim.Change, job string) {
	for _, c := range changes {
		switch {
		case c.Key != "job:"+job:
		case c.Gone && c.Field == "":
			clear(record)
		case c.Gone:
			delete(record, c.Field)
		default:
			record[c.Field] = c.Value
		}
	}
}

// A server that loses what it had loses it on the page, too: what a step reads, and the record that the page builds from the
// changes at its marks, are what Redis held.
func TestAPageSaysWhatRedisHeld(t *testing.T) {
	for _, scenario := range []string{"redis-failover", "redis-power-loss", "redis-killed", "dead-worker"} {
		plan, err := plans.Load(scenario)
		require.NoError(t, err)
		var trace, page bytes.Buffer
		res, err := scenarios.Run(t.Context(), plan, scenarios.RunOptions{Source: scenario, Trace: &trace})
		require.NoError(t, err)
		require.NoError(t, Page(&page, plan, res, Trace(bytes.NewReader(trace.Bytes()))))
		var a axis.Axis
		require.NoError(t, json.Unmarshal([]byte(axisData.FindStringSubmatch(page.String())[1]), &a))
		reads, held := 0, 0
		for i, job := range a.Jobs {
			after := recordAfter(t, trace.Bytes(), job)
			now := map[string]string{}
			for _, m := range a.Marks {
				for _, c := range m.Changes {
					fold(now, []sim.Change{{Key: c.Key, Field: c.Field, Value: c.Value, Gone: c.Gone}}, job)
				}
				truth := after[m.Step]
				if m.Job == i && strings.HasPrefix(m.Says, "reads ") && m.Outcome == "" {
					reads++
					want := truth["state"]
					if want == "" {
						want = "no record"
					}
					require.True(t, strings.HasPrefix(m.Says, "reads "+want), "%s, step %d: it %s, and Redis held %v", scenario, m.Step, m.Says, truth)
				}
				if a.Colour[i] >= 0 && m.Job == i {
					held++
					require.Zero(t, m.More)
					require.Equal(t, truth["state"], now["state"], "%s, step %d", scenario, m.Step)
					require.Equal(t, truth["attempts"], now["attempts"], "%s, step %d", scenario, m.Step)
					require.Len(t, now, len(truth), "%s, step %d", scenario, m.Step)
				}
			}
		}
		assert.Greater(t, reads, 10, scenario)
		assert.Greater(t, held, 20, scenario)
	}
}
