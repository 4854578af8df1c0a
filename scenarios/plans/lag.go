package plans

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// Lag is the text of a distribution of delays. An empty Lag is no delay:
//
//	5s                            evenly between 0 and this
//	fixed:5s                      always this
//	uniform:2s:8s                 evenly between the two
//	normal:mean=5s:sd=2s          the normal distribution; values below zero become 0
//	lognormal:median=5s:p99=30s   half are below the median, and 1 % above p99; or p90, p99.9 and the like
//	samples:1s:1.2s:9s            each with equal probability
//
// The tails of a normal or lognormal distribution are cut off at one in a million. No delay exceeds 24 hours.
type Lag string

// Bounds of a lag.
const (
	lagMost    = 24 * time.Hour
	lagSamples = 1000   // the number that a file of samples is reduced to
	lagBeyond  = 1e-6   // the share that is cut off a tail
	lagUnit    = 1000.0 // ns; below that, the last bits of a logarithm differ between processors
)

// UnmarshalText implements [encoding.TextUnmarshaler]. Its error says what is wrong with the text.
func (l *Lag) UnmarshalText(text []byte) error {
	canonical, _, err := lagOf(string(text))
	*l = canonical
	return err
}

// MarshalText implements [encoding.TextMarshaler].
func (l Lag) MarshalText() ([]byte, error) { return []byte(cmp.Or(string(l), "0s")), nil }

// At returns the delay as a function of a draw; nil if there is no delay. The lag must be one that
// UnmarshalText accepted.
func (l Lag) At() func(draw uint64) time.Duration {
	_, at, err := lagOf(string(l))
	if err != nil || l == "" {
		return nil
	}
	return at
}

// Most is the longest delay.
func (l Lag) Most() time.Duration {
	at := l.At()
	if at == nil {
		return 0
	}
	if strings.Contains(string(l), "=") {
		return at(math.MaxUint64)
	}
	most := time.Duration(0)
	for part := range strings.SplitSeq(string(l), ":") {
		if d, err := time.ParseDuration(part); err == nil {
			most = max(most, d)
		}
	}
	return most
}

// Words describes the lag in a few words; samples by their number and median.
func (l Lag) Words() string {
	if rest, ok := strings.CutPrefix(string(l), "samples:"); ok {
		list := strings.Split(rest, ":")
		return fmt.Sprintf("%d samples, median %s", len(list), list[(len(list)-1)/2])
	}
	return cmp.Or(string(l), "0s")
}

// SampledLag is the lag of measured durations. Of more than 1,000 it keeps 1,000 quantiles.
func SampledLag(samples []time.Duration) (Lag, error) {
	sorted := slices.Sorted(slices.Values(samples))
	if n := len(sorted); n > lagSamples {
		thin := make([]time.Duration, lagSamples)
		for i := range thin {
			thin[i] = sorted[(2*i+1)*n/(2*lagSamples)]
		}
		sorted = thin
	}
	text := []string{"samples"}
	for _, d := range sorted {
		text = append(text, strictyaml.DurationText(d))
	}
	canonical, _, err := lagOf(strings.Join(text, ":"))
	return canonical, err
}

