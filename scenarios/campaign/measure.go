package campaign

import "github.com/faultline-sim/faultline/scenarios"

// Metric describes one of the numbers that [Measure] takes of a run.
type Metric struct {
	Name  string `json:"name"`  // snake_case, its unit last
	Title string `json:"title"` // for a heading or an axis
	Unit  string `json:"unit"`  // "s", "%", "" for a count; percentages are from 0 to 100
	Says  string `json:"says"`  // one sentence
}

// Metrics lists all that Measure takes. Of each of them, less is better.
func Metrics() []Metric { return nil }

// Measure takes the metrics of one run.
func Measure(res *scenarios.Result) Measures { return nil }
