package metrics

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// build makes the collectors that the tags of v's fields describe, and those of the structs in v. It returns all of
// them, and the counters whose one label is the topic: those of v and of the structs that v embeds.
func build(v reflect.Value) (all []prometheus.Collector, byTopic []*prometheus.CounterVec) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch {
		case !field.IsExported():
		case field.Type.Kind() == reflect.Struct:
			parts, counters := build(v.Field(i))
			all = append(all, parts...)
			if field.Anonymous {
				byTopic = append(byTopic, counters...)
			}
		default:
			c := collector(field)
			v.Field(i).Set(reflect.ValueOf(c))
			all = append(all, c)
			if counters, ok := c.(*prometheus.CounterVec); ok && field.Tag.Get("labels") == "topic" {
				byTopic = append(byTopic, counters)
			}
		}
	}
	return all, byTopic
}

// collector makes what a field's type and tags say. It panics if they are wrong.
func collector(field reflect.StructField) prometheus.Collector {
	name, help, labels := field.Tag.Get("name"), field.Tag.Get("help"), strings.Split(field.Tag.Get("labels"), ",")
	histogram := prometheus.HistogramOpts{Name: name, Help: help}
	if first := field.Tag.Get("first"); first != "" {
		histogram.Buckets = prometheus.ExponentialBuckets(number(first), 2, int(number(field.Tag.Get("buckets"))))
	}
	switch field.Type {
	case reflect.TypeFor[prometheus.Counter]():
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	case reflect.TypeFor[*prometheus.CounterVec]():
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	case reflect.TypeFor[prometheus.Gauge]():
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	case reflect.TypeFor[*prometheus.GaugeVec]():
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	case reflect.TypeFor[prometheus.Histogram]():
		return prometheus.NewHistogram(histogram)
	case reflect.TypeFor[*prometheus.HistogramVec]():
		return prometheus.NewHistogramVec(histogram, labels)
	}
	panic(fmt.Sprintf("metrics: %s is a %s", field.Name, field.Type))
}

func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("metrics: %v", err))
	}
	return n
}
