package plans_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// drawn are lags by keyed draws, in ascending order.
func drawn(t *testing.T, text string) (plans.Lag, []time.Duration) {
	var l plans.Lag
	require.NoError(t, l.UnmarshalText([]byte(text)))
	const n = 20_000
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = l.At()(sim.Draw(1, "lag", string(rune(i))))
	}
	slices.Sort(list)
	return l, list
}

func TestLagsAreDistributed(t *testing.T) {
	share := func(list []time.Duration, above time.Duration) float64 {
		i, _ := slices.BinarySearch(list, above)
		return float64(len(list)-i) / float64(len(list))
	}
	for _, c := range []struct {
		text  string
		above time.Duration
		share float64 // by hand
		most  time.Duration
	}{
		{"8s", 2 * time.Second, 0.75, 8 * time.Second},
		{"fixed:5s", 5 * time.Second, 1, 5 * time.Second},
		{"uniform:2s:8s", 5 * time.Second, 0.5, 8 * time.Second},
		{"normal:mean=5s:sd=2s", 7 * time.Second, 0.1587, 14506849 * time.Microsecond}, // a standard deviation above; 4.753 of them
		{"lognormal:median=5s:p99=30s", 5 * time.Second, 0.5, 0},
		{"lognormal:median=5s:p99=30s", 30 * time.Second, 0.01, 0},
		{"lognormal:median=5s:p90=30s", 30 * time.Second, 0.1, 0},
		{"samples:1s:2s:2s:9s", 2 * time.Second, 0.75, 9 * time.Second},
	} {
		l, list := drawn(t, c.text)
		assert.InDelta(t, c.share, share(list, c.above), 0.012, c.text)
		assert.LessOrEqual(t, list[len(list)-1], l.Most(), c.text)
		if c.most > 0 {
			assert.Equal(t, c.most, l.Most(), c.text)
		}
	}
	// By hand: a sigma of ln(6)/2.3263, and 4.7534 of those above the median.
	l, _ := drawn(t, "lognormal:median=5s:p99=30s")
	assert.InDelta(t, 5*math.Exp(4.7534*math.Log(6)/2.3263), l.Most().Seconds(), 0.05)
	assert.Nil(t, plans.Lag("").At())
}

func TestLagsAreReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"5": "without a unit", "-1s": "out of range", "25h": "out of range", "soon": "not a duration", "gamma:5s": "not a known distribution", "fixed:1s:2s": "more than one duration",
		"uniform:8s:2s": "without two bounds, the first below the second", "uniform:8s": "without two bounds", "normal:mean=5s": "without mean= and sd=", "normal:5s:2s": "without mean= and sd=",
		"normal:mean=5s:p99=9s": "without mean= and sd=", "lognormal:median=5s:p99=3s": "p99 not above the median", "lognormal:median=0s:p99=3s": "a median of 0s", "lognormal:median=5s:p40=9s": "without median= and p99=",
		"lognormal:median=1h:p51=3h": "one in a million takes", "samples:1s:x": `of which "x" is not a duration`, "samples:": `of which "" is`, "lognormal:median=5:p99=30s": "without a unit",
	} {
		p := plans.Defaults()
		err := p.Set("world.heartbeat_lag=" + text)
		require.Error(t, err, text)
		assert.Contains(t, err.Error(), "world.heartbeat_lag is ", text)
		assert.Contains(t, err.Error(), want, text)
		assert.Contains(t, err.Error(), "give text such as 5s, fixed:5s, uniform:2s:8s", text)
	}
	p := plans.Defaults()
	require.NoError(t, p.Set("world.heartbeat_lag=0s"))
	assert.Zero(t, p.World.HeartbeatLag)
}

// Whatever lag there is, it is written as it is read, and no draw is out of its bounds.
func TestLagsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := func(label string) string {
			return time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, label)).String()
		}
		text := rapid.SampledFrom([]string{d("a"), "fixed:" + d("a"), "uniform:0s:" + d("a"), "normal:mean=" + d("a") + ":sd=" + d("b"), "lognormal:median=1s:p99=1m", "samples:" + d("a") + ":" + d("b")}).Draw(t, "lag")
		var l, back plans.Lag
		require.NoError(t, l.UnmarshalText([]byte(text)))
		written, err := l.MarshalText()
		require.NoError(t, err)
		require.NoError(t, back.UnmarshalText(written))
		assert.Equal(t, l, back)
		draw := rapid.Uint64().Draw(t, "draw")
		at := l.At()(draw)
		assert.Equal(t, at, back.At()(draw))
		assert.True(t, at >= 0 && at <= l.Most(), "%s: %v of at most %v", text, at, l.Most())

		p := plans.Defaults()
		p.Name, p.World.HeartbeatLag = "lagging", l
		yaml, err := plans.Marshal(p)
		require.NoError(t, err)
		again, err := plans.Parse("lagging.yaml", yaml)
		require.NoError(t, err)
		assert.Equal(t, l, again.World.HeartbeatLag)
	})
}

func TestManySamplesAreThinned(t *testing.T) {
	var all []time.Duration
	for i := range 50_000 {
		all = append(all, time.Duration(50_000-i)*time.Millisecond)
	}
	l, err := plans.SampledLag(all)
	require.NoError(t, err)
	assert.Equal(t, "1000 samples, median 24.976s", l.Words())
	assert.InDelta(t, 50, l.Most().Seconds(), 0.05)
	_, err = plans.SampledLag([]time.Duration{25 * time.Hour})
	assert.ErrorContains(t, err, "out of range")
}
