package reports

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// The files of a run's folder. The run itself writes the trace.
const (
	PlanFile   = "plan.yaml"
	ResultFile = "result.json"
	PageFile   = campaign.PageFile
	TraceFile  = "trace.jsonl"

	SamplesFile  = "samples.json"  // what a Prometheus would have scraped
	AlertsFile   = "alerts.json"   // the alerts that fired over that
	RulesFile    = "alerts.yaml"   // the rules that they are by
	PromtoolFile = "promtool.yaml" // the samples as a test for promtool, beside the rules

	PerfettoFile = "trace.pftrace"    // the trace for Perfetto
	OTLPFile     = "spans.otlp.jsonl" // the trace as OpenTelemetry spans
	DebugFile    = "debug.dlv"        // what Delve does as it starts: it goes to a step
)

// RunFiles are those of a run's folder.
var RunFiles = []string{PlanFile, ResultFile, PageFile, TraceFile, SamplesFile, AlertsFile, RulesFile, PromtoolFile, PerfettoFile, OTLPFile, DebugFile}

// Write completes the folder dir of a finished run, which holds trace.jsonl already: plan.yaml,
// which replays the run, report.html and result.json. Each file is written under a temporary name
// and renamed once all of them are whole, result.json last, so that a folder with a result.json is
// complete. On an error it leaves none of its files behind that was not there before.
func Write(dir string, plan *plans.Plan, res *scenarios.Result) error {
	yaml, err := plans.Marshal(plan)
	if err != nil {
		return fmt.Errorf("write %s: %w", PlanFile, err)
	}
	files := []file{
		{PlanFile, func(w io.Writer) error { _, err := w.Write(yaml); return err }},
		{PageFile, func(w io.Writer) error { return pageOf(w, dir, plan, res) }},
	}
	if res.Samples != nil {
		files = append(files, file{SamplesFile, func(w io.Writer) error { return encode(w, res.Samples) }})
	}
	return writeAll(dir, append(files, file{ResultFile, func(w io.Writer) error { return encode(w, res) }}))
}

type file struct {
	name  string
	write func(io.Writer) error
}

func writeAll(dir string, files []file) (err error) {
	var temporary []string
	defer func() {
		for _, name := range temporary {
			if rm := os.Remove(name); rm != nil && !errors.Is(rm, os.ErrNotExist) && err == nil {
				err = rm
			}
		}
	}()
	for _, f := range files {
		name := filepath.Join(dir, "."+f.name+".tmp")
		temporary = append(temporary, name)
		if err := create(name, f.write); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	for i, f := range files {
		if err := os.Rename(temporary[i], filepath.Join(dir, f.name)); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	return nil
}

func create(name string, write func(io.Writer) error) error {
	out, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(out, 1<<16)
	err = write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	return errors.Join(err, out.Close())
}

func pageOf(w io.Writer, dir string, plan *plans.Plan, res *scenarios.Result) error {
	trace, err := os.Open(filepath.Join(dir, TraceFile))
	if err != nil {
		return err
	}
	defer trace.Close() // read only: nothing to lose
	return Page(w, plan, res, Trace(trace))
}

// encode writes res as result.json and its like hold it: indented, HTML left as it is, a newline at
// the end.
func encode(w io.Writer, res any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(res)
}
