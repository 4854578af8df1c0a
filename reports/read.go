package reports

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/exhaust"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/samples"
	"github.com/wavetank-sim/wavetank/scenarios/shell"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
	"github.com/wavetank-sim/wavetank/sim"
)

// FileError is what is wrong with a file of a stored folder, and what to do about it.
type FileError struct {
	File    string
	Message string
	Remedy  string
}

// Error is one line: FILE: message; remedy.
func (e *FileError) Error() string { return e.File + ": " + e.Message + "; " + e.Remedy }

// Stored is what a folder holds: a run, a campaign, a sweep, comparisons or a certificate, one of them.
type Stored struct {
	Dir         string
	When        time.Time   // the file of its result was written
	Plan        *plans.Plan // of a run
	Run         *scenarios.Result
	Campaign    *campaign.Result
	Sweep       *sweep.Result
	Comparisons []*sweep.Comparison
	Certificate *exhaust.Certificate
}

// Read reads the folder dir as [Write], [WriteCampaign], [WriteSweep], [WriteComparisons] or [WriteFaultMap] left it. A
// file that is missing, broken or of another version is a [*FileError], a broken plan.yaml a
// [*strictyaml.Error]. The trace of a run is not read: [Stored.Rewrite] does, and
// checks its digest, and the result against it.
func Read(dir string) (*Stored, error) {
	of, err := kindOf(dir)
	if err != nil {
		return nil, err
	}
	s := &Stored{Dir: dir}
	switch of.file {
	case SweepFile:
		s.Sweep = &sweep.Result{}
		err = readJSON(dir, SweepFile, []int{sweep.ResultVersion}, "sweep again", s.Sweep)
	case ComparisonFile:
		err = readJSON(dir, ComparisonFile, []int{sweep.ResultVersion}, "compare again", &s.Comparisons)
	case exhaust.CertificateFile:
		s.Certificate = &exhaust.Certificate{}
		err = readJSON(dir, exhaust.CertificateFile, exhaust.CertificateVersions(), "exhaust again", s.Certificate)
		if err == nil {
			if wrong := s.Certificate.Check(); wrong != nil {
				err = &FileError{filepath.Join(dir, exhaust.CertificateFile), wrong.Error(), "exhaust again"}
			}
		}
	case campaign.SpecFile:
		s.Campaign = &campaign.Result{}
		err = readJSON(dir, ResultFile, []int{campaign.ResultVersion}, "run the campaign to its end: the command that began it goes on with it", s.Campaign)
		if err == nil {
			if wrong := s.Campaign.Check(dir); wrong != nil {
				err = &FileError{filepath.Join(dir, ResultFile), wrong.Error(), "run the campaign again"}
			}
		}
	default:
		s.Run = &scenarios.Result{}
		if err = readJSON(dir, ResultFile, []int{scenarios.ResultVersion}, runAgain(dir, scenarios.RunCommand(scenarios.ProgramName, filepath.Join(dir, PlanFile))), s.Run); err == nil {
			s.Plan, err = readStoredPlan(dir, runAgain(dir, s.Run.Replay))
		}
		if err == nil {
			err = errors.Join(readIfThere(dir, SamplesFile, &s.Run.Samples), readIfThere(dir, AlertsFile, &s.Run.Alerts))
		}
	}
	if err != nil {
		return nil, err
	}
	for _, name := range []string{of.file, ResultFile} { // a campaign's kind is its spec, which is older
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			s.When = info.ModTime()
		}
	}
	return s, nil
}

// ReadRun reads the folder of a run, and refuses any other, and a trace that is not the run's own. What this build would
// find in the trace is no matter here: another may have made the run.
func ReadRun(dir string) (*Stored, error) {
	const remedy = "give the folder of a run, as `wavetank run` leaves it"
	of, err := kindOf(dir)
	if wrong := new(FileError); errors.As(err, &wrong) {
		return nil, &FileError{wrong.File, strings.Replace(wrong.Message, "no run, campaign, sweep, comparison or certificate", "no run", 1), remedy}
	} else if err != nil {
		return nil, err
	}
	if of.what != "run" {
		return nil, &FileError{filepath.Join(dir, of.file), "this folder is that of a " + of.what + ", and of no run", remedy}
	}
	s, err := Read(dir)
	if err != nil {
		return nil, err
	}
	trace := filepath.Join(dir, TraceFile)
	if err := s.hasTrace(trace); err != nil {
		return nil, err
	}
	if err := s.checkTrace(trace); err != nil {
		return nil, err
	}
	if err := cmp.Or(s.Run.Check(), s.Run.CheckPlan(s.Plan)); err != nil {
		return nil, &FileError{filepath.Join(dir, ResultFile), err.Error(), runAgain(s.Dir, s.Run.Replay)}
	}
	return s, nil
}

