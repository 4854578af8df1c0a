package reports

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// SweepCSV writes a sweep as RFC 4180 has it: a header, then a row for each point and metric. The
// settings' columns come first; sound says whether every promise was kept at the point, and low and
// high bound the mean with 95 % confidence. Numbers are in the metric's unit, to full precision.
func SweepCSV(w io.Writer, res *sweep.Result) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	var header []string
	for _, a := range res.Axes {
		header = append(header, a.Setting)
	}
	rows := [][]string{append(header, "runs", "sound", "on_front", "metric", "unit", "n", "mean", "low", "high")}
	for i := range res.Points {
		point := &res.Points[i]
		for _, m := range res.Metrics {
			row := append(append([]string{}, point.Values...), strconv.Itoa(point.Runs), strconv.FormatBool(point.Sound()), strconv.FormatBool(point.OnFront), m.Name, m.Unit)
			e, measured := point.Estimates[m.Name]
			if !measured || e.N == 0 {
				rows = append(rows, append(row, "0", "", "", ""))
				continue
			}
			rows = append(rows, append(row, strconv.Itoa(e.N), exact(e.Mean), exact(e.Low), exact(e.High)))
		}
	}
	return out.WriteAll(rows)
}

// exact is the shortest decimal that reads back as v.
func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
