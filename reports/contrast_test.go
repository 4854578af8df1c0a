package reports

import (
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

var declaration = regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6})`)

// variables are the colours that a style sheet declares, the first of each name.
func variables(css string) map[string]string {
	out := map[string]string{}
	for _, m := range declaration.FindAllStringSubmatch(css, -1) {
		if _, ok := out[m[1]]; !ok {
			out[m[1]] = m[2]
		}
	}
	return out
}

// contrast is that of WCAG 2.2 between two colours.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + .05) / (min(la, lb) + .05)
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	require.Len(t, hex, 7, "a colour")
	sum := 0.0
	for i, weight := range []float64{.2126, .7152, .0722} {
		v, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		c := float64(v) / 255
		if c <= .04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+.055)/1.055, 2.4)
		}
	}
	return sum
}

// Grey is of other jobs, and of nodes that are down. A blind window is bad, and so it is red.
func TestABlindWindowHasTheColourOfWhatIsBad(t *testing.T) {
	blind := regexp.MustCompile(`--blind: rgb\((\d+) (\d+) (\d+) / `).FindAllStringSubmatch(pageCSS, -1)
	bad := regexp.MustCompile(`--bad: #([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})`).FindAllStringSubmatch(pageCSS, -1)
	require.Len(t, blind, 2, "light and dark")
	require.Len(t, bad, 2)
	for scheme := range blind {
		for i := 1; i <= 3; i++ {
			channel, err := strconv.ParseUint(bad[scheme][i], 16, 8)
			require.NoError(t, err)
			require.Equal(t, strconv.FormatUint(channel, 10), blind[scheme][i])
		}
	}
}