// readIfThere reads one JSON value, strictly, of a file that a folder may lack.
func readIfThere(dir, name string, into any) error {
	f, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() // read only: nothing to lose
	dec := json.NewDecoder(f)
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &FileError{filepath.Join(dir, name), "it is not what this build writes: " + strings.TrimPrefix(err.Error(), "json: "), "remove it, or run again"}
	}
	return nil
}

// WriteAlerts completes the folder of a run with the alerts that fired in it, the rules that they are by, and a test
// for promtool, and makes its page again.
func (s *Stored) WriteAlerts(alerts []samples.Alert, rules, promtool []byte) error {
	s.Run.Alerts = alerts
	return s.unwritten(writeAll(s.Dir, []file{
		{RulesFile, func(w io.Writer) error { _, err := w.Write(rules); return err }},
		{PromtoolFile, func(w io.Writer) error { _, err := w.Write(promtool); return err }},
		{AlertsFile, func(w io.Writer) error { return encode(w, alerts) }},
		{PageFile, s.runPage},
	}))
}

// Rewrite makes the folder's report.html again, from its other files. Commands on it that are not stored call program.
func (s *Stored) Rewrite(program string) error {
	page := func(w io.Writer) error { return SweepPage(w, s.Sweep) }
	switch {
	case s.Campaign != nil:
		return s.unwritten(WriteCampaign(s.Dir, program, s.Campaign))
	case s.Certificate != nil:
		page = func(w io.Writer) error { return FaultMap(w, s.Certificate) }
	case s.Comparisons != nil:
		page = func(w io.Writer) error { return ComparisonPage(w, s.Comparisons) }
	case s.Run != nil:
		page = func(w io.Writer) error { return s.runPage(w) }
	}
	return s.unwritten(writeAll(s.Dir, []file{{PageFile, page}}))
}

// unwritten says what keeps the page from being written.
func (s *Stored) unwritten(err error) error {
	name := filepath.Join(s.Dir, PageFile)
	info, stat := os.Stat(name)
	of, failed, renamed := new(FileError), new(fs.PathError), new(os.LinkError)
	switch {
	case errors.As(err, &of):
		return of
	case err != nil && stat == nil && info.IsDir():
		return &FileError{name, "the page cannot be written: this is a folder", "remove it, or give it another name"}
	case errors.As(err, &failed), errors.As(err, &renamed):
		return &FileError{name, "it cannot be written: " + strictyaml.FileReason(err).Error(), "let yourself write to its folder and make room there, or make the page in a copy of the folder"}
	}
	return err
}

func (s *Stored) runPage(w io.Writer) error {
	name := filepath.Join(s.Dir, TraceFile)
	if err := s.hasTrace(name); err != nil {
		return err
	}
	err := pageOf(w, s.Dir, s.Plan, s.Run)
	if broken := new(traceError); errors.As(err, &broken) {
		return &FileError{name, broken.Error(), runAgain(s.Dir, s.Run.Replay)}
	} else if err != nil {
		return err
	}
	if err := s.checkTrace(name); err != nil {
		return err
	}
	return s.checkResult(name)
}

func (s *Stored) hasTrace(name string) error {
	f, err := os.Open(name)
	if err == nil {
		defer f.Close() // read only: nothing to lose
		if _, err = f.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return unreadable(name, err, runAgain(s.Dir, s.Run.Replay))
	}
	return nil
}

// checkResult refuses a result that does not agree with itself, or with the run's trace.
func (s *Stored) checkResult(trace string) error {
	err := s.Run.Check()
	if err == nil {
		err = cmp.Or(s.Run.CheckPlan(s.Plan), s.Run.CheckStory())
	}
	if err == nil {
		f, open := os.Open(trace)
		if open != nil {
			return open
		}
		defer f.Close() // read only: nothing to lose
		err = s.Run.CheckTrace(s.Plan, Trace(f))
	}
	if err != nil {
		return &FileError{filepath.Join(s.Dir, ResultFile), err.Error(), runAgain(s.Dir, s.Run.Replay)}
	}
	return nil
}

