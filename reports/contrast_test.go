package reports

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/reports/plots"
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
	c := linear(t, hex)
	return .2126*c[0] + .7152*c[1] + .0722*c[2]
}

// linear are the channels of a colour of sRGB, from 0 to 1, without its gamma.
func linear(t *testing.T, hex string) (channels [3]float64) {
	t.Helper()
	require.Len(t, hex, 7, "a colour")
	for i := range channels {
		v, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		if c := float64(v) / 255; c <= .04045 {
			channels[i] = c / 12.92
		} else {
			channels[i] = math.Pow((c+.055)/1.055, 2.4)
		}
	}
	return channels
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

// Two things that mean something else are never told apart by colours that look alike.
func TestEveryMeaningHasItsOwnColour(t *testing.T) {
	meanings := []string{"fault", "retry", "rollback", "bad", "good", "warn", "faint"}
	for i := range plots.Colours {
		meanings = append(meanings, fmt.Sprintf("job-%d", i))
	}
	light, dark, ok := strings.Cut(pageCSS, "prefers-color-scheme: dark")
	require.True(t, ok)
	for scheme, css := range map[string]string{"light": light, "dark": dark} {
		palette := variables(css)
		for i, a := range meanings {
			for _, b := range meanings[:i] {
				require.Contains(t, palette, a, scheme)
				assert.GreaterOrEqual(t, apart(t, palette[a], palette[b]), 18.0, "%s: %s and %s", scheme, a, b)
			}
		}
	}
}

// apart is how far two colours are from each other in CIELAB (CIE76), where 2.3 is just noticed.
func apart(t *testing.T, a, b string) float64 {
	t.Helper()
	sum := 0.0
	x, y := lab(t, a), lab(t, b)
	for i := range x {
		sum += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Sqrt(sum)
}

// lab is a colour of sRGB in CIELAB under the white of D65.
func lab(t *testing.T, hex string) [3]float64 {
	t.Helper()
	c := linear(t, hex)
	f := func(v float64) float64 {
		if v > .008856 {
			return math.Cbrt(v)
		}
		return 7.787*v + 16.0/116
	}
	x := f((.4124*c[0] + .3576*c[1] + .1805*c[2]) / .95047)
	y := f(.2126*c[0] + .7152*c[1] + .0722*c[2])
	z := f((.0193*c[0] + .1192*c[1] + .9505*c[2]) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}