// lagOf parses a lag. It returns its canonical form, and the delay as a function of a draw.
func lagOf(text string) (canonical Lag, at func(uint64) time.Duration, err error) {
	kind, rest, ok := strings.Cut(text, ":")
	if !ok {
		most, err := lagLength(text)
		if err != nil || most == 0 {
			return "", nil, err
		}
		return Lag(strictyaml.DurationText(most)), func(draw uint64) time.Duration { return time.Duration(draw % uint64(most)) }, nil
	}
	parts := strings.Split(rest, ":")
	var quantile func(z float64) float64 // by standard deviations from the centre, in ns
	switch kind {
	case "fixed", "uniform", "samples":
		var list []time.Duration
		for _, part := range parts {
			d, err := lagLength(part)
			if err != nil {
				return "", nil, fmt.Errorf("of which %.20q is %w", part, err)
			}
			list = append(list, d)
		}
		at, err := listed(kind, list)
		if kind == "samples" {
			slices.Sort(list)
		}
		for i, d := range list {
			parts[i] = strictyaml.DurationText(d)
		}
		return Lag(kind + ":" + strings.Join(parts, ":")), at, err
	case "normal", "lognormal":
		quantile, err = bell(kind, parts)
	default:
		return "", nil, errors.New("not a known distribution")
	}
	if err != nil {
		return "", nil, err
	}
	at = func(draw uint64) time.Duration {
		u := min(max(lagBeyond, float64(draw>>11)/(1<<53)), 1-lagBeyond)
		ns := quantile(math.Sqrt2 * math.Erfinv(2*u-1))
		return time.Duration(max(0, math.Round(min(ns, 2*float64(lagMost))/lagUnit)*lagUnit))
	}
	if at(math.MaxUint64) > lagMost {
		return "", nil, errors.New("out of range: one in a million takes more than 24h")
	}
	return Lag(text), at, nil
}

func lagLength(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch _, unitless := strconv.ParseFloat(text, 64); {
	case err != nil && unitless == nil:
		return 0, errors.New("without a unit")
	case err != nil:
		return 0, errors.New("not a duration")
	case d < 0 || d > lagMost:
		return 0, errors.New("out of range: it is 0s to 24h")
	}
	return d, nil
}

// listed is a lag that a list describes completely.
func listed(kind string, list []time.Duration) (func(uint64) time.Duration, error) {
	switch {
	case kind == "fixed" && len(list) == 1:
		return func(uint64) time.Duration { return list[0] }, nil
	case kind == "uniform" && len(list) == 2 && list[0] < list[1]:
		return func(draw uint64) time.Duration {
			return list[0] + time.Duration(draw%uint64(list[1]-list[0]+1))
		}, nil
	case kind == "samples" && len(list) <= lagSamples:
		return func(draw uint64) time.Duration { return list[draw%uint64(len(list))] }, nil
	case kind == "samples":
		return nil, fmt.Errorf("%d samples, more than the limit of %d", len(list), lagSamples)
	case kind == "uniform":
		return nil, errors.New("without two bounds, the first below the second")
	}
	return nil, errors.New("more than one duration")
}

// bell is the quantile function of a normal or lognormal lag, by standard deviations.
func bell(kind string, parts []string) (func(z float64) float64, error) {
	shape := map[string][2]string{"normal": {"mean", "sd"}, "lognormal": {"median", "p99"}}[kind]
	if len(parts) != 2 {
		return nil, fmt.Errorf("without %s= and %s=", shape[0], shape[1])
	}
	middle, ok := strings.CutPrefix(parts[0], shape[0]+"=")
	name, spread, has := strings.Cut(parts[1], "=")
	share := 0.0
	if percent, isShare := strings.CutPrefix(name, "p"); isShare {
		share, _ = strconv.ParseFloat(percent, 64)
	}
	if !ok || !has || kind == "normal" && name != "sd" || kind == "lognormal" && !(share > 50 && share < 100) {
		return nil, fmt.Errorf("without %s= and %s=", shape[0], shape[1])
	}
	m, err := lagLength(middle)
	s, err2 := lagLength(spread)
	if err := cmp.Or(err, err2); err != nil {
		return nil, fmt.Errorf("of which a part is %w", err)
	}
	mean, sd := float64(m), float64(s)
	if kind == "normal" {
		return func(z float64) float64 { return mean + float64(sd*z) }, nil
	}
	if m <= 0 || s <= m {
		return nil, fmt.Errorf("with a median of 0s, or with %s not above the median", name)
	}
	sigma := math.Log(sd/mean) / (math.Sqrt2 * math.Erfinv(2*share/100-1))
	return func(z float64) float64 { return mean * math.Exp(sigma*z) }, nil
}
