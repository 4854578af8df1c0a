package samples_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/scenarios/samples"
)

func TestARecordingIsWhatAPrometheusWouldHaveStored(t *testing.T) {
	registry := prometheus.NewRegistry()
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "failed"}, []string{"topic"})
	waits := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "wait", Buckets: []float64{0.5}})
	registry.MustRegister(counter, waits)
	var r samples.Recorder
	scrape := func(up bool) {
		r.Next()
		families, err := registry.Gather()
		require.NoError(t, err)
		if !up {
			families = nil
		}
		r.Take("scheduler-1", families)
	}
	scrape(false)
	scrape(true)
	counter.WithLabelValues(`a"b`).Add(2)
	waits.Observe(0.25)
	scrape(true)
	scrape(true)
	scrape(false)
	scrape(false)
	data, err := json.MarshalIndent(r.Recording().Series, "", " ")
	require.NoError(t, err)
	var got []struct{ Name, Values string }
	require.NoError(t, json.Unmarshal(data, &got))
	assert.Equal(t, []struct{ Name, Values string }{
		{"failed", "_x2 2x1 stale _x1"},
		{"up", "0 1x2 0x1"},
		{"wait_bucket", "_x1 0 1x1 stale _x1"},
		{"wait_bucket", "_x1 0 1x1 stale _x1"},
		{"wait_count", "_x1 0 1x1 stale _x1"},
		{"wait_sum", "_x1 0 0.25x1 stale _x1"},
	}, got)
	assert.Equal(t, `failed{instance="scheduler-1",job="scheduler",topic="a\"b"}`, r.Recording().Series[0].String())
}

func TestValuesAreReadAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.OneOf(rapid.Just(math.NaN()), rapid.Just(0.0), rapid.Just(1.5), rapid.Float64())).Draw(t, "values")
		text, err := samples.Values(want).MarshalText()
		require.NoError(t, err)
		var got samples.Values
		require.NoError(t, got.UnmarshalText(text), "%s", text)
		require.Len(t, got, len(want), "%s", text)
		for i := range want {
			require.True(t, got[i] == want[i] || math.IsNaN(got[i]) && math.IsNaN(want[i]), "%s", text)
		}
	})
	for _, broken := range []string{"1x", "x2", "1x-1", "2y", "_x0", "1x99999999"} {
		assert.Error(t, new(samples.Values).UnmarshalText([]byte(broken)), broken)
	}
}

func TestIncreasesAreThoseOfAllProcesses(t *testing.T) {
	series := func(instance, phase, values string) samples.Series {
		s := samples.Series{Name: "retries", Labels: map[string]string{"instance": instance, "phase": phase}}
		require.NoError(t, s.Values.UnmarshalText([]byte(values)))
		return s
	}
	r := samples.Recording{Scrapes: 6, Series: []samples.Series{
		series("1", "publish", "_x1 2 3 stale 1 1"), // it had counted 2 before its first scrape, and crashed
		series("2", "publish", "_x1 0 5 5 6 1"),     // it restarted between two scrapes
		series("2", "pick", "_x4 1x1"),
	}}
	assert.Equal(t, map[string][]float64{"publish": {0, 2, 6, 0, 2, 1}, "pick": {0, 0, 0, 0, 1, 0}}, r.Increases("retries", "phase"))
	assert.Empty(t, r.Increases("none"))
	highest := r.Highest("retries")[""]
	assert.True(t, math.IsNaN(highest[0]))
	assert.Equal(t, []float64{2, 5, 5, 6, 1}, highest[1:])
}
