package export

import (
	"bytes"
	"errors"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// ran runs a bundled scenario.
func ran(t *testing.T, scenario string) (*plans.Plan, *scenarios.Result, func() iter.Seq2[sim.Event, error]) {
	t.Helper()
	plan, err := plans.Load(scenario)
	require.NoError(t, err)
	var trace bytes.Buffer
	res, err := scenarios.Run(t.Context(), plan, scenarios.RunOptions{Source: scenario, Trace: &trace})
	require.NoError(t, err)
	return plan, res, func() iter.Seq2[sim.Event, error] { return reports.Trace(bytes.NewReader(trace.Bytes())) }
}

// fields reads a message: its fields by their numbers, in their order.
func fields(t *testing.T, data []byte) map[protowire.Number][][]byte {
	t.Helper()
	list := map[protowire.Number][][]byte{}
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		require.GreaterOrEqual(t, n, 0)
		data = data[n:]
		size := protowire.ConsumeFieldValue(number, kind, data)
		require.GreaterOrEqual(t, size, 0)
		value := data[:size]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		list[number] = append(list[number], value)
		data = data[size:]
	}
	return list
}

func number(t *testing.T, list [][]byte) uint64 {
	t.Helper()
	require.Len(t, list, 1)
	v, n := protowire.ConsumeVarint(list[0])
	require.Positive(t, n)
	return v
}

// Each track is described, each slice of a track ends before the next begins or within the one around it, and each flow
// has both its ends.
func TestAPerfettoTraceIsWellFormed(t *testing.T) {
	for _, scenario := range []string{"publish-ack-lost", "saga-crash", "nats-restart", "breaker-storm", "paused-holder"} {
		plan, res, events := ran(t, scenario)
		var out bytes.Buffer
		require.NoError(t, Perfetto(&out, plan, res, events()))
		names := map[uint64]string{}
		parents := map[uint64]uint64{}
		deep := map[uint64]int{}
		flows := map[string]int{}
		slices, instants := 0, 0
		for _, packet := range fields(t, out.Bytes())[tracePacket] {
			p := fields(t, packet)
			assert.EqualValues(t, 1, number(t, p[packetSequence]))
			if d := p[packetDescriptor]; d != nil {
				about := fields(t, d[0])
				id := number(t, about[descriptorUUID])
				require.Empty(t, names[id], "%s: two tracks have one id", scenario)
				if process := about[descriptorProcess]; process != nil {
					names[id] = string(fields(t, process[0])[processName][0])
				} else {
					names[id] = string(about[descriptorName][0])
					parents[id] = number(t, about[descriptorParent])
					require.Contains(t, names, parents[id])
				}
				continue
			}
			number(t, p[packetTimestamp])
			e := fields(t, p[packetTrackEvent][0])
			track := number(t, e[eventTrack])
			require.Contains(t, names, track, "a track is described before its first event")
			switch number(t, e[eventType]) {
			case sliceBegin:
				slices++
				deep[track]++
				require.Equal(t, 1, deep[track], "%s: two slices at once on %s %s", scenario, names[parents[track]], names[track])
			case sliceEnd:
				deep[track]--
				require.Zero(t, deep[track])
			case instant:
				instants++
			}
			for _, flow := range e[eventFlow] {
				flows[string(flow)]++
			}
		}
		for track, n := range deep {
			assert.Zero(t, n, "%s: a slice of %s does not end", scenario, names[track])
		}
		assert.Greater(t, slices, 10, scenario)
		assert.Greater(t, instants, 100, scenario)
		both := 0
		for _, n := range flows {
			if n > 1 {
				both++
			}
		}
		assert.Greater(t, both, 8, "%s: messages lead from their publish to their delivery", scenario)
	}
}

// The Collector's own reader takes each line. Each span has its parent, and each link leads to a span.
func TestOTLPIsReadByTheCollector(t *testing.T) {
	for _, scenario := range []string{"publish-ack-lost", "saga-crash", "nats-restart"} {
		plan, res, events := ran(t, scenario)
		var out bytes.Buffer
		require.NoError(t, OTLP(&out, plan, res, events()))
		spans := map[pcommon.SpanID]ptrace.Span{}
		services := map[string]bool{}
		kinds := map[ptrace.SpanKind]int{}
		failed := 0
		for line := range bytes.Lines(out.Bytes()) {
			traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
			require.NoError(t, err)
			require.Equal(t, 1, traces.SpanCount())
			resource := traces.ResourceSpans().At(0)
			service, ok := resource.Resource().Attributes().Get("service.name")
			require.True(t, ok)
			services[service.Str()] = true
			s := resource.ScopeSpans().At(0).Spans().At(0)
			require.NotContains(t, spans, s.SpanID(), "%s: two spans have one id", scenario)
			spans[s.SpanID()] = s
			kinds[s.Kind()]++
			assert.GreaterOrEqual(t, s.EndTimestamp(), s.StartTimestamp(), s.Name())
			if s.Status().Code() == ptrace.StatusCodeError {
				failed++
			}
		}
		links := 0
		for _, s := range spans {
			if !s.ParentSpanID().IsEmpty() {
				require.Contains(t, spans, s.ParentSpanID())
				assert.Equal(t, spans[s.ParentSpanID()].TraceID(), s.TraceID())
			}
			for i := range s.Links().Len() {
				links++
				assert.Contains(t, spans, s.Links().At(i).SpanID())
			}
		}
		assert.True(t, services["scheduler-1"] && services["worker-1"], services)
		assert.Greater(t, links, 10, scenario)
		assert.Positive(t, kinds[ptrace.SpanKindConsumer])
		assert.Positive(t, kinds[ptrace.SpanKindProducer])
		assert.Equal(t, len(res.Violations), failed)
	}
}

func TestTheSameRunGivesTheSameBytes(t *testing.T) {
	plan, res, events := ran(t, "saga-crash")
	for name, write := range map[string]func(*bytes.Buffer) error{
		"perfetto": func(b *bytes.Buffer) error { return Perfetto(b, plan, res, events()) },
		"otlp":     func(b *bytes.Buffer) error { return OTLP(b, plan, res, events()) },
	} {
		var first, again bytes.Buffer
		require.NoError(t, write(&first))
		require.NoError(t, write(&again))
		assert.Equal(t, first.Bytes(), again.Bytes(), name)
	}
}

func TestATraceThatCannotBeReadIsRefused(t *testing.T) {
	broken := func(yield func(sim.Event, error) bool) { yield(sim.Event{}, errors.New("line 1: broken")) }
	require.ErrorContains(t, Perfetto(&bytes.Buffer{}, plans.Defaults(), &scenarios.Result{}, broken), "line 1")
	require.ErrorContains(t, OTLP(&bytes.Buffer{}, plans.Defaults(), &scenarios.Result{}, broken), "line 1")
}