// checkTrace refuses a trace that is not the one that the run wrote.
func (s *Stored) checkTrace(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() // read only: nothing to lose
	digest, err := sim.DigestOf(f)
	if err == nil && digest != s.Run.Digest {
		return &FileError{name, fmt.Sprintf("it is not the trace of this run: its digest is %s, and %s says %s", digest, ResultFile, s.Run.Digest), runAgain(s.Dir, s.Run.Replay)}
	}
	return err
}

// runAgain is how the files of a run's folder come about anew.
func runAgain(dir, command string) string {
	return "run it again: " + command + " --out " + shell.Word(dir)
}

// kind is what a folder is of, and the file that tells.
type kind struct{ file, what string }

// kinds are in the order in which their files tell.
var kinds = []kind{
	{SweepFile, "sweep"}, {ComparisonFile, "comparison"}, {exhaust.CertificateFile, "certificate"}, {campaign.SpecFile, "campaign"},
	{ResultFile, "run"}, {PlanFile, "run"}, {TraceFile, "run"},
}

// kindOf says what dir holds.
func kindOf(dir string) (kind, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		remedy := "give the folder of a run, a campaign, a sweep, a comparison or a certificate"
		if info, stat := os.Stat(dir); stat == nil && !info.IsDir() {
			return kind{}, &FileError{dir, "this is not a folder", remedy}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return kind{}, &FileError{dir, "there is no such folder", remedy}
		}
		return kind{}, unreadable(dir, err, remedy)
	}
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
	}
	for _, k := range kinds {
		if has(k.file) {
			return k, nil
		}
	}
	return kind{}, &FileError{dir, "this folder holds no run, campaign, sweep, comparison or certificate", "give one that holds a " + ResultFile + ", a " + SweepFile + ", a " + ComparisonFile + " or a " + exhaust.CertificateFile}
}

// readJSON reads one JSON value of one of these versions, of which this build writes the first, strictly. again is how the
// file comes about anew.
func readJSON(dir, name string, versions []int, again string, into any) error {
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		return unreadable(path, err, again)
	}
	written, err := versionOf(data)
	if err != nil {
		return &FileError{path, "broken JSON: " + err.Error(), again}
	}
	if !slices.Contains(versions, written) {
		return &FileError{path, fmt.Sprintf("it is of version %d, and this build reads version %d", written, versions[0]), "use the build that wrote it, or " + again}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &FileError{path, "it is not what this build writes: " + strings.TrimPrefix(err.Error(), "json: "), "use the build that wrote it, or " + again}
	}
	return nil
}

// versionOf reads the version of one JSON value, or the first other than that of the first of a list.
func versionOf(data []byte) (int, error) {
	type versioned struct {
		Version int `json:"version"`
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		var list []versioned
		if err := json.Unmarshal(data, &list); err != nil {
			return 0, err
		}
		if len(list) == 0 {
			return 0, errors.New("the list is empty")
		}
		for _, v := range list {
			if v != list[0] {
				return v.Version, nil
			}
		}
		return list[0].Version, nil
	}
	var v versioned
	err := json.Unmarshal(data, &v)
	return v.Version, err
}

func readStoredPlan(dir, again string) (*plans.Plan, error) {
	path := filepath.Join(dir, PlanFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(path, err, again)
	}
	return plans.Parse(path, data)
}

func unreadable(path string, err error, remedy string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &FileError{path, "there is no such file", remedy}
	}
	return &FileError{path, "it cannot be read: " + strictyaml.FileReason(err).Error(), remedy}
}

// Folders lists the stored folders at root: itself if it is one, or those directly below it, by name.
// A link to one of them, such as runs/latest, is left out.
func Folders(root string) ([]string, error) {
	if _, err := kindOf(root); err == nil {
		return []string{root}, nil
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		_, err := kindOf(root)
		return nil, err
	}
	var found []string
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			if _, err := kindOf(dir); err == nil {
				found = append(found, dir)
			}
		}
	}
	if len(found) == 0 {
		_, err := kindOf(root)
		return nil, err
	}
	return found, nil
}
