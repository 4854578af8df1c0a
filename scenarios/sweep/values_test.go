package sweep

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

func TestListReadsValuesAndRanges(t *testing.T) {
	for text, want := range map[string]string{
		"0s,5s,15s":            "0s 5s 15s",
		" 1 , 2,5 ":            "1 2 5",
		"1..4":                 "1 2 3 4",
		"7..7":                 "7",
		"1,2,5..7,10":          "1 2 5 6 7 10",
		"0.1..0.5/0.1":         "0.1 0.2 0.3 0.4 0.5",
		"1..10/4":              "1 5 9",
		"10s..60s/10s":         "10s 20s 30s 40s 50s 60s",
		"1s..2s/250ms":         "1000ms 1250ms 1500ms 1750ms 2000ms",
		"500ms..2s/500ms":      "500ms 1000ms 1500ms 2000ms",
		"1m..2m/30s":           "60s 90s 120s",
		"1h..1h/1h":            "1h",
		"fixed-retries,a":      "fixed-retries a",
		"0..0.3/0.1":           "0 0.1 0.2 0.3",
		"-1..1":                "-1 0 1",
		"0s..2h/1h":            "0h 1h 2h",
		"1us..3us/1us,1ns,2ns": "1us 2us 3us 1ns 2ns",
	} {
		l, err := list(text)
		require.NoError(t, err, text)
		assert.Equal(t, strings.Fields(want), l.values(), text)
		assert.Equal(t, len(strings.Fields(want)), l.size(), text)
	}
}

func TestListRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"1,,2":     "has an empty value; write values with single commas",
		"1,":       "has an empty value",
		"a..b":     `has the range "a..b", whose ends are not two numbers or two durations; write 1..10`,
		"1..":      `has the range "1.."`,
		"1..5s":    `whose ends are not two numbers or two durations`,
		"5..1":     `has the range "5..1", which ends before it begins; write 1..5`,
		"10s..60s": `has the range "10s..60s" without a step; write one, such as 10s..60s/10s`,
		"0.1..0.5": `without a step; write one, such as 0.1..0.5/0.1`,
		"1..5/0":   "whose step is no amount above zero",
		"1..5/-1":  "whose step is no amount above zero",
		"1..5/1s":  "of the same kind",
		"1s..5s/1": "of the same kind",
		"1..9e9":   "whose ends are not",
		"0..1/0." + strings.Repeat("0", 20) + "1": "values",
	} {
		_, err := list(text)
		if assert.Error(t, err, text) {
			assert.Contains(t, err.Error(), want)
			assert.NotContains(t, err.Error(), "\n")
		}
	}
}

func TestRangesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"", "ns", "ms", "s", "m", "h"}).Draw(t, "unit")
		decimals := rapid.IntRange(0, 4).Draw(t, "decimals")
		low, steps, step := rapid.IntRange(0, 1000).Draw(t, "low"), rapid.IntRange(0, 50).Draw(t, "steps"), rapid.IntRange(1, 1000).Draw(t, "step")
		short := rapid.IntRange(0, step-1).Draw(t, "short of the next")
		write := func(n int) string { // n / 10^decimals
			text := fmt.Sprintf("%0*d", decimals+1, n)
			if decimals > 0 {
				text = text[:len(text)-decimals] + "." + text[len(text)-decimals:]
			}
			return text + unit
		}
		l, err := list(write(low) + ".." + write(low+steps*step+short) + "/" + write(step))
		require.NoError(t, err)
		values := l.values()
		require.Len(t, values, steps+1)
		for i, v := range values {
			assert.Equal(t, same(write(low+i*step)), same(v))
		}
	})
}

func TestASettingOfOneJobIsFound(t *testing.T) {
	for _, s := range plans.Settings() {
		if of, ok := strings.CutSuffix(s.Name, ".N"); ok {
			found, known := plans.SettingOf(of + ".3")
			assert.True(t, known, of)
			assert.Equal(t, s.Name, found.Name)
		}
	}
	d, err := Load("replay-mended")
	require.NoError(t, err)
	require.NoError(t, d.Grid([]string{"workload.mend_replay.1=1m,2m"}))
}
