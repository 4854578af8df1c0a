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

// executed is when a worker began and ended each execution of a job, in the order of their ends: by the trace alone, in which
// the last end before the answer to a dispatch is that of its execution.
func executed(t *testing.T, trace []byte, worker, job string) (spans [][2]int64) {
	t.Helper()
	begun, ended := []int64{}, int64(0)
	dispatches := map[uint64]int{} // their places among those begun
	for e, err := range Trace(bytes.NewReader(trace)) {
		require.NoError(t, err)
		switch {
		case e.Node != worker || e.Job != job:
		case e.Phase == "job_deliver":
			dispatches[e.Seq] = len(dispatches)
		case e.Phase == "effect" && e.Name == "begin":
			begun = append(begun, e.At.Microseconds())
		case e.Phase == "effect":
			ended = e.At.Microseconds()
		case e.Phase == "job_ack":
			spans = append(spans, [2]int64{begun[dispatches[e.Seq]], ended})
		}
	}
	return spans
}

// A worker that has a job twice executes it twice at once, and the page has each execution as it was.
func TestExecutionsLastAsTheTraceSays(t *testing.T) {
	for _, scenario := range []string{"publish-ack-lost", "stale-result"} {
		_, trace, a := drawnOver(t, scenario)
		want := executed(t, trace, "worker-1", "job-3")
		require.Len(t, want, 2, scenario)
		assert.Less(t, want[1][0], want[0][1], "%s: both are under way at once", scenario)
		var drawn [][2]int64
		slots := map[int]bool{}
		for _, s := range a.Spans {
			if s.What == axis.Execution && a.Jobs[max(s.Job, 0)] == "job-3" && a.Lanes[s.Lane] == "worker-1" {
				drawn, slots[s.Slot] = append(drawn, [2]int64{s.From, s.To}), true
			}
		}
		assert.Equal(t, want, drawn, scenario)
		assert.Len(t, slots, 2, "%s: each has its own place", scenario)
	}
}

// A node that goes down and stays down is down to the end, on its lane too.
func TestAFaultWithoutAnEndLastsToTheEnd(t *testing.T) {
	for _, scenario := range []string{"stale-worker", "dead-worker"} {
		res, _, a := drawnOver(t, scenario)
		require.Equal(t, "crash", res.Fired[0].Do)
		var boxes []axis.Span
		for _, s := range a.Spans {
			if s.What == axis.Fault && a.Lanes[s.Lane] == res.Fired[0].Node {
				boxes = append(boxes, s)
			}
		}
		require.Len(t, boxes, 1, scenario)
		assert.Equal(t, [2]int64{res.Fired[0].At.Microseconds(), a.End}, [2]int64{boxes[0].From, boxes[0].To}, scenario)
	}
}

// drawnOver is a run, its trace, and the picture on its page.
func drawnOver(t *testing.T, scenario string) (*scenarios.Result, []byte, axis.Axis) {
	t.Helper()
	plan, err := plans.Load(scenario)
	require.NoError(t, err)
	var trace, page bytes.Buffer
	res, err := scenarios.Run(t.Context(), plan, scenarios.RunOptions{Source: scenario, Trace: &trace})
	require.NoError(t, err)
	require.NoError(t, Page(&page, plan, res, Trace(bytes.NewReader(trace.Bytes()))))
	var a axis.Axis
	require.NoError(t, json.Unmarshal([]byte(axisData.FindStringSubmatch(page.String())[1]), &a))
	return res, trace.Bytes(), a
}

// A server that loses what it had loses it on the page, too: what a step reads, and the record that the page builds from the
// changes at its marks, are what Redis held.
func TestAPageSaysWhatRedisHeld(t *testing.T) {
	for _, scenario := range []string{"redis-failover", "redis-power-loss", "redis-killed", "dead-worker"} {
		_, trace, a := drawnOver(t, scenario)
		reads, held := 0, 0
		for i, job := range a.Jobs {
			after := recordAfter(t, trace, job)
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
