package sweep

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// metricOf describes a metric by its name.
func metricOf(name string) campaign.Metric {
	for _, m := range campaign.Metrics() {
		if m.Name == name {
			return m
		}
	}
	return campaign.Metric{Name: name, Title: name}
}

// naming is a metric's title within a sentence, in quotes that mark it as one name.
func naming(metric string) string {
	title := []rune(metricOf(metric).Title)
	title[0] = unicode.ToLower(title[0])
	return "“" + string(title) + "”"
}

// title is a metric's title within a sentence.
func title(metric string) string { return strings.Trim(naming(metric), "“”") }

// number writes x with three significant digits.
func number(x float64) string {
	text := strconv.FormatFloat(x, 'g', 3, 64)
	if strings.ContainsRune(text, 'e') {
		text = strconv.FormatFloat(x, 'f', max(0, 2-int(math.Floor(math.Log10(math.Abs(x))))), 64)
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// amount writes x with the metric's unit.
func amount(x float64, metric string) string {
	if unit := metricOf(metric).Unit; unit != "" {
		return number(x) + " " + unit
	}
	return number(x)
}

// gap writes a paired difference with its interval.
func gap(e Estimate, metric string) string {
	const rounding = 1e-9
	sign, mean := "", e.Mean
	switch {
	case math.Abs(mean) < rounding*(e.High-e.Low): // a rounding error
		mean = 0
	case mean > 0:
		sign = "+"
	}
	return fmt.Sprintf("%s%s [%s, %s]", sign, amount(mean, metric), number(e.Low), number(e.High))
}

// capital begins a sentence with a capital letter; a setting's name keeps its case.
func capital(text string) string {
	if first, _, _ := strings.Cut(text, " "); strings.ContainsRune(first, '.') {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func percent(share float64) string { return number(100*share) + " %" }

// Shown is a value of an axis as people read it; a lag's samples are shown by their number and median.
func Shown(value string) string {
	if strings.HasPrefix(value, "samples:") {
		return plans.Lag(value).Words()
	}
	return value
}

func settingsOf(axes []Axis) (names []string) {
	for _, a := range axes {
		names = append(names, a.Setting)
	}
	return names
}

func wereOf(n int, what string) string {
	if n == 1 {
		return "1 " + what + " was"
	}
	return invariants.Plural(n, what) + " were"
}

func areOf(n int, what string) string { return invariants.Plural(n, what) + " " + isOrAre(n) }

// brokenOf lists what was broken and how often, in the order of names.
func brokenOf(broken map[string]int) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		list = append(list, fmt.Sprintf("%s in %s", name, invariants.Plural(broken[name], "run")))
	}
	return invariants.List(list)
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
