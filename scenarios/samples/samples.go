// Package samples holds what a Prometheus would have scraped in a run: the metrics of each scheduler at every interval of
// the world's time.
package samples

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// Interval is Prometheus's own, which the rules that ship with the scheduler are written for.
const Interval = 15 * time.Second

// Recording is what was scraped, from the time 0 on. Its series are in the order of their names and labels.
type Recording struct {
	Interval time.Duration `json:"interval_ns"`
	Scrapes  int           `json:"scrapes"`
	Series   []Series      `json:"series"`
}

// Series is one series: a value for each scrape.
type Series struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Values Values            `json:"values"`
}

// Values has one value for each scrape; NaN is none. As text it is in the notation of promtool's unit tests, in which
// a series that ends has a stale marker, as Prometheus writes it.
type Values []float64

// String is the series as PromQL has it.
func (s *Series) String() string {
	if len(s.Labels) == 0 {
		return s.Name
	}
	labels := make([]string, 0, len(s.Labels))
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		labels = append(labels, fmt.Sprintf("%s=%q", name, s.Labels[name]))
	}
	return s.Name + "{" + strings.Join(labels, ",") + "}"
}

// MarshalText is for encoding/json. Each run of equal values is one word.
func (v Values) MarshalText() ([]byte, error) {
	var words []string
	for i := 0; i < len(v); {
		n := 1
		for i+n < len(v) && (v[i+n] == v[i] || math.IsNaN(v[i+n]) && math.IsNaN(v[i])) {
			n++
		}
		switch text := strconv.FormatFloat(v[i], 'g', -1, 64); {
		case math.IsNaN(v[i]) && i > 0 && n == 1:
			words = append(words, "stale")
		case math.IsNaN(v[i]) && i > 0:
			words = append(words, "stale", "_x"+strconv.Itoa(n-1))
		case math.IsNaN(v[i]):
			words = append(words, "_x"+strconv.Itoa(n))
		case n == 1:
			words = append(words, text)
		default:
			words = append(words, text+"x"+strconv.Itoa(n-1)) // and n-1 more
		}
		i += n
	}
	return []byte(strings.Join(words, " ")), nil
}

// UnmarshalText reads what MarshalText writes.
func (v *Values) UnmarshalText(text []byte) error {
	*v = nil
	for word := range strings.FieldsSeq(string(text)) {
		value, times, repeated := strings.Cut(word, "x")
		n, err := 1, error(nil)
		if repeated {
			if n, err = strconv.Atoi(times); err != nil || n < 1 || n > 1e7 {
				return fmt.Errorf("%q is no run of values", word)
			}
		}
		x := math.NaN()
		switch value {
		case "stale", "_":
		default:
			if x, err = strconv.ParseFloat(value, 64); err != nil {
				return fmt.Errorf("%q is no value", word)
			}
			if repeated {
				n++
			}
		}
		*v = append(*v, slices.Repeat([]float64{x}, n)...)
	}
	return nil
}

// Recorder makes a recording.
type Recorder struct {
	scrapes int
	series  map[string]*Series
	key     []byte // of the series at hand
}

// Next begins the next scrape, of every target.
func (r *Recorder) Next() { r.scrapes++ }

// Take takes in what a target answered to the scrape. nil is no answer: the target is down.
func (r *Recorder) Take(instance string, families []*dto.MetricFamily) {
	up := 0.0
	if families != nil {
		up = 1
	}
	r.add("up", instance, nil, up, "")
	for _, f := range families {
		for _, m := range f.GetMetric() {
			switch {
			case m.GetCounter() != nil:
				r.add(f.GetName(), instance, m.GetLabel(), m.GetCounter().GetValue(), "")
			case m.GetGauge() != nil:
				r.add(f.GetName(), instance, m.GetLabel(), m.GetGauge().GetValue(), "")
			case m.GetHistogram() != nil:
				h := m.GetHistogram()
				for _, b := range h.GetBucket() {
					r.add(f.GetName()+"_bucket", instance, m.GetLabel(), float64(b.GetCumulativeCount()), strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64))
				}
				r.add(f.GetName()+"_bucket", instance, m.GetLabel(), float64(h.GetSampleCount()), "+Inf")
				r.add(f.GetName()+"_count", instance, m.GetLabel(), float64(h.GetSampleCount()), "")
				r.add(f.GetName()+"_sum", instance, m.GetLabel(), h.GetSampleSum(), "")
			}
		}
	}
}

// add takes in one sample; le is the bound of a histogram's bucket, or "".
func (r *Recorder) add(name, instance string, labels []*dto.LabelPair, x float64, le string) {
	r.key = append(append(append(r.key[:0], name...), 0), instance...)
	for _, l := range labels {
		r.key = append(append(append(append(r.key, 0), l.GetName()...), 0), l.GetValue()...)
	}
	r.key = append(append(r.key, 0), le...)
	known := r.series[string(r.key)]
	if known == nil {
		if r.series == nil {
			r.series = map[string]*Series{}
		}
		known = &Series{Name: name, Labels: map[string]string{"job": "scheduler", "instance": instance}}
		for _, l := range labels {
			known.Labels[l.GetName()] = l.GetValue()
		}
		if le != "" {
			known.Labels["le"] = le
		}
		r.series[string(r.key)] = known
	}
	known.Values = append(known.Values.until(r.scrapes-1), x)
}

// until is v for n scrapes: what is missing is none.
func (v Values) until(n int) Values {
	return append(v, slices.Repeat([]float64{math.NaN()}, n-len(v))...)
}

// Recording is what was recorded.
func (r *Recorder) Recording() *Recording {
	named := make(map[string]*Series, len(r.series))
	for _, s := range r.series {
		s.Values = s.Values.until(r.scrapes)
		named[s.String()] = s
	}
	rec := &Recording{Interval: Interval, Scrapes: r.scrapes, Series: []Series{}}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		rec.Series = append(rec.Series, *named[name])
	}
	return rec
}
